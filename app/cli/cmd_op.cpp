// headlight op: one operation on given tensors, to be laid beside another implementation's numbers.
#include <cstdio>

#include "app/cli/cli.h"
#include "app/cli/named_backend.h"
#include "core/base/error.h"
#include "core/check/single_op.h"
#include "core/io/atomic_file.h"
#include "core/io/plain_file.h"
#include "core/io/safetensors.h"

namespace headlight {
namespace {

struct OpOptions {
  std::string name, in, out, backend = "cpu";
  std::vector<std::string> attributes;
  int threads = 2;
  bool list = false;
};

int print_ops() {
  for (const SingleOp& op : single_ops()) {
    std::printf("%s\n  in:   %s\n  attr: %s\n  out:  %s\n", std::string(op.name).c_str(),
                std::string(op.inputs).c_str(),
                op.attributes.empty() ? "none" : std::string(op.attributes).c_str(),
                std::string(op.outputs).c_str());
  }
  return 0;
}

std::map<std::string, std::string> attributes_of(const std::vector<std::string>& given) {
  std::map<std::string, std::string> attributes;
  for (const std::string& one : given) {
    const std::size_t at = one.find('=');
    if (at == 0 || at == std::string::npos)
      throw UsageError("--attr takes KEY=VALUE, as causal=1; got '" + one + "'");
    if (!attributes.emplace(one.substr(0, at), one.substr(at + 1)).second)
      throw UsageError(Message{"single.attribute_twice", {{"name", one.substr(0, at)}}});
  }
  return attributes;
}

PlainTensors read_tensors(const std::string& path) {
  return naming_file(path, [&] {
    const SafetensorsFile file = read_safetensors(path, 1ull << 32);
    PlainTensors tensors;
    for (const auto& entry : file.entries) {
      tensors[entry.first] = {entry.second.shape, tensor_as_float(file, entry.first),
                              entry.second.dtype};
    }
    return tensors;
  });
}

int run_op(const OpOptions& o) {
  if (o.list) return print_ops();
  if (o.name.empty() || o.in.empty() || o.out.empty()) {
    throw UsageError(
        "say which operation, and where its tensors are and go: headlight op NAME --in "
        "FILE.safetensors --out FILE.safetensors. `headlight op --list` names the operations");
  }
  if (!o.out.ends_with(".safetensors"))
    throw UsageError("--out must end in .safetensors; got '" + o.out + "'");
  const auto attributes = attributes_of(o.attributes);
  const PlainTensors inputs = read_tensors(o.in);
  const NamedBackend backend(o.backend, o.threads);
  const PlainTensors results = run_single_op(o.name, inputs, attributes, *backend);
  std::vector<NamedArray> arrays;
  for (const auto& one : results)
    arrays.push_back({one.first, one.second.shape, std::span<const float>(one.second.cells)});
  std::map<std::string, std::string> words = {{"op", o.name}, {"backend", o.backend}};
  for (const auto& one : attributes) words["attr." + one.first] = one.second;
  write_file_atomic(o.out, to_safetensors(arrays, words));
  note_fallbacks(backend);
  return 0;
}

}  // namespace

void add_op_command(CLI::App& app, Run& run) {
  auto options = std::make_shared<OpOptions>();
  CLI::App* sub = app.add_subcommand("op", "Runs one operation on the tensors of a file");
  sub->add_option("name", options->name, "The operation, as --list names it");
  sub->add_option("--in", options->in, "FILE.safetensors with the inputs");
  sub->add_option("--out", options->out, "FILE.safetensors for the results");
  sub->add_option("--attr", options->attributes, "KEY=VALUE, again for the next one")
      ->allow_extra_args(false);
  sub->add_option("--backend", options->backend, "reference, cpu or gl (the graphics card)")
      ->capture_default_str()
      ->transform(current_backend_name);
  sub->add_option("--threads", options->threads, "Threads of the cpu backend")
      ->capture_default_str()
      ->check(CLI::Range(1, 256));
  sub->add_flag("--list", options->list, "Prints each operation with its inputs and attributes");
  sub->callback([options, &run] { run = [options] { return run_op(*options); }; });
}

}  // namespace headlight
