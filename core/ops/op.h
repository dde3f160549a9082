// What an operation is. One file per operation holds, in this order: shape rule, reference forward,
// gradient, explanation, and how a person sees it (panes).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/tensor.h"
#include "core/ops/explanation.h"
#include "core/ops/positions/rotary_scaling.h"

namespace headlight {

enum class Op {
  kEmbed,
  kSinusoid,
  kLearnedPosition,
  kAdd,
  kLayerNorm,
  kProject,
  kSplitHeads,
  kScores,
  kAdditiveScores,
  kScale,
  kMask,
  kSoftmax,
  kWeightedSum,
  kConcatHeads,
  kLinear,
  kRelu,
  kGelu,
  kGeluTanh,
  kMeanPool,
  kDropout,
  kCrossEntropy,
  kRmsNorm,
  kMultiply,
  kRotary,
  kSilu,
  kLinearTransposed,
  kTanh,
  kFocusScores,
  kFociPenalty,
  kConcatTokens,
  // positions by distance
  kAlibi,
  kDistanceBias,
  kDistanceSinusoid,
  kRelativeScores,
  kRelativeSum,
  kShiftHeads,
  // experts
  kExpertLinear,
  kTopExperts,
  kMix,
  kLoadBalance,
  // in attention's place
  kRecurrence,
  kGru,
  kConvolution,
  // memory
  kConcatRows,
  // numbers as tokens
  kNumber,
  kMixtureLogits,
  // options of attention
  kAppendRow,
  kMaskHeads,
  kMeanHeads,
  kFusedAttention,
};

using TensorId = int;
/// Of a tensor, a call or a step in its list.
constexpr std::size_t place(int id) { return static_cast<std::size_t>(id); }

struct OpParams {
  // kScale, kFociPenalty; of the scores of kFusedAttention; kTanh: what comes out at most, f ·
  // tanh(x / f); kMixtureLogits of one number: its spread
  float factor = 1.0f;
  float epsilon = 1e-5f;    // kLayerNorm, kRmsNorm
  bool own_factor = false;  // kScale: the factor is no 1 / √d_head, but a number of its own
  double temperature = 1;   // kSoftmax, kFusedAttention: what the scores are divided by
  // kSinusoid: width of a row; kNumber, kMixtureLogits: numbers of the grid
  std::int64_t features = 0;
  std::int64_t turned = 0;   // kRotary: how many features of a head turn, from the first; 0: all
  bool interleaved = false;  // kRotary: features 2i and 2i + 1 turn together, not i and i + half
  double base = 10000;       // kRotary: of the wavelengths
  RotaryStretch stretch;     // kRotary
  // By distance i + offset − j of query i from key j, where `offset` keys stand before the first
  // query. kSinusoid, kLearnedPosition: the place of the first token.
  std::int64_t offset = 0;
  std::int64_t reach = 0;     // the farthest distance that has a place of its own
  std::int64_t buckets = 0;   // kDistanceBias: how many places distances share
  bool causal = false;        // distances: only backwards; kConvolution: only what is to the left
  std::int64_t best = 0;      // kTopExperts: how many; 0: all
  std::int64_t dilation = 1;  // kConvolution: from one place of the window to the next
  bool reversed = false;      // kRecurrence, kGru: from the last row to the first
  bool halves = false;        // kSinusoid: all sines before all cosines
  bool to_end = false;        // kSinusoid: the last pair is 10000 times slower than the first
  bool operator==(const OpParams&) const = default;
};

/// One line of a program: data that can be listed and replayed.
struct OpCall {
  Op op{};
  std::vector<TensorId> in;
  TensorId out = -1;
  OpParams params;
};

/// What an operation gets to work on. `out` has the cells that the shape rule says.
struct OpArgs {
  std::span<const TensorView> in;
  TensorView out;
  const OpParams& params;
  float* result = nullptr;  // the memory of `out`; null when only looking
};

/// What the gradient of an operation gets to work on: the cells of its run, and dL/d(out) of some
/// number L that the whole program leads to.
struct OpGradArgs {
  std::span<const TensorView> in;
  TensorView out;
  const OpParams& params;
  const float* d_out = nullptr;  // (the cells of `out`)
  /// Where dL/d(in i) is ADDED; null where it is not wanted. Two of them may be the same memory.
  std::span<float* const> d_in;
};

/// What an operation writes its code from: its tensors, and the variables that hold them.
struct CodeArgs {
  const OpArgs& args;
  std::span<const std::string> in;  // the inputs' names in the code
  std::string out;                  // the result's name
};

/// Two numbers of a row that turn together, as the ends of an arrow on two axes: `angle` in
/// radians, from the first's axis towards the second's.
struct OpPair {
  std::int64_t first = 0, second = 0;  // places in the row
  double angle = 0;
};

/// What the page of an operation opens up beside its matrices.
enum class Detail {
  kNothing,
  kRow,      // OpInfo::open_row
  kCurve,    // OpInfo::curve, and where the row's cells lie on it
  kColumns,  // columns as curves against the position
  kPairs,    // OpInfo::pairs as arrows
};

/// How a pane's rows or columns follow the result's when a result cell (i, j) is looked at.
/// kWholeRow: each column belongs to one of the result, but acts on its whole row. kTokenId,
/// kSourceId, kSegmentId: the table's row that the token, the source token, or the sentence of the
/// token picks.
enum class Follow { kFree, kRow, kColumn, kWholeRow, kTokenId, kSourceId, kSegmentId };

enum class PaneRole { kLeft, kTop, kResult, kOperand, kRowVector };

/// A two-dimensional look at a tensor: cell (r, c) lies at offset + r·row_stride + c·column_stride,
/// but see head_stride.
struct Pane {
  int input = -1;  // which input; -1 is the result
  PaneRole role = PaneRole::kOperand;
  std::int64_t offset = 0;
  std::int64_t rows = 0, columns = 0;
  std::int64_t row_stride = 0, column_stride = 1;
  std::string_view row_axis, column_axis;
  Follow row_follow = Follow::kRow, column_follow = Follow::kColumn;
  std::int64_t column_shift =
      0;                       // Follow::kColumn: pane column c belongs to result column c + shift
  std::int64_t row_shift = 0;  // Follow::kRow: pane row r belongs to result row r + shift
  bool transposed = false;     // drawn as the transpose of how it lies in memory (Kᵀ)
  // How many columns (rows) belong to one head where heads stand side by side; 0: they do not.
  std::int64_t head_columns = 0, head_rows = 0;
  std::int64_t first_head = 0;  // whose the first of them are
  // From a head's columns to the next one's where they do not follow each other in memory; 0: they
  // do.
  std::int64_t head_stride = 0;
  std::string_view part = {};  // which of several parts of its tensor, as an index: "r" of U_r
};

/// How the panes stand on the stage.
enum class Layout {
  kProduct,  // top operand above the result, left operand beside it
  kRow,      // operands in a row, then the result
};

/// What the cells of an input are. From kIds on they choose, forbid, or only lend their sizes: no
/// gradient ever reaches them.
enum class InputKind {
  kNumbers,
  kScores,    // −∞ where a key is forbidden
  kShares,    // ≥ 0, of a whole
  kHeadBias,  // that of the keys adds the same to every score of a row, which no softmax feels
  kIds,       // rows of the second input
  kTargets,   // columns of the first input; −1: not counted
  kMask,      // 0, or −∞ where a key is forbidden
  kPresence,  // 1 for a token or a head, 0 for padding or a head that is off
  kDropout,   // 1 / (1 − p), or 0 for what is left out
  kSizes,     // only its sizes count
};

/// How results of two ways to compute may differ, from the least: cell by cell; sums of products;
/// rows that are made of sums and of functions of them.
enum class ErrorClass { kCells, kProducts, kRows };

/// What its gradient reads of a run: the numbers of which inputs, and those of the result. What
/// it does not name may be gone from memory when the backward pass comes to the call.
struct GradientReads {
  std::array<bool, 4> inputs = {true, true, true, true};
  bool result = true;
};

/// Floating-point operations of a call: so many for each cell of the result, for each cell of the
/// first input, or for each term (a cell of the result has as many as the first input's rows have
/// cells), or for each pair of a row of the result and a row of the second input, of the same head.
/// A multiply-add is two; what is only moved counts as one.
enum class WorkPer { kCell, kInputCell, kTerm, kPair };
struct OpWork {
  double flops = 1;  // kPair: for each cell of the first input's row and of the result's
  WorkPer per = WorkPer::kCell;
  double each = 0;  // kPair: and so many for the pair itself
};

/// Sizes that an operation is tried with: b batch, h heads, t and s positions, n and m widths.
struct TrialSizes {
  std::int64_t b, h, t, s, n, m;
};
/// The shapes of all inputs.
using TrialShapes = std::vector<std::vector<std::int64_t>>;
/// Of one of OpInfo::trials.
TrialShapes trial_shapes(std::string_view trial, const TrialSizes&);

/// Sizes of a graphics card's kernels that are chosen together, by timing what depends on them.
enum class TunePart { kProducts, kFewRows, kAttention, kLongRows, kShortRows, kColumns, kCells };
/// A call, or the gradient of one of its inputs, that stands for its like when a part is timed.
struct TimedShapes {
  TunePart part{};
  std::string_view shapes;  // as those of OpInfo::trials
  int gradient = -1;        // which input's; -1: the call itself
};

/// Every input, then the result, each as the matrix of its last two axes.
std::vector<Pane> matrix_panes(const OpArgs&, std::int64_t head);

/// What a person reads of a call: the window's texts are "inspector.op.<id>", and of what keeps its
/// place "inspector.next.<id>".
struct OpWords {
  std::string_view id, phrase;
};

/// All that is known of an operation, but how each backend runs it.
struct OpInfo {
  Op op{};
  std::string_view id;      // "softmax"
  std::string_view phrase;  // "softmax over the row"
  Layout layout = Layout::kRow;
  std::string_view sign = {};  // between two operands of Layout::kRow: "+"
  std::vector<Axis> (*shape)(std::span<const TensorView> in, const OpParams&) = nullptr;
  void (*forward)(const OpArgs&) = nullptr;
  /// Adds dL/d(in) to what is in args.d_in: sums in double, in order of the axes.
  void (*backward)(const OpGradArgs&) = nullptr;
  OpExplanation (*explain)(const OpArgs&, std::span<const std::int64_t> index) = nullptr;
  /// One cell of what backward() adds to dL/d(in `input`), at `index` of that input: each term is a
  /// cell of dL/d(out) times how much its own cell grows with the input's. d_in is not read. Cells
  /// that the input's cell does not lead to have no term; of an input that is_fixed() there are
  /// none.
  OpExplanation (*explain_gradient)(const OpGradArgs&, int input,
                                    std::span<const std::int64_t> index) = nullptr;
  /// Panes of the operation for one head (ignored where there is none), batch item 0.
  std::vector<Pane> (*panes)(const OpArgs&, std::int64_t head) = matrix_panes;
  /// The operation as a person would write it with NumPy and with PyTorch, for tensors without a
  /// batch axis. A fully masked row and the like are minded where the inputs have them.
  std::string (*numpy)(const CodeArgs&) = nullptr;
  std::string (*torch)(const CodeArgs&) = nullptr;

  // ---- what the page opens up; may be left out ----
  Detail detail = Detail::kNothing;
  /// The row that holds the cell at `index`.
  OpRow (*open_row)(const OpArgs&, std::span<const std::int64_t> index) = nullptr;
  double (*curve)(double, const OpParams&) = nullptr;
  /// Of kColumns: feature f at position t, and between positions.
  double (*column)(double t, std::int64_t f, const OpParams&) = nullptr;
  /// The pairs of the row that holds the cell at `index`; what is in none of them stays as it is.
  std::vector<OpPair> (*pairs)(const OpArgs&, std::span<const std::int64_t> index) = nullptr;
  /// What stands over and under the arrow to the result: "÷ √16", "÷ 4".
  std::vector<std::string> (*arrow)(const OpArgs&) = nullptr;

  // ---- what readers ask ----
  std::array<InputKind, 4> inputs = {};
  ErrorClass errors = ErrorClass::kCells;
  /// Where numbers of the first input nearly cancel: how many times larger, in size, its errors are
  /// in the result and in the gradient.
  double (*error_growth)(const OpArgs&) = nullptr;
  OpWork work = {};
  /// What backends are tried on: each form at least once, with and without what it can do without.
  /// The shapes of all inputs in letters of TrialSizes, an axis being their product: "b t 2n, n". N
  /// is n, or the even number after it.
  std::vector<std::string_view> trials = {};
  /// Where it stands for its like in choosing the sizes of kernels.
  std::vector<TimedShapes> timed = {};
  /// A cell of the first input goes on as the result's cell at the same place: the inspector
  /// follows it, and says how ("inspector.next.<id>").
  bool keeps_place = false;
  /// The rows of the result are ≥ 0 and add up to 1.
  bool is_distribution = false;
  /// The result's rows hold every head's numbers, one head after the other.
  bool joins_heads = false;
  /// dL/d(each input) is dL/d(out) itself.
  bool shares_gradient = false;
  /// Each row of the result needs the one before: only the processor runs it.
  bool is_sequential = false;
  /// A row of the result, the cells of one token (of one token in each head), needs of its inputs
  /// that have such rows the same one alone: rows that are known need not be computed again
  /// (core/run/large/grown_run.h).
  bool row_by_row = false;
  /// But of these inputs all rows: those of the keys and values that a query looks at.
  std::array<bool, 4> reads_all_rows = {};
  /// In training its slope takes the input's place where nothing else reads that (see fusion.h).
  bool keeps_slope = false;
  /// The less, the more of a run need not be kept for its backward pass.
  GradientReads gradient_reads = {};

  /// Only where the parameters decide what is said of a call.
  OpWords (*words)(const OpParams&) = nullptr;

  OpWords words_of(const OpParams& params) const {
    return words ? words(params) : OpWords{id, phrase};
  }
  bool is_fixed(std::size_t input) const { return inputs[input] >= InputKind::kIds; }
  /// The first such input; −1: none.
  int input_of(InputKind kind) const {
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (inputs[i] == kind) return static_cast<int>(i);
    }
    return -1;
  }
  /// A product of matrices: multiply-adds and nothing else.
  bool is_product() const { return work.per == WorkPer::kTerm && work.flops == 2; }
};

/// Every operation, in the order of enum Op.
std::span<const OpInfo> all_ops();
const OpInfo& op_info(Op op);

/// Floating-point operations of a call whose first input and result have these axes; of
/// WorkPer::kPair also the second input.
double call_flops(const OpInfo&, std::span<const Axis> first_input, std::span<const Axis> out,
                  std::span<const Axis> second_input);
/// Of these the multiply-adds in products of matrices.
double call_multiply_adds(const OpInfo&, std::span<const Axis> first_input,
                          std::span<const Axis> out, std::span<const Axis> second_input);
/// Bytes that a call has to read and write: of a table the rows that are picked.
double call_bytes(const OpInfo&, std::span<const TensorView> in, const TensorView& out);

// ---- small helpers that the operations' files share ----

/// Throws UsageError naming the operation and its inputs' shapes.
[[noreturn]] void shape_error(std::string_view op, std::span<const TensorView> in,
                              std::string_view expected);
/// Throws unless there are between `least` and `most` inputs.
void expect_inputs(std::string_view op, std::span<const TensorView> in, std::size_t least,
                   std::size_t most);
/// The axes of the first of `count` inputs, whose sizes all the others must have. Throws as above.
std::vector<Axis> same_shape(std::string_view op, std::span<const TensorView> in,
                             std::size_t count);
/// A pane over the last two axes of `t`, for `head` where the tensor has a head axis.
Pane matrix_pane(const TensorView& t, int input, PaneRole role, std::int64_t head);
/// A pane over a one-dimensional parameter, as one row.
Pane vector_pane(const TensorView& t, int input, PaneRole role);
/// How many heads of queries share each head of keys or values; x, kv (batch, head, …). Their rows
/// follow each other, so that a group is one matrix, of as many times the rows.
inline std::int64_t heads_per_kv(std::span<const Axis> x, std::span<const Axis> kv) {
  return kv[1].size == 0 ? 1 : x[1].size / kv[1].size;
}
/// "k": with the heads repeated for all that share them, as code: "np.repeat(k, 2, axis=0)".
std::string shared_heads(const CodeArgs&, std::size_t input, bool torch);
/// What an axis of places is called where its tokens ask ("query"), where they answer ("key"), and
/// everywhere else ("position"); of source tokens: "source_query", "source_key", "source"; of the
/// foci of a pooling: "focus", "other_focus".
std::string query_word(std::string_view axis);
std::string key_word(std::string_view axis);
std::string place_word(std::string_view axis);
/// Number of rows when all axes but the last are flattened, and the length of a row.
struct RowShape {
  std::int64_t rows = 0, columns = 0;
};
RowShape as_rows(std::span<const Axis> axes);

/// A matrix in memory: cell (i, j) lies at i · row_step + j · column_step.
struct MatrixCells {
  const float* cells = nullptr;
  std::int64_t row_step = 0, column_step = 1;
};
/// c (rows, columns) += a (rows, inner) · b (inner, columns). Each cell is summed in double, from
/// what it is, in order of `inner`; the rows of c lie c_step apart.
void add_product(const MatrixCells& a, const MatrixCells& b, float* c, std::int64_t c_step,
                 std::int64_t rows, std::int64_t columns, std::int64_t inner);

// For explain_gradient(): the term that the cell of dL/d(out) at `cell` gives, times `slope`, which
// came from the cells `from`.
OpTerm gradient_term(const OpGradArgs&, std::vector<std::int64_t> cell, double slope = 1,
                     std::vector<InputCell> from = {}, TermNote note = {});
/// The terms of a parameter that each row has a part in: Σ_r dL/d(out)[r, column].
OpExplanation column_gradient(const OpGradArgs&, std::int64_t column, std::string formula);
/// Of an input that no gradient ever reaches.
OpExplanation without_gradient();
/// A gradient that is zero whatever comes back, and why: "a masked key is felt by nobody".
OpExplanation zero_gradient(std::string formula, std::string_view why);

/// A number, and what stands between numbers, for MathLine.
inline MathPiece math(double number) { return {{}, {}, number}; }
inline MathPiece math(std::string text, std::string latex) {
  return {std::move(text), std::move(latex), std::nullopt};
}
/// "(4, 12, 16)": the shape as Python writes it, the batch axis left out.
std::string code_shape(const TensorView&);
/// The size of an axis counted from the end (1: the last), as code.
std::string code_size(const TensorView&, std::size_t from_end);

// One in each operation's file.
const OpInfo &embed_op(), &sinusoid_op(), &learned_position_op(), &add_op(), &layer_norm_op(),
    &project_op(), &split_heads_op(), &scores_op(), &additive_scores_op(), &scale_op(), &mask_op(),
    &softmax_op(), &weighted_sum_op(), &concat_heads_op(), &linear_op(), &linear_transposed_op(),
    &relu_op(), &gelu_op(), &gelu_tanh_op(), &mean_pool_op(), &dropout_op(), &cross_entropy_op(),
    &rms_norm_op(), &multiply_op(), &rotary_op(), &silu_op(), &tanh_op(), &focus_scores_op(),
    &foci_penalty_op(), &concat_tokens_op(), &alibi_op(), &distance_bias_op(),
    &distance_sinusoid_op(), &relative_scores_op(), &relative_sum_op(), &shift_heads_op(),
    &expert_linear_op(), &top_experts_op(), &mix_op(), &load_balance_op(), &recurrence_op(),
    &gru_op(), &convolution_op(), &concat_rows_op(), &number_op(), &mixture_logits_op(),
    &append_row_op(), &mask_heads_op(), &mean_heads_op(), &fused_attention_op();

}  // namespace headlight
