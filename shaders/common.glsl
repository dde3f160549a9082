// What the kernels share: where an invocation stands, and numbers that are not finite. They are
// told by their bits, because a driver need not keep what comparing them says.

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
