// Of kernels in which each invocation makes one cell.
layout(local_size_x = GROUP) in;

uint cell_index() { return group_index() * uint(GROUP) + gl_LocalInvocationIndex; }
