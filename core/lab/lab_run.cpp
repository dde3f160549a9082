#include "core/lab/lab_run.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

#include "core/base/error.h"
#include "core/base/number_text.h"
#include "core/base/utf8.h"
#include "core/io/safetensors.h"
#include "core/lab/lab_assets.h"
#include "core/model/model.h"
#include "core/run/trace.h"

namespace headlight {
namespace {

std::string text_of(double value) {
  char text[32];
  return {text, std::to_chars(text, text + sizeof text, value).ptr};
}

std::string choices_of(const LabControl& control) {
  if (control.words.empty()) return text_of(control.low) + " … " + text_of(control.high);
  std::string all;
  for (const std::string_view w : control.words) all += (all.empty() ? "" : ", ") + std::string(w);
  return all;
}

bool fits(const LabControl& control, const std::string& text) {
  if (!control.words.empty()) return std::ranges::find(control.words, text) != control.words.end();
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() && value >= control.low &&
         value <= control.high && (!control.whole || value == std::floor(value));
}

}  // namespace

std::string first_setting(const LabControl& control) {
  return control.words.empty() ? text_of(control.first)
                               : std::string(control.words[control.first_word]);
}

LabRun::LabRun(const Lab& lab, const LabInput& input, const LabSettings& settings)
    : lab_(lab), input_(input) {
  std::string known;
  for (const LabControl& control : lab.controls) {
    known += (known.empty() ? "" : ", ") + std::string(control.id);
    const auto found = settings.find(control.id);
    const std::string first = first_setting(control);
    std::string& value = result.settings[std::string(control.id)];
    value = found == settings.end() ? first : found->second;
    if (fits(control, value)) continue;
    throw UsageError(Message{control.whole ? "lab.error.whole" : "lab.error.setting",
                             {{"control", std::string(control.id)},
                              {"known", choices_of(control)},
                              {"got", shortened(value, 40)}}});
  }
  for (const auto& one : settings) {
    if (result.settings.contains(one.first)) continue;
    throw UsageError(Message{
        "lab.error.control",
        {{"lab", std::string(lab.id)}, {"control", shortened(one.first, 40)}, {"known", known}}});
  }
  result.in_steps = input.document;
}

const std::string& LabRun::word(std::string_view control) const {
  return result.settings.find(control)->second;
}

double LabRun::number(std::string_view control) const {
  const std::string& text = word(control);
  double value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

std::int64_t LabRun::place(std::string_view control, std::int64_t count) const {
  const std::int64_t at = whole(control);
  if (at < count) return at;
  throw UsageError(Message{"lab.error.setting",
                           {{"control", std::string(control)},
                            {"known", "0 … " + std::to_string(count - 1)},
                            {"got", std::to_string(at)}}});
}

const Trace& LabRun::trace() {
  if (!trace_) trace_ = run(input_.document);
  return *trace_;
}

std::shared_ptr<const Trace> LabRun::run(const Document& document, bool gradients) {
  RunResult done = input_.runner.run(
      document, input_.backend, document.model == kRunRef ? input_.run_model : nullptr, gradients);
  if (done.trace) {
    model_ = done.model;
    return done.trace;
  }
  if (done.is_usage) throw UsageError(done.message);
  throw Error(done.message);
}

const Model* LabRun::model() {
  trace();
  return model_.get();
}

namespace {

std::vector<Tensor> read_kept_run(std::string_view lab) {
  const std::string_view bytes = lab_asset(std::string(lab) + ".safetensors");
  if (bytes.empty()) throw Error(Message{"lab.error.nothing_kept", {{"lab", std::string(lab)}}});
  const SafetensorsFile file = parse_safetensors(std::string(bytes));
  std::vector<Tensor> all;
  for (const auto& [name, entry] : file.entries) {
    std::vector<Axis> axes;
    for (const std::int64_t size : entry.shape) axes.push_back({"kept", size});
    all.push_back(lab_tensor(name, std::move(axes), tensor_as_float(file, name)));
  }
  return all;
}

}  // namespace

const std::vector<Tensor>& LabRun::trained(const std::function<std::vector<Tensor>()>& train) {
  if (word("run") == "live")
    result.trained = train();
  else if (!input_.kept_run.empty())
    result.trained.assign(input_.kept_run.begin(), input_.kept_run.end());
  else
    result.trained = read_kept_run(lab_.id);
  return result.trained;
}

std::vector<std::string> LabRun::tokens(std::size_t most) {
  const Trace& t = trace();
  const auto all = static_cast<std::size_t>(t.length());
  std::vector<std::string> names;
  for (std::size_t i = 0; i < std::min(all, most); ++i)
    names.push_back(t.name("position", static_cast<std::int64_t>(i)));
  if (all > most) {
    result.notes.emplace_back(
        "lab.note.first_tokens",
        std::vector<MessageSlot>{{"most", std::to_string(most)}, {"all", std::to_string(all)}});
  }
  return names;
}

Config LabRun::recipe_for(std::span<const ConfigChange> changes) {
  Config fits = fitting(document().config, changes);
  if (!(fits == document().config)) result.notes.emplace_back("lab.note.recipe");
  return fits;
}

void LabRun::show_in_steps(const ConfigChange& change) {
  Document& steps = result.in_steps;
  if (steps.model.empty()) steps.config = changed(fitting(steps.config, {&change, 1}), change);
}

void LabRun::notice(std::string_view id, std::vector<MessageSlot> slots) {
  result.notice.emplace_back("lab." + std::string(lab_.id) + ".notice." + std::string(id),
                             std::move(slots));
}

Message LabRun::because(std::string_view id, std::vector<MessageSlot> slots) const {
  return Message("lab." + std::string(lab_.id) + ".because." + std::string(id), std::move(slots));
}

namespace {

std::vector<TensorView> views_of(std::span<const Tensor* const> in) {
  std::vector<TensorView> views;
  for (const Tensor* t : in) views.push_back({t->name, t->axes, t->data.data()});
  return views;
}

}  // namespace

Tensor lab_op(Op op, std::span<const Tensor* const> in, const OpParams& params) {
  const std::vector<TensorView> views = views_of(in);
  Tensor out;
  out.axes = op_info(op).shape(views, params);
  out.data.resize(static_cast<std::size_t>(cell_count(out.axes)));
  op_info(op).forward({views, {out.name, out.axes, out.data.data()}, params, out.data.data()});
  return out;
}

Tensor lab_gradient(Op op, std::span<const Tensor* const> in, const Tensor& out,
                    std::span<const float> d_out, const OpParams& params) {
  const std::vector<TensorView> views = views_of(in);
  Tensor gradient{"", in[0]->axes, {}};
  gradient.data.resize(in[0]->data.size());
  std::ranges::fill(gradient.data, 0.0f);
  std::vector<float*> d_in(in.size(), nullptr);
  d_in[0] = gradient.data.data();
  op_info(op).backward({views, {out.name, out.axes, out.data.data()}, params, d_out.data(), d_in});
  return gradient;
}

Config next_token_config(Config c) {
  c.form = ModelForm::kTokens;
  c.numbers = c.segments = c.token_head = false;
  c.components = c.memory = 0;
  return without_idle_options(std::move(c));
}

Tensor lab_tensor(std::string name, std::vector<Axis> axes, std::vector<float> cells) {
  return {std::move(name), std::move(axes), FloatBuffer(cells.begin(), cells.end())};
}

std::string lab_number(double value) { return number_text(value, 3); }

}  // namespace headlight
