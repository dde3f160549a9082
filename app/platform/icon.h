// The program's icon, drawn from one list of shapes: as pixels for the window, as SVG and PNG in
// assets/icon for the desktop.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace headlight {

/// `side` × `side` pixels, RGBA, rows from the top, alpha not multiplied in.
std::vector<std::uint8_t> icon_pixels(int side);
std::string icon_svg();

}  // namespace headlight
