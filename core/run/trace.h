// Trace: one run of a program, every tensor of it found by name. Immutable once made. Of a large
// run not every tensor is kept: the others are computed again when they are asked for.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/cell_range.h"
#include "core/graph/program.h"
#include "core/graph/run_input.h"

namespace headlight {

/// What is out of the ordinary in a tensor's cells.
struct Anomalies {
  std::int64_t nan = 0, first_nan = -1;            // first_nan: its flat place
  std::int64_t infinite = 0, first_infinite = -1;  // +∞ or −∞
  bool all_equal = false;                          // every cell is the same finite number
  std::int64_t empty_rows = 0;                     // rows (last axis) of −∞ only
};
Anomalies find_anomalies(const TensorView&);

/// Has each place along this axis a name of its own (Trace::tick): a token, an entry of the
/// vocabulary, a class?
bool names_places(std::string_view axis);
/// Do its places stand beside a matrix? Distances and experts do, too, which have only numbers.
bool has_ticks(std::string_view axis);

/// The axis along which the rows of a tensor are tokens: queries and never keys. Null where there
/// is none, as of a sentence's class.
const Axis* find_row_axis(std::span<const Axis> axes);

/// Is the vocabulary the sentence's distinct tokens, in order?
bool has_own_words(const RunInput&);

class Backend;
class Backward;
class KeptTensors;
class LayersAgain;
struct GrowingRows;
class ParameterSource;

/// Bytes that a trace has, counted where its tensors lie.
struct TraceMemory {
  double arena = 0;       // from the first input or activation to the end of the last
  double parameters = 0;  // of this run; a model that is loaded shares them with its file's
  double gradients = 0;   // of a backward pass, those of the parameters included
  double spare = 0;       // of the arena behind that, left by a larger run for the next one
  // Of a run that does not keep all: what its layers were computed in one after the other, and
  // those that were computed again since.
  double shared = 0, again = 0;
  double run() const { return arena + parameters + shared + again; }
};

class Trace {
 public:
  const Program& program() const { return *program_; }
  const Config& config() const { return program_->config; }
  const RunInput& input() const { return input_; }
  std::int64_t length() const { return static_cast<std::int64_t>(input_.tokens.size()); }
  /// Differs between any two runs of one Runner; pictures are cached by it.
  std::uint64_t serial() const { return serial_; }
  std::string_view backend() const { return backend_; }

  /// Of a run that does not keep all, this computes the tensor's layer again unless it is there.
  /// The cells stay where they are until forget(); on other threads than the one that calls that,
  /// as long as they hold() them.
  TensorView tensor(TensorId id) const;
  /// Throws UsageError with the nearest names.
  TensorView tensor(std::string_view name) const { return tensor(program_->require(name)); }
  /// nullptr-like (data == nullptr) when this model has no such tensor.
  TensorView find(std::string_view name) const;

  /// What to call cell `i` of this axis: the token for positions, the source token for places of a
  /// source row, the vocabulary entry for vocab, the class for class, the number otherwise. Of byte
  /// pairs the blank that begins a word is left out, and what goes on with a word has a dot: "·s".
  std::string tick(std::string_view axis, std::int64_t i) const;
  /// The same where it stands alone: a token that the sentence has more than once gets its position
  /// as a subscript ("the₄"), so that no two cells have one name. Ask from one thread at a time.
  std::string name(std::string_view axis, std::int64_t i) const;

  /// Is all that was computed kept?
  bool keeps_all() const { return again_ == nullptr; }
  /// Has it been kept since the run, and not computed again?
  bool stays(TensorId) const;
  /// Are the layers that do not stay computed by a device, on its own thread? On others the
  /// processor computes them.
  bool layers_on_device() const;
  /// Is the tensor in memory, so that tensor() has nothing to compute?
  bool is_there(TensorId) const;
  /// Does what plays this role stay in every layer?
  bool keeps(Role) const;
  /// Keeps the tensor's cells where they are as long as it lives; null where they stay anyway.
  std::shared_ptr<const void> hold(TensorId) const;
  /// Lets go of the layers that were computed again, but for that of `shown` (-1: none) and those
  /// that are held, where together they take more than so many bytes.
  void forget(TensorId shown, double bytes = 0) const;

  TraceMemory memory() const;

  /// What the whole tensor spans, every head included. This and the next are measured when
  /// first asked for and kept; ask from one thread at a time.
  const CellRange& range(TensorId id) const;
  /// The same of one matrix in the tensor: cell (r, c) lies at offset + r·row_stride +
  /// c·column_stride.
  const CellRange& matrix_range(TensorId id, std::int64_t offset, std::int64_t rows,
                                std::int64_t columns, std::int64_t row_stride,
                                std::int64_t column_stride) const;

  /// find_anomalies() of the whole tensor. Kept as range() is; ask from one thread at a time.
  const Anomalies& anomalies(TensorId id) const;

 private:
  friend class Runner;
  friend std::shared_ptr<const Trace> run_trace(std::shared_ptr<const Program>, RunInput,
                                                ParameterSource&, Backend&);
  std::vector<std::string> ticks(std::string_view axis, std::size_t count) const;
  std::shared_ptr<const Program> program_;
  std::vector<std::shared_ptr<const Tensor>> parameters_;  // by TensorId
  RunInput input_;
  FloatBuffer arena_;
  std::shared_ptr<GrowingRows> rows_;   // where `again_`: what other runs may go on behind
  FloatBuffer shared_;                  // where `again_`: what layers were computed in
  std::shared_ptr<LayersAgain> again_;  // null: all is kept
  std::shared_ptr<Backward> backward_;  // where gradients lie; null without them
  std::vector<float*> memory_;
  std::uint64_t serial_ = 0;
  std::string backend_;
  // By position and by source token, of the run `repeated_in_`; found when first asked for.
  mutable std::vector<bool> repeated_, repeated_sources_;
  mutable std::optional<std::uint64_t> repeated_in_;
  struct Ranges {  // by TensorId, and by matrix; what is not there was not asked for yet
    std::vector<std::optional<CellRange>> whole;
    std::map<std::array<std::int64_t, 6>, CellRange> matrices;
  };
  mutable Ranges ranges_;
  mutable std::vector<std::optional<Anomalies>> anomalies_;  // by TensorId
};

}  // namespace headlight
