// sums[c] = Σ_r term(r, c), for a parameter that each row has a part in. A group takes
// COLUMN_GROUP columns; ROW_LANES invocations share the rows of each. The shader that includes this
// says term() and store().
layout(local_size_x = COLUMN_GROUP, local_size_y = ROW_LANES) in;

uniform uint rows, columns;
shared float lanes[ROW_LANES][COLUMN_GROUP];

float term(uint row, uint column);
void store(uint column, float sum);

void main() {
  uint x = gl_LocalInvocationID.x, lane = gl_LocalInvocationID.y;
  uint column = gl_WorkGroupID.x * uint(COLUMN_GROUP) + x;
  float sum = 0.0;  // cell
  for (uint row = lane; column < columns && row < rows; row += uint(ROW_LANES)) {
    sum += term(row, column);  // cell
  }
  lanes[lane][x] = sum;  // cell
  sync_group();
  for (uint stride = uint(ROW_LANES) / 2u; stride > 0u; stride /= 2u) {
    if (lane < stride) lanes[lane][x] += lanes[lane + stride][x];  // cell
    sync_group();
  }
  if (lane == 0u && column < columns) store(column, lanes[0][x]);  // cell
}
