// Which tensors of a run stay in memory where not all of them do. What a layer makes on its way is
// computed again, from what stays, when somebody looks at it.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "core/graph/program.h"

namespace headlight {

/// The axis along which a tensor has a row of its own for each token: 1 of (1, token, …), 2 of
/// (1, head, token, …); 0: it has none, or is a parameter.
std::size_t row_axis(const TensorSpec&);
/// Does each token's row of the result follow from the same row of what the call reads, from
/// parameters, and from what it reads as a whole (OpInfo::reads_all_rows)? Such a call can be run
/// for the last rows alone.
bool goes_row_by_row(const Program&, const OpCall&);
/// Does the tensor have a column for each token, as scores have? Its old rows then have a new one.
bool has_columns_of_tokens(const TensorSpec&);

/// By call: is it run for the last rows alone where a run goes on with another's rows? All that
/// goes row by row, but for what gives old rows new columns that somebody sees, because they
/// `stay` or are read by a call that needs all rows. Of the patterns alone it is known what stands
/// there: nothing, for no token looks at those behind it.
std::vector<bool> calls_by_rows(const Program&, const std::function<bool(TensorId)>& stays);

/// By TensorId of what calls make: is it made row by row, by such calls, and read as a whole?
std::vector<bool> rows_read_whole(const Program&, const std::vector<bool>& by_rows);

/// Memory in which a run goes on behind another one's rows, of tensors that no layer makes: each
/// has room for `capacity` rows. Runs of which each goes on with the one before share it; whoever
/// writes rows writes those behind `written`.
struct GrowingRows {
  FloatBuffer cells;
  std::int64_t capacity = 0, written = 0;
};

/// What stays: whatever stands outside the layers; of each layer what other layers read, the
/// residual stream and what is added to it, the patterns, and the rows that attention reads as a
/// whole (queries, keys and values), so that a run may go on behind them.
class KeptTensors {
 public:
  /// Of the layer of the tensor `shown`, too, everything stays; -1: of none. The program has no
  /// backward pass.
  explicit KeptTensors(const Program&, TensorId shown = -1);

  /// The calls of one layer, from `first` up to before `last`, and the floats that the tensors take
  /// which do not stay.
  struct Stretch {
    int first = 0, last = 0;
    std::size_t cells = 0;
  };
  const std::vector<Stretch>& stretches() const { return stretches_; }
  /// The stretch that makes a tensor which does not stay; -1: it stays. Aliases are as their
  /// source.
  int stretch_of(TensorId id) const { return stretch_of_[static_cast<std::size_t>(id)]; }
  /// By TensorId: does it not stay?
  std::vector<bool> passing() const;
  /// As calls_by_rows().
  const std::vector<bool>& by_rows() const { return by_rows_; }
  /// Of what stays, without the rows that grow.
  std::size_t kept_cells() const { return kept_; }
  /// Of a row of all tensors together that grow in place.
  std::size_t growing_cells() const { return growing_; }
  bool grows(TensorId id) const { return grows_[static_cast<std::size_t>(id)]; }
  /// Of the largest stretch.
  std::size_t most_cells() const { return most_; }

  /// Gives the inputs and what stays their places in `kept` (kept_cells() floats, 64-byte aligned)
  /// and in `rows` (growing_cells() floats for each row of its capacity), and the tensors of every
  /// stretch theirs in `shared` (most_cells() floats, 64-byte aligned), where those of the next
  /// stretch lie over them.
  void lay_out(float* kept, GrowingRows& rows, float* shared, std::span<float*> memory) const;
  /// The tensors of one stretch alone, in `own` (Stretch::cells floats, 64-byte aligned).
  void lay_out(int stretch, float* own, std::span<float*> memory) const;
  /// Takes the places of the stretches' tensors away.
  void drop(std::span<float*> memory) const;

 private:
  std::vector<Stretch> stretches_;
  std::vector<int> stretch_of_;     // by TensorId
  std::vector<bool> by_rows_;       // by call
  std::vector<std::size_t> place_;  // by TensorId: floats before it, in `kept` or in its stretch;
                                    // of those that grow for each row of the capacity
  std::vector<bool> grows_;         // by TensorId
  std::vector<bool> in_memory_;     // by TensorId: has it a place of its own?
  std::vector<TensorId> source_;    // by TensorId: whose memory it has
  std::size_t kept_ = 0, most_ = 0, growing_ = 0;
};

/// Bytes that a run of this shape takes at least, without gradients: its parameters, what stays,
/// and two layers whole, of which one is shown.
double least_memory_needed(const Config&, const RunShape&);

}  // namespace headlight
