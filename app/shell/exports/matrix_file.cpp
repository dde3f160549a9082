#include "app/shell/exports/matrix_file.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/base/error.h"
#include "core/base/number_text.h"
#include "core/io/npz.h"
#include "core/io/png.h"

namespace headlight {
namespace {

const std::string& name_of(const Trace& trace, const PagePane& p) {
  return trace.program().tensors[static_cast<std::size_t>(p.tensor)].name;
}

std::vector<float> cells_of(const Trace& trace, const PagePane& p) {
  const float* data = trace.tensor(p.tensor).data;
  std::vector<float> cells;
  cells.reserve(static_cast<std::size_t>(p.pane.rows * p.pane.columns));
  for (std::int64_t r = 0; r < p.pane.rows; ++r) {
    for (std::int64_t c = 0; c < p.pane.columns; ++c)
      cells.push_back(data[pane_flat(p.pane, r, c)]);
  }
  return cells;
}

std::vector<std::string> row_names(const Trace& trace, const PagePane& p) {
  std::vector<std::string> names;
  for (std::int64_t r = 0; r < p.pane.rows; ++r) names.push_back(trace.tick(p.pane.row_axis, r));
  return names;
}

std::vector<std::string> column_names(const Trace& trace, const PagePane& p) {
  std::vector<std::string> names;
  for (std::int64_t c = 0; c < p.pane.columns; ++c)
    names.push_back(trace.tick(p.pane.column_axis, c));
  return names;
}

// RFC 4180.
std::string csv_cell(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + "\"";
}

// As every program that reads tables writes it.
std::string csv_number(float value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  char text[32];
  std::snprintf(text, sizeof text, "%.9g", static_cast<double>(value));
  return text;
}

struct Pixels {
  int width = 0, height = 0;
  std::vector<std::uint8_t> rgba;

  void set(int x, int y, Color color) {
    std::uint8_t* at =
        rgba.data() + 4 * (static_cast<std::size_t>(y) * static_cast<std::size_t>(width) +
                           static_cast<std::size_t>(x));
    const float parts[] = {color.r, color.g, color.b, color.a};
    for (int i = 0; i < 4; ++i)
      at[i] = static_cast<std::uint8_t>(std::lround(std::clamp(parts[i], 0.0f, 1.0f) * 255));
  }
};

}  // namespace

std::string matrix_csv(const Trace& trace, const PagePane& p) {
  std::string text = csv_cell(name_of(trace, p));
  for (const std::string& name : column_names(trace, p)) text += "," + csv_cell(name);
  text += "\r\n";
  const std::vector<std::string> rows = row_names(trace, p);
  const std::vector<float> cells = cells_of(trace, p);
  const auto columns = static_cast<std::size_t>(p.pane.columns);
  for (std::size_t r = 0; r < rows.size(); ++r) {
    text += csv_cell(rows[r]);
    for (std::size_t c = 0; c < columns; ++c) text += "," + csv_number(cells[r * columns + c]);
    text += "\r\n";
  }
  return text;
}

std::string matrix_npy(const Trace& trace, const PagePane& p) {
  const std::vector<float> cells = cells_of(trace, p);
  return to_npy({name_of(trace, p), {p.pane.rows, p.pane.columns}, std::span(cells)});
}

std::string matrix_npz(const Trace& trace, const PagePane& p) {
  const std::vector<float> cells = cells_of(trace, p);
  const NamedArray array{name_of(trace, p), {p.pane.rows, p.pane.columns}, std::span(cells)};
  const StringList lists[] = {{"rows", row_names(trace, p)}, {"columns", column_names(trace, p)}};
  return to_npz({&array, 1}, lists);
}

std::string matrix_png(const Trace& trace, const PagePane& p, const ColorScale& scale, Color line) {
  constexpr std::int64_t kSide = 1024, kMostPixels = 1 << 26;
  const std::int64_t longer = std::max(p.pane.rows, p.pane.columns);
  const std::int64_t cell =
      std::clamp<std::int64_t>(kSide / std::max<std::int64_t>(longer, 1), 1, 64);
  const std::int64_t gap = cell >= 8 ? 1 : 0;
  const std::int64_t width = p.pane.columns * cell + gap, height = p.pane.rows * cell + gap;
  if (width > kMostPixels / std::max<std::int64_t>(height, 1))
    throw Error(
        Message{"export.too_large",
                {{"rows", count_text(p.pane.rows)}, {"columns", count_text(p.pane.columns)}}});
  Pixels out{static_cast<int>(width), static_cast<int>(height), {}};
  out.rgba.resize(static_cast<std::size_t>(width * height) * 4);
  const float* data = trace.tensor(p.tensor).data;
  for (int y = 0; y < out.height; ++y) {
    for (int x = 0; x < out.width; ++x) {
      const std::int64_t r = y / cell, c = x / cell;
      if (gap && (y % cell == 0 || x % cell == 0)) {
        out.set(x, y, line);
        continue;
      }
      const float value = data[pane_flat(p.pane, r, c)];
      const bool hatched = value == -INFINITY && (x + y) % 6 == 0;
      out.set(x, y, hatched ? scale.hatch : color_at(scale, value));
    }
  }
  return encode_png(out.width, out.height, out.rgba);
}

std::string matrix_file(const std::string& path, const Trace& trace, const PagePane& p,
                        const ColorScale& scale, Color line) {
  const auto held = trace.hold(p.tensor);  // another thread may go on to another layer
  if (path.ends_with(".png")) return matrix_png(trace, p, scale, line);
  if (path.ends_with(".csv")) return matrix_csv(trace, p);
  if (path.ends_with(".npy")) return matrix_npy(trace, p);
  if (path.ends_with(".npz")) return matrix_npz(trace, p);
  throw Error(Message{"export.ending", {{"path", path}}});
}

}  // namespace headlight
