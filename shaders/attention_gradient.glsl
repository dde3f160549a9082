// The pattern once more, from the scores and the rows' statistics.

// The weight of a score before dropout. Rows and keys beyond the end, and forbidden ones, have 0.
float weight_of(uint i, uint j, float score) {  // cell: all of it
  if (!may_look(i, j)) return 0.0;
  uint row = row_by_head(i, 3u);
  float most = statistics[row];
  if (is_lowest(most)) return 0.0;
  if (is_nan(most) || is_infinite(most)) return not_a_number();
  return exp_of((factor * score - most) / temperature) / statistics[row + 1u];
}

// The gradient of q[i] · k[j]; `felt` is dout[i] · v[j], that of the weight after dropout. A weight
// of 0 passes nothing on.
float score_gradient(uint i, uint j, float score, float felt) {  // cell: all of it
  float weight = weight_of(i, j, score);
  if (weight == 0.0) return 0.0;
  float mean = statistics[row_by_head(i, 3u) + 2u];
  return factor * (weight * (felt * kept(i, j) - mean) / temperature);
}
