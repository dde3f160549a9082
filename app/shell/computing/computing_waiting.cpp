// What is waited for: runs and models in the background, and layers that are computed again.
#include "app/shell/computing/computing_controller.h"

namespace headlight {

bool ComputingController::awaits_any() const {
  return worker_.awaits(TraceTask::kModel) || worker_.awaits(TraceTask::kShown) ||
         worker_.awaits(TraceTask::kLayer);
}

namespace {

// Operations of the layer that the tensor stands in.
double layer_work(const Program& program, TensorId tensor) {
  const Place& at = program.tensors[place(tensor)].place;
  double flops = 0;
  for (const OpCall& call : program.calls) {
    const Place& there = program.tensors[place(call.out)].place;
    if (there.layer == at.layer && there.stack == at.stack) flops += call_flops(program, call);
  }
  return flops;
}

}  // namespace

bool ComputingController::await_layer(TensorId tensor) {
  constexpr double kWithinFrame = 1e9;  // operations
  worker_.drop(TraceTask::kLayer);      // it is not gone to any more
  const auto& trace = derived_.trace;
  const bool waits =
      options_.background && !trace->is_there(tensor) &&
      (trace->layers_on_device() || layer_work(trace->program(), tensor) > kWithinFrame);
  if (waits) worker_.request_layer({trace, tensor});
  derived_.computing = awaits_any();
  return waits;
}

void ComputingController::take_layer(const FinishedLayer& layer) {
  derived_.computing = awaits_any();
  if (!layer.held) return notify(NoticeKind::kError, Message{"error.no_memory"});
  const Program& program = layer.request.trace->program();
  perform(GoToStep{program.tensors[place(layer.request.tensor)].name});
}

// Of a large run the layers that were looked at before are let go, for the next one to have room.
void ComputingController::forget_layers() {
  const Trace* trace = derived_.trace.get();
  if (!trace || trace->keeps_all() || looked_at_ == state_.session.step) return;
  looked_at_ = state_.session.step;
  trace->forget(trace->program().find(looked_at_), options_.limits.keep_all_to);
}

void ComputingController::wait(double seconds) {
  if (!derived_.computing) {
    waits_since_.reset();
    derived_.waiting = 0;
    return;
  }
  if (!waits_since_) waits_since_ = seconds;
  derived_.waiting = seconds - *waits_since_;
  derived_.share = worker_.awaits(TraceTask::kLayer) ? 0 : worker_.share();
  if (!worker_.awaits(TraceTask::kModel)) derived_.opening.clear();
}

// What is shown stays; of a run the document goes on without its numbers until they are asked for.
void ComputingController::on(const StopWaiting& a) {
  if (a.again) {
    has_run_ = false;
    return;
  }
  const bool opened = worker_.awaits(TraceTask::kModel);
  const bool ran = worker_.awaits(TraceTask::kShown);
  for (const TraceTask task : {TraceTask::kModel, TraceTask::kShown, TraceTask::kLayer})
    worker_.drop(task);
  derived_.computing = false;
  waits_since_.reset();
  derived_.waiting = 0;
  if (!ran) {
    if (opened) notify(NoticeKind::kInfo, Message{"notice.opening_stopped"});
    return;
  }
  derived_.empty = false;  // that was of a sentence before
  derived_.message = Message{"progress.cancelled"};
  derived_.problem = say(state_.session.language, derived_.message);
  std::vector<WayOn> ways = {{"again", Message{"way.compute"}, StopWaiting{true}}};
  if (state_.history.can_undo())
    ways.push_back({"undo", Message{"way.undo"}, DoCommand{Command::kUndo}});
  run_notice_ = Message{derived_.trace ? "notice.run_stopped" : "notice.run_stopped_first"};
  notify(NoticeKind::kInfo, run_notice_, std::move(ways), NoticeLife::kStays);
}

}  // namespace headlight
