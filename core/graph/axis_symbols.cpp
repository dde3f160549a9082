#include "core/graph/axis_symbols.h"

namespace headlight {
namespace {

// Does the feature axis of this tensor hold every head's numbers, one head after the other?
bool holds_heads_side_by_side(const Program& program, TensorId id) {
  if (program.config.attention == AttentionKind::kBasic) return false;
  if (program.is_gradient(id)) id = program.tensors[place(program.resolve(id))].source;
  const TensorSpec& spec = program.tensors[place(id)];
  if (!spec.axes.empty() && counts_heads(spec.axes[0].name))
    return true;  // the rows of W_O, the columns of W_Q
  const int producer = program.producer(id);
  if (producer < 0) return false;
  // Of one head it is the weighted sum itself, under another name.
  return op_info(program.calls[place(producer)].op).joins_heads;
}

// Are the numbers side by side those of values, or of what is gathered of them?
bool is_of_values(const Program& program, TensorId id) {
  if (program.is_gradient(id)) id = program.tensors[place(program.resolve(id))].source;
  const Role role = program.tensors[place(id)].role;
  return role == Role::kAllValues || role == Role::kValueWeight || role == Role::kConcat ||
         role == Role::kOutputWeight;
}

}  // namespace

std::vector<NamedSize> axis_sizes(const Program& program, TensorId id, std::string_view axis,
                                  std::int64_t length) {
  const Config& c = program.config;
  if (axis == "feature" && holds_heads_side_by_side(program, id)) {
    const bool values = is_of_values(program, id) && c.value_width() != c.head_width();
    const std::string_view width = values ? "d_value" : "d_head";
    const std::int64_t own = values ? c.value_width() : c.head_width();
    if (c.head_count() == 1) return {{SizeKind::kHeadWidth, width, length}};
    const bool shared = length != std::int64_t{c.head_count()} * own;
    return {{SizeKind::kHeads, shared ? "H_kv" : "H", shared ? c.kv_head_count() : c.head_count()},
            {SizeKind::kHeadWidth, width, own}};
  }
  if (axis == "memory") return {{SizeKind::kOther, "M", length}};
  const std::int64_t memory = program.shape.memory;
  if (axis == "key" && memory > 0 && length == memory + program.shape.positions)
    return {{SizeKind::kOther, "(M + T)", length}};
  if (axis == "position" || axis == "query" || axis == "key" || axis == "context") {
    // A learned table may have more rows than the sentence has tokens.
    if (length == program.shape.positions) return {{SizeKind::kTokens, "T", length}};
    return {{SizeKind::kOther, "positions", length}};
  }
  if (axis == "context_source" && length != program.shape.source)
    return {{SizeKind::kOther, "positions", length}};
  if (axis == "context_source") return {{SizeKind::kTokens, "S", length}};
  if (axis == "class") return {{SizeKind::kOther, "classes", length}};
  if (counts_tokens(axis)) return {{SizeKind::kTokens, "S", length}};  // of a source row
  if (axis == "feature" || axis == "d_model") return {{SizeKind::kModel, "d_model", length}};
  if (axis == "d_head") return {{SizeKind::kHeadWidth, "d_head", length}};
  if (axis == "d_value") return {{SizeKind::kHeadWidth, "d_value", length}};
  if (axis == "head") return {{SizeKind::kHeads, "H", length}};
  if (axis == "kv_head") return {{SizeKind::kHeads, "H_kv", length}};
  if (axis == "vocab" || axis == "source_vocab") return {{SizeKind::kOther, "vocab", length}};
  if (axis == "hidden") return {{SizeKind::kOther, "hidden", length}};
  if (axis == "focus" || axis == "other_focus") return {{SizeKind::kOther, "foci", length}};
  if (axis.starts_with("distance")) return {{SizeKind::kOther, "distances", length}};
  if (axis == "segment") return {{SizeKind::kOther, "segments", length}};
  if (axis == "bucket") return {{SizeKind::kOther, "buckets", length}};
  if (axis == "state" || axis == "next_state") return {{SizeKind::kModel, "d_model", length}};
  if (axis == "gate") return {{SizeKind::kOther, "", 3}, {SizeKind::kModel, "d_model", length / 3}};
  // In a picture the taps' weights stand one below the other.
  if (axis == "tap" && length != c.kernel)
    return {{SizeKind::kOther, "window", c.kernel}, {SizeKind::kModel, "d_model", c.d_model}};
  if (axis == "tap") return {{SizeKind::kOther, "window", length}};
  if (axis == "component") return {{SizeKind::kOther, "K", length}};
  if (axis == "expert") return {{SizeKind::kOther, "E", length}};
  if (axis == "direction") return {{SizeKind::kOther, "k", length}};
  if (axis == "place" && program.config.pools_by_weights())
    return {{SizeKind::kOther, "foci", c.focus_count()}, {SizeKind::kModel, "d_model", c.d_model}};
  if (axis == "place")
    return {{SizeKind::kTokens, "T", program.shape.positions},
            {SizeKind::kModel, "d_model", c.d_model}};
  return {{SizeKind::kOther, "", length}};
}

}  // namespace headlight
