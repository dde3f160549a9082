// Between the operations and the queue: GlOps says which kernels it wants run with what, and a
// launcher runs them, or only takes note of them (gl_kernel_view.cpp).
#pragma once

#include <cstdint>
#include <initializer_list>
#include <tuple>
#include <vector>

#include "app/gl/compute/queue.h"
#include "core/ops/positions/rotary_scaling.h"

namespace headlight {

/// Into how many parts of at most `size` n things fall.
inline std::int64_t parts_of(std::int64_t n, std::int64_t size) { return (n + size - 1) / size; }

/// A kernel and all that it is given. Lasts as long as the call that it is passed to.
struct GlLaunch {
  Kernel kernel{};
  int variant = 0;  // KernelTable::variant()
  // Rows and columns of the matrix that is cut into groups: the cells of a row that has a group,
  // the columns that share groups, a product. Not of KernelShape::kCells.
  std::int64_t rows = 0, columns = 0;
  GlGroups groups = {};
  std::initializer_list<unsigned> buffers = {};  // of the bindings 0, 1, …; it writes the last one
  std::initializer_list<GlUniform> uniforms = {};
};

class GlLauncher {
 public:
  virtual ~GlLauncher() = default;
  virtual void launch(const GlLaunch&) = 0;
  /// A buffer for what one kernel leaves to the next, of `cells` words at least.
  virtual unsigned scratch(std::int64_t cells) = 0;
  /// A buffer that says for each pair of `width` features how far round the circle a position goes,
  /// which takes base^(2 pair / width) · 2π of them, or more where turning is made slower:
  /// shaders/turns.glsl.
  virtual unsigned turns(std::int64_t width, double base, const RotaryStretch& = {}) = 0;
  /// A buffer that holds these words until the next time.
  virtual unsigned table(std::vector<std::uint32_t> words) = 0;
};

/// Runs them. Needs the same current context from first to last.
class GlDeviceLauncher final : public GlLauncher {
 public:
  GlDeviceLauncher(const GlCalls&, GlPrograms&, GlQueue&);
  ~GlDeviceLauncher() override;
  GlDeviceLauncher(const GlDeviceLauncher&) = delete;
  GlDeviceLauncher& operator=(const GlDeviceLauncher&) = delete;

  void launch(const GlLaunch&) override;
  unsigned scratch(std::int64_t cells) override;
  unsigned turns(std::int64_t width, double base, const RotaryStretch&) override;
  unsigned table(std::vector<std::uint32_t> words) override;

 private:
  const GlCalls& gl_;
  GlPrograms& programs_;
  GlQueue& queue_;
  unsigned scratch_ = 0, turns_ = 0, table_ = 0;
  std::int64_t scratch_cells_ = 0;
  // The width, base and scaling that turns_ is for.
  std::tuple<std::int64_t, double, RotaryStretch> turns_of_ = {};
  std::vector<std::uint32_t> table_words_;
};

}  // namespace headlight
