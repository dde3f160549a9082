// What the kernels share: where an invocation stands, and numbers that are not finite. They are
// told by their bits, because a driver need not keep what comparing them says.
//
// In all shaders, a line that ends in "// cell" computes or writes the cell that an invocation
// makes; bounds and places do not count. On the first line of a function, "// cell: all of it"
// stands for every line of the function. The program shows these lines with a cell; of included
// files, those of the functions that the kernel calls.

const uint kInfinityBits = 0x7f800000u;
const uint kSignBit = 0x80000000u;

bool is_nan(float x) { return (floatBitsToUint(x) & ~kSignBit) > kInfinityBits; }
bool is_infinite(float x) { return (floatBitsToUint(x) & ~kSignBit) == kInfinityBits; }
bool is_lowest(float x) { return floatBitsToUint(x) == (kInfinityBits | kSignBit); }
float lowest() { return uintBitsToFloat(kInfinityBits | kSignBit); }
float not_a_number() { return uintBitsToFloat(0x7fc00000u); }

// Groups lie in two dimensions, because no dimension may have more than 65535.
uint group_index() { return gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x; }

// Everything in shared memory that was written before is there, and read before may be overwritten.
void sync_group() {
  memoryBarrierShared();
  barrier();
}
