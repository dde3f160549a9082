// Which experts of a row of the gate's weights are the best: what includes this has them in g[].

// Is expert e of the row from `begin` on among the `best` largest? Of equal ones the first is better.
bool is_heard(uint begin, uint experts, uint e, uint best) {  // cell: all of it
  float own = g[begin + e];
  uint better = 0u;
  for (uint j = 0u; j < experts; ++j) {
    float other = g[begin + j];
    if (other > own || (other == own && j < e)) ++better;
  }
  return better < best;
}

// What the weights of the best are divided by; a single one keeps its own.
float divisor(uint begin, uint experts, uint best) {  // cell: all of it
  if (best == 1u) return 1.0;
  float sum = 0.0;
  for (uint j = 0u; j < experts; ++j) {
    if (is_heard(begin, experts, j, best)) sum += g[begin + j];
  }
  return sum;
}
