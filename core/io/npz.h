// NumPy's .npz: a zip of .npy files, read with numpy.load(path)["name"].
#pragma once

#include <span>
#include <string>

#include "core/io/array.h"

namespace headlight {

/// The bytes of an uncompressed .npz. Arrays are '<f4' or '<i8', lists are '<U' (one dimension);
/// the array "x.y" is the member "x.y.npy". The same input gives the same bytes (no clock). NumPy
/// drops NUL characters at the end of a string when it reads one. Throws Error for names that
/// clash, shapes that do not fit their data, and archives over 4 GiB.
std::string to_npz(std::span<const NamedArray> arrays, std::span<const StringList> lists = {});

/// The bytes of a .npy file of one array, as above; its name is only said in errors.
std::string to_npy(const NamedArray& array);

}  // namespace headlight
