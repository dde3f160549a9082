#include "core/view/color_vision.h"

namespace headlight {

const ColorMatrix& vision_matrix(Vision vision) {
  static constexpr std::array<ColorMatrix, kVisionCount> kMatrices = {{
      {1, 0, 0, 0, 1, 0, 0, 0, 1},
      {0.152286f, 1.052583f, -0.204868f, 0.114503f, 0.786281f, 0.099216f, -0.003882f, -0.048116f,
       1.051998f},
      {0.367322f, 0.860646f, -0.227968f, 0.280085f, 0.672501f, 0.047413f, -0.011820f, 0.042940f,
       0.968881f},
      {1.255528f, -0.076749f, -0.178779f, -0.078411f, 0.930809f, 0.147602f, 0.004733f, 0.691367f,
       0.303900f},
      {0.2126f, 0.7152f, 0.0722f, 0.2126f, 0.7152f, 0.0722f, 0.2126f, 0.7152f, 0.0722f},
  }};
  return kMatrices[static_cast<std::size_t>(vision)];
}

}  // namespace headlight
