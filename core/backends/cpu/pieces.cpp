#include "core/backends/cpu/pieces.h"

namespace headlight::cpu {

void Pieces::products(const ProductSeries& series) {
  if (!share_call_) {  // B is prepared once for all rows
    for (std::int64_t i = 0; i < series.count; ++i) {
      kernels::Product one = series.at(i);
      if (i + 1 < series.count) one.b_next = series.at(i + 1).b;
      kernels::multiply(one, scratch_.data());
    }
    return;
  }
  const kernels::Product& m = series.first;
  const std::int64_t row_parts = parts_of(m.rows, kernels::kPieceRows);
  const std::int64_t rows = parts_of(m.rows, row_parts);
  // As many tiles side by side as leave pieces enough for some threads.
  const std::int64_t tiles = parts_of(m.columns, kernels::kTileColumns);
  const kernels::PieceTiles range = kernels::piece_tiles(m);
  const std::int64_t together =
      std::clamp(tiles * row_parts * series.count / kPiecesWanted, range.least, range.most);
  const std::int64_t packets = parts_of(m.columns, kernels::kPacketColumns);
  const std::int64_t column_parts = parts_of(tiles, together);
  const std::int64_t columns = parts_of(packets, column_parts) * kernels::kPacketColumns;
  for_pieces(series.count * row_parts * column_parts, [&](std::int64_t piece, float* scratch) {
    const std::int64_t row = piece / column_parts % row_parts * rows;
    const std::int64_t column = piece % column_parts * columns;
    kernels::Product part = series.at(piece / (column_parts * row_parts));
    part.a += m.a_transposed ? row : row * m.a_stride;
    part.b += m.b_transposed ? column * m.b_stride : column;
    if (part.bias) part.bias += column;
    part.c += row * m.c_stride + column;
    part.rows = std::min(rows, m.rows - row);
    part.columns = std::min(columns, m.columns - column);
    // Of the piece that this thread probably gets next.
    const std::int64_t next = piece + threads();
    if (row_parts == 1 && next < series.count * column_parts)
      part.b_next = series.at(next / column_parts).b + next % column_parts * columns;
    if (part.rows > 0 && part.columns > 0) kernels::multiply(part, scratch);
  });
}

}  // namespace headlight::cpu
