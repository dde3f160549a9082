#version 330 core
// A matrix of numbers as coloured cells. The colours are those of color_at() in core/heatmap.cpp.
// A pixel that lies in one cell has exactly that cell's colour. A pixel that covers several cells
// has the colour of the strongest, so that no strong cell is hidden by weak ones around it.
//
// Built in several ways (#define), because the software renderer executes every branch:
//   TILED      the matrix is cut into tiles, one a layer
//   BLOCKS     the texture holds blocks of cells: strongest number, share of -inf
//   MANY       up to so many matrices of one shape are drawn at once, each from a layer of its own
//   STRONGEST  blocks are smaller than a pixel (at most two to a pixel): the strongest of those

uniform sampler2DArray values;  // one layer, or tiles of a matrix too large for one texture
uniform ivec2 tile;             // texels of one layer
uniform int tiles_across;
uniform bool transposed;        // texel (x, y) is cell (row x, column y)
uniform ivec2 cells;            // columns, rows
#ifdef MANY
flat in vec4 rect;
flat in int layer;
#else
uniform vec4 rect;              // x0, y0, x1, y1 in framebuffer pixels, y down
#endif
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

vec2 texel_at(ivec2 cell) {
  ivec2 texel = transposed ? cell.yx : cell;
#ifdef MANY
  return texelFetch(values, ivec3(texel, layer), 0).rg;
#elif defined(TILED)
  ivec2 which = texel / tile;
  return texelFetch(values, ivec3(texel - which * tile, which.y * tiles_across + which.x), 0).rg;
#else
  return texelFetch(values, ivec3(texel, 0), 0).rg;
#endif
}

// The tests look at bits, because comparisons with NaN cannot be trusted on every driver.
bool is_finite(float value) { return (floatBitsToUint(value) & 0x7f800000u) != 0x7f800000u; }
bool is_forbidden(float value) { return floatBitsToUint(value) == 0xff800000u; }

// What a pixel shows: a finite number, a share of -inf (0..1), whether a number is NaN or +inf.
struct Content {
  float number, forbidden;
  bool broken;
};

Content content_of(vec2 texel) {
#ifdef BLOCKS
  bool finite = is_finite(texel.r);
  return Content(finite ? texel.r : 0.0, texel.g, !finite);
#else
  bool finite = is_finite(texel.r), forbidden = is_forbidden(texel.r);
  return Content(finite ? texel.r : 0.0, forbidden ? 1.0 : 0.0, !finite && !forbidden);
#endif
}

#ifdef STRONGEST
Content strongest(vec2 from, vec2 to) {
  Content all = Content(0.0, 0.0, false);
  float count = 0.0;
  for (float y = floor(from.y); y < to.y; y += 1.0) {
    for (float x = floor(from.x); x < to.x; x += 1.0) {
      Content one = content_of(texel_at(ivec2(int(x), int(y))));
      if (abs(one.number) > abs(all.number)) all.number = one.number;
      all.forbidden += one.forbidden;
      all.broken = all.broken || one.broken;
      count += 1.0;
    }
  }
  all.forbidden /= max(count, 1.0);
  return all;
}
#endif

vec4 color_of(float value) {
  float t = clamp(value / limit, -1.0, 1.0);
  float root = sqrt(max(t, 0.0));
  if (sequential) return mix(center, high, root * sqrt(root));  // t to the power 0.75
  return t < 0.0 ? mix(center, low, -t) : mix(center, high, t);
}

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
#ifdef STRONGEST
  // Blocks that the pixel touches, per axis: the one under its centre, or all when they are smaller.
  bvec2 small = lessThan(size, vec2(1.0));
  vec2 from = mix(cell, clamp((pixel - rect.xy) / size + 0.001, vec2(0.0), last + 0.5), small);
  vec2 to = mix(cell + 1.0, clamp((pixel + 1.0 - rect.xy) / size - 0.001, from + 0.01, last + 1.0),
                small);
  Content content = strongest(from, to);
#else
  Content content = content_of(texel_at(ivec2(cell)));
#endif

  color = color_of(content.number);
  // Hatching and checks count pixels from the picture's corner: they run on from cell to cell and
  // keep still when the picture is scrolled.
  vec2 local = pixel - floor(rect.xy);
  if (content.forbidden > 0.0) {
    float on_line = mod(local.x + local.y, kHatchSpacing * unit) < unit - 0.5 ? 1.0 : 0.0;
    // One forbidden cell among many must be seen, too.
    float ink = on_line * max(content.forbidden, 0.6) * hatch.a;
    color = vec4(mix(color.rgb, hatch.rgb, ink), max(color.a, ink));
  }
  if (content.broken) {
    float fits = max(1.0, floor(min(size.x, size.y) * 0.5));  // small cells have small checks
    vec2 check = floor(local / min(kCheckSize * unit, fits));
    color = mod(check.x + check.y, 2.0) < 0.5 ? invalid : vec4(0.0, 0.0, 0.0, 1.0);
  }
  color.a *= cell_cover(pixel, cell);
}
