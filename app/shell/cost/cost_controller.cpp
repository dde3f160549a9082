#include "app/shell/cost/cost_controller.h"

#include "app/ui/cost/cost_view.h"
#include "app/workers/trace_worker.h"
#include "core/base/error.h"
#include "core/model/presets.h"

namespace headlight {

CostController::CostController(const Shared& shared, const ShellOptions& options,
                               TraceWorker& worker, CostSession& session, CostDerived& derived)
    : Controller(shared),
      options_(options),
      worker_(worker),
      session_(session),
      derived_(derived) {}

void CostController::open(bool presets) {
  session_.show_presets = presets;
  session_.cost_sizes.reset();
  requests_.open = Sheet::kCost;
}

// Of another mechanism the rates are not known yet; other sizes have the same.
void CostController::ask_rates() {
  if (!state_.derived.trace) return;
  Config like = state_.derived.trace->config();
  like.layers = like.heads = like.d_model = 1;
  like.mask.padding.clear();
  like.mask.source_padding.clear();
  like.mask.forbidden = {};
  if (rates_of_ == like) return;
  rates_of_ = like;
  RunRequest request;
  request.document.config = like;
  worker_.request_rates(request);
  derived_.rating = true;
}

bool CostController::poll() {
  std::optional<std::vector<OpRate>> rates = worker_.poll_rates();
  if (!rates) return false;
  derived_.rates = std::move(*rates);
  derived_.rating = false;
  return true;
}

void CostController::count_presets() {
  if (!derived_.presets.empty()) return;
  for (const Preset& one : all_presets()) {
    PresetCost cost;
    cost.run = program_cost(one.config, one.shape);
    cost.parameters = cost.run.parameter_count;
    cost.run_bytes = cost.run.run_bytes();
    derived_.presets.push_back(std::move(cost));
  }
}

void CostController::on(const CountCost&) {
  derived_.free_bytes = options_.limits.memory_bytes;
  count_presets();
  ask_rates();
  const auto& trace = state_.derived.trace;
  if (!trace) return;
  derived_.cost_of = trace->serial();
  derived_.cost_with = session_.cost_sizes;
  derived_.cost_problem = {};
  Config config = trace->config();
  RunShape shape = trace->program().shape;
  if (session_.cost_sizes) set_sizes(*session_.cost_sizes, config, shape);
  TrainerOptions training;
  training.threads = options_.threads;
  try {
    derived_.cost = std::make_shared<const ModelCost>(model_cost(config, shape, training));
  } catch (const UsageError& error) {
    derived_.cost_problem = error.message();
  }
}

void CostController::on(const UseCostSizes&) {
  if (!session_.cost_sizes || !state_.document().model.empty()) return;
  Config config = state_.document().config;
  RunShape shape;
  set_sizes(*session_.cost_sizes, config, shape);
  perform(EndEdit{});
  perform(DoEdit{SetConfig{config}, ""});
  session_.cost_sizes.reset();
}

// In its own sizes only where a run of the sentence would fit; what would is said.
void CostController::on(const ChoosePreset& a) {
  const Preset& chosen = preset(a.name);
  const Config config = a.full_size ? chosen.config : miniature(chosen);
  const auto& trace = state_.derived.trace;
  if (a.full_size && trace) {
    RunShape shape = trace->program().shape;
    shape.memory = 0;
    shape.classes = chosen.shape.classes;
    shape.source = config.form == ModelForm::kTranslate ? shape.positions : 0;
    if (const Message refused =
            memory_refusal(config, shape, options_.limits.memory_bytes, kept_by_run(state_));
        !refused.empty())
      return notify(NoticeKind::kWarning, Message{"notice.problem"}.with(refused));
  }
  SetModel edit;
  edit.config = config;
  perform(EndEdit{});
  perform(DoEdit{edit, ""});
}

}  // namespace headlight
