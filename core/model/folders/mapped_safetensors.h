// MappedSafetensors: a .safetensors file whose numbers stay where they are until they are asked
// for.
#pragma once

#include <filesystem>
#include <memory>
#include <span>
#include <string>

#include "core/io/mapped_file.h"
#include "core/io/plain_file.h"
#include "core/io/safetensors.h"

namespace headlight {

class MappedSafetensors {
 public:
  /// Opens a plain file and checks its whole header (parse_safetensors()). Throws Error.
  explicit MappedSafetensors(std::filesystem::path);

  const std::filesystem::path& path() const { return path_; }
  const std::map<std::string, SafetensorsEntry>& entries() const { return header_.entries; }
  std::uint64_t size() const { return file_.size(); }
  /// The numbers of an entry, row-major, in the file's own type and not aligned.
  std::string_view bytes(const SafetensorsEntry&) const;
  /// Throws Error where the file was changed since it was opened: what was read is then no use.
  void check_unchanged() const;

 private:
  std::filesystem::path path_;
  PlainFile file_;
  SafetensorsFile header_;
  std::unique_ptr<MappedFile> mapped_;
  std::string read_;  // all of it, where it cannot be mapped
};

}  // namespace headlight
