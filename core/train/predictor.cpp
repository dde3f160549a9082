#include "core/train/predictor.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/graph/program_memory.h"
#include "core/run/model_input.h"
#include "core/train/data/batch_inputs.h"

namespace headlight {

Predictor::Predictor(std::shared_ptr<const Model> model, int threads)
    : model_(std::move(model)), backend_(make_cpu_backend(threads)) {
  if (model_->file.config.form != ModelForm::kTokens) {
    throw UsageError(not_next_token(*model_));
  }
  source_.use(model_);
}

void Predictor::prepare(std::int64_t rows, std::int64_t positions) {
  RunShape shape{rows, positions, model_->file.vocab};
  shape.separator = separator_of(model_->file.config, model_->vocabulary.get());
  if (memory_.rows > 0 && memory_.batch != rows) {
    throw UsageError(
        Message{"error.memory_follows",
                {{"rows", std::to_string(memory_.batch)}, {"got", std::to_string(rows)}}});
  }
  shape.memory = memory_.rows;
  if (program_ && program_->shape == shape) return;
  program_ = std::make_shared<const Program>(build_program(model_->file.config, shape));
  calls_ = calls_for(*program_, program_->logits);
  const std::size_t cells = arena_cells(*program_);
  if (arena_.size() < cells) arena_.resize(cells);
  cells_.assign(program_->tensors.size(), nullptr);
  parameters_.clear();
  lay_out(*program_, arena_.data(), cells_);
  for (std::size_t id = 0; id < program_->tensors.size(); ++id) {
    if (program_->tensors[id].kind != TensorKind::kParameter) continue;
    parameters_.push_back(source_.parameter(program_->tensors[id], {}));
    cells_[id] = const_cast<float*>(parameters_.back()->data.data());  // only read
  }
  share_aliases(*program_, cells_);
  fill_own_mask(*program_, cells_);
}

std::span<const float> Predictor::logits(std::span<const int> ids, std::int64_t positions) {
  for (const int id : ids) {
    if (id >= 0 && id < model_->file.vocab) continue;
    throw Error(
        Message{"vocabulary.no_such_id",
                {{"id", std::to_string(id)}, {"last", std::to_string(model_->file.vocab - 1)}}});
  }
  prepare(static_cast<std::int64_t>(ids.size()) / positions, positions);
  float* tokens = cells_[static_cast<std::size_t>(program_->token_ids)];
  for (const int id : ids) *tokens++ = static_cast<float>(id);
  fill_segments(*program_, cells_);
  fill_memory(*program_, memory_, 0, cells_);
  backend_->run(*program_, calls_, cells_);
  const float* out = cells_[static_cast<std::size_t>(program_->logits)];
  return {out, ids.size() * static_cast<std::size_t>(model_->file.vocab)};
}

void Predictor::remember() {
  if (model_->file.config.memory == 0 || !program_) return;
  const RunShape& shape = program_->shape;
  make_room(model_->file.config, memory_, shape.batch, shape.positions, next_);
  keep_memory(*program_, cells_, 0, next_);
  std::swap(memory_, next_);
}

std::vector<int> prompt_ids(const Model& model, const std::string& prompt) {
  std::vector<int> ids = model.before;
  const std::vector<int> own = model.vocabulary->encode(prompt);
  ids.insert(ids.end(), own.begin(), own.end());
  return ids;
}

Generator::Generator(std::shared_ptr<const Model> model, const std::string& prompt,
                     const SamplingOptions& options, std::uint64_t seed, int threads)
    : Generator(model, prompt_ids(*model, prompt), options, seed, threads) {}

Generator::Generator(std::shared_ptr<const Model> model, std::vector<int> ids,
                     const SamplingOptions& options, std::uint64_t seed, int threads)
    : predictor_(std::move(model), threads), options_(options), seed_(seed), ids_(std::move(ids)) {
  validate(options);
  const Model& m = predictor_.model();
  if (!m.file.kind.empty() && m.file.kind != "next-token") {
    throw UsageError(not_next_token(m));
  }
  const std::optional<int> begin = m.vocabulary->id_of(Special::kBegin);
  if (ids_.empty() && begin) ids_.push_back(*begin);
  if (ids_.empty()) throw UsageError(Message{"model.no_prompt"});
  check_ids(m, ids_);
  if (CachedPredictor::can_read(m, m.file.config))
    cached_.emplace(predictor_.shared_model(), m.file.config);
}

// Of the token behind the last one.
std::span<const float> Generator::logits() {
  if (cached_ && !shifted()) return cached_->logits(ids_);
  if (remembers()) return logits_by_segments();
  const std::int64_t positions = std::min(std::ssize(ids_), predictor_.context());
  const std::span<const float> all = predictor_.logits(
      std::span<const int>(ids_).last(static_cast<std::size_t>(positions)), positions);
  return all.last(static_cast<std::size_t>(predictor_.model().file.vocab));
}

// As a text is measured (score_text()): whole segments are read once and remembered, and the last
// one, of 1 to context tokens, with what is remembered of those.
std::span<const float> Generator::logits_by_segments() {
  const std::int64_t context = predictor_.context();
  const std::span<const int> ids(ids_);
  for (; std::ssize(ids) - remembered_ > context; remembered_ += context) {
    predictor_.logits(
        ids.subspan(static_cast<std::size_t>(remembered_), static_cast<std::size_t>(context)),
        context);
    predictor_.remember();
  }
  const std::span<const int> segment = ids.subspan(static_cast<std::size_t>(remembered_));
  return predictor_.logits(segment, std::ssize(segment))
      .last(static_cast<std::size_t>(predictor_.model().file.vocab));
}

std::optional<std::string> Generator::next() {
  const Vocabulary& vocabulary = *predictor_.model().vocabulary;
  if (drawn_ > 0 && ends_row(predictor_.model(), ids_.back())) return std::nullopt;
  const int id = sample_token(logits(), options_, seed_, drawn_++).id;
  // What a token adds may begin with a space, by the token before it.
  const int pair[] = {ids_.back(), id};
  const std::size_t before = vocabulary.decode({pair, 1}).size();
  ids_.push_back(id);
  return vocabulary.decode(pair).substr(before);
}

}  // namespace headlight
