#include "app/ui/kit/font_files.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <map>

namespace headlight {
namespace {

std::map<std::string, std::span<unsigned char>>& mapped_files() {
  static std::map<std::string, std::span<unsigned char>> files;
  return files;
}

// The fonts of an archive that brings its own: ../share/headlight/fonts/ from the program's place.
const std::string& own_folder() {
  static const std::string kFolder = [] {
    std::error_code ignored;
    const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", ignored);
    const std::filesystem::path folder =
        program.parent_path().parent_path() / "share/headlight/fonts";
    return std::filesystem::is_directory(folder, ignored) ? folder.string() + "/" : std::string();
  }();
  return kFolder;
}

}  // namespace

std::string first_font_file(std::initializer_list<const char*> names) {
  static constexpr std::array kFolders = {"/usr/share/fonts/opentype/inter/",
                                          "/usr/share/fonts/truetype/inter/",
                                          "/usr/share/fonts/truetype/jetbrains-mono/",
                                          "/usr/share/fonts/opentype/noto/",
                                          "/usr/share/fonts/truetype/dejavu/",
                                          "/usr/share/fonts/truetype/ancient-scripts/",
                                          "/usr/share/fonts/truetype/liberation/",
                                          "/usr/share/fonts/TTF/",
                                          "/usr/share/fonts/noto-cjk/",
                                          "/usr/local/share/fonts/",
                                          "/System/Library/Fonts/"};
  if (std::getenv("HEADLIGHT_NO_FONTS")) return "";  // to see what a machine without fonts shows
  for (const char* name : names) {
    std::error_code ignored;
    const std::string own = own_folder() + name;
    if (!own_folder().empty() && std::filesystem::is_regular_file(own, ignored)) return own;
    for (const char* folder : kFolders) {
      std::string path = std::string(folder) + name;
      if (std::filesystem::is_regular_file(path, ignored)) return path;
    }
  }
  return "";
}

std::span<unsigned char> font_bytes(const std::string& path) {
  auto& mapped = mapped_files();
  const auto known = mapped.find(path);
  if (known != mapped.end()) return known->second;
  std::span<unsigned char> bytes;
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  struct stat info {};
  if (file >= 0 && fstat(file, &info) == 0 && info.st_size > 0) {
    const auto size = static_cast<std::size_t>(info.st_size);
    void* at = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file, 0);
    if (at != MAP_FAILED) bytes = {static_cast<unsigned char*>(at), size};
  }
  if (file >= 0) close(file);
  mapped.emplace(path, bytes);
  return bytes;
}

void let_go_of_font_pages() {
  for (const auto& [path, bytes] : mapped_files()) {
    // Nobody writes to them, so what is read again is what the file has.
    if (!bytes.empty()) madvise(bytes.data(), bytes.size(), MADV_DONTNEED);
  }
}

}  // namespace headlight
