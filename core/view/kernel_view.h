// Which shaders made a cell when the graphics card computes it, with the work group and invocation
// that did and the lines that did: plain data for a panel. app/gl/compute/kernel_view.h fills it.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/base/message.h"

namespace headlight {

/// A file that a kernel is made of, as it stands in shaders/: no numbers put in, nothing included.
struct KernelSource {
  std::string file, text;  // "shaders/softmax.comp"
  std::vector<int> lines;  // those that compute and write the cell, from 1, ascending
};

/// Who else had a part in the cell, apart from the invocation that wrote it.
enum class KernelHelp {
  kNone,
  kColumn,  // the invocations of its group with the same x: each summed some of the rows
  kGroup,   // all invocations of its group: a row's sum, or a tile brought into shared memory
  kAll,     // all groups: it prepares what a kernel after it reads; `group` and `invocation` say
            // nothing
};

/// One kernel's part in a cell. Groups and invocations are counted along x, y and z, from 0.
struct KernelSite {
  int call = -1;                      // the operation it is a part of: its place in Program::calls
  std::vector<KernelSource> sources;  // the .comp, then the files it includes, in their order
  std::string defines;  // what it is compiled with: "#define GROUP 256\n", whole lines
  std::array<std::int64_t, 3> groups{};      // how many there are
  std::array<std::int64_t, 3> group{};       // the one that made the cell
  std::array<std::int64_t, 3> group_size{};  // invocations of a group
  std::array<std::int64_t, 3> invocation{};  // the one of the group that wrote the cell
  KernelHelp help = KernelHelp::kNone;
  bool adds = false;  // to what the sites before it left in the cell, else it writes over it
  std::vector<std::pair<std::string, std::string>> uniforms;  // "columns", "64"
  std::vector<std::string> buffers;  // the tensor at binding 0, 1, …; empty: a buffer in between

  const std::string& file() const { return sources.front().file; }
};

struct KernelView {
  std::vector<KernelSite> sites;  // in the order in which they run
  /// Why no kernel made the cell, or that another part of it was made elsewhere; else empty.
  Message none;
};

}  // namespace headlight
