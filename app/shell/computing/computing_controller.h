// Computing: the run of the document, the trained models it is run with, and who computes it: the
// processor, the graphics card, or both side by side.
#pragma once

#include <memory>

#include "app/shell/controllers/document_controller.h"
#include "app/shell/shell_options.h"

namespace headlight {

class ComputingController : public Controller {
 public:
  ComputingController(const Shared&, const ShellOptions&, TraceWorker&, DocumentController&,
                      ComputingSession&, ComputingDerived&);

  void restore(const Settings&);
  /// Runs the document again where it, its weights or what is wanted of it have changed.
  void update();
  /// Takes in what was finished in the background; true when something changed.
  bool poll();
  /// Once in a while, with seconds of a steady clock: how long has what is computed been waited
  /// for?
  void wait(double seconds);
  /// Of a large run the tensor's layer may have to be computed again, which takes longer than a
  /// frame: is it? The step is gone to when it is there.
  bool await_layer(TensorId);
  /// Has a run ended since this was last asked?
  bool take_news() { return std::exchange(news_, false); }
  /// Is the run that was begun last the one of the document as it stands?
  bool is_current() const { return has_run_ && same_run(state_.document(), derived_.asked); }
  /// The weights of a document whose model is a run that is being trained; null: there are none.
  void set_run_model(std::shared_ptr<const Model> m) { derived_.run_model = std::move(m); }
  /// Is a run of it too large to be over within a frame?
  static bool is_large(const Document&, bool gradients);
  /// Another one for another thread. Throws Error where there is none.
  std::unique_ptr<Gpu> new_gpu() const;
  void offer_gpu(GpuMaker, const GpuState&);
  /// The graphics card computes wrongly, as has been told: the processor computes from now on.
  void distrust(const Message& problem);
  void stop_gpu();

  void on(const ChooseModel&);
  void on(const StopWaiting&);
  void on(const ChooseCompute&);
  void on(const ComputeAutomatically&);
  void on(const ShowSizes& a) { session_.compute_sizes = a.sizes; }
  void on(const MeasureSizes&);
  void on(const ChooseLanguage&);
  void on(Is<kComputeCpu>) { on(ChooseCompute{ComputeMode::kCpu}); }
  void on(Is<kComputeGpu>) { on(ChooseCompute{ComputeMode::kGpu}); }
  void on(Is<kComputeBoth>) { on(ChooseCompute{ComputeMode::kBoth}); }
  void on(Is<kNextCompute>);
  void on(Is<kCompareBackends>) { requests_.open = Sheet::kCompute; }

 private:
  void run();
  void take(FinishedRun);
  void take_model(LoadedModel, const std::string& sentence);
  bool start_gpu();
  void take_gpu(FinishedRun&);
  void take_gpu_test(const GpuState&);
  void tell_gpu(const GpuState&);
  bool test_first();
  void tell_wrong(const GpuState&);
  void forget_sizes();
  void forget_layers();
  bool awaits_any() const;
  void take_layer(const FinishedLayer&);

  const ShellOptions& options_;
  TraceWorker& worker_;
  DocumentController& document_;
  ComputingSession& session_;
  ComputingDerived& derived_;
  GpuMaker make_gpu_;
  // What the last run was asked for with, beside derived_.asked.
  bool has_run_ = false, ran_backward_ = false;
  ComputeMode ran_mode_{};
  std::shared_ptr<const Model> ran_model_;
  bool news_ = false;
  std::optional<double> waits_since_;
  std::string model_sentence_;  // to go with the model that is being loaded
  Message run_notice_;          // what was said about the last run
  Config sizes_config_;         // of which derived_.sizes are
  std::string sizes_model_;
  std::string looked_at_;  // the step whose layer the trace has been told to have room for
};

}  // namespace headlight
