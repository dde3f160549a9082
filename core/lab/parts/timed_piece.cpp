#include "core/lab/parts/timed_piece.h"

#include <chrono>
#include <cmath>

#include "core/base/random.h"
#include "core/graph/program_memory.h"

namespace headlight {

MaskSpec sparse_mask(Way way) {
  MaskSpec mask;
  mask.kind = way == kLocalWay ? MaskKind::kLocal : MaskKind::kStrided;
  mask.window = mask.stride = kSparseReach;
  return mask;
}

TimedPiece::TimedPiece(const LayerSizes& s, Way way, std::int64_t tokens)
    : way_(way), tokens_(tokens) {
  way == kProductsWay ? add_products(s) : add_attention(s);
}

double TimedPiece::bytes() const {
  return sizeof(float) * static_cast<double>(arena_cells(program_));
}

void TimedPiece::prepare() {
  arena_.resize(arena_cells(program_));
  memory_.assign(program_.tensors.size(), nullptr);
  lay_out(program_, arena_.data(), memory_);
  for (std::size_t id = 0; id < program_.tensors.size(); ++id) {
    const TensorSpec& spec = program_.tensors[id];
    if (spec.kind != TensorKind::kInput) continue;
    if (static_cast<TensorId>(id) == mask_) {
      fill_mask(sparse_mask(way_), static_cast<int>(tokens_), memory_[id]);
      continue;
    }
    // A few numbers again and again: drawing them all would take longer than the operations.
    std::array<float, 997> drawn;
    for (std::size_t i = 0; i < drawn.size(); ++i) drawn[i] = static_cast<float>(normal(id + 1, i));
    for (std::int64_t i = 0, cells = cell_count(spec.axes); i < cells; ++i)
      memory_[id][i] = drawn[static_cast<std::size_t>(i) % drawn.size()];
  }
}

double TimedPiece::seconds(Backend& backend, bool again) {
  using Clock = std::chrono::steady_clock;
  const auto start = Clock::now();
  if (again)
    backend.run_more(program_, program_.calls, memory_);
  else
    backend.run(program_, program_.calls, memory_);
  return std::chrono::duration<double>(Clock::now() - start).count();
}

TensorId TimedPiece::add(std::vector<Axis> axes, TensorKind kind) {
  const auto id = static_cast<TensorId>(program_.tensors.size());
  const std::string name = "t" + std::to_string(id);
  program_.tensors.push_back({name, std::move(axes), kind, -1});
  program_.by_name[name] = id;
  return id;
}

TensorId TimedPiece::call(Op op, std::vector<TensorId> in, const OpParams& params) {
  std::vector<TensorView> views;
  for (const TensorId id : in) views.push_back(program_.look(id));
  const TensorId out = add(op_info(op).shape(views, params), TensorKind::kActivation);
  program_.calls.push_back({op, std::move(in), out, params});
  return out;
}

void TimedPiece::add_attention(const LayerSizes& s) {
  const std::vector<Axis> axes = {
      {"batch", 1}, {"head", s.heads}, {"position", tokens_}, {"d_head", s.width}};
  const TensorId q = add(axes), k = add(axes), v = add(axes);
  OpParams params;
  params.factor = static_cast<float>(1 / std::sqrt(static_cast<double>(s.width)));
  if (way_ == kFullWay) {
    const TensorId scores = call(Op::kScale, {call(Op::kScores, {q, k})}, params);
    call(Op::kWeightedSum, {call(Op::kSoftmax, {scores}), v});
    return;
  }
  std::vector<TensorId> in = {q, k, v};
  if (way_ != kFusedWay)
    in.push_back(mask_ = add({{"batch", 1}, {"query", tokens_}, {"key", tokens_}}));
  call(Op::kFusedAttention, std::move(in), params);
}

void TimedPiece::add_products(const LayerSizes& s) {
  const auto linear = [&](TensorId x, std::int64_t from, std::int64_t to) {
    return call(Op::kLinear, {x, add({{"d_model", from}, {"hidden", to}})});
  };
  const TensorId x = add({{"batch", 1}, {"position", tokens_}, {"d_model", s.d_model}});
  for (int i = 0; i < 3; ++i) linear(x, s.d_model, s.heads * s.width);
  const TensorId z = add({{"batch", 1}, {"position", tokens_}, {"d_head", s.heads * s.width}});
  linear(z, s.heads * s.width, s.d_model);
  linear(linear(x, s.d_model, s.hidden), s.hidden, s.d_model);
}

}  // namespace headlight
