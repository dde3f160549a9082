#include "core/train/cached_predictor.h"

#include <algorithm>
#include <string>
#include <thread>

#include "core/base/error.h"
#include "core/graph/program_memory.h"
#include "core/run/large/grown_run.h"

namespace headlight {
namespace {

// A mask has as many cells as this squared.
constexpr int kMostPositions = 4096;

// Is it a row for each position, whatever stands there?
bool is_of_position(const OpCall& call) { return op_info(call.op).inputs[0] == InputKind::kSizes; }

// A token of a large model waits for its weights, which several cores read faster than one.
int threads_for(const Model& model) {
  constexpr std::int64_t kLarge = 20'000'000;
  constexpr unsigned kMost = 4;
  if (parameter_count(model) < kLarge) return 1;
  return static_cast<int>(std::clamp(std::thread::hardware_concurrency(), 1u, kMost));
}

void check_row(const Model& model, std::span<const int> ids) {
  const std::int64_t context = model.file.context;
  if (ids.empty() || std::ssize(ids) > context) {
    throw UsageError("rows of 1 to " + std::to_string(context) + " tokens are read, not of " +
                     std::to_string(ids.size()));
  }
  for (const int id : ids) {
    if (id >= 0 && id < model.file.vocab) continue;
    throw Error(
        Message{"vocabulary.no_such_id",
                {{"id", std::to_string(id)}, {"last", std::to_string(model.file.vocab - 1)}}});
  }
}

}  // namespace

bool CachedPredictor::can_read(const Model& model, const Config& config) {
  const std::int64_t context = model.file.context;
  // Only attention that is one call keeps keys and values here.
  return config.form == ModelForm::kTokens && config.attends() && config.memory == 0 &&
         !config.segments && config.is_plain_attention() && context > 0 &&
         context <= kMostPositions && looks_back_only(config.mask, static_cast<int>(context));
}

CachedPredictor::CachedPredictor(std::shared_ptr<const Model> model, const Config& as)
    : model_(std::move(model)), backend_(make_cpu_backend(threads_for(*model_))) {
  // Of one query there is only a row of weights: the keys before it are what is kept.
  Config config = as;
  config.fused_attention = false;
  source_.use(model_);
  const std::int64_t context = model_->file.context;
  program_ = std::make_shared<const Program>(build_program(config, {1, 1, model_->file.vocab}));
  memory_.assign(program_->tensors.size(), nullptr);
  arena_.resize(arena_cells(*program_));
  lay_out(*program_, arena_.data(), memory_);
  for (std::size_t id = 0; id < program_->tensors.size(); ++id) {
    if (program_->tensors[id].kind != TensorKind::kParameter) continue;
    parameters_.push_back(source_.parameter(program_->tensors[id], {}));
    memory_[id] = const_cast<float*>(parameters_.back()->data.data());  // only read
  }
  share_aliases(*program_, memory_);
  const auto fill = [&](TensorId id, const MaskSpec& spec, FloatBuffer& mask) {
    if (id < 0) return;
    mask.resize(static_cast<std::size_t>(context * context));
    fill_mask(spec, static_cast<int>(context), mask.data());
  };
  fill(program_->mask, config.mask, mask_);
  fill(program_->local_mask, program_->local_spec(), local_mask_);
  prepare_positions(config);
  const int last = program_->producer(program_->logits);
  stretches_.emplace_back();
  std::size_t next = 0;
  for (int c = 0; c <= last; ++c) {
    if (next < program_->attentions.size() && c == program_->attentions[next].first_call) {
      const FusedAttention& attention = program_->attentions[next++];
      caches_.emplace_back(*program_, attention, context);
      stretches_.emplace_back();
      c = attention.last_call;
    } else if (!is_of_position(program_->calls[place(c)])) {
      stretches_.back().push_back(program_->calls[place(c)]);
    }
  }
}

// All rows at once, by the program of a whole row: it has the same calls.
void CachedPredictor::prepare_positions(const Config& config) {
  const std::int64_t context = model_->file.context;
  const Program whole = build_program(config, {1, context, model_->file.vocab});
  std::vector<float*> memory(whole.tensors.size(), nullptr);
  for (std::size_t c = 0; c < whole.calls.size(); ++c) {
    const OpCall& call = whole.calls[c];
    if (!is_of_position(call)) continue;
    Rows rows{program_->calls[c].out, cell_count(whole.look(call.out).axes) / context, {}};
    rows.cells.resize(static_cast<std::size_t>(context * rows.width));
    memory[place(call.out)] = rows.cells.data();
    for (const TensorId in : call.in) {
      if (whole.tensors[place(in)].kind != TensorKind::kParameter) continue;
      parameters_.push_back(source_.parameter(whole.tensors[place(in)], {}));
      memory[place(in)] = const_cast<float*>(parameters_.back()->data.data());  // only read
    }
    backend_->run(whole, {&call, 1}, memory);
    rows_.push_back(std::move(rows));
  }
}

void CachedPredictor::read(int id) {
  const auto at = std::ssize(read_);
  *memory_[place(program_->token_ids)] = static_cast<float>(id);
  for (Rows& rows : rows_) memory_[place(rows.id)] = rows.cells.data() + at * rows.width;
  if (!rows_.empty()) share_aliases(*program_, memory_);
  for (std::size_t s = 0; s < stretches_.size(); ++s) {
    backend_->run(*program_, stretches_[s], memory_);
    if (s == caches_.size()) break;
    const TensorId forbids = program_->attentions[s].mask;
    const FloatBuffer& cells = forbids == program_->local_mask ? local_mask_ : mask_;
    caches_[s].run(memory_, at, forbids < 0 ? nullptr : cells.data() + at * model_->file.context);
  }
  read_.push_back(id);
}

std::span<const float> CachedPredictor::logits(std::span<const int> ids) {
  check_row(*model_, ids);
  const auto known = std::mismatch(read_.begin(), read_.end(), ids.begin(), ids.end()).first;
  // The last token at least: the logits of the others are not kept.
  const std::ptrdiff_t kept = std::min(known - read_.begin(), std::ssize(ids) - 1);
  read_.resize(static_cast<std::size_t>(kept));
  for (const int id : ids.subspan(static_cast<std::size_t>(kept))) read(id);
  return {memory_[place(program_->logits)], static_cast<std::size_t>(model_->file.vocab)};
}

}  // namespace headlight
