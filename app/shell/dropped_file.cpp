#include "app/shell/dropped_file.h"

#include <algorithm>
#include <fstream>

#include "core/base/error.h"
#include "core/base/utf8.h"
#include "core/io/atomic_file.h"

namespace headlight {
namespace {

// Lines of Windows and of old Macs end like ours; the mark at the front and the last line's end
// are no part of the text.
std::string tidy_lines(std::string_view text) {
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  std::string lines;
  lines.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\r') {
      lines += text[i];
    } else if (i + 1 == text.size() || text[i + 1] != '\n') {
      lines += '\n';
    }
  }
  while (lines.ends_with('\n')) lines.pop_back();
  return lines;
}

DroppedFile nothing(std::string_view problem) { return {DroppedFile::Kind::kNothing, "", problem}; }

// Nothing and why, a session by its name, or what has to be looked into.
DroppedFile by_outside(const std::string& path) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) return nothing("drop.folder");
  if (!std::filesystem::exists(path, ignored)) return nothing("drop.missing");
  // A device or a pipe could go on for ever.
  if (!std::filesystem::is_regular_file(path, ignored)) return nothing("drop.not_text");
  if (path.ends_with(".headlight.json")) return {DroppedFile::Kind::kSession, "", {}};
  if (std::filesystem::file_size(path, ignored) == 0) return nothing("drop.empty");
  return {DroppedFile::Kind::kText, "", {}};
}

// A session under another name.
bool is_session(std::string_view bytes) {
  return bytes.starts_with('{') && bytes.find("\"headlight session\"") < 200;
}

}  // namespace

std::filesystem::path dropped_model(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code ignored;
  const fs::path here(path);
  if (fs::exists(here / "config.json", ignored)) return here;
  constexpr std::string_view kParts[] = {".json", ".safetensors", ".bin", ".spm", ".model"};
  const bool part = std::ranges::find(kParts, here.extension().string()) != std::end(kParts) &&
                    by_outside(path).kind == DroppedFile::Kind::kText;
  const fs::path around = here.parent_path();
  return part && fs::exists(around / "config.json", ignored) ? around : fs::path();
}

DroppedFile look_at_dropped(const std::string& path) {
  DroppedFile found = by_outside(path);
  if (found.kind != DroppedFile::Kind::kText) return found;
  char first[256] = {};
  std::ifstream file(path, std::ios::binary);
  file.read(first, sizeof first);
  if (file.gcount() == 0) return nothing("drop.unreadable");
  if (is_session({first, static_cast<std::size_t>(file.gcount())}))
    found.kind = DroppedFile::Kind::kSession;
  return found;
}

DroppedFile read_dropped(const std::string& path) {
  const DroppedFile outside = by_outside(path);
  if (outside.kind != DroppedFile::Kind::kText) return outside;
  std::error_code ignored;
  if (std::filesystem::file_size(path, ignored) > kMaxDroppedText) return nothing("drop.too_large");
  std::string bytes;
  try {
    bytes = read_file(path, kMaxDroppedText);
  } catch (const Error&) {
    return nothing("drop.unreadable");
  }
  if (is_session(bytes)) return {DroppedFile::Kind::kSession, "", {}};
  if (bytes.find('\0') != bytes.npos || clean_utf8(bytes).replaced > 0) {
    return nothing("drop.not_text");
  }
  std::string text = tidy_lines(bytes);
  if (text.find_first_not_of(" \t\n") == text.npos) return nothing("drop.empty");
  return {DroppedFile::Kind::kText, std::move(text), {}};
}

}  // namespace headlight
