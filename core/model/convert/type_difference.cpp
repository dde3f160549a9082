#include "core/model/convert/type_difference.h"

#include <algorithm>
#include <array>

#include "core/base/error.h"
#include "core/graph/config_json.h"

namespace headlight {
namespace {

// Without what changes no number.
Config plain_config(Config c) {
  c.seed = Config{}.seed;
  c.balance = c.foci_penalty = 0;
  c.fused_attention = c.average_weights = false;
  return without_idle_options(std::move(c));
}

// Two ways to say the same mask become one.
MaskSpec plain_mask(MaskSpec mask) {
  const bool empty = (mask.kind == MaskKind::kPadding && mask.padding.empty()) ||
                     (mask.kind == MaskKind::kFree && mask.forbidden.empty());
  if (empty || mask.kind == MaskKind::kNone)
    mask.kind = mask.is_causal() ? MaskKind::kCausal : MaskKind::kNone;
  const MaskSpec usual;
  const bool whole = mask.kind == MaskKind::kNone || mask.kind == MaskKind::kCausal;
  if (whole) mask.causal.reset();
  if (mask.kind != MaskKind::kLocal) mask.window = usual.window;
  if (mask.kind != MaskKind::kStrided) mask.stride = usual.stride;
  return mask;
}

// All sizes and switches as they will be used, so that what is left out and what is said agree.
Config spelled_out(Config c) {
  c = plain_config(std::move(c));
  c.heads = c.head_count();
  c.kv_heads = c.kv_head_count();
  c.d_head = c.head_width();
  c.d_value = c.value_width();
  c.d_hidden = c.hidden_width();
  c.rotary_width = c.rotary_width == c.d_head ? 0 : c.rotary_width;
  if (c.attention != AttentionKind::kBasic) c.attention = AttentionKind::kNarrow;
  const bool head_bias = c.tied_head ? c.has_tied_bias() : c.has_head_bias();
  const bool qkv = c.has_qkv_bias(), output = c.has_output_bias(), mlp = c.has_mlp_bias();
  c.qkv_bias = qkv;
  c.output_bias = output;
  c.mlp_bias = mlp;
  c.head_bias = head_bias;
  c.mask = plain_mask(std::move(c.mask));
  if (c.local_layers.empty()) c.local_window = 0;
  return c;
}

// Every choice that config_json() leaves out where it is the usual one.
OrderedJson all_options(const ModelFile& file) {
  const Config c = spelled_out(file.config);
  OrderedJson json = config_json(c);
  json["norm"] = word(c.norm);
  json["norm_epsilon"] = c.norm_epsilon;
  json["mask"]["kind"] = word(c.mask.kind);
  json["tied_head"] = c.tied_head;
  json["embed_scale"] = c.embed_scale;
  json["embed_norm"] = c.embed_norm;
  json["segments"] = c.segments;
  json["segment_rows"] = c.segment_rows;
  json["head_transform"] = c.head_transform;
  json["output_projection"] = c.output_projection;
  json["pool"] = word(c.pool);
  json["pooler"] = word(c.pooler);
  json["rotary_base"] = c.rotary_base;
  json["vocabulary"] = file.vocab;
  json["context"] = file.context;
  json["classes"] = file.classes;
  return json;
}

// No program has them: they come with a run.
constexpr std::array<std::string_view, 9> kOfRuns = {"mask",       "local_layers", "local_window",
                                                     "memory",     "temperature",  "masked_heads",
                                                     "vocabulary", "context",      "classes"};

// The operations on the same tensors.
bool same_programs(const ModelFile& own, const ModelFile& other) {
  if (own.config.form != other.config.form) return false;
  const Program a = build_program(plain_config(own.config), shape_of(own));
  Program b;
  try {
    b = build_program(plain_config(other.config), shape_of(other));
  } catch (const Error&) {
    return false;  // sizes that no model has
  }
  const auto same_tensor = [](const TensorSpec& x, const TensorSpec& y) {
    return x.name == y.name && x.axes == y.axes && x.kind == y.kind && x.role == y.role;
  };
  const auto same_call = [](const OpCall& x, const OpCall& y) {
    return x.op == y.op && x.in == y.in && x.out == y.out && x.params == y.params;
  };
  return std::ranges::equal(a.tensors, b.tensors, same_tensor) &&
         std::ranges::equal(a.calls, b.calls, same_call);
}

std::string value_text(const OrderedJson& all, const std::string& key) {
  const auto found = all.find(key);
  if (found == all.end()) return "off";
  if (found->is_boolean()) return found->get<bool>() ? "on" : "off";
  if (found->is_string()) return found->get<std::string>();
  if (key == "mask") {
    const std::string kind = found->at("kind").get<std::string>();
    return found->size() > 3 ? kind + " …" : kind;
  }
  return found->dump();
}

std::string option_text(std::string key) {
  if (key == "scale") key = "attention_scale";
  if (key == "masked_heads") key = "head_mask";
  std::ranges::replace(key, '_', '-');
  return "--" + key;
}

// Options that differ only because another one does.
void drop_what_follows(std::vector<OptionDifference>& found) {
  const auto differs = [&](std::string_view option) {
    return std::ranges::count(found, option, &OptionDifference::option) > 0;
  };
  const bool positions = differs("--positions"), form = differs("--form");
  std::erase_if(found, [&, more = found.size() > 1](const OptionDifference& one) {
    const std::string& option = one.option;
    const bool of_classes =
        option.starts_with("--pool") || option.starts_with("--foci") || option == "--classes";
    return (positions && option.starts_with("--rotary")) || (form && of_classes) ||
           (more && option == "--bias");
  });
}

}  // namespace

std::vector<OptionDifference> number_differences(const ModelFile& own, const ModelFile& other) {
  const bool same = same_programs(own, other);
  const OrderedJson ours = all_options(own), theirs = all_options(other);
  std::vector<OptionDifference> found;
  const auto compare = [&](const std::string& key) {
    const bool here = ours.contains(key), there = theirs.contains(key);
    if (here && there && ours.at(key) == theirs.at(key)) return;
    if (same && std::ranges::find(kOfRuns, key) == kOfRuns.end()) return;
    found.push_back({option_text(key), value_text(ours, key), value_text(theirs, key)});
  };
  for (const auto& item : ours.items()) compare(item.key());
  for (const auto& item : theirs.items()) {
    if (!ours.contains(item.key())) compare(item.key());
  }
  drop_what_follows(found);
  if (!same && found.empty()) found.push_back({"--form", std::string(word(own.config.form)), "?"});
  return found;
}

ModelFile with_zeros(ModelFile own, const ModelFile& other) {
  Config& c = own.config;
  const Config& o = other.config;
  const bool output = c.has_output_bias() || o.has_output_bias(),
             qkv = c.has_qkv_bias() || o.has_qkv_bias(), mlp = c.has_mlp_bias() || o.has_mlp_bias();
  const bool head_here = c.tied_head ? c.has_tied_bias() : c.has_head_bias(),
             head_there = o.tied_head ? o.has_tied_bias() : o.has_head_bias();
  c.qkv_bias = qkv;
  c.output_bias = output;
  c.mlp_bias = mlp;
  c.head_bias = head_here || head_there;
  c.bias = c.bias || o.bias;
  if (!c.segments && o.segments) {
    c.segments = true;
    c.segment_rows = o.segment_rows;
  }
  return own;
}

}  // namespace headlight
