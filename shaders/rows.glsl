// A row of cells to a group of invocations: each takes every GROUP-th cell, and what they found is
// put together as a tree, in shared memory.
layout(local_size_x = GROUP) in;

shared float partial[GROUP];

// The sum over the group's invocations, for each of them.
float sum_of_group(float x) {
  uint me = gl_LocalInvocationIndex;
  sync_group();
  partial[me] = x;  // cell
  sync_group();
  for (uint stride = uint(GROUP) / 2u; stride > 0u; stride /= 2u) {
    if (me < stride) partial[me] += partial[me + stride];  // cell
    sync_group();
  }
  return partial[0];  // cell
}

// A NaN is larger than anything.
float larger(float a, float b) {  // cell: all of it
  if (is_nan(a)) return a;
  return is_nan(b) || b > a ? b : a;
}

// The same of the largest.
float largest_of_group(float x) {
  uint me = gl_LocalInvocationIndex;
  sync_group();
  partial[me] = x;  // cell
  sync_group();
  for (uint stride = uint(GROUP) / 2u; stride > 0u; stride /= 2u) {
    if (me < stride) partial[me] = larger(partial[me], partial[me + stride]);  // cell
    sync_group();
  }
  return partial[0];  // cell
}
