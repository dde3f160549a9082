#include "core/model/presets.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "core/base/error.h"
#include "core/base/similar.h"
#include "core/graph/program_cost.h"

namespace headlight {
namespace {

// ---- what the families have in common ----

Config decoder(int layers, int d_model, int heads) {
  Config c;
  c.layers = layers;
  c.d_model = d_model;
  c.heads = heads;
  c.positions = PositionKind::kLearned;
  c.activation = Activation::kGeluTanh;
  c.tied_head = true;
  return c;
}

Preset attention_is_all_you_need() {
  Config c = decoder(6, 512, 8);
  c.form = ModelForm::kTranslate;
  c.block = BlockKind::kPostNorm;
  c.positions = PositionKind::kSinusoidal;
  c.activation = Activation::kRelu;
  c.embed_scale = true;
  return {"transformer-base",
          "Transformer base",
          2017,
          "Vaswani et al. 2017, “Attention is all you need”, table 3",
          "https://arxiv.org/abs/1706.03762",
          c,
          {.batch = 1, .positions = 512, .vocab = 37000, .source = 512},
          63'082'496,
          "65 · 10⁶",
          {},
          "preset.apart.transformer"};
}

Preset gpt() {
  Config c = decoder(12, 768, 12);
  c.block = BlockKind::kPostNorm;
  return {"gpt",
          "GPT",
          2018,
          "Radford et al. 2018, “Improving language understanding by generative pre-training”",
          "https://openai.com/index/language-unsupervised/",
          c,
          {.batch = 1, .positions = 512, .vocab = 40478},
          116'534'784,
          "117 M",
          {},
          "preset.apart.gpt"};
}

Preset gpt2(std::string_view name, std::string_view title, const Config& c, std::int64_t published,
            std::string_view said) {
  return {name,
          title,
          2019,
          "Radford et al. 2019, “Language models are unsupervised multitask learners”",
          "https://github.com/openai/gpt-2",
          c,
          {.batch = 1, .positions = 1024, .vocab = 50257},
          published,
          said,
          {},
          "preset.apart.gpt2"};
}

// As in pre-training: whether the second sentence follows the first, by the pooled row of [CLS],
// and which token stands at each place. The figure leaves out both heads. Between the last row and
// the tokens BERT has a layer more.
Preset bert(std::string_view name, std::string_view title, int layers, int d_model, int heads,
            std::int64_t published, std::string_view said) {
  Config c = decoder(layers, d_model, heads);
  c.block = BlockKind::kPostNorm;
  c.activation = Activation::kGelu;
  c.mask.kind = MaskKind::kNone;
  c.segments = true;
  c.norm_epsilon = 1e-12;
  c.embed_norm = true;
  c.form = ModelForm::kClasses;
  c.pool = PoolKind::kFirst;
  c.pooler = Pooler::kTanh;
  c.token_head = true;
  c.head_bias = true;
  constexpr std::int64_t kBertVocab = 30522;
  const std::int64_t heads_of_tasks = kBertVocab + 2 * d_model + 2;
  return {name,
          title,
          2018,
          "Devlin et al. 2018, “BERT”",
          "https://arxiv.org/abs/1810.04805",
          c,
          {.batch = 1, .positions = 512, .vocab = kBertVocab, .classes = 2},
          published,
          said,
          {{"preset.lacks.task_heads", -heads_of_tasks}},
          "preset.apart.bert"};
}

// pytorch/run_wt103_base.sh of the authors' repository; attention there has no biases, and its
// adaptive softmax has a bias for each word and a row and a bias for each of its three clusters.
Preset transformer_xl() {
  Config c = decoder(16, 410, 10);
  c.d_hidden = 2100;
  c.block = BlockKind::kPostNorm;
  c.activation = Activation::kRelu;
  c.positions = PositionKind::kTransformerXl;
  c.memory = 150;
  c.embed_scale = true;
  return {"transformer-xl",
          "Transformer-XL base",
          2019,
          "Dai et al. 2019, WikiText-103, run_wt103_base.sh",
          "https://github.com/kimiyoung/transformer-xl",
          c,
          {.batch = 1, .positions = 150, .vocab = 267735, .memory = 150},
          151'107'538,
          "151 M",
          {{"preset.lacks.attention_biases", -16 * 4 * 410},
           {"preset.has.word_biases", 267735},
           {"preset.has.clusters", 3 * 410 + 3}},
          "preset.apart.transformer_xl"};
}

// Section 7 of the paper, Enwik8: 30 layers of width 512 with 8 heads, 12,288 bytes of context,
// stride 128. The positions there are 128 columns and 96 rows.
Preset sparse_transformer() {
  Config c = decoder(30, 512, 8);
  c.tied_head = false;
  c.mask.kind = MaskKind::kStrided;
  c.mask.stride = 128;
  return {"sparse-transformer",
          "Sparse Transformer",
          2019,
          "Child et al. 2019, “Generating long sequences with sparse transformers”, Enwik8",
          "https://arxiv.org/abs/1904.10509",
          c,
          {.batch = 1, .positions = 12288, .vocab = 256},
          94'949'632,
          "95 M",
          {{"preset.lacks.position_rows", -(12288 - 128 - 96) * 512}},
          "preset.apart.sparse"};
}

std::vector<Preset> make_presets() {
  return {attention_is_all_you_need(),
          gpt(),
          gpt2("gpt2-small", "GPT-2 small", decoder(12, 768, 12), 124'439'808, "117 M"),
          gpt2("gpt2-medium", "GPT-2 medium", decoder(24, 1024, 16), 354'823'168, "345 M"),
          gpt2("gpt2-large", "GPT-2 large", decoder(36, 1280, 20), 774'030'080, "762 M"),
          gpt2("gpt2-xl", "GPT-2 XL", decoder(48, 1600, 25), 1'557'611'200, "1542 M"),
          bert("bert-base", "BERT base", 12, 768, 12, 109'482'240, "110 M"),
          bert("bert-large", "BERT large", 24, 1024, 16, 335'141'888, "340 M"),
          transformer_xl(),
          sparse_transformer()};
}

}  // namespace

std::span<const Preset> all_presets() {
  static const std::vector<Preset> kPresets = make_presets();
  return kPresets;
}

const Preset& preset(std::string_view name) {
  std::vector<std::string_view> names;
  std::string list;
  for (const Preset& one : all_presets()) {
    if (one.name == name) return one;
    names.push_back(one.name);
    list += (list.empty() ? "" : ", ") + std::string(one.name);
  }
  throw UsageError("--preset must be one of " + list + "; got '" + std::string(name) + "'. " +
                   say(Language::kEnglish, did_you_mean(name, names)));
}

Config miniature(const Preset& p) {
  Config c = p.config;
  const double wider = static_cast<double>(c.hidden_width()) / c.d_model;
  c.layers = 2;
  c.d_model = 64;
  c.heads = 4;
  c.d_hidden = c.d_hidden == 0 ? 0 : static_cast<int>(std::lround(wider * c.d_model));
  c.memory = std::min(c.memory, 8);
  c.mask.stride = std::min(c.mask.stride, 3);
  return c;
}

std::int64_t parameters_here(const Preset& p) {
  return static_cast<std::int64_t>(program_cost(p.config, p.shape).parameter_count);
}

}  // namespace headlight
