#include "app/gl/compute/launcher.h"

#include <cmath>
#include <numbers>

namespace headlight {
namespace {

// How far round the circle a position goes for each pair of features, as fractions with 64 bits
// after the point, the upper 32 first.
std::vector<std::uint32_t> turns_of(std::int64_t width, double base, const RotaryStretch& stretch) {
  std::vector<std::uint32_t> turns;
  for (std::int64_t f = 0; f < width; f += 2) {
    const double pair = static_cast<double>(f) / static_cast<double>(width);
    const double turn =
        stretch.kind == RotaryScaling::kNone
            ? 1.0 / (2.0 * std::numbers::pi * std::pow(base, pair))
            : rotary_rate(base, stretch, f / 2, width / 2) / (2.0 * std::numbers::pi);
    const double upper = std::floor(turn * 0x1p32);
    turns.push_back(static_cast<std::uint32_t>(upper));
    turns.push_back(static_cast<std::uint32_t>((turn * 0x1p32 - upper) * 0x1p32));
  }
  return turns;
}

}  // namespace

GlDeviceLauncher::GlDeviceLauncher(const GlCalls& gl, GlPrograms& programs, GlQueue& queue)
    : gl_(gl), programs_(programs), queue_(queue) {}

GlDeviceLauncher::~GlDeviceLauncher() {
  for (const unsigned buffer : {scratch_, turns_, table_}) {
    if (buffer != 0) gl_.delete_buffers(1, &buffer);
  }
}

void GlDeviceLauncher::launch(const GlLaunch& l) {
  queue_.dispatch(programs_.get(l.kernel, l.variant), l.buffers, l.uniforms, l.groups);
}

unsigned GlDeviceLauncher::scratch(std::int64_t cells) {
  if (cells <= scratch_cells_) return scratch_;
  if (scratch_ == 0) gl_.gen_buffers(1, &scratch_);
  scratch_cells_ = 0;
  gl_.bind_buffer(GL_SHADER_STORAGE_BUFFER, scratch_);
  gl_.buffer_data(GL_SHADER_STORAGE_BUFFER, static_cast<GLsizeiptr>(4 * cells), nullptr,
                  GL_DYNAMIC_COPY);
  check_gl(gl_, "glBufferData");
  scratch_cells_ = cells;
  return scratch_;
}

unsigned GlDeviceLauncher::turns(std::int64_t width, double base, const RotaryStretch& stretch) {
  if (turns_of_ == std::tuple(width, base, stretch)) return turns_;
  const std::vector<std::uint32_t> turns = turns_of(width, base, stretch);
  if (turns_ == 0) gl_.gen_buffers(1, &turns_);
  gl_.bind_buffer(GL_SHADER_STORAGE_BUFFER, turns_);
  gl_.buffer_data(GL_SHADER_STORAGE_BUFFER, static_cast<GLsizeiptr>(4 * turns.size()), turns.data(),
                  GL_STATIC_DRAW);
  check_gl(gl_, "glBufferData");
  turns_of_ = {width, base, stretch};
  return turns_;
}

unsigned GlDeviceLauncher::table(std::vector<std::uint32_t> words) {
  if (table_words_ == words) return table_;
  if (table_ == 0) gl_.gen_buffers(1, &table_);
  table_words_.clear();
  gl_.bind_buffer(GL_SHADER_STORAGE_BUFFER, table_);
  gl_.buffer_data(GL_SHADER_STORAGE_BUFFER, static_cast<GLsizeiptr>(4 * words.size()), words.data(),
                  GL_STATIC_DRAW);
  check_gl(gl_, "glBufferData");
  table_words_ = std::move(words);
  return table_;
}

}  // namespace headlight
