// Counts what a test binary allocates, on all threads.
#pragma once

/// Allocations so far; counts_allocations() is false where a sanitizer has its own malloc.
long allocation_count();
bool counts_allocations();
