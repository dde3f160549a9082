#include "app/cli/out_of_memory.h"

#include <cxxabi.h>
#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <new>
#include <typeinfo>

namespace headlight {
namespace {

// Never touched, so that it takes addresses and no memory. Much more than a sentence needs: the
// first problem that is said reads the texts of the interface.
constexpr std::size_t kReserve = 4 << 20;

std::atomic<void*> reserve{nullptr};
std::atomic<bool> ran_out{false};
std::terminate_handler otherwise = nullptr;

// What is thrown must be kept somewhere, destructors on the way may allocate (those of JSON do),
// and so does the sentence that is said: they find what is given back here.
void give_back_reserve() {
  ran_out = true;
  std::free(reserve.exchange(nullptr));
  throw std::bad_alloc();
}

// By its type alone: throwing it once more would need memory.
bool is_for_memory() {
  const std::type_info* thrown = abi::__cxa_current_exception_type();
  if (!thrown) return ran_out;  // there was no room for the exception itself
  return *thrown == typeid(std::bad_alloc) || *thrown == typeid(std::bad_array_new_length);
}

// Nothing here may allocate.
[[noreturn]] void end_with_a_word() {
  if (!is_for_memory()) otherwise();
  for (const char* part : {"headlight: ", kNoMemory, "\n"})
    (void)!::write(STDERR_FILENO, part, std::strlen(part));
  ::_exit(1);
}

}  // namespace

void prepare_for_no_memory() {
  reserve = std::malloc(kReserve);
  otherwise = std::set_terminate(end_with_a_word);
  std::set_new_handler(give_back_reserve);
}

}  // namespace headlight
