// What the function of a lab works with: its settings, the sentence's own run, single operations,
// and the result that it fills.
#pragma once

#include "core/graph/options/fitting.h"
#include "core/lab/lab.h"
#include "core/ops/op.h"

namespace headlight {

class LabRun {
 public:
  /// Checks the settings. Throws UsageError.
  LabRun(const Lab&, const LabInput&, const LabSettings&);

  const std::string& word(std::string_view control) const;
  double number(std::string_view control) const;
  std::int64_t whole(std::string_view control) const {
    return static_cast<std::int64_t>(number(control));
  }
  /// A place among so many, from 0. Throws UsageError with the places that there are.
  std::int64_t place(std::string_view control, std::int64_t count) const;
  const Document& document() const { return input_.document; }
  void tell(double share) const { headlight::tell(input_.progress, "lab.doing", share); }
  /// What is in the result so far is worth looking at.
  void show() const {
    if (input_.show) input_.show(result);
  }
  /// What training finds, by name: with run=kept as `train` found it when it was kept in
  /// assets/labs/<id>.safetensors, with run=live found now. The result keeps it, for `lab --keep`.
  const std::vector<Tensor>& trained(const std::function<std::vector<Tensor>()>& train);

  /// The sentence run with its own model and settings. Throws Error where it cannot be run.
  const Trace& trace();
  /// From now on trace() and tokens() are of this document.
  void read(const Document& document) { trace_ = run(document); }
  /// Another document, with its gradients or without. Throws as trace() does.
  std::shared_ptr<const Trace> run(const Document&, bool gradients = false);
  /// The sentence's model; null: the random one.
  const Model* model();
  Backend& backend() const { return input_.backend; }
  Runner& runner() const { return input_.runner; }
  /// As much of the document's recipe as goes with all that the lab sets in it (fitting()); a note
  /// where that is not all of it.
  Config recipe_for(std::span<const ConfigChange>);
  /// "In Steps" shows the random model so; a trained one stays as it is.
  void show_in_steps(const ConfigChange&);
  /// The names of its first tokens, at most so many; a note where there are more.
  std::vector<std::string> tokens(std::size_t most);

  LabResult result;

  // ---- what fills the result ----
  void value(std::string name, double v) { result.values.push_back({std::move(name), v}); }
  /// A sentence of the lab: "lab.<lab>.notice.<id>".
  void notice(std::string_view id, std::vector<MessageSlot> slots = {});
  /// "lab.<lab>.because.<id>"
  Message because(std::string_view id, std::vector<MessageSlot> slots) const;

 private:
  const Lab& lab_;
  const LabInput& input_;
  std::shared_ptr<const Trace> trace_;
  std::shared_ptr<const Model> model_;
};

/// The operation's reference: plain loops, sums in double.
Tensor lab_op(Op, std::span<const Tensor* const> in, const OpParams& = {});
/// dL/d(in[0]) for dL/d(out) = `d_out`.
Tensor lab_gradient(Op, std::span<const Tensor* const> in, const Tensor& out,
                    std::span<const float> d_out, const OpParams& = {});

/// The config as that of a model that says what comes next, and reads words alone.
Config next_token_config(Config);

Tensor lab_tensor(std::string name, std::vector<Axis> axes, std::vector<float> cells);
/// A number as a lab's sentences have it: three digits.
std::string lab_number(double);
/// A share in percent, without the sign.
inline std::string lab_percent(double share) { return lab_number(100 * share); }

}  // namespace headlight
