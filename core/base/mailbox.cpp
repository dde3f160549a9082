#include "core/base/mailbox.h"

#include <exception>
#include <new>

#include "core/base/error.h"

namespace headlight {

Message caught_problem() {
  try {
    throw;
  } catch (const Error& error) {
    return error.message();
  } catch (const std::bad_alloc&) {
    return Message{"error.no_memory"};
  } catch (const std::exception& error) {
    return Message{"error.unexpected", {{"what", error.what()}}};
  } catch (...) {
    return Message{"error.unexpected", {{"what", "?"}}};
  }
}

}  // namespace headlight
