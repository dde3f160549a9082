#include "tests/support/reference_file.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "core/graph/masks/number_file.h"
#include "core/io/atomic_file.h"
#include "test_paths.h"

namespace headlight {

namespace fs = std::filesystem;

std::vector<Reference> read_references(const std::string& folder) {
  std::vector<fs::path> paths;
  for (const auto& entry : fs::directory_iterator(fs::path(HEADLIGHT_TEST_DIR) / folder)) {
    if (entry.path().extension() == ".safetensors") paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  std::vector<Reference> all;
  for (const fs::path& path : paths) {
    all.push_back({path.stem().string(), parse_safetensors(read_file(path, 1 << 20))});
  }
  return all;
}

namespace {

// "1,4" or "0:1,0:4" -> 1 4, or 0 1 0 4
std::vector<int> numbers_in(const std::string& text) {
  std::vector<int> numbers;
  const char* at = text.c_str();
  while (*at != '\0') {
    char* end = nullptr;
    numbers.push_back(static_cast<int>(std::strtol(at, &end, 10)));
    REQUIRE(end != at);
    at = *end == '\0' ? end : end + 1;
  }
  return numbers;
}

// What is added in the file to the scores of the first item, without the keys of no token.
AddedMask added_of(const Reference& r, bool by_head) {
  const std::vector<float> cells = tensor_as_float(r.file, "added_mask");
  const auto& shape = r.file.entries.at("added_mask").shape;
  const std::size_t n = static_cast<std::size_t>(r.number("tokens"));
  const auto keys = static_cast<std::size_t>(shape.back());
  const auto heads = static_cast<std::size_t>(shape[shape.size() - 3]);
  NumberArray array;
  if (by_head) array.shape.push_back(static_cast<std::int64_t>(heads));
  array.shape.insert(array.shape.end(), 2, static_cast<std::int64_t>(n));
  for (std::size_t row = 0; row < (by_head ? heads : 1) * n; ++row)
    array.values.insert(array.values.end(), cells.begin() + static_cast<std::ptrdiff_t>(row * keys),
                        cells.begin() + static_cast<std::ptrdiff_t>(row * keys + n));
  return added_mask(array);
}

// Of recipes that only some published models have.
void read_recipe_options(const Reference& r, Config& c) {
  const auto& words = r.file.metadata;
  const auto real = [&](const char* key, double& out) {
    if (words.contains(key)) out = std::stod(r.word(key));
  };
  real("score_scale", c.score_scale);
  real("softcap", c.softcap);
  if (words.contains("rotary_scaling"))
    c.rotary_scaling = r.choice<RotaryScaling>("rotary_scaling");
  real("rotary_factor", c.rotary_factor);
  real("rotary_low", c.rotary_low);
  real("rotary_high", c.rotary_high);
  if (words.contains("rotary_context")) c.rotary_context = r.number("rotary_context");
  if (words.contains("local_layers")) c.local_layers = numbers_in(r.word("local_layers"));
  if (words.contains("local_window")) c.local_window = r.number("local_window");
}

// What models of other programs have.
void read_parts(const Reference& r, Config& c) {
  const auto& words = r.file.metadata;
  if (words.contains("norm_epsilon")) c.norm_epsilon = std::stod(r.word("norm_epsilon"));
  if (words.contains("qkv_bias")) c.qkv_bias = r.is_on("qkv_bias");
  if (words.contains("output_bias")) c.output_bias = r.is_on("output_bias");
  if (words.contains("mlp_bias")) c.mlp_bias = r.is_on("mlp_bias");
  if (words.contains("head_bias")) c.head_bias = r.is_on("head_bias");
  if (words.contains("embed_scale")) c.embed_scale = r.is_on("embed_scale");
  if (words.contains("embed_norm")) c.embed_norm = r.is_on("embed_norm");
  if (words.contains("sinusoid")) c.sinusoid = r.choice<Sinusoid>("sinusoid");
  if (words.contains("position_offset")) c.position_offset = r.number("position_offset");
  if (words.contains("segment_rows")) c.segment_rows = r.number("segment_rows");
  if (words.contains("head_transform")) c.head_transform = r.is_on("head_transform");
  if (words.contains("pooler")) c.pooler = r.choice<Pooler>("pooler");
  if (words.contains("encoder_layers")) c.encoder_layers = r.number("encoder_layers");
}

}  // namespace

Config config_of(const Reference& r) {
  Config c;
  if (r.file.metadata.contains("form")) c.form = r.choice<ModelForm>("form");  // older: tokens
  c.layers = r.number("layers");
  c.heads = r.number("heads");
  c.d_model = r.number("d_model");
  c.d_head = r.number("d_head");
  c.d_hidden = r.number("d_hidden");
  c.attention = r.choice<AttentionKind>("attention");
  c.scores = r.choice<ScoreKind>("scores");
  c.scale = r.is_on("scale");
  c.temperature = std::stod(r.word("temperature"));
  c.block = r.choice<BlockKind>("block");
  c.activation = r.choice<Activation>("activation");
  c.positions = r.choice<PositionKind>("positions");
  const auto& words = r.file.metadata;  // what came later: only in files that are about it
  if (words.contains("norm")) c.norm = r.choice<NormKind>("norm");
  if (words.contains("kv_heads")) c.kv_heads = r.number("kv_heads");
  if (words.contains("rotary")) c.rotary = r.choice<RotaryPairs>("rotary");
  if (words.contains("rotary_base")) c.rotary_base = std::stod(r.word("rotary_base"));
  if (words.contains("rotary_width")) c.rotary_width = r.number("rotary_width");
  read_recipe_options(r, c);
  if (words.contains("relative_reach")) c.relative_reach = r.number("relative_reach");
  if (words.contains("t5_buckets")) c.t5_buckets = r.number("t5_buckets");
  if (words.contains("t5_reach")) c.t5_reach = r.number("t5_reach");
  if (words.contains("tied_head")) c.tied_head = r.is_on("tied_head");
  if (words.contains("output_projection")) c.output_projection = r.is_on("output_projection");
  if (words.contains("d_value")) c.d_value = r.number("d_value");
  if (words.contains("bias_kv")) c.bias_kv = r.is_on("bias_kv");
  if (words.contains("zero_attention")) c.zero_attention = r.is_on("zero_attention");
  if (words.contains("average_weights")) c.average_weights = r.is_on("average_weights");
  if (words.contains("fused_attention")) c.fused_attention = r.is_on("fused_attention");
  if (words.contains("masked_heads")) c.masked_heads = read_heads(r.word("masked_heads"));
  if (words.contains("mixer")) c.mixer = r.choice<MixerKind>("mixer");
  if (words.contains("kernel")) c.kernel = r.number("kernel");
  if (words.contains("dilation")) c.dilation = r.number("dilation");
  if (words.contains("pool")) c.pool = r.choice<PoolKind>("pool");
  if (words.contains("foci")) c.foci = r.number("foci");
  if (words.contains("pool_hidden")) c.pool_hidden = r.number("pool_hidden");
  if (words.contains("foci_penalty")) c.foci_penalty = std::stod(r.word("foci_penalty"));
  if (words.contains("experts")) c.experts = r.number("experts");
  if (words.contains("top_experts")) c.top_experts = r.number("top_experts");
  if (words.contains("balance")) c.balance = std::stod(r.word("balance"));
  if (words.contains("numbers")) c.numbers = r.is_on("numbers");
  if (words.contains("components")) c.components = r.number("components");
  if (words.contains("token_head")) c.token_head = r.is_on("token_head");
  if (words.contains("segments")) c.segments = r.is_on("segments");
  if (words.contains("memory")) c.memory = r.number("memory");
  read_parts(r, c);
  c.bias = r.is_on("bias");
  c.residual = r.is_on("residual");
  c.mask.kind = r.choice<MaskKind>("mask");
  c.mask.window = r.number("window");
  c.mask.stride = r.number("stride");
  if (r.word("causal") != "auto") c.mask.causal = r.is_on("causal");
  c.mask.padding = numbers_in(r.word("padding"));
  const std::vector<int> cells = numbers_in(r.word("forbidden"));
  for (std::size_t i = 0; i + 1 < cells.size(); i += 2) {
    c.mask.forbidden.insert(cells[i], cells[i + 1]);
  }
  if (words.contains("by_head")) {
    const std::vector<int> places = numbers_in(r.word("by_head"));
    for (std::size_t i = 0; i + 2 < places.size(); i += 3)
      c.mask.by_head[places[i]].insert(places[i + 1], places[i + 2]);
  }
  if (words.contains("added")) c.mask.added = added_of(r, r.word("added") == "heads");
  return c;
}

RunShape shape_of(const Reference& r) {
  RunShape shape{r.number("batch"), r.number("tokens"), r.number("vocab")};
  if (r.file.metadata.contains("memory"))  // the run is of the second of two segments
    shape.memory = std::min(r.number("memory"), r.number("tokens"));
  if (!r.file.metadata.contains("form")) return shape;
  shape.classes = r.number("classes");
  shape.source = r.number("source");
  if (r.file.metadata.contains("source_vocab")) shape.source_vocab = r.number("source_vocab");
  shape.padded = r.is_on("padded");
  return shape;
}

std::string name_in_file(const TensorSpec& spec) {
  return spec.kind == TensorKind::kParameter ? "param:" + spec.file_name : spec.name;
}

}  // namespace headlight
