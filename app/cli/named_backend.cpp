#include "app/cli/named_backend.h"

#include "app/cli/cli.h"
#include "app/gl/context/embedded.h"
#include "core/base/error.h"
#include "core/io/atomic_file.h"
#include "core/ops/op.h"

namespace headlight {
namespace {

// Said with what to do on the command line, which chose the graphics card by name.
std::unique_ptr<EglContext> computing_context() {
  std::unique_ptr<EglContext> context;
  try {
    context = std::make_unique<EglContext>(EglOptions{.prefer_hardware = true});
  } catch (const Error& error) {
    throw Error(Message{"gpu.no_context"}.with(error.message()));
  }
  const GlDevice device = GlDevice::ask(real_gl());
  if (device.problem().empty()) return context;
  throw Error(
      Message{"gpu.no_backend", {{"device", device.renderer}, {"version", device.version}}});
}

}  // namespace

NamedBackend::NamedBackend(const std::string& name, int threads, GlBackendOptions options) {
  if (name != "reference" && name != "cpu" && name != "gl")
    throw UsageError("there is no backend named '" + name + "'; choose reference, cpu or gl");
  if (name != "gl") {
    backend_ = make_backend(name, threads);
    return;
  }
  context_ = computing_context();
  options.threads = threads;
  auto made = make_gl_backend(std::move(options));
  gl_ = made.get();
  if (const Message& problem = gl_->tuned_problem(); !problem.empty())
    tell("note: " + say(Language::kEnglish, problem));
  backend_ = std::move(made);
}

std::string NamedBackend::device() const { return gl_ ? gl_->device().renderer : "processor"; }

std::vector<std::string> NamedBackend::fallbacks() const {
  std::vector<std::string> list;
  if (!gl_) return list;
  for (const GlFallback& fallback : gl_->fallbacks())
    list.push_back(std::string(op_info(fallback.op).id) + " " + fallback.shape);
  return list;
}

void note_fallbacks(const NamedBackend& backend) { note_fallbacks(backend.fallbacks()); }

void note_fallbacks(const std::vector<std::string>& fallbacks) {
  std::string list;
  for (const std::string& one : fallbacks) list += (list.empty() ? "" : ", ") + one;
  if (list.empty()) return;
  tell("note: this graphics card cannot take " + list + "; the processor ran it");
}

GlBackendOptions with_broken_shader(const std::string& broken) {
  GlBackendOptions options;
  if (broken.empty()) return options;
  const std::size_t at = broken.find('=');
  const std::string path = "shaders/" + broken.substr(0, at);
  if (at == std::string::npos || embedded_file(path).empty())
    throw UsageError(
        "--broken-shader takes NAME=FILE with the name of a shader, as softmax.comp; "
        "got '" +
        broken + "'");
  auto text = std::make_shared<const std::string>(read_file(broken.substr(at + 1), 1u << 20));
  options.program_folder.clear();
  options.texts = [path, text](std::string_view asked) -> std::string_view {
    return asked == path ? std::string_view(*text) : embedded_file(asked);
  };
  return options;
}

}  // namespace headlight
