#include "core/model/convert/folder_writer.h"

#include <algorithm>
#include <map>

#include "core/base/error.h"
#include "core/base/number_text.h"
#include "core/io/safetensors.h"
#include "core/model/checkpoint.h"

namespace headlight {
namespace {

using ShapesByName = std::map<std::string, std::vector<std::int64_t>, std::less<>>;

TensorShapes shapes_in(const ShapesByName& shapes) {
  return [&shapes](std::string_view name) -> const std::vector<std::int64_t>* {
    const auto found = shapes.find(name);
    return found == shapes.end() ? nullptr : &found->second;
  };
}

// The file's tensors of these parameters; those that the type has no row for are left out.
ShapesByName shapes_of(std::span<const TensorSpec> parameters, std::span<const WeightRow> rows) {
  const ShapesByName none;
  ShapesByName shapes;
  for (const TensorSpec& spec : parameters) {
    const auto source = source_of(rows, spec, shapes_in(none));
    if (source) shapes.emplace(source->name, strided_source(*source, spec.axes, spec.role).shape);
  }
  return shapes;
}

std::vector<WeightRow> rows_of(const FolderPlan& plan) {
  const ShapesByName none;
  return plan.type->rows(FolderConfig(plan.config, ""), shapes_in(none));
}

std::string name_in_file(const FolderType& type, const std::string& name) {
  const bool head = std::ranges::any_of(
      type.heads, [&](std::string_view start) { return name.starts_with(start); });
  return head || type.prefixes.empty() ? name : std::string(type.prefixes.front()) + name;
}

// Throws for a parameter that has no place in the file.
WeightSource place_of(std::span<const WeightRow> rows, const TensorSpec& spec) {
  const ShapesByName none;
  const auto source = source_of(rows, spec, shapes_in(none));
  if (source) return *source;
  throw Error(Message{"folder.no_source", {{"name", spec.name}, {"shape", shape_text(spec.axes)}}});
}

const char* number_type(NumberFormat format) {
  return format == NumberFormat::kFloat32   ? "F32"
         : format == NumberFormat::kFloat16 ? "F16"
                                            : "BF16";
}

}  // namespace

FolderPlan plan_folder(const ModelFile& file, const FolderType& type,
                       std::vector<OptionDifference>& unsaid) {
  FolderPlan plan{&type, type.write(file), {}};
  const ShapesByName shapes = shapes_of(program_parameters(file), rows_of(plan));
  plan.file = type.read(FolderConfig(plan.config, ""), shapes_in(shapes));
  unsaid = number_differences(with_zeros(file, plan.file), plan.file);
  return plan;
}

std::string folder_weights(const FolderPlan& plan, const Model& model, NumberFormat format) {
  const std::vector<TensorSpec> parameters = program_parameters(plan.file);
  const std::vector<WeightRow> rows = rows_of(plan);
  std::map<std::string, SafetensorsEntry> entries;
  for (const auto& [name, shape] : shapes_of(parameters, rows))
    entries[name_in_file(*plan.type, name)] = {number_type(format), shape};
  SafetensorsFile made = blank_safetensors(
      std::move(entries), {{"format", "pt"}, {"producer", "headlight " HEADLIGHT_VERSION}});
  for (const TensorSpec& spec : parameters) {
    const WeightSource source = place_of(rows, spec);
    const auto own = std::ranges::find(model.weights, spec.name, &Tensor::name);
    if (own == model.weights.end()) continue;  // what adds nothing stays zeros
    const SafetensorsEntry& entry = made.entries.at(name_in_file(*plan.type, source.name));
    const auto beyond =
        place_weights(own->data.data(), spec.axes, strided_source(source, spec.axes, spec.role),
                      format, made.bytes.data() + made.data_start + entry.begin);
    if (beyond) {
      throw Error(Message{"convert.beyond",
                          {{"name", spec.name},
                           {"value", number_text(*beyond, 6)},
                           {"type", number_type(format)}}});
    }
  }
  return std::move(made.bytes);
}

}  // namespace headlight
