// How far round the circle a position is for a pair of features, and sines of that. turns (pair, 2)
// says how far one position goes, as a fraction with 64 bits after the point, the upper 32 first:
// whole turns fall out of position · turns by themselves, and nothing is lost however far it is.
layout(std430, binding = 0) readonly buffer Turns { uint turns[]; };

const uint kQuarter = 1u << 30;  // of a turn, which is 2^32: cos x = sin(x + π/2)

uint turn_at(uint position, uint pair) {  // cell: all of it
  uint carry, low;
  umulExtended(position, turns[2u * pair + 1u], carry, low);
  return position * turns[2u * pair] + carry;
}

float sine_of(uint turn) {  // cell: all of it
  uint quarter = (turn + kQuarter / 2u) / kQuarter;  // the nearest multiple of π/2
  float angle = float(int(turn - quarter * kQuarter)) * 1.46291808e-9;  // 2π / 2^32
  float size = quarter % 2u == 0u ? near_sine(angle) : near_cosine(angle);
  return quarter % 4u < 2u ? size : -size;
}
