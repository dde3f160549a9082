// headlight trace: every tensor of a run, into a file or as a list.
#include <cstdio>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "app/cli/cli.h"
#include "core/base/error.h"
#include "core/explain/explain.h"
#include "core/explain/step_code.h"
#include "core/graph/step_names.h"
#include "core/io/atomic_file.h"
#include "core/io/json_numbers.h"
#include "core/io/npz.h"
#include "core/io/safetensors.h"

namespace headlight {
namespace {

struct TraceOptions {
  ModelOptions model;
  std::string out, weights_out;
  bool list = false, gradients = false;
};

std::vector<std::int64_t> sizes(std::span<const Axis> axes) {
  std::vector<std::int64_t> result;
  for (const Axis& axis : axes) result.push_back(axis.size);
  return result;
}

struct Arrays {
  std::vector<NamedArray> list;
  std::vector<std::int64_t> ids, source_ids, segment_ids;
};

// Ids as integers, all else as float32, the batch axis left out.
Arrays trace_arrays(const Trace& trace) {
  Arrays arrays;
  const RunInput& input = trace.input();
  arrays.ids.assign(input.ids.begin(), input.ids.end());
  arrays.source_ids.assign(input.source_ids.begin(), input.source_ids.end());
  arrays.segment_ids.assign(input.segment_ids.begin(), input.segment_ids.end());
  const Program& program = trace.program();
  const std::pair<TensorId, const std::vector<std::int64_t>&> integers[] = {
      {program.token_ids, arrays.ids},
      {program.source_ids, arrays.source_ids},
      {program.segment_ids, arrays.segment_ids}};
  for (std::size_t id = 0; id < program.tensors.size(); ++id) {
    const TensorSpec& spec = program.tensors[id];
    if (spec.kind == TensorKind::kParameter) continue;
    const auto tensor = static_cast<TensorId>(id);
    NamedArray array{spec.name, sizes(shown_axes(spec.axes)), trace.tensor(tensor).cells()};
    for (const auto& [which, ids] : integers) {
      if (which == tensor) array.data = std::span<const std::int64_t>(ids);
    }
    arrays.list.push_back(std::move(array));
  }
  return arrays;
}

std::string json_list(const std::vector<std::string>& values) {
  return nlohmann::json(values).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::map<std::string, std::string> metadata(const Trace& trace) {
  return {{"tokens", json_list(trace.input().tokens)},
          {"vocab", json_list(trace.input().vocab)},
          {"producer", "headlight " HEADLIGHT_VERSION}};
}

// The file is made in memory, beside the run itself; said before, not after.
void check_room(const Arrays& arrays, const std::string& path, const RunLimits& limits) {
  double cells = 0;
  for (const NamedArray& array : arrays.list) cells += static_cast<double>(element_count(array));
  const double needed = cells * sizeof(float) + cells * (path.ends_with(".json") ? 26 : 5);
  if (needed <= limits.memory_bytes) return;
  throw Error("writing this trace would need " + bytes_text(needed) +
              " of memory, and this machine can give " + bytes_text(limits.memory_bytes) +
              "; choose " + (path.ends_with(".json") ? ".npz or .safetensors, or " : "") +
              "fewer tokens, heads or layers");
}

void write_trace(const Trace& trace, const std::string& path, const RunLimits& limits) {
  const Arrays arrays = trace_arrays(trace);
  check_room(arrays, path, limits);
  std::vector<StringList> lists = {{"tokens", trace.input().tokens},
                                   {"vocab", trace.input().vocab}};
  if (!trace.input().source_tokens.empty())
    lists.push_back({"source_tokens", trace.input().source_tokens});
  std::string bytes;
  if (path.ends_with(".npz")) {
    bytes = to_npz(arrays.list, lists);
  } else if (path.ends_with(".safetensors")) {
    bytes = to_safetensors(arrays.list, metadata(trace));
  } else {
    bytes = to_trace_json(arrays.list, lists);
  }
  write_file_atomic(path, bytes);
}

// A model's whole, however few of its positions the run took.
void write_weights(const Trace& trace, const Model* model, const std::string& path) {
  std::vector<NamedArray> arrays;
  const Program& program = trace.program();
  for (std::size_t id = 0; id < program.tensors.size(); ++id) {
    const TensorSpec& spec = program.tensors[id];
    if (spec.kind != TensorKind::kParameter) continue;
    TensorView whole = trace.tensor(static_cast<TensorId>(id));
    for (std::size_t i = 0; model && i < model->weights.size(); ++i) {
      if (model->weights[i].name == spec.name) whole = view(model->weights[i]);
    }
    arrays.push_back({spec.file_name, sizes(whole.axes), whole.cells()});
  }
  if (path.ends_with(".npz")) return write_file_atomic(path, to_npz(arrays));
  write_file_atomic(path, to_safetensors(arrays, metadata(trace)));
}

void print_list(const Trace& trace) {
  for (const TensorSpec& spec : trace.program().tensors) {
    if (spec.kind == TensorKind::kParameter) continue;
    std::string axes, shape;
    for (const Axis& axis : shown_axes(spec.axes)) {
      axes += (axes.empty() ? "" : ", ") + axis.name;
      shape += (shape.empty() ? "" : ", ") + std::to_string(axis.size);
    }
    std::printf("%-32s (%s)  (%s)\n", spec.name.c_str(), axes.c_str(), shape.c_str());
  }
}

void check_paths(const TraceOptions& o) {
  if (!o.model.targets.empty() && !o.gradients)
    throw UsageError("--target says of what the gradients are: give --gradients too");
  if (o.out.empty() && o.weights_out.empty() && !o.list) {
    throw UsageError(
        "say where the trace should go: --out FILE.npz, .safetensors or .json, or --list");
  }
  const bool known = o.out.empty() || o.out.ends_with(".npz") || o.out.ends_with(".safetensors") ||
                     o.out.ends_with(".json");
  if (!known)
    throw UsageError("--out must end in .npz, .safetensors or .json; got '" + o.out + "'");
  const bool weights_known = o.weights_out.empty() || o.weights_out.ends_with(".npz") ||
                             o.weights_out.ends_with(".safetensors");
  if (!weights_known) {
    throw UsageError("--weights-out must end in .npz or .safetensors; got '" + o.weights_out + "'");
  }
}

int run_trace(const TraceOptions& o) {
  check_paths(o);
  const Document doc = o.model.document();
  const auto trace = run_or_throw(o.model, doc, o.gradients);
  if (!o.out.empty()) write_trace(*trace, o.out, o.model.limits());
  if (!o.weights_out.empty()) {
    const auto model = doc.model.empty() ? nullptr : load_model(doc.model);
    write_weights(*trace, model.get(), o.weights_out);
  }
  if (o.list) print_list(*trace);
  return 0;
}

}  // namespace

void add_trace_command(CLI::App& app, Run& run) {
  auto options = std::make_shared<TraceOptions>();
  CLI::App* sub = app.add_subcommand("trace", "Writes every tensor of a run to a file");
  options->model.add_to(*sub);
  options->model.add_model_to(*sub);
  sub->add_option("--out", options->out, "FILE.npz, FILE.safetensors or FILE.json");
  sub->add_option("--weights-out", options->weights_out,
                  "FILE.npz or FILE.safetensors for all parameters");
  sub->add_flag("--list", options->list, "Prints name, axes and shape of each tensor");
  sub->add_flag("--gradients", options->gradients,
                "Also the loss of the sentence's own next tokens, and d.NAME, its gradient, of "
                "every tensor");
  sub->callback([options, &run] { run = [options] { return run_trace(*options); }; });
}

}  // namespace headlight
