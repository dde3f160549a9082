// What masks are for besides the order: the sentence with [PAD] behind it, in one attention with
// random weights, and a row without a key.
#include <algorithm>
#include <cmath>
#include <limits>

#include "core/lab/lab_training.h"
#include "core/lab/parts/parts.h"

namespace headlight {
namespace {

constexpr std::size_t kPaddedTokens = 32;

Document padded_document(const Document& of, const std::string& sentence, std::size_t tokens,
                         std::int64_t pads, bool masked) {
  Document d;
  d.tokenizer = of.model.empty() ? of.tokenizer : TokenizerKind::kWords;
  d.config.layers = 1;
  d.config.seed = of.config.seed;
  d.config.mask.kind = masked ? MaskKind::kPadding : MaskKind::kNone;
  d.sentence = sentence;
  for (std::int64_t i = 0; i < pads; ++i) {
    d.sentence += d.tokenizer == TokenizerKind::kWords ? " _" : "_";
    if (masked) d.config.mask.padding.push_back(static_cast<int>(tokens) + static_cast<int>(i));
  }
  return d;
}

struct PaddedRun {
  double weight = 0;        // on [PAD], the mean of heads and words
  std::vector<float> out;   // what the words' attention gives, (words, all heads side by side)
  std::vector<float> head;  // weights of the first head, (words, words and [PAD])
};

PaddedRun read_padded(LabRun& run, const Document& document, std::size_t n) {
  const auto trace = run.run(document);
  const Program& p = trace->program();
  const TensorView pattern = trace->tensor(p.find(Role::kPattern, p.logits));
  const auto heads = static_cast<std::size_t>(pattern.axes[1].size);
  const auto all = static_cast<std::size_t>(pattern.axes[3].size);
  PaddedRun found;
  for (std::size_t h = 0; h < heads; ++h) {
    for (std::size_t i = 0; i < n; ++i) {
      const float* row = pattern.data + (h * all + i) * all;
      for (std::size_t j = n; j < all; ++j)
        found.weight += static_cast<double>(row[j]) / static_cast<double>(heads * n);
      if (h == 0) found.head.insert(found.head.end(), row, row + all);
    }
  }
  const TensorView out = trace->tensor(p.find(Role::kConcat, p.logits));
  found.out.assign(out.data, out.data + n * static_cast<std::size_t>(out.axes.back().size));
  return found;
}

double change_of_padded(const std::vector<float>& from, const std::vector<float>& to) {
  double moved = 0, size = 0;
  for (std::size_t i = 0; i < from.size(); ++i) {
    const double d = static_cast<double>(to[i]) - static_cast<double>(from[i]);
    moved += d * d, size += static_cast<double>(from[i]) * static_cast<double>(from[i]);
  }
  return std::sqrt(moved / size);
}

// The scores and values of the longest row: every shorter one has the first of them.
void export_padded(LabRun& run, const Document& longest, std::size_t n) {
  const auto trace = run.run(longest);
  const Program& p = trace->program();
  const TensorId pattern = p.find(Role::kPattern, p.logits);
  for (const auto& [name, role] :
       {std::pair{"scores", Role::kScaledScores}, std::pair{"values", Role::kValues}}) {
    const TensorView t = trace->tensor(p.find(role, pattern));
    run.result.tensors.push_back(
        lab_tensor(name, {t.axes.begin() + 1, t.axes.end()}, {t.data, t.data + t.size()}));
  }
  run.result.tensors.push_back(lab_tensor("words", {{"kept", 1}}, {static_cast<float>(n)}));
}

void ask_pads(LabRun& run, double weight, std::int64_t pads, std::size_t n) {
  if (pads == 0) return;
  const double share =
      static_cast<double>(pads) / static_cast<double>(pads + static_cast<std::int64_t>(n));
  LabQuestion ask{
      "pads",
      {{"pads", std::to_string(pads)}, {"words", std::to_string(n)}, {"share", lab_percent(share)}},
      {"nothing", "less", "more"},
      weight < 0.02          ? 0u
      : weight < 0.8 * share ? 1u
                             : 2u,
      {}};
  ask.because = run.because("pads", {{"weight", lab_percent(weight)}});
  run.result.questions.push_back(std::move(ask));
}

void add_padded_picture(LabRun& run, const char* name, const PaddedRun& r,
                        const std::vector<std::string>& words, std::int64_t pads) {
  std::vector<std::string> columns = words;
  columns.insert(columns.end(), static_cast<std::size_t>(pads), "[PAD]");
  run.result.pictures.push_back(
      {name, words, columns, r.head, LabColours::kWeights, 0, lab_number(r.weight)});
}

void show_padding(LabRun& run) {
  const Document whole = padded_document(run.document(), run.document().sentence, 0, 0, false);
  run.read(whole);
  const std::vector<std::string> words = run.tokens(kPaddedTokens);
  const std::size_t n = words.size();
  std::string sentence = whole.sentence;
  sentence.resize(Tokenizer(whole.tokenizer).tokenize(sentence, n).back().end);
  const std::int64_t pads = run.whole("padding");
  const auto document = [&](std::int64_t count, bool masked) {
    return padded_document(run.document(), sentence, n, count, masked);
  };
  LabSeries weight{"pads.weight", {}, {}}, change{"pads.change", {}, {}};
  PaddedRun alone, open;
  for (std::int64_t count = 0; static_cast<double>(count) <= kMostPads; ++count) {
    run.tell(static_cast<double>(count) / kMostPads);
    PaddedRun one = read_padded(run, document(count, false), n);
    if (count == 0) alone = one;
    weight.x.push_back(static_cast<double>(count)), weight.y.push_back(one.weight);
    change.x.push_back(static_cast<double>(count)),
        change.y.push_back(change_of_padded(alone.out, one.out));
    if (count == pads) open = std::move(one);
  }
  const PaddedRun masked = read_padded(run, document(pads, true), n);
  const auto at = static_cast<std::size_t>(pads);
  run.value("pads.weight", weight.y[at]);
  run.value("pads.change", change.y[at]);
  run.value("pads.masked", change_of_padded(alone.out, masked.out));
  export_padded(run, document(static_cast<std::int64_t>(kMostPads), false), n);
  if (pads > 0) {
    add_padded_picture(run, "not_masked", open, words, pads);
    add_padded_picture(run, "masked", masked, words, pads);
    if (weight.y[at] > 0.01 && change_of_padded(alone.out, masked.out) < 1e-5)
      run.notice("pads", {{"pads", std::to_string(pads)},
                          {"weight", lab_percent(weight.y[at])},
                          {"change", lab_percent(change.y[at])}});
  }
  ask_pads(run, weight.y[at], pads, n);
  run.result.series.push_back(std::move(weight));
  run.result.series.push_back(std::move(change));
  run.result.in_steps = document(pads, pads > 0);
}

// A row of scores with every key forbidden: by the formula, by this program, and with a large
// number in the place of −∞, beside which float32 has no room for the scores.
void show_empty_row(LabRun& run) {
  const Tensor& scores = kept_tensor(run.result.tensors, "scores");
  const auto n = static_cast<std::int64_t>(kept_tensor(run.result.tensors, "words").data[0]);
  std::vector<float> row(scores.data.begin(), scores.data.begin() + n);
  constexpr float kNone = -std::numeric_limits<float>::infinity(), kLarge = -1e9f;
  const auto weights = [&](float added) {
    std::vector<float> cells = row;
    for (float& cell : cells) cell += added;
    const Tensor masked = lab_tensor("scores", {{"batch", 1}, {"key", n}}, cells);
    const Tensor* in[] = {&masked};
    return lab_op(Op::kSoftmax, in).data;
  };
  double here = 0, naive = 0, large = 0;
  for (const float w : weights(kNone)) here += static_cast<double>(w);
  for (const float w : weights(kLarge)) large = std::max(large, static_cast<double>(w));
  for (const float s : row) naive += std::isnan(std::exp((s + kNone) - kNone));
  run.value("empty.here", here);
  run.value("empty.nan", naive);
  run.value("empty.large", large);
  if (here == 0 && naive > 0)
    run.notice("empty", {{"keys", std::to_string(n)}, {"large", lab_number(large)}});
}

}  // namespace

void show_masked_padding(LabRun& run) {
  show_padding(run);
  show_empty_row(run);
}

}  // namespace headlight
