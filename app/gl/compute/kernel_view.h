// Which kernels make a cell, found without running any: the operations say what they would launch,
// and where a cell lies in that follows from how each kernel's work is cut. Needs no OpenGL.
#pragma once

#include <functional>
#include <span>

#include "app/gl/compute/kernel_table.h"
#include "app/gl/compute/source.h"
#include "core/graph/program.h"
#include "core/view/kernel_view.h"

namespace headlight {

/// The device that kernels are looked up for.
struct KernelDevice {
  KernelTable table;
  GlLimits limits;
  GlTexts texts;

  /// For when none is at hand: a device such as most are, and the shaders that the build embedded.
  static KernelDevice usual();
};

/// The cells of a tensor of the program. Only token ids are asked for: which invocation adds up the
/// gradient of a row of the embedding depends on them. Without them that site is KernelHelp::kAll.
using KernelCells = std::function<std::span<const float>(TensorId)>;

/// The kernels that make a cell of any tensor of the program, at `index` of it, batch axis
/// included. Of a gradient ("d.…", with_gradients()) those of all calls that pass a part of it on
/// in a backward pass from the loss, in its order.
KernelView locate_cell(const Program&, TensorId tensor, std::span<const std::int64_t> index,
                       const KernelDevice&, const KernelCells& = {});

/// Those of one call only, a place in Program::calls. With `gradient` = -1 of the cell of its
/// result; else of what the call passes on to the gradient of this tensor, one of its inputs or
/// "d.…" of one.
KernelView locate_kernel(const Program&, int call, TensorId gradient,
                         std::span<const std::int64_t> index, const KernelDevice&,
                         const KernelCells& = {});

}  // namespace headlight
