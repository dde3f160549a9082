// What a lab found, as a file: the path's ending says what of it.
#pragma once

#include <string>

#include "core/base/texts.h"
#include "core/document/document.h"
#include "core/lab/lab.h"

namespace headlight {

/// .csv, .json, .safetensors, .py. Throws Error for a file that cannot be written.
void write_lab_file(const std::string& path, const Lab&, const LabResult&, Language);

/// A picture of its page, drawn by `program` beside this one. Blocks until it is there. Throws
/// Error.
void print_lab(const std::string& program, const std::string& path, const Document&, Language,
               bool dark);

}  // namespace headlight
