// The components of a density over an even grid from −1 to 1. What includes this has means m[],
// weights w[] and logarithms of spreads s[] (row, component), or is_mixture 0 and one number m[row].
uniform uint components, numbers, is_mixture;
uniform float factor;

float grid_number(uint j) { return 2.0 * float(j) / float(max(numbers, 2u) - 1u) - 1.0; }  // cell

// Half of the grid's step and exp(s), s from −20 to 3.
float spread_at(uint cell) {  // cell: all of it
  if (is_mixture == 0u) return factor;
  return 1.0 / float(max(numbers, 2u) - 1u) + exp_of(clamp(s[cell], -20.0, 3.0));
}

// How many spreads v lies from the component's mean, which counts from −100 to 100.
float distance_at(uint cell, float v) { return (v - clamp(m[cell], -100.0, 100.0)) / spread_at(cell); }  // cell

// The logarithm of the component at a number z spreads away: log(w) − log(σ √2π) − z² / 2.
float part_at(uint cell, float z) {  // cell: all of it
  float bell = -0.5 * z * z;
  if (is_mixture == 0u) return bell;
  return bell + log_of(max(w[cell], 1e-30)) - log_of(spread_at(cell)) - 0.918938533;
}
