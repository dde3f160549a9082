// Processes that may take hardly any more memory.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace headlight::test {

struct EndedProcess {
  int status = 0;   // 128 and the signal where one ended it
  std::string err;  // what it said
};

/// Runs this in a copy of this process that does what the program does where memory runs out
/// (app/cli/out_of_memory.h). Its status is 0; what is thrown ends it with 1 and is said.
EndedProcess run_in_copy(const std::function<void()>& act);

/// From now on this process may take so many bytes of addresses more.
void leave_addresses(std::uint64_t bytes);
void leave_all_addresses();

}  // namespace headlight::test
