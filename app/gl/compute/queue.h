// The one door through which kernels run: what they read is bound, every uniform is set, the next
// kernel sees what they wrote, and errors are found where they happen.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string_view>
#include <vector>

#include "app/gl/compute/programs.h"

namespace headlight {

struct GlUniform {
  GlUniform(const char* uniform, std::int64_t number)
      : name(uniform), whole(static_cast<std::uint32_t>(number)) {}
  GlUniform(const char* uniform, bool yes) : name(uniform), whole(yes ? 1 : 0) {}
  GlUniform(const char* uniform, float number) : name(uniform), is_float(true), fraction(number) {}
  const char* name;
  bool is_float = false;
  std::uint32_t whole = 0;
  float fraction = 0;
};

struct GlGroups {
  std::int64_t x = 1, y = 1, z = 1;
};

/// As many groups as asked for in two dimensions, because none may have more than the device
/// allows. Kernels that are dispatched so look at their index (group_index() in common.glsl).
GlGroups spread_groups(std::int64_t groups, const GlLimits&);

/// How long a kernel took: on the device's clock, or, of a software renderer, whose queries tell
/// nothing of compute shaders, on ours.
struct GlTiming {
  int tag = -1;  // what set_tag() said when it ran
  std::string_view file;
  double nanoseconds = 0;
};

/// Throws Error for what the driver has to report: out of memory, a lost device, a wrong call.
/// `doing` is the file of a kernel, or what was tried.
void check_gl(const GlCalls&, std::string_view doing);
/// The same, and for a device that was lost without a call that fails: once at the end of a run,
/// because a driver may have to ask the device.
void check_device(const GlCalls&, std::string_view doing);

class GlQueue {
 public:
  GlQueue(const GlCalls&, const GlDevice&);
  ~GlQueue();
  GlQueue(const GlQueue&) = delete;
  GlQueue& operator=(const GlQueue&) = delete;

  /// Runs `groups` groups. `buffers` are the storage buffers of the bindings 0, 1, …; `uniforms`
  /// must be all those that the program reads, and may be more. Throws Error (check_gl).
  void dispatch(const GlProgram&, std::initializer_list<unsigned> buffers,
                std::initializer_list<GlUniform> uniforms, const GlGroups& groups);
  /// From now on kernels are timed; and what their times are to be told by.
  void set_timing(bool on) { timing_ = on; }
  void set_tag(int tag) { tag_ = tag; }
  /// Waits for the kernels that were timed since the last call.
  std::vector<GlTiming> take_timings();
  /// How many kernels have run.
  std::int64_t dispatches() const { return dispatches_; }

 private:
  void set_uniforms(const GlProgram&, std::initializer_list<GlUniform>);
  void run_timed(const GlProgram&, const GlGroups&);

  const GlCalls& gl_;
  bool has_queries_;  // whose times mean something
  bool timing_ = false;
  int tag_ = -1;
  std::int64_t dispatches_ = 0;
  std::vector<unsigned> queries_;  // made so far; the first of them belong to `timed_`
  std::vector<GlTiming> timed_;
};

}  // namespace headlight
