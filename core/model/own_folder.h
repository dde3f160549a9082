// Whose the files in a model's folder are: nobody's are to be replaced or removed by a slip of the
// hand.
#pragma once

#include <filesystem>

namespace headlight {

/// Does its model.safetensors say that this program wrote it, in whatever format?
bool wrote_weights(const std::filesystem::path& folder);

/// Throws Error that names the folder, where a model saved there (core/model/checkpoint.h) would
/// replace files that this program did not write, or that a newer version of it did.
void expect_replaceable(const std::filesystem::path& folder);

/// Throws Error that names the folder, where a training run lies in it that could go on: nothing
/// but another run takes its place.
void expect_no_run(const std::filesystem::path& folder);

/// Is there a model of this program's in it, of a version that it reads, and nothing else?
bool holds_own_alone(const std::filesystem::path& folder);

}  // namespace headlight
