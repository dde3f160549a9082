// What a norm needs of a row of x, whose first cell is `first`. The mean is kept in two parts, the
// second being what rounding took from the first, so that nothing is lost when the numbers of a row
// are large and alike. RMS norm (has_mean = 0) takes no mean off: it is 0 in both parts.
uniform uint rows, columns, has_mean;
uniform float epsilon;

struct RowStatistics {
  float mean, rest;
  float inverse;  // 1 / sqrt(variance + ε)
};

float centred(float cell, RowStatistics row) { return (cell - row.mean) - row.rest; }  // cell

// The mean of x − known.
float mean_beyond(float known, uint first) {  // cell: all of it
  float sum = 0.0;
  for (uint i = gl_LocalInvocationIndex; i < columns; i += uint(GROUP)) sum += x[first + i] - known;
  return sum_of_group(sum) / float(columns);
}

// The mean of the squares of what is beyond the mean, times a factor.
float mean_square(uint first, RowStatistics row, float factor) {  // cell: all of it
  float sum = 0.0;
  for (uint i = gl_LocalInvocationIndex; i < columns; i += uint(GROUP)) {
    float d = centred(x[first + i], row) * factor;
    sum += d * d;
  }
  return sum_of_group(sum) / float(columns);
}

// The squares of numbers far from 1 are infinite, or nothing: in other units they are neither. No
// cell of an ordinary row comes by here.
RowStatistics measured_in(float unit, uint first, RowStatistics row) {
  row.inverse = 1.0 / sqrt(mean_square(first, row, 1.0 / unit) + epsilon / unit / unit) / unit;
  return row;
}

RowStatistics row_statistics(uint first) {  // cell: all of it
  RowStatistics row = RowStatistics(0.0, 0.0, 0.0);
  if (has_mean != 0u) {
    row.mean = mean_beyond(0.0, first);
    row.rest = mean_beyond(row.mean, first);
  }
  float square = mean_square(first, row, 1.0) + epsilon;
  row.inverse = 1.0 / sqrt(square);
  if (square > 1e-30 && square < 1e30) return row;
  return measured_in(square < 1.0 ? 1e-19 : 1e19, first, row);
}
