#include "app/gl/compute/spot_checks.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "app/gl/compute/queue.h"
#include "core/base/random.h"

namespace headlight {
namespace {

// Who waits longer between two runs than this is not running one after the other.
constexpr double kLongestRun = 1;
constexpr std::uint64_t kKey = 0x5b07;
// Cells that lie so near each other come in one piece.
constexpr std::int64_t kGap = 16;

struct Piece {
  std::int64_t first = 0, count = 0, at = 0;  // `at`: in the buffer in between
};

std::vector<Piece> pieces_of(std::span<const std::int64_t> cells) {
  std::vector<Piece> pieces;
  for (const std::int64_t cell : cells) {
    const bool near = !pieces.empty() && cell - pieces.back().first - pieces.back().count < kGap;
    if (near) {
      pieces.back().count = cell - pieces.back().first + 1;
    } else {
      const std::int64_t at = pieces.empty() ? 0 : pieces.back().at + pieces.back().count;
      pieces.push_back({cell, 1, at});
    }
  }
  return pieces;
}

}  // namespace

double SpotJudge::error(double got, double expected, double size) {
  if (got == expected || (std::isnan(got) && std::isnan(expected))) return 0;
  if (!std::isfinite(got) || !std::isfinite(expected))
    return std::numeric_limits<double>::infinity();
  const double off = got - expected, least = std::max(size, std::fabs(expected));
  return least == 0 ? std::numeric_limits<double>::infinity() : off * off / (least * least);
}

GlSpotChecks::GlSpotChecks(const GlCalls& gl, double share)
    : gl_(gl), share_(share), seen_(Clock::now()), between_(gl) {}

int GlSpotChecks::choose(std::size_t calls) {
  const auto now = Clock::now();
  passed_ += std::min(std::chrono::duration<double>(now - seen_).count(), kLongestRun);
  seen_ = now;
  if (share_ <= 0 || calls == 0 || spent_ > share_ * passed_) return -1;
  if (share_ < 1 && draw(2) == 0) return -1;
  return static_cast<int>(draw(static_cast<std::int64_t>(calls)));
}

std::int64_t GlSpotChecks::draw(std::int64_t count) {
  return static_cast<std::int64_t>(scatter(kKey + ++drawn_) % static_cast<std::uint64_t>(count));
}

// The device puts the pieces one behind the other; that needs none of its kernels.
std::span<const float> GlSpotChecks::bring(unsigned buffer, std::span<const std::int64_t> cells) {
  constexpr std::int64_t kLeastRoom = 4096, kFloat = sizeof(float);
  wanted_.clear();
  if (cells.empty()) return wanted_;
  const std::vector<Piece> pieces = pieces_of(cells);
  const std::int64_t count = pieces.back().at + pieces.back().count;
  const auto room = static_cast<std::int64_t>(
      std::bit_ceil(static_cast<std::uint64_t>(std::max(count, kLeastRoom))));
  between_.begin(1, 1);
  const unsigned between = between_.to_write(0, count, room);
  gl_.bind_buffer(GL_SHADER_STORAGE_BUFFER, buffer);
  gl_.bind_buffer(GL_COPY_WRITE_BUFFER, between);
  for (const Piece& piece : pieces) {
    gl_.copy_buffer_sub_data(GL_SHADER_STORAGE_BUFFER, GL_COPY_WRITE_BUFFER, kFloat * piece.first,
                             kFloat * piece.at, kFloat * piece.count);
  }
  arrived_.resize(static_cast<std::size_t>(count));
  between_.fetch(0, arrived_.data());
  check_gl(gl_, "glCopyBufferSubData");
  auto piece = pieces.begin();
  for (const std::int64_t cell : cells) {
    while (cell >= piece->first + piece->count) ++piece;
    wanted_.push_back(arrived_[static_cast<std::size_t>(piece->at + cell - piece->first)]);
  }
  return wanted_;
}

}  // namespace headlight
