// Temperature and sampling: how what comes next is drawn, and how the sentence may go on.
#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "core/base/error.h"
#include "core/lab/lab_run.h"
#include "core/lab/labs/labs.h"
#include "core/run/model_input.h"
#include "core/run/sentence_tokens.h"
#include "core/run/trace.h"
#include "core/train/sampling.h"

namespace headlight {
namespace {

constexpr int kHeats = 16;
// Rows of the picture.
constexpr std::array<double, 6> kShownHeats = {0, 0.25, 0.5, 1, 1.5, 2};
constexpr std::size_t kShownTokens = 12, kBranches = 3;

// Logits of what comes behind the last token.
std::span<const float> last_logits(const Trace& trace) {
  const TensorView all = trace.tensor(trace.program().logits);
  return all.cells().last(static_cast<std::size_t>(all.axes.back().size));
}

double chance_of(std::span<const TokenChance> chances, int id) {
  const auto found = std::ranges::find(chances, id, &TokenChance::id);
  return found == chances.end() ? 0 : found->probability;
}

double bits_of(std::span<const TokenChance> chances) {
  double bits = 0;
  for (const TokenChance& c : chances)
    bits -= c.probability > 0 ? c.probability * std::log2(c.probability) : 0;
  return bits;
}

// The document with this token behind what it reads; nothing where none can follow, as behind
// [EOS], or where it is a part of a character. Ids that were given are read in the sentence's
// place, so they are what grows.
std::optional<Document> document_with(const Document& document, const Trace& trace,
                                      const Model* model, int id) {
  Document longer = document;
  if (!model || document.ids.empty()) {
    const auto text = sentence_with(document, trace, model, id, std::nullopt);
    if (!text) return std::nullopt;
    longer.sentence = *text;
    return longer;
  }
  if (id == end_of(*model)) return std::nullopt;
  if (model->file.config.form == ModelForm::kTranslate) longer.target_ids = trace.input().ids;
  (longer.target_ids.empty() ? longer.ids : longer.target_ids).push_back(id);
  return longer;
}

// The likeliest tokens, each run on to its own likeliest ones, by the person's own settings.
void grow(LabRun& run, const Document& document, const Trace& trace, const SamplingOptions& options,
          int parent, int depth) {
  const std::vector<TokenChance> chances = token_chances(last_logits(trace), options);
  for (std::size_t i = 0; i < std::min(kBranches, chances.size()); ++i) {
    const int id = chances[i].id;
    run.result.tree.push_back(
        {parent, trace.input().vocab[static_cast<std::size_t>(id)], chances[i].probability});
    if (depth <= 1) continue;
    const std::optional<Document> next = document_with(document, trace, run.model(), id);
    if (!next) continue;
    const int here = static_cast<int>(run.result.tree.size()) - 1;
    std::shared_ptr<const Trace> then;
    try {
      then = run.run(*next);
    } catch (const Error&) {
      continue;  // the context is full
    }
    const bool given = run.model() && !document.ids.empty();
    if (given && then->input().ids.back() != id) continue;  // the context is full: it was cut off
    grow(run, *next, *then, options, here, depth - 1);
  }
}

void add_words(LabRun& run, std::span<const float> logits, std::span<const std::string> vocab,
               std::span<const TokenChance> all, std::span<const TokenChance> kept) {
  const auto name = [&](int id) { return vocab[static_cast<std::size_t>(id)]; };
  if (kept.size() < all.size()) {
    double share = 0;
    for (const TokenChance& c : kept) share += chance_of(all, c.id);
    run.notice("kept", {{"n", std::to_string(kept.size())},
                        {"all", std::to_string(all.size())},
                        {"share", lab_number(100 * share)}});
  }
  const double cold = token_chances(logits, {0.5, 0, 1})[0].probability;
  const double plain = token_chances(logits, {1, 0, 1})[0].probability;
  const double hot = token_chances(logits, {2, 0, 1})[0].probability;
  if (cold > plain && plain > hot)
    run.notice("temperature", {{"token", name(all[0].id)},
                               {"cold", lab_number(cold)},
                               {"plain", lab_number(plain)},
                               {"hot", lab_number(hot)}});
  if (all.size() < 2) return;
  const std::size_t most = token_chances(logits, {1, 0, 0.9}).size();
  if (most < all.size())
    run.notice("nucleus", {{"n", std::to_string(most)}, {"all", std::to_string(all.size())}});
  LabQuestion ask{"first", {{"token", name(all[0].id)}}, {"more", "less", "same"}, 0, {}};
  ask.right = cold > plain ? 0 : cold < plain ? 1 : 2;
  ask.because = run.because("first", {{"plain", lab_number(plain)}, {"cold", lab_number(cold)}});
  run.result.questions.push_back(std::move(ask));
}

// The likeliest token and the entropy by temperature, and how many are kept by top-p.
void add_series(LabRun& run, std::span<const float> logits) {
  LabSeries largest{"largest", {}, {}}, entropy{"entropy", {}, {}}, nucleus{"nucleus", {}, {}};
  for (int i = 1; i <= kHeats; ++i) {
    const double t = 2.0 * i / kHeats;
    const std::vector<TokenChance> chances = token_chances(logits, {t, 0, 1});
    largest.x.push_back(t);
    largest.y.push_back(chances[0].probability);
    entropy.x.push_back(t);
    entropy.y.push_back(bits_of(chances));
    const double p = static_cast<double>(i) / kHeats;
    nucleus.x.push_back(p);
    nucleus.y.push_back(static_cast<double>(token_chances(logits, {1, 0, p}).size()));
  }
  run.result.series = {largest, entropy, nucleus};
}

// The likeliest tokens: before and behind temperature, top-k and top-p; and at some temperatures.
void add_distribution(LabRun& run, std::span<const float> logits,
                      std::span<const std::string> vocab, std::span<const TokenChance> all,
                      std::span<const TokenChance> kept) {
  const std::size_t count = std::min(kShownTokens, all.size());
  LabSeries plain{"distribution.all", {}, {}}, drawn{"distribution.drawn", {}, {}};
  for (std::size_t i = 0; i < count; ++i) {
    for (LabSeries* s : {&plain, &drawn}) {
      s->x.push_back(static_cast<double>(i));
      s->names.push_back(vocab[static_cast<std::size_t>(all[i].id)]);
    }
    plain.y.push_back(all[i].probability);
    drawn.y.push_back(chance_of(kept, all[i].id));
  }
  LabPicture heats{"temperatures", {}, plain.names, {}};
  for (const double t : kShownHeats) {
    const std::vector<TokenChance> chances = token_chances(logits, {t, 0, 1});
    heats.rows.push_back(lab_number(t));
    for (std::size_t i = 0; i < count; ++i)
      heats.cells.push_back(static_cast<float>(chance_of(chances, all[i].id)));
  }
  run.result.series.insert(run.result.series.begin(), {plain, drawn});
  run.result.pictures.push_back(std::move(heats));
}

void run_sampling(LabRun& run) {
  const Trace& trace = run.trace();
  const Program& program = trace.program();
  if (program.config.form == ModelForm::kClasses || program.shape.in_place)
    throw Error(Message{"lab.error.no_next"});
  const std::span<const float> logits = last_logits(trace);
  const SamplingOptions options{run.number("temperature"), run.whole("top_k"), run.number("top_p")};
  const std::vector<TokenChance> all = token_chances(logits, {1, 0, 1});
  const std::vector<TokenChance> kept = token_chances(logits, options);
  run.value("entropy", bits_of(kept));
  run.value("largest", kept[0].probability);
  run.value("kept", static_cast<double>(kept.size()));
  const std::vector<std::string>& vocab = trace.input().vocab;
  add_series(run, logits);
  add_distribution(run, logits, vocab, all, kept);
  add_words(run, logits, vocab, all, kept);
  run.result.tensors.push_back(lab_tensor(program.tensors[place(program.logits)].name,
                                          {{"vocab", std::ssize(logits)}},
                                          {logits.begin(), logits.end()}));
  const Document document = run.document();
  grow(run, document, trace, options, -1, 2);
}

}  // namespace

Lab sampling_lab() {
  return {
      "sampling",
      "whole",
      "Holtzman et al. 2020, https://arxiv.org/abs/1904.09751",
      {{"temperature", {}, 0, 2, 1}, {"top_k", {}, 0, 1000, 0, true}, {"top_p", {}, 0.05, 1, 1}},
      run_sampling,
      {{"distribution", {"all", "drawn"}, false, false, {}, LabChartForm::kBars},
       {"largest", {}, false, false, "temperature"},
       {"entropy", {}, false, false, "temperature"},
       {"nucleus", {}, false, false, "top_p"}},
      "stories",
      {Role::kLogits, Role::kProbabilities},
      "lab.sampling.formula"};
}

}  // namespace headlight
