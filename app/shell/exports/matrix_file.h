// One matrix as a file: its numbers with the names of rows and columns, or its picture.
#pragma once

#include <cstdint>
#include <string>

#include "core/view/heatmap.h"
#include "core/view/pane_layout.h"

namespace headlight {

/// A first line of column names, then a line for each row with its name; every number with the
/// digits that give the same float back.
std::string matrix_csv(const Trace&, const PagePane&);
/// The matrix as NumPy's array of shape (rows, columns), float32.
std::string matrix_npy(const Trace&, const PagePane&);
/// The same by its tensor's name, with the lists of strings "rows" and "columns".
std::string matrix_npz(const Trace&, const PagePane&);
/// A PNG: whole pixels a cell, so many that the longer side has about 1,024, with lines between
/// cells where there is room. −∞ is hatched, NaN and +∞ are in their loud colour. Throws Error for
/// a matrix of more cells than a picture may have pixels.
std::string matrix_png(const Trace&, const PagePane&, const ColorScale&, Color line);

/// In the format that the path's ending names (.csv, .npy, .npz, .png). Throws Error for others.
std::string matrix_file(const std::string& path, const Trace&, const PagePane&, const ColorScale&,
                        Color line);

}  // namespace headlight
