#include "core/explain/step_code.h"

#include <algorithm>
#include <map>

#include "core/autodiff/gradient_program.h"

namespace headlight {
namespace {

// "blocks.0.attn.scores_raw" -> "scores_raw"; a norm's output is "normed", its input "x".
std::string variable_of(const TensorSpec& spec) {
  if (spec.role == Role::kNormalized) return "normed";
  if (spec.role == Role::kNormInput) return "x";
  return spec.name.substr(spec.name.find_last_of('.') + 1);
}

// What the tensors of a step are called: no two alike.
class Variables {
 public:
  const std::string& of(const TensorSpec& tensor) {
    const auto known = names_.find(tensor.name);
    if (known != names_.end()) return known->second;
    const std::string base = variable_of(tensor);
    std::string name = base;
    const auto taken = [&] {
      return std::any_of(names_.begin(), names_.end(),
                         [&](const auto& entry) { return entry.second == name; });
    };
    for (int n = 2; taken(); ++n) name = base + std::to_string(n);
    return names_.emplace(tensor.name, name).first->second;
  }
  bool has(const std::string& tensor) const { return names_.contains(tensor); }

 private:
  std::map<std::string, std::string> names_;
};

std::string load_line(const Trace& trace, const TensorSpec& spec, const std::string& variable,
                      CodeLibrary library) {
  const bool weight = spec.kind == TensorKind::kParameter;
  const std::string file = weight ? "weights" : "run";
  const std::string& name = weight ? spec.file_name : spec.name;
  std::string value = file + "[\"" + name + "\"]";
  if (library == CodeLibrary::kTorch) value = "torch.from_numpy(" + value + ")";
  return variable + " = " + value + "  # " + code_shape(trace.tensor(spec.name)) + "\n";
}

// The tokens have no operation: their ids are their places in the list of distinct tokens.
StepCode token_code(const Trace& trace, const Step& step, CodeLibrary library) {
  StepCode code;
  const std::string& name = trace.program().tensors[static_cast<std::size_t>(step.tensor)].name;
  const bool source = step.stack == Stack::kEncoder;
  code.results = {{name, name}};
  const std::string shape = code_shape(trace.tensor(step.tensor));
  // A trained model brings its own vocabulary; the sandbox's are the words of the sentence.
  if (trace.program().source_ids >= 0 || !has_own_words(trace.input())) {
    code.text = std::string("tokens = run[\"") + (source ? "source_tokens" : "tokens") +
                "\"].tolist()\nvocab = run[\"vocab\"].tolist()\n" + name + " = " +
                (library == CodeLibrary::kNumpy ? "np.array" : "torch.tensor") +
                "([vocab.index(token) for token in tokens])  # " + shape + "\n";
    return code;
  }
  code.text = "tokens = run[\"tokens\"].tolist()  # " + std::to_string(trace.length()) +
              " tokens\n\nvocab = list(dict.fromkeys(tokens))  # the distinct ones, in order\n" +
              "token_ids = " + (library == CodeLibrary::kNumpy ? "np.array" : "torch.tensor") +
              "([vocab.index(token) for token in tokens])  # " + shape + "\n";
  return code;
}

StepCode call_code(const Trace& trace, const Step& step, CodeLibrary library) {
  const Program& program = trace.program();
  StepCode code;
  Variables variables;
  std::string loads, lines;
  for (const int place : step.calls) {
    const OpCall& call = program.calls[static_cast<std::size_t>(place)];
    std::vector<TensorView> in;
    std::vector<std::string> names;
    for (const TensorId id : call.in) {
      const TensorSpec& spec = program.tensors[static_cast<std::size_t>(id)];
      const bool known = variables.has(spec.name);
      names.push_back(variables.of(spec));
      in.push_back(trace.tensor(id));
      // What only lends its sizes is not loaded.
      const bool lends = op_info(call.op).inputs[names.size() - 1] == InputKind::kSizes;
      if (!known && !lends) loads += load_line(trace, spec, names.back(), library);
    }
    const TensorSpec& result = program.tensors[static_cast<std::size_t>(call.out)];
    const OpArgs args{in, trace.tensor(call.out), call.params, nullptr};
    const CodeArgs code_args{args, names, variables.of(result)};
    const OpInfo& info = op_info(call.op);
    lines += library == CodeLibrary::kNumpy ? info.numpy(code_args) : info.torch(code_args);
    code.results.push_back({variables.of(result), result.name});
  }
  code.text = loads + (loads.empty() ? "" : "\n") + lines;
  return code;
}

// PyTorch's own backward pass through the same lines, from the gradient of the result.
StepCode gradient_code(const Trace& trace, const Step& step) {
  const Program& program = trace.program();
  Step forward = program.steps[static_cast<std::size_t>(step.twin)];
  StepCode code;
  Variables variables;
  for (const int place : forward.calls) {
    forward.calls = {place};
    const StepCode lines = call_code(trace, forward, CodeLibrary::kTorch);
    const OpCall& call = program.calls[static_cast<std::size_t>(place)];
    std::string inputs, results, asks;
    for (std::size_t i = 0; i < call.in.size(); ++i) {
      const TensorId d = program.gradient(call.in[i]);
      if (d < 0 || op_info(call.op).is_fixed(i)) continue;
      const std::string variable =
          variables.of(program.tensors[static_cast<std::size_t>(call.in[i])]);
      inputs += (inputs.empty() ? "" : ", ") + variable;
      results += (results.empty() ? "d_" : ", d_") + variable;
      asks += variable + ".requires_grad_()\n";
      // Another step that reads it adds its own part.
      if (gradient_parts(program, call.in[i]).size() == 1)
        code.results.push_back(
            {"d_" + variable, program.tensors[static_cast<std::size_t>(d)].name});
    }
    const std::string& d_out =
        program.tensors[static_cast<std::size_t>(program.gradient(call.out))].name;
    const std::size_t gap = lines.text.find("\n\n");
    if (inputs.empty() || gap == lines.text.npos) continue;
    code.text += lines.text.substr(0, gap + 1) + asks + lines.text.substr(gap + 1);
    code.text += "d_out = torch.from_numpy(run[\"" + d_out + "\"])\n" + results +
                 ", = " + "torch.autograd.grad(" + lines.results[0].variable + ", [" + inputs +
                 "], d_out)\n";
  }
  return code;
}

}  // namespace

StepCode step_code(const Trace& trace, const Step& step, CodeLibrary library) {
  if (step.backward && library == CodeLibrary::kNumpy)
    return {"# NumPy has no gradients of its own: choose PyTorch.\n", {}};
  StepCode code = step.backward        ? gradient_code(trace, step)
                  : step.calls.empty() ? token_code(trace, step, library)
                                       : call_code(trace, step, library);
  const bool weights = code.text.find("weights[") != std::string::npos;
  std::string head = "# headlight trace --session SAVED.headlight.json --out run.npz";
  if (step.backward) head += " --gradients";
  if (weights) head += " \\\n#   --weights-out weights.npz";
  head += "\n";
  if (code.text.find("math.") != std::string::npos) head += "import math\n";
  head += "import numpy as np\n";
  if (library == CodeLibrary::kTorch) head += "import torch\n";
  if (code.text.find("F.") != std::string::npos) head += "import torch.nn.functional as F\n";
  head += "\nrun = np.load(\"run.npz\")\n";
  if (weights) head += "weights = np.load(\"weights.npz\")\n";
  code.text = head + code.text + "\n";
  for (const StepCode::Result& r : code.results) {
    code.text += "assert np.allclose(" + r.variable + ", run[\"" + r.tensor +
                 "\"], atol=" + (step.backward ? "1e-6" : "1e-4") + ")\n";
  }
  return code;
}

}  // namespace headlight
