// What happens when memory runs out: the program ends with a sentence, never by a signal.
#pragma once

namespace headlight {

inline constexpr const char* kNoMemory =
    "not enough memory for this; choose a smaller model or a shorter sentence";

/// Call it once, first of all. From then on the first allocation that fails gives back a reserve
/// before it throws std::bad_alloc, and one that fails where nothing can be caught (in a
/// destructor, at the begin of a thread) says kNoMemory and ends the program with status 1.
void prepare_for_no_memory();

}  // namespace headlight
