#include "core/run/targets.h"

#include <algorithm>
#include <numeric>

#include "core/autodiff/backward.h"
#include "core/graph/program_memory.h"
#include "core/run/model_input.h"

namespace headlight {
namespace {

// Of each row of (batch, place, outcomes) the largest.
std::int64_t likeliest(const float* row, std::int64_t outcomes) {
  return std::max_element(row, row + outcomes) - row;
}

// Beside a class: each [MASK] is to be what the model finds likeliest there; where there is none,
// each token is to be what it is.
void aim_tokens(const Program& p, const Model* model, const RunInput& input,
                std::span<float* const> memory) {
  float* right = memory[place(p.token_targets)];
  const float* logits = memory[place(p.token_logits)];
  const auto mask = model ? model->vocabulary->id_of(Special::kMask) : std::optional<int>();
  const bool asks = mask && std::ranges::count(input.ids, *mask) > 0;
  std::int64_t counted = 0;
  for (std::size_t t = 0; t < input.ids.size(); ++t) {
    const int id = input.ids[t];
    const bool special = model && model->vocabulary->is_special(id);
    right[t] = -1;
    if (asks ? id != *mask : special) continue;
    const std::int64_t vocab = p.shape.vocab;
    const float* row = logits + static_cast<std::int64_t>(t) * vocab;
    right[t] = asks ? static_cast<float>(likeliest(row, vocab)) : static_cast<float>(id);
    ++counted;
  }
  fill_chosen(p, counted > 0 ? 1.0 / static_cast<double>(counted) : 0, memory);
}

}  // namespace

std::vector<std::int64_t> open_targets(const Program& p, const Model* model,
                                       const RunInput& input) {
  if (p.config.form == ModelForm::kClasses) return {0};
  if (p.config.numbers) {
    std::vector<std::int64_t> all(input.ids.size());
    std::iota(all.begin(), all.end(), 0);
    return all;
  }
  if (!model || p.config.form != ModelForm::kTokens) return {};
  const std::optional<int> mask = model->vocabulary->id_of(Special::kMask);
  std::vector<std::int64_t> places;
  for (std::size_t t = 0; mask && t < input.ids.size(); ++t) {
    if (input.ids[t] == *mask) places.push_back(static_cast<std::int64_t>(t));
  }
  return places;
}

std::span<const std::string> target_names(const Program& p, const Model* model,
                                          const RunInput& input) {
  if (p.config.form == ModelForm::kClasses) return input.classes;
  if (!model && p.config.numbers) return *sandbox_numbers().tokens();
  if (!model) return {};
  return *target_vocabulary(*model).tokens();
}

std::optional<std::int64_t> target_named(const Program& p, const Model* model,
                                         const RunInput& input, std::string_view name) {
  const auto names = target_names(p, model, input);
  const auto at = std::find(names.begin(), names.end(), name);
  if (name.empty() || at == names.end()) return std::nullopt;
  return at - names.begin();
}

void aim(const Program& p, const Model* model, const RunInput& input,
         std::span<const std::string> targets, std::span<float* const> memory) {
  float* right = memory[place(p.targets)];
  const std::vector<std::int64_t> open = open_targets(p, model, input);
  if (model && p.config.form == ModelForm::kTranslate) {
    const std::optional<int> end = end_of(*model);
    if (end) right[p.shape.positions - 1] = static_cast<float>(*end);
  } else if (model && fills_masks(*model)) {
    for (std::size_t t = 0; t < input.ids.size(); ++t) {
      const bool own = open.empty() && !model->vocabulary->is_special(input.ids[t]);
      right[t] = own ? static_cast<float>(input.ids[t]) : -1.0f;
    }
  }
  if (p.token_targets >= 0) aim_tokens(p, model, input, memory);
  const float* logits = memory[place(p.logits)];
  for (std::size_t i = 0; i < open.size(); ++i) {
    std::optional<std::int64_t> wanted;
    if (i < targets.size()) wanted = target_named(p, model, input, targets[i]);
    if (!wanted) wanted = likeliest(logits + open[i] * p.outcomes(), p.outcomes());
    right[open[i]] = static_cast<float>(*wanted);
  }
}

std::int64_t counted_targets(const Trace& trace) {
  return counted_targets(trace.program(), trace.tensor(trace.program().targets).cells());
}

double mean_loss(const Trace& trace) {
  const Program& program = trace.program();
  return mean_loss(program, trace.tensor(program.targets).cells(), trace.tensor(program.loss).data);
}

}  // namespace headlight
