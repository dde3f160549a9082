// What layer norm needs of a row of x, whose first cell is `first`. The mean is kept in two parts,
// the second being what rounding took from the first, so that nothing is lost when the numbers of a
// row are large and alike.
struct RowStatistics {
  float mean, rest;
  float inverse;  // 1 / sqrt(variance + ε)
};

float centred(float cell, RowStatistics row) { return (cell - row.mean) - row.rest; }  // cell

RowStatistics row_statistics(uint first) {  // cell: all of it
  RowStatistics row;
  float count = float(columns), sum = 0.0;
  for (uint i = gl_LocalInvocationIndex; i < columns; i += uint(GROUP)) sum += x[first + i];
  row.mean = sum_of_group(sum) / count;
  sum = 0.0;
  for (uint i = gl_LocalInvocationIndex; i < columns; i += uint(GROUP)) {
    sum += x[first + i] - row.mean;
  }
  row.rest = sum_of_group(sum) / count;
  sum = 0.0;
  for (uint i = gl_LocalInvocationIndex; i < columns; i += uint(GROUP)) {
    float d = centred(x[first + i], row);
    sum += d * d;
  }
  row.inverse = 1.0 / sqrt(sum_of_group(sum) / count + epsilon);
  return row;
}
