#include "core/graph/step_names.h"

#include <charconv>

namespace headlight {
namespace {

constexpr std::string_view kBlocks = "blocks.", kPattern = "attn.pattern", kCross = "cross_attn",
                           kCrossPattern = "cross_attn.pattern";
constexpr std::string_view kGradient = "d.";
constexpr std::string_view kStacks[] = {"decoder.",   "encoder.",   "",
                                        "d.decoder.", "d.encoder.", "d."};

bool is_step_of(const Program& program, const std::string& name, int layer) {
  const TensorId id = program.find(name);
  if (id < 0) return false;
  return program.steps[static_cast<std::size_t>(program.step_of(id))].layer == layer;
}

// The last step of a layer, in the stack named where the program has it.
std::string end_of_layer(const Program& program, std::string_view stack, int layer) {
  std::string there;
  for (const Step& step : program.steps) {
    const std::string& name = program.tensors[place(step.tensor)].name;
    if (step.layer != layer || step.backward != stack.starts_with(kGradient)) continue;
    if (name.starts_with(stack) || !there.starts_with(stack)) there = name;
  }
  return there;
}

}  // namespace

StepName split_name(std::string_view name) {
  StepName parts;
  for (const std::string_view stack : kStacks) {
    if (name.starts_with(stack) && stack.size() >= parts.stack.size())
      parts.stack = name.substr(0, stack.size());
  }
  parts.rest = name.substr(parts.stack.size());
  if (!parts.rest.starts_with(kBlocks)) return parts;
  const std::string_view number = parts.rest.substr(kBlocks.size());
  int layer = -1;
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), layer);
  const auto digits = static_cast<std::size_t>(end - number.data());
  if (error != std::errc{} || digits >= number.size() || number[digits] != '.') return parts;
  parts.layer = layer;
  parts.rest = number.substr(digits + 1);
  return parts;
}

std::string name_in_layer(std::string_view stack, int layer, std::string_view rest) {
  return std::string(stack) + std::string(kBlocks) + std::to_string(layer) + "." +
         std::string(rest);
}

std::string find_in_layer(const Program& program, std::string_view stack, int layer,
                          std::string_view rest) {
  std::string own = name_in_layer(stack, layer, rest);
  if (is_step_of(program, own, layer)) return own;
  for (const std::string_view other : kStacks) {
    if (other.starts_with(kGradient) != stack.starts_with(kGradient)) continue;
    std::string there = name_in_layer(other, layer, rest);
    if (is_step_of(program, there, layer)) return there;
  }
  return "";
}

std::string_view without_gradient(std::string_view name) {
  return name.starts_with(kGradient) ? name.substr(kGradient.size()) : name;
}

std::string pattern_of_layer(const Program& program, std::string_view name, int layer) {
  StepName near = split_name(name);
  // What the encoder reads has no stack in its name.
  const TensorId id = program.find(name);
  const bool encoder = id >= 0 && program.tensors[place(id)].place.stack == Stack::kEncoder;
  if (encoder && near.stack.empty()) near.stack = "encoder.";
  if (near.rest.starts_with(kCross)) {
    std::string crossed = find_in_layer(program, near.stack, layer, kCrossPattern);
    if (!crossed.empty()) return crossed;
  }
  return find_in_layer(program, near.stack, layer, kPattern);
}

std::string mixing_of_layer(const Program& program, std::string_view name, int layer) {
  std::string there = pattern_of_layer(program, name, layer);
  const std::string_view stack = split_name(name).stack;
  const bool crosses = split_name(name).rest.starts_with(kCross);
  for (const std::string_view mixing :
       {"mixer.state", "mixer.window", crosses ? "cross_attn.z" : "attn.z"}) {
    if (there.empty()) there = find_in_layer(program, stack, layer, mixing);
  }
  return there.empty() ? end_of_layer(program, stack, layer) : there;
}

std::string nearest_step(const Program& program, std::string_view name, int layer) {
  if (program.find(name) >= 0) return std::string(name);
  if (name.starts_with(kGradient) && program.gradients.empty())
    return nearest_step(program, without_gradient(name), layer);
  const StepName parts = split_name(name);
  if (parts.layer >= 0) {
    std::string there = find_in_layer(program, parts.stack, layer, parts.rest);
    if (there.empty()) there = mixing_of_layer(program, name, layer);
    if (!there.empty()) return there;
  }
  for (const std::string_view stack : kStacks) {
    if (stack.starts_with(kGradient) != parts.stack.starts_with(kGradient)) continue;
    std::string there = std::string(stack) + std::string(parts.rest);
    if (program.find(there) >= 0) return there;
  }
  return program.find("embed") >= 0 ? "embed" : "decoder.embed";
}

std::string gradient_name(std::string_view name) {
  return std::string(kGradient) + std::string(name);
}

std::string shown_pattern(const Program& program, std::string_view name, int layer) {
  const std::string_view step = without_gradient(name);
  return step.ends_with(kPattern) ? std::string(step) : pattern_of_layer(program, step, layer);
}

std::string scores_step(int layer) { return name_in_layer("", layer, "attn.scores_raw"); }

std::string mask_step(const Config& config, int layer) {
  return name_in_layer(config.form == ModelForm::kTranslate ? "decoder." : "", layer,
                       config.fused_attention ? "attn.z" : "attn.scores_masked");
}

}  // namespace headlight
