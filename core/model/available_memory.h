// How much memory this process may still take.
#pragma once

#include <string>

namespace headlight {

/// Where the system says it: the files, of which tests give others.
struct MemorySources {
  std::string machine = "/proc/meminfo";
  std::string groups = "/proc/self/cgroup";    // which control groups the process is in
  std::string group_files = "/sys/fs/cgroup";  // where their limits lie, of version 1 and 2
};

/// Bytes that may be taken now: four fifths of what the machine has, of what is left of the
/// process's own limit of addresses (`ulimit -v`), or of its control groups' limits (of a
/// container, say), whichever is least. Who takes more there is not refused by the system but
/// ended.
double available_memory(const MemorySources& = {});

}  // namespace headlight
