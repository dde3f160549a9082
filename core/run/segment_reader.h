// SegmentReader: what a model with memory remembers of a text when its last segment begins.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/backends/backend.h"
#include "core/graph/run_input.h"
#include "core/model/parameter_source.h"
#include "core/run/segment_memory.h"

namespace headlight {

/// Tokens before the last segment of a text of so many, in segments of `length`; the last one has 1
/// to `length` tokens. 0 without memory.
std::size_t tokens_before(const Config&, std::size_t tokens, std::size_t length);

class SegmentReader {
 public:
  /// Runs the segments of a text but its last, one after the other, as far as what is remembered
  /// needs it. `input` has all of the text, `before` says how much of it comes before the last
  /// segment, `shape` is of one of these. `owner` is the model whose weights they are, null: the
  /// config's seed says them. While it, the config, the backend and what is read stay the same,
  /// nothing is run again, and where only more is read, no more than that. Valid until the next
  /// call.
  const SegmentMemory& read(const Config&, RunShape shape, const RunInput& input,
                            std::size_t before, ParameterSource&,
                            const std::shared_ptr<const void>& owner, Backend&);

 private:
  bool goes_on(const Config&, const RunShape&, const RunInput&, std::size_t before,
               const std::shared_ptr<const void>& owner, std::string_view backend) const;
  void run_segment(const Config&, const RunShape&, const RunInput&, ParameterSource&, Backend&);

  // What was read, and by what.
  Config config_;
  RunShape shape_;
  std::shared_ptr<const void> owner_;
  std::string backend_;
  std::vector<std::string> tokens_;
  SegmentMemory memory_, next_;

  std::shared_ptr<const Program> program_;
  std::vector<OpCall> calls_;
  FloatBuffer arena_;
};

}  // namespace headlight
