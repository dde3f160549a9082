#version 330 core
// A matrix of numbers as coloured cells. The colours are those of color_at() in core/heatmap.cpp.
// A pixel that lies in one cell has exactly that cell's colour. A pixel that covers several cells
// has the mean of their colours: the mean of the numbers would hide a thin diagonal of large
// weights.
//
// Built in several ways (#define), because the software renderer executes every branch:
//   TILED    the matrix is cut into tiles, one a layer
//   MEAN     cells are smaller than a pixel: mean over all that it covers
//   SAMPLED  they are much smaller: mean over some of them

uniform sampler2DArray values;  // one layer, or tiles of a matrix too large for one texture
uniform ivec2 tile;             // texels of one layer
uniform int tiles_across;
uniform bool transposed;        // texel (x, y) is cell (row x, column y)
uniform ivec2 cells;            // columns, rows
uniform vec4 rect;              // x0, y0, x1, y1 in framebuffer pixels, y down
uniform vec2 size;              // of a cell, in pixels
uniform vec2 framebuffer;       // width, height in pixels
uniform float unit;             // pixels of one unit of the hatching, a whole number
uniform float gap;              // pixels left free between cells
uniform bool sequential;
uniform float limit;  // the value of the full colour, > 0
uniform vec4 low, center, high, hatch, invalid;  // straight sRGB

out vec4 color;

const float kHatchSpacing = 5.0;  // units from line to line
const float kCheckSize = 4.0;     // units

float value_at(ivec2 cell) {
  ivec2 texel = transposed ? cell.yx : cell;
#ifdef TILED
  ivec2 which = texel / tile;
  return texelFetch(values, ivec3(texel - which * tile, which.y * tiles_across + which.x), 0).r;
#else
  return texelFetch(values, ivec3(texel, 0), 0).r;
#endif
}

// How much of `low`, `high`, hatching and `invalid` a number has; the rest is `center`. The tests
// look at bits, because comparisons with NaN cannot be trusted on every driver.
vec4 share_of(float value) {
  uint bits = floatBitsToUint(value);
  if (bits == 0xff800000u) return vec4(0.0, 0.0, 1.0, 0.0);
  if ((bits & 0x7f800000u) == 0x7f800000u) return vec4(0.0, 0.0, 0.0, 1.0);
  float t = clamp(value / limit, -1.0, 1.0);
  float root = sqrt(max(t, 0.0));
  if (sequential) return vec4(0.0, root * sqrt(root), 0.0, 0.0);  // t to the power 0.75
  return vec4(max(-t, 0.0), max(t, 0.0), 0.0, 0.0);
}

#ifdef MEAN
// The share of each cell by the area of the pixel that it fills.
vec4 mean_share(vec2 from, vec2 to) {
  vec4 sum = vec4(0.0);
  for (float y = floor(from.y); y < to.y; y += 1.0) {
    float height = min(to.y, y + 1.0) - max(from.y, y);
    for (float x = floor(from.x); x < to.x; x += 1.0) {
      float width = min(to.x, x + 1.0) - max(from.x, x);
      sum += width * height * share_of(value_at(ivec2(int(x), int(y))));
    }
  }
  return sum / ((to.x - from.x) * (to.y - from.y));
}
#endif

#ifdef SAMPLED
const int kMost = 8;  // samples per pixel and axis

uint scramble(uint x) {
  x = (x ^ (x >> 16)) * 0x7feb352du;
  x = (x ^ (x >> 15)) * 0x846ca68bu;
  return x ^ (x >> 16);
}

// The same where too many cells lie in a pixel: one sample at a scattered place of each part of the
// pixel. Places on a grid would meet every cell of one diagonal and none of the next.
vec4 sampled_share(vec2 from, vec2 to, vec2 pixel) {
  ivec2 count = ivec2(clamp(ceil(to - from), 1.0, float(kMost)));
  vec2 part = (to - from) / vec2(count);
  uint seed = scramble(uint(int(pixel.x)) * 0x9e3779b9u + uint(int(pixel.y)));
  vec4 sum = vec4(0.0);
  for (int y = 0; y < count.y; ++y) {
    for (int x = 0; x < count.x; ++x) {
      seed = scramble(seed + 0x9e3779b9u);
      vec2 place = vec2(float(seed & 0xffffu), float(seed >> 16)) / 65536.0;
      vec2 at = from + (vec2(float(x), float(y)) + place) * part;
      sum += share_of(value_at(clamp(ivec2(at), ivec2(0), cells - 1)));
    }
  }
  return sum / float(count.x * count.y);
}
#endif

// 1 in a cell, 0 in the gap beside it; between, when cells become too small for gaps (less than 4
// gaps wide). Gaps are whole pixels, so that they look alike everywhere.
float cell_cover(vec2 pixel, vec2 cell) {
  vec2 begin = ceil(rect.xy + cell * size - 0.5);
  vec2 end = ceil(rect.xy + (cell + 1.0) * size - 0.5);
  float free = gap > 0.0 ? max(1.0, floor(gap + 0.5)) : 0.0;
  float before = floor(free * 0.5);
  vec2 strength = clamp(size / max(gap, 1.0) * 0.5 - 1.0, 0.0, 1.0) * min(gap, 1.0);
  bvec2 early = lessThan(pixel, begin + before);
  bvec2 late = greaterThanEqual(pixel, end - (free - before));
  float x = early.x || late.x ? strength.x : 0.0;
  float y = early.y || late.y ? strength.y : 0.0;
  return 1.0 - max(x, y);
}

void main() {
  vec2 pixel = vec2(floor(gl_FragCoord.x), framebuffer.y - 1.0 - floor(gl_FragCoord.y));
  vec2 last = vec2(cells) - 1.0;
  vec2 cell = clamp(floor((pixel + 0.5 - rect.xy) / size), vec2(0.0), last);
#if defined(MEAN) || defined(SAMPLED)
  // Cells that the pixel covers, per axis: the one under its centre, or all when they are smaller.
  bvec2 small = lessThan(size, vec2(1.0));
  vec2 from = mix(cell, clamp((pixel - rect.xy) / size, vec2(0.0), last + 0.5), small);
  vec2 to = mix(cell + 1.0, clamp((pixel + 1.0 - rect.xy) / size, from + 0.5, last + 1.0), small);
#endif
#if defined(MEAN)
  vec4 share = mean_share(from, to);
#elif defined(SAMPLED)
  vec4 share = sampled_share(from, to, pixel - floor(rect.xy));
#else
  vec4 share = share_of(value_at(ivec2(cell)));
#endif

  color = center + (low - center) * share.x + (high - center) * share.y;
  // Hatching and checks count pixels from the picture's corner: they run on from cell to cell and
  // keep still when the picture is scrolled.
  vec2 local = pixel - floor(rect.xy);
  if (share.z > 0.0) {
    float on_line = mod(local.x + local.y, kHatchSpacing * unit) < unit - 0.5 ? 1.0 : 0.0;
    float ink = on_line * share.z * hatch.a;
    color = vec4(mix(color.rgb, hatch.rgb, ink), max(color.a, ink));
  }
  if (share.w > 0.0) {  // one invalid cell among many must be seen
    vec2 check = floor(local / (kCheckSize * unit));
    color = mod(check.x + check.y, 2.0) < 0.5 ? invalid : vec4(0.0, 0.0, 0.0, 1.0);
  }
  color.a *= cell_cover(pixel, cell);
}
