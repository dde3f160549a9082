// Model folders of other programs against an independent implementation's numbers: for the tests of
// each backend. The folders and what made them: tests/reference/folders/README.md.
#pragma once

#include <doctest/doctest.h>

#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "core/backends/backend.h"
#include "core/graph/program_memory.h"
#include "core/io/safetensors.h"
#include "core/model/model.h"
#include "core/run/run_trace.h"
#include "test_paths.h"
#include "tests/support/largest_error.h"

namespace headlight {

inline std::vector<std::filesystem::path> reference_folders() {
  std::vector<std::filesystem::path> all;
  for (const auto& entry : std::filesystem::directory_iterator(
           std::filesystem::path(HEADLIGHT_TEST_DIR) / "reference" / "folders")) {
    if (std::filesystem::exists(entry.path() / "config.json")) all.push_back(entry.path());
  }
  std::ranges::sort(all);
  return all;
}

inline std::vector<int> ids_of(const SafetensorsFile& file, const char* name) {
  if (!file.entries.contains(name)) return {};
  const std::vector<float> all = tensor_as_float(file, name);
  return {all.begin(), all.end()};
}

/// Runs the folder's model on the ids of its expected.safetensors and compares every tensor that
/// both have; those of ours that the file lacks are counted.
inline void check_folder(const std::filesystem::path& folder, Backend& backend) {
  CAPTURE(folder.filename().string());
  const auto model = load_model(folder.string());
  const SafetensorsFile expected = read_safetensors(folder / "expected.safetensors", 1u << 26);
  RunInput input;
  input.ids = ids_of(expected, "token_ids");
  input.source_ids = ids_of(expected, "source_ids");
  input.tokens.resize(input.ids.size());
  input.source_tokens.resize(input.source_ids.size());
  input.segment_ids = ids_of(expected, "segment_ids");
  RunShape shape = shape_of(model->file);
  shape.positions = std::ssize(input.ids);
  shape.context = model->file.context;
  shape.source = std::ssize(input.source_ids);
  shape.context_source = model->file.source;
  // The token that ends the first sentence stands in for [SEP].
  const auto second = std::ranges::find(input.segment_ids, 1);
  if (second != input.segment_ids.end()) {
    shape.separator = input.ids[static_cast<std::size_t>(second - input.segment_ids.begin()) - 1];
    REQUIRE(segments_of(input.ids, shape.separator) == input.segment_ids);
  }
  const auto program = std::make_shared<const Program>(build_program(model->file.config, shape));
  ModelParameters parameters;
  parameters.use(model);
  const auto trace = run_trace(program, input, parameters, backend);
  int compared = 0;
  std::string missing;
  for (std::size_t id = 0; id < program->tensors.size(); ++id) {
    const TensorSpec& spec = program->tensors[id];
    if (spec.kind != TensorKind::kActivation && spec.kind != TensorKind::kAlias) continue;
    // A model without a head has no scores of its own.
    const bool of_head = spec.role == Role::kLogits || spec.role == Role::kProbabilities;
    if (of_head && !expected.entries.contains("logits")) continue;
    if (!expected.entries.contains(spec.name)) {
      missing += " " + spec.name;
      continue;
    }
    const std::vector<float> theirs = tensor_as_float(expected, spec.name);
    REQUIRE(theirs.size() == static_cast<std::size_t>(cell_count(spec.axes)));
    const double error = largest_error(trace->tensor(static_cast<TensorId>(id)).cells(), theirs);
    CHECK_MESSAGE(error <= 1e-4, spec.name << " is off by " << error);
    ++compared;
  }
  CHECK_MESSAGE(missing.empty(), "not compared:" << missing);
  CHECK(compared > 10);
}

}  // namespace headlight
