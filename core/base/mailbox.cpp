#include "core/base/mailbox.h"

#include <exception>
#include <new>
#include <system_error>

#include "core/base/error.h"

namespace headlight {

Message caught_problem() {
  try {
    throw;
  } catch (const Error& error) {
    return error.message();
  } catch (const std::bad_alloc&) {
    return Message{"error.no_memory"};
  } catch (const std::system_error& error) {
    if (error.code() == std::errc::resource_unavailable_try_again)
      return Message{"error.no_thread"};
    return Message{"error.unexpected", {{"what", error.what()}}};
  } catch (const std::exception& error) {
    return Message{"error.unexpected", {{"what", error.what()}}};
  } catch (...) {
    return Message{"error.unexpected", {{"what", "?"}}};
  }
}

}  // namespace headlight
