// Model folders as other programs save them: config.json, model.safetensors (or its parts and their
// index) and the files of a tokenizer.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "core/graph/program_memory.h"
#include "core/model/model.h"

namespace headlight {

/// Is there a config.json in it that is not one of this program's own?
bool is_foreign_folder(const std::filesystem::path&);

/// Reads it all. Throws Error that names the file and what is wrong: no weights, weights that can
/// run code (.bin, .pt), an unknown type or value, a tensor that is missing or of another shape, a
/// file that was changed meanwhile, more than `memory` bytes.
Model load_folder(const std::filesystem::path&, double memory = available_memory());

}  // namespace headlight
