#include "core/run/trace.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>
#include <unordered_map>

#include "core/autodiff/backward.h"
#include "core/base/utf8.h"
#include "core/run/large/layers_again.h"
#include "core/text/vocabulary.h"

namespace headlight {

namespace {
bool asks(std::string_view axis) {
  return counts_tokens(axis) && !axis.ends_with("key") && axis != "memory";
}
}  // namespace

bool names_places(std::string_view axis) {
  return counts_tokens(axis) || axis == "vocab" || axis == "class";
}

bool has_ticks(std::string_view axis) {
  return names_places(axis) || axis.starts_with("distance") || axis == "expert" ||
         axis == "segment";
}

const Axis* find_row_axis(std::span<const Axis> axes) {
  const auto found = std::ranges::find_if(axes, [](const Axis& a) { return asks(a.name); });
  return found == axes.end() ? nullptr : &*found;
}

bool has_own_words(const RunInput& input) {
  std::size_t distinct = 0;
  for (std::size_t t = 0; t < input.ids.size(); ++t) {
    const auto id = static_cast<std::size_t>(input.ids[t]);
    if (id > distinct) return false;
    distinct = std::max(distinct, id + 1);
  }
  return distinct == input.vocab.size();
}

TensorView Trace::tensor(TensorId id) const {
  TensorView t = program_->look(id);
  t.data = memory_[static_cast<std::size_t>(id)];
  if (!t.data && again_ && again_->kept().stretch_of(id) >= 0) t.data = again_->cells(id, memory_);
  return t;
}

bool Trace::is_there(TensorId id) const { return !again_ || again_->is_there(id); }

bool Trace::stays(TensorId id) const { return !again_ || again_->kept().stretch_of(id) < 0; }

bool Trace::layers_on_device() const { return again_ && again_->on_device(); }

bool Trace::keeps(Role role) const {
  if (!again_) return true;
  for (std::size_t id = 0; id < program_->tensors.size(); ++id) {
    if (program_->tensors[id].role != role) continue;
    if (again_->kept().stretch_of(static_cast<TensorId>(id)) >= 0) return false;
  }
  return true;
}

std::shared_ptr<const void> Trace::hold(TensorId id) const {
  return again_ ? again_->hold(id, memory_) : nullptr;
}

void Trace::forget(TensorId shown, double bytes) const {
  if (again_) again_->forget(shown, bytes);
}

TraceMemory Trace::memory() const {
  TraceMemory memory;
  for (const auto& parameter : parameters_) {
    if (parameter) memory.parameters += static_cast<double>(parameter->data.size() * sizeof(float));
  }
  const float* end = arena_.data();
  for (std::size_t id = 0; id < program_->tensors.size(); ++id) {
    const TensorSpec& spec = program_->tensors[id];
    if (spec.kind != TensorKind::kInput && spec.kind != TensorKind::kActivation) continue;
    if (!memory_[id]) continue;
    if (again_ && again_->kept().grows(static_cast<TensorId>(id))) continue;
    end = std::max(end, static_cast<const float*>(memory_[id]) + cell_count(spec.axes));
  }
  auto used = static_cast<std::size_t>(end - arena_.data()), all = arena_.size();
  if (again_) {
    used += again_->kept().growing_cells() * static_cast<std::size_t>(program_->shape.positions);
    all += rows_->cells.size();
  }
  memory.arena = static_cast<double>(used * sizeof(float));
  memory.spare = static_cast<double>((all - used) * sizeof(float));
  memory.shared = static_cast<double>(shared_.size() * sizeof(float));
  if (again_) memory.again = again_->bytes();
  if (backward_) memory.gradients = backward_->memory_bytes();
  return memory;
}

TensorView Trace::find(std::string_view name) const {
  const TensorId id = program_->find(name);
  return id < 0 ? TensorView{} : tensor(id);
}

const CellRange& Trace::range(TensorId id) const {
  ranges_.whole.resize(program_->tensors.size());
  std::optional<CellRange>& kept = ranges_.whole[static_cast<std::size_t>(id)];
  if (!kept) kept = measure_range(tensor(id).cells());
  return *kept;
}

const CellRange& Trace::matrix_range(TensorId id, std::int64_t offset, std::int64_t rows,
                                     std::int64_t columns, std::int64_t row_stride,
                                     std::int64_t column_stride) const {
  const auto [at, is_new] = ranges_.matrices.try_emplace(
      {static_cast<std::int64_t>(id), offset, rows, columns, row_stride, column_stride});
  if (!is_new) return at->second;
  const float* data = tensor(id).data + offset;
  const auto count = static_cast<std::size_t>(rows * columns);
  const bool in_one_piece = (column_stride == 1 && (row_stride == columns || rows == 1)) ||
                            (row_stride == 1 && (column_stride == rows || columns == 1));
  if (in_one_piece) {
    at->second = measure_range({data, count});
    return at->second;
  }
  std::vector<float> cells;
  cells.reserve(count);
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t c = 0; c < columns; ++c) {
      cells.push_back(data[r * row_stride + c * column_stride]);
    }
  }
  at->second = measure_range(cells);
  return at->second;
}

Anomalies find_anomalies(const TensorView& t) {
  Anomalies anomalies;
  const std::span<const float> cells = t.cells();
  const std::int64_t width = t.axes.empty() ? 1 : t.axes.back().size;
  anomalies.all_equal = cells.size() > 1 && std::isfinite(cells[0]);
  for (std::size_t begin = 0; begin < cells.size(); begin += static_cast<std::size_t>(width)) {
    bool empty = true;
    for (std::size_t i = begin; i < begin + static_cast<std::size_t>(width); ++i) {
      const float value = cells[i];
      empty &= value == -INFINITY;
      anomalies.all_equal &= value == cells[0];
      if (std::isfinite(value)) continue;
      std::int64_t& count = std::isnan(value) ? anomalies.nan : anomalies.infinite;
      std::int64_t& first = std::isnan(value) ? anomalies.first_nan : anomalies.first_infinite;
      if (count++ == 0) first = static_cast<std::int64_t>(i);
    }
    anomalies.empty_rows += empty;
  }
  return anomalies;
}

const Anomalies& Trace::anomalies(TensorId id) const {
  anomalies_.resize(program_->tensors.size());
  std::optional<Anomalies>& kept = anomalies_[static_cast<std::size_t>(id)];
  if (!kept) kept = find_anomalies(tensor(id));
  return *kept;
}

namespace {

// A piece of text without the blank that begins its word; what goes on with a word has a dot
// instead: dog, ·s. `before` is the piece before it, null in a vocabulary.
std::string piece_label(const std::string& piece, const std::string* before) {
  if (begins_word(piece)) return piece.substr(1);
  const bool goes_on = !piece.empty() && is_ascii_word(piece[0]) &&
                       (!before || (!before->empty() && is_ascii_word(before->back())));
  return goes_on ? "\u00b7" + piece : piece;
}

// Which row of such an axis is that of a token's distance from itself.
std::int64_t zero_distance(const Program& program, std::string_view axis) {
  if (axis == "distance") return 0;
  const Config& c = program.config;
  if (c.positions == PositionKind::kRelative) return c.relative_reach;
  return (axis == "distance_source" ? program.shape.source : program.shape.positions) - 1;
}

// The keys behind those of the tokens: the learned one, then zeros.
std::string extra_key_tick(const Config& config, std::size_t i) {
  return config.bias_kv && i == 0 ? "+b" : "+0";
}

// What is remembered is marked: ‹the.
std::string memory_tick(const RunInput& input, std::int64_t i) {
  const auto text = [&](std::int64_t at) -> const std::string& {
    return input.vocab[static_cast<std::size_t>(input.memory_ids[static_cast<std::size_t>(at)])];
  };
  const std::string* before = i > 0 ? &text(i - 1) : nullptr;
  return "\u2039" + (input.has_pieces ? piece_label(text(i), before) : text(i));
}

// Does the place lie in the memory, whose tokens are the first keys?
bool is_remembered(const RunInput& input, std::string_view axis, std::int64_t i) {
  return (axis == "memory" || axis == "key") && i >= 0 && i < std::ssize(input.memory_ids);
}

}  // namespace

std::string Trace::tick(std::string_view axis, std::int64_t i) const {
  if (axis.starts_with("distance")) {
    const std::int64_t distance = i - zero_distance(program(), axis);
    return (distance < 0 ? "−" : "") + std::to_string(std::abs(distance));
  }
  if (is_remembered(input_, axis, i)) return memory_tick(input_, i);
  if (axis == "key") i -= std::ssize(input_.memory_ids);
  const auto place = static_cast<std::size_t>(i);
  const std::vector<std::string>* names = nullptr;
  if (counts_tokens(axis) && axis.starts_with("source")) {
    names = &input_.source_tokens;
  } else if (counts_tokens(axis)) {
    names = &input_.tokens;
  } else if (axis == "vocab") {
    names = &input_.vocab;
  } else if (axis == "class") {
    names = &input_.classes;
  }
  if (!names || place >= names->size()) {
    const std::size_t extra = static_cast<std::size_t>(config().extra_keys());
    const bool behind = names && counts_tokens(axis) && place - names->size() < extra;
    return behind ? extra_key_tick(config(), place - names->size()) : std::to_string(i);
  }
  if (!input_.has_pieces || axis == "class") return (*names)[place];
  static const std::string kNothing;
  const std::string* before = axis == "vocab" ? nullptr
                              : place > 0     ? &(*names)[place - 1]
                                              : &kNothing;
  return piece_label((*names)[place], before);
}

namespace {

std::vector<bool> comes_again(const std::vector<std::string>& tokens) {
  std::unordered_map<std::string_view, int> counts;
  for (const std::string& t : tokens) ++counts[t];
  std::vector<bool> again;
  for (const std::string& t : tokens) again.push_back(counts[t] > 1);
  return again;
}

}  // namespace

std::vector<std::string> Trace::ticks(std::string_view axis, std::size_t count) const {
  std::vector<std::string> all;
  for (std::size_t i = 0; i < count; ++i) all.push_back(tick(axis, static_cast<std::int64_t>(i)));
  return all;
}

std::string Trace::name(std::string_view axis, std::int64_t i) const {
  std::string text = tick(axis, i);
  if (is_remembered(input_, axis, i)) {
    const std::vector<int>& ids = input_.memory_ids;
    const bool again = std::ranges::count(ids, ids[static_cast<std::size_t>(i)]) > 1;
    return again ? text + subscript(i) : text;
  }
  if (axis == "key") i -= std::ssize(input_.memory_ids);
  const bool source = axis.starts_with("source");
  const std::vector<std::string>& tokens = source ? input_.source_tokens : input_.tokens;
  const auto place = static_cast<std::size_t>(i);
  if (!counts_tokens(axis) || i < 0 || place >= tokens.size()) return text;
  if (repeated_in_ != serial_) {  // a Runner uses the memory of an old trace again
    repeated_ = comes_again(ticks("position", input_.tokens.size()));
    repeated_sources_ = comes_again(ticks("source", input_.source_tokens.size()));
    repeated_in_ = serial_;
  }
  if (!(source ? repeated_sources_ : repeated_)[place]) return text;
  return text + subscript(i);
}

}  // namespace headlight
