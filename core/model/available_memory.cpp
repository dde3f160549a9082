#include "core/model/available_memory.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <optional>
#include <string_view>

namespace headlight {
namespace {

constexpr double kNoLimit = std::numeric_limits<double>::infinity();

// The number behind this word at the beginning of a line.
std::optional<double> number_behind(const std::string& path, const std::string& word) {
  std::ifstream file(path);
  std::string name;
  double value = 0;
  while (file >> name) {
    if (name == word && file >> value) return value;
    file.clear();
    file.ignore(std::numeric_limits<std::streamsize>::max(), '\n');
  }
  return std::nullopt;
}

// The only number of a file; none where it says "max".
std::optional<double> number_in(const std::string& path) {
  std::ifstream file(path);
  double value = 0;
  return file >> value ? std::optional(value) : std::nullopt;
}

double of_machine(const MemorySources& sources) {
  if (const auto kilobytes = number_behind(sources.machine, "MemAvailable:"))
    return *kilobytes * 1024;
  return 0.5 * static_cast<double>(sysconf(_SC_PHYS_PAGES)) *
         static_cast<double>(sysconf(_SC_PAGE_SIZE));
}

double of_addresses() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return kNoLimit;
  const double taken =
      number_in("/proc/self/statm").value_or(0) * static_cast<double>(sysconf(_SC_PAGE_SIZE));
  return std::max(static_cast<double>(limit.rlim_cur) - taken, 0.0);
}

// The names of a group's files, by the version of control groups.
struct GroupFiles {
  std::string_view folder, limit, usage, cache;  // cache: pages of files, given back when needed
};
constexpr GroupFiles kVersion1{"/memory", "/memory.limit_in_bytes", "/memory.usage_in_bytes",
                               "total_inactive_file"};
constexpr GroupFiles kVersion2{"", "/memory.max", "/memory.current", "inactive_file"};

// What is left in this group and in those that it lies in.
double left_in(const std::string& root, std::string group, const GroupFiles& files) {
  double least = kNoLimit;
  while (true) {
    const std::string folder = root + group;
    const auto limit = number_in(folder + std::string(files.limit));
    const auto usage = number_in(folder + std::string(files.usage));
    if (limit && usage) {
      const auto cache = number_behind(folder + "/memory.stat", std::string(files.cache));
      least = std::min(least, std::max(*limit - *usage + cache.value_or(0), 0.0));
    }
    if (group.empty()) return least;
    group.erase(group.rfind('/'));
  }
}

// Lines like "4:memory:/user/a" (version 1, which may name several controllers) and "0::/user/a".
double of_groups(const MemorySources& sources) {
  double least = kNoLimit;
  std::ifstream file(sources.groups);
  for (std::string line; std::getline(file, line);) {
    const std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
    std::string group = line.substr(second + 1);
    if (!group.starts_with('/')) continue;
    if (group == "/") group.clear();
    const bool newer = controllers == ",,";
    if (!newer && controllers.find(",memory,") == std::string::npos) continue;
    const GroupFiles& files = newer ? kVersion2 : kVersion1;
    const std::string root = sources.group_files + std::string(files.folder);
    least = std::min(least, left_in(root, group, files));
  }
  return least;
}

}  // namespace

double available_memory(const MemorySources& sources) {
  // The rest of the machine lives on the other fifth.
  return 0.8 * std::min({of_machine(sources), of_addresses(), of_groups(sources)});
}

}  // namespace headlight
