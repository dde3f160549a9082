#include "app/cli/train/train_base.h"

#include <algorithm>
#include <charconv>
#include <cstdio>

#include "app/cli/cli.h"
#include "core/base/error.h"
#include "core/base/number_text.h"
#include "core/run/model_input.h"
#include "core/train/fine_tuning.h"
#include "core/train/tasks/class_token.h"

namespace headlight {
namespace {

// Nothing where the model can learn from this.
const char* problem_of(const Model& base, const TrainOptions& o) {
  const bool masked = !o.mask_tokens.empty();
  if (!o.labels.empty() || o.next_sentence) return nullptr;  // classifier_on() says
  if (fills_masks(base) || base.file.config.token_head)
    return masked ? nullptr : "train.from_masked";
  if (!goes_on(base)) return "train.from_form";
  return masked ? "train.from_not_masked" : nullptr;
}

}  // namespace

void check_from(const CLI::App& sub, const TrainOptions& o) {
  if (o.text.empty() && o.labels.empty()) throw UsageError(Message{"train.from_text"});
  for (const CLI::Option* option : sub.get_options()) {
    const std::string name = option->get_name();
    const bool head = name == "--pool" && (!o.labels.empty() || o.next_sentence);
    const bool of_model = option->get_group() == kModelOptions && name != "--seed" && !head;
    const bool of_tokens = name == "--cut" || name == "--vocabulary" || name == "--characters" ||
                           name == "--init" || name == "--resume" || name == "--config";
    if (option->count() > 0 && (of_model || of_tokens))
      throw UsageError(Message{"train.from_option", {{"option", name}}});
  }
}

void use_base(const Model& base, const CLI::App& sub, TrainOptions& o) {
  if (const char* problem = problem_of(base, o))
    throw UsageError(Message{problem, {{"name", base.name}}});
  const Config config = config_on(base, o);
  const int frozen = frozen_layers(o);
  if (frozen != kAllFrozen && frozen > config.layers) {
    throw UsageError(Message{"train.freeze_layers",
                             {{"got", std::to_string(frozen)},
                              {"layers", std::to_string(config.layers)},
                              {"name", base.name}}});
  }
  if (frozen == kAllFrozen && config.tied_head)
    throw UsageError(Message{"train.freeze_tied", {{"name", base.name}}});
  const bool judges = !o.labels.empty() || o.next_sentence;
  const RowFrame frame =
      judges ? classifier_frame(config, *base.vocabulary, o.next_sentence) : RowFrame{};
  const auto most = static_cast<int>(base.file.context) - frame.size();
  const RunPlan plan = tuning_plan(default_plan(""), base.ref, base.file.config, base.file.context);
  if (sub.count("--lr") == 0) o.rate = plan.settings.schedule.peak;
  if (sub.count("--context") == 0)
    o.context = o.labels.empty() ? std::min(plan.text_options.context, most) : most;
  if (judges && o.context == 0 && most < kLongestRow) o.context = most;
  if (o.context > most) {
    throw UsageError(
        Message{"train.from_context",
                {{"context", std::to_string(o.context)}, {"most", std::to_string(most)}}});
  }
}

Config config_on(const Model& base, const TrainOptions& o) {
  if (o.labels.empty() && !o.next_sentence) return without_classes(base.file.config);
  const auto pool = from_word<PoolKind>(o.model.pool.value_or(""));
  if (o.next_sentence)
    return pair_judge_on(base.file.config, base.name, !o.mask_tokens.empty(), pool);
  return classifier_on(base.file.config, base.name, pool.value_or(pool_on(base.file.config)));
}

int frozen_layers(const TrainOptions& o) {
  if (o.freeze.empty()) return kNoneFrozen;
  if (o.from.empty()) throw UsageError(Message{"train.freeze_from"});
  if (o.model.backend == "gl") throw UsageError(Message{"train.freeze_backend"});
  if (o.freeze == "all") return kAllFrozen;
  int layers = 0;
  const auto [end, error] =
      std::from_chars(o.freeze.data(), o.freeze.data() + o.freeze.size(), layers);
  if (error != std::errc() || end != o.freeze.data() + o.freeze.size() || layers < 0)
    throw UsageError(Message{"train.freeze_number", {{"got", o.freeze}}});
  return layers;
}

void tell_left_out(const Model& base, const Config& config, const RunShape& shape) {
  std::string names;
  for (const std::string& name : left_out(base, config, shape))
    names += (names.empty() ? "" : ", ") + name;
  if (!names.empty())
    tell("the run has no use for these weights of " + base.name +
         ", or begins with new ones in their place: " + names);
}

OldText::OldText(const std::shared_ptr<const Model>& base, Learner& learner,
                 std::int64_t positions) {
  if (!base) return;
  name_ = base->name;
  rows_ = written_rows(base, kOldTextRows, positions);
  if (rows_.rows > 0) before_ = learner.evaluate(rows_).loss;
}

void OldText::tell(Learner& learner) const {
  if (rows_.rows == 0) return;
  std::fprintf(stderr, "text that %s writes by itself: loss %s before, %s now\n", name_.c_str(),
               number_text(before_, 4).c_str(),
               number_text(learner.evaluate(rows_).loss, 4).c_str());
}

}  // namespace headlight
