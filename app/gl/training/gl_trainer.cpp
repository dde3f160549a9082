#include "app/gl/training/gl_trainer.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <iterator>
#include <utility>

#include "app/gl/context/egl_context.h"
#include "core/base/error.h"
#include "core/base/number_text.h"
#include "core/train/data/batch_inputs.h"
#include "core/train/data/length_batches.h"

namespace headlight {
namespace {

// Programs of so many different sizes are kept: those of a step, of an evaluation, and of narrower
// batches.
constexpr std::size_t kMaxPrograms = 4 + kBatchWidths;
constexpr std::array<float, kFigureWords> kNoFigures{};

// The backend as a step needs it: what it makes stays on the device. Others get it back as it was.
class Borrowed {
 public:
  explicit Borrowed(GlBackend& backend) : backend_(backend) { backend_.set_fetching(false); }
  ~Borrowed() {
    backend_.use(nullptr);
    backend_.set_fetching(true);
    backend_.calls().use_program(0);
  }
  Borrowed(const Borrowed&) = delete;
  Borrowed& operator=(const Borrowed&) = delete;

 private:
  GlBackend& backend_;
};

// Some numbers of the steps since the last check that found nothing may be wrong, too.
Message since_checked(const Message& what, std::int64_t step) {
  return Message{"gpu.wrong_since", {{"step", count_text(step)}}}.with(what);
}

// A backend and what it needs to live.
struct LoneBackend {
  explicit LoneBackend(GlBackendOptions options) : backend(std::move(options)) {}
  EglContext context{EglOptions{.prefer_hardware = true}};
  GlBackend backend;
};

}  // namespace

GlTrainer::GlTrainer(const Config& config, const RunShape& shape, std::vector<Tensor> parameters,
                     const TrainerOptions& options, std::shared_ptr<GlBackend> backend)
    : Learner(config, shape, std::move(parameters), options),
      backend_(std::move(backend)),
      guard_cells_(backend_->guard_cells()),
      weights_on_(backend_->calls(), guard_cells_),
      gradients_on_(backend_->calls(), guard_cells_),
      moments_on_{GlTensors(backend_->calls(), guard_cells_),
                  GlTensors(backend_->calls(), guard_cells_)},
      figures_on_(backend_->calls(), guard_cells_) {
  check_sizes();
  std::size_t cells = 0;
  for (const Tensor& tensor : parameters_) {
    constexpr std::size_t kLine = kTensorAlignment / sizeof(float);
    place_.push_back(cells);
    cells += (tensor.data.size() + kLine - 1) / kLine * kLine;
  }
  gradient_.assign(cells, 0.0f);
  std::vector<std::span<float>> gradients;
  for (std::size_t p = 0; p < parameters_.size(); ++p)
    gradients.push_back({gradient_.data() + place_[p], parameters_[p].data.size()});
  make_optimizer(gradients);
  make_buffers();
}

GlTrainer::~GlTrainer() = default;

// The operations on a parameter could run elsewhere, but then most of a step would.
void GlTrainer::check_sizes() const {
  const std::int64_t most =
      std::min<std::int64_t>(backend_->device().limits.block_bytes / 4, std::int64_t{1} << 31);
  for (const Tensor& tensor : parameters_) {
    if (cell_count(tensor.axes) <= most) continue;
    throw Error(Message{"gpu.parameter",
                        {{"name", tensor.name},
                         {"shape", shape_text(tensor.axes)},
                         {"device", backend_->device().renderer},
                         {"most", std::to_string(most)}}});
  }
}

std::int64_t GlTrainer::cells_of(std::size_t parameter) const {
  return static_cast<std::int64_t>(parameters_[parameter].data.size());
}

// Everything that a step needs beside its batch. Gradients that no backward pass reaches stay
// zeros.
void GlTrainer::make_buffers() {
  const std::size_t count = parameters_.size();
  figures_on_.begin(1, 1);
  for (GlTensors* tensors : {&weights_on_, &gradients_on_, &moments_on_[0], &moments_on_[1]})
    tensors->begin(count, 1);
  for (std::size_t p = 0; p < count; ++p) {
    weights_on_.to_read(p, parameters_[p].data.data(), cells_of(p));
    const unsigned gradient = gradients_on_.to_read(p, gradient_.data() + place_[p], cells_of(p));
    measured_.push_back({gradient, cells_of(p)});
    for (std::size_t m = 0; m < optimizer_->moment_count(); ++m)
      moments_on_[m].to_read(p, optimizer_->moment(p, m).data(), cells_of(p));
  }
  check_device(backend_->calls(), "glBufferData");
}

// ---- programs ----

Program GlTrainer::program_of(const Size& size) const {
  const auto [rows, positions, sources] = size;
  RunShape sizes = narrowed(shape_, positions, sources);
  sizes.batch = rows;
  return build_training_program(config_, sizes, options_.dropout > 0);
}

GlTrainingProgram& GlTrainer::program_for(const Size& size) {
  if (!programs_.contains(size)) {
    if (programs_.size() >= kMaxPrograms) {
      programs_.erase(std::min_element(
          programs_.begin(), programs_.end(),
          [](const auto& a, const auto& b) { return a.second->used < b.second->used; }));
    }
    Program program = program_of(size);
    std::shared_ptr<const Fusion> fusion = backend_->fusion_for(program);
    programs_[size] = std::make_unique<GlTrainingProgram>(
        std::move(program), std::move(fusion), backend_->calls(), guard_cells_, parameters_);
  }
  GlTrainingProgram& found = *programs_[size];
  found.used = ++uses_;
  return found;
}

int GlTrainer::unfit_calls(const Size& size) const {
  const Program program = program_of(size);
  const std::vector<OpCall> calls = calls_for(program, program.loss);
  const std::shared_ptr<const Fusion> fusion = backend_->fusion_for(program);
  return static_cast<int>(std::count_if(calls.begin(), calls.end(), [&](const OpCall& call) {
    const bool fused = fusion && (fusion->is_between(call.out) || fusion->attention(call.out));
    return !fused && !backend_->supports(program, call);
  }));
}

// As few as the device can take; where it never can, as few as leave it the most.
std::int64_t GlTrainer::pieces_for(const Size& size) {
  std::int64_t& best = pieces_[size];
  if (best != 0) return best;
  int fewest = 0;
  const std::int64_t rows = size[0];
  for (std::int64_t pieces = 1; best == 0 || fewest > 0; pieces = std::min(2 * pieces, rows)) {
    const int unfit = unfit_calls({(rows + pieces - 1) / pieces, size[1], size[2]});
    if (best == 0 || unfit < fewest) {
      best = pieces;
      fewest = unfit;
    }
    if (pieces == rows) break;
  }
  return best;
}

// ---- one run ----

void GlTrainer::lend_parameters(GlTrainingProgram& s) {
  for (std::size_t p = 0; p < parameters_.size(); ++p) {
    const unsigned buffer = weights_on_.to_read(p, parameters_[p].data.data(), cells_of(p));
    s.storage.tensors.borrow(s.parameter_slots[p], buffer, cells_of(p));
  }
}

void GlTrainer::lend_gradients(GlTrainingProgram& s) {
  for (std::size_t p = 0; p < parameters_.size(); ++p)
    s.storage.gradients.borrow(s.parameter_slots[p], measured_[p].buffer, cells_of(p));
}

// Those that the processor found go to the device.
void GlTrainer::take_gradients(GlTrainingProgram& s) {
  for (std::size_t p = 0; p < parameters_.size(); ++p) {
    const std::size_t slot = s.parameter_slots[p];
    s.storage.gradients.to_read(slot, s.backward.gradients()[slot], cells_of(p));
  }
}

// On the device, but for what is larger than its buffers may be: the processor uses that.
void GlTrainer::draw_dropout(GlTrainingProgram& s, const Piece& piece) {
  const Program& program = *s.program;
  const DropoutDraw draw{piece.backward ? options_.dropout : 0, options_.seed, optimizer_->steps(),
                         piece.row + piece.first};
  const std::int64_t most = backend_->device().limits.block_bytes / 4;
  const auto is_large = [&](TensorId id) { return cell_count(program.look(id).axes) > most; };
  if (std::any_of(program.dropout.begin(), program.dropout.end(), is_large))
    return fill_dropout(program, draw, s.memory);
  for (const TensorId id : program.dropout) {
    const auto slot = static_cast<std::size_t>(id);
    const std::int64_t cells = cell_count(program.look(id).axes);
    const unsigned buffer = s.drawn.to_write(slot, cells);
    backend_->updates().draw_dropout({buffer, cells}, dropout_cells(program, id, draw));
    s.storage.tensors.borrow(slot, buffer, cells);
  }
}

void GlTrainer::run_piece(GlTrainingProgram& s, const Piece& piece) {
  fill_batch(*s.program, piece.batch, piece.first, s.memory);
  draw_dropout(s, piece);
  backend_->use(&s.storage);
  lend_parameters(s);
  backend_->run(*s.program, s.calls, s.memory);
  add_figures(s, piece);
  if (!piece.backward) return;
  s.backward.seed_loss(s.memory, piece.counted);
  lend_gradients(s);
  s.backward.run(*backend_, s.memory,
                 piece.adds ? ParameterGradients::kAdded : ParameterGradients::kFresh);
  take_gradients(s);
}

// Of logits that are larger than a buffer the processor finds what the kernels would, and of a
// model that says two things both.
void GlTrainer::add_figures(GlTrainingProgram& s, const Piece& piece) {
  const Program& program = *s.program;
  const TensorId logits = program.logits, loss = told_loss(program);
  const unsigned figures = figures_on_.to_add(0, kNoFigures.data(), kFigureWords);
  const std::int64_t most = backend_->device().limits.block_bytes / 4;
  const bool both = program.token_loss >= 0;
  if (both ||
      std::max(cell_count(program.look(logits).axes), cell_count(program.look(loss).axes)) > most) {
    backend_->fetch(program, logits, s.memory);
    backend_->fetch(program, loss, s.memory);
    if (both) backend_->fetch(program, program.token_loss, s.memory);
    if (both && !piece.backward) backend_->fetch(program, program.token_logits, s.memory);
    const BatchSum sum = sum_batch(program, s.memory, !piece.backward);
    elsewhere_.loss += sum.loss;
    elsewhere_.counted += sum.counted;
    elsewhere_.hidden.loss += sum.hidden.loss;
    elsewhere_.hidden.counted += sum.hidden.counted;
    elsewhere_.hidden.correct += sum.hidden.correct;
    elsewhere_.correct += sum.correct;
    elsewhere_.rows_correct += sum.rows_correct;
    elsewhere_.chosen.insert(elsewhere_.chosen.end(), sum.chosen.begin(), sum.chosen.end());
    return;
  }
  if (!piece.backward && config_.form == ModelForm::kClasses) {
    backend_->fetch(program, logits, s.memory);
    backend_->fetch(program, loss, s.memory);
    std::ranges::move(sum_batch(program, s.memory, true).chosen,
                      std::back_inserter(elsewhere_.chosen));
  }
  GlUpdates& updates = backend_->updates();
  updates.sum_loss(s.look(loss), figures);
  if (piece.backward) return;
  const GlCells targets = s.look(program.targets);
  updates.count_hits(s.look(logits), targets, targets.cells / program.shape.batch, figures);
}

void GlTrainer::run_batch(const TokenBatch& batch, Piece piece) {
  const std::int64_t pieces = pieces_for({batch.rows, batch.positions, batch.sources});
  for (std::int64_t i = 0; i < pieces && piece.first < batch.rows; ++i) {
    const std::int64_t rows = batch.rows / pieces + (i < batch.rows % pieces ? 1 : 0);
    run_piece(program_for({rows, batch.positions, batch.sources}), piece);
    piece.first += rows;
    piece.adds = true;
  }
}

GlFigures GlTrainer::read_figures() {
  std::array<float, kFigureWords> words;
  figures_on_.fetch(0, words.data());
  check_device(backend_->calls(), "glGetBufferSubData");
  auto figures = std::bit_cast<GlFigures>(words);
  figures.loss += static_cast<float>(elsewhere_.loss);
  figures.correct += static_cast<std::uint32_t>(elsewhere_.correct);
  figures.rows_correct += static_cast<std::uint32_t>(elsewhere_.rows_correct);
  return figures;
}

// Runs f, which makes the device compute. After a lost device nothing there is to be used.
template <class F>
auto GlTrainer::guarded(F&& f) {
  if (lost_) throw Error(Message{"gpu.half"});
  const Borrowed borrowed(*backend_);
  weights_on_.begin(parameters_.size(), 1);
  for (GlTensors& moments : moments_on_) moments.begin(parameters_.size(), 1);
  figures_on_.begin(1, 1);
  figures_on_.forget(0);
  figures_on_.to_read(0, kNoFigures.data(), kFigureWords);
  elsewhere_ = {};
  try {
    return f();
  } catch (const WrongResult& wrong) {
    throw WrongResult(since_checked(wrong.message(), checked_step_), wrong.wrong);
  } catch (const Error& error) {
    lost_ |= error.message().id == "gpu.lost";
    throw;
  }
}

// ---- learning ----

TrainStep GlTrainer::step(std::span<const TokenBatch> batches) {
  TrainStep result = begin(batches);
  return guarded([&] {
    const std::int64_t cells = backend_->spot_checks().cells();
    if (std::exchange(checked_cells_, cells) != cells) checked_step_ = optimizer_->steps();
    if (wrong_update_) throw *std::exchange(wrong_update_, std::nullopt);
    std::int64_t row = 0;
    for (const TokenBatch& batch : batches) {
      elsewhere_.hidden = {};
      elsewhere_.counted = 0;
      run_batch(batch, {batch, 0, result.counted, row, true, row > 0});
      result.hidden_loss += mean_hidden(elsewhere_) * static_cast<double>(elsewhere_.counted);
      row += batch.rows;
    }
    measure_gradients();
    const GlFigures figures = read_figures();
    result.hidden_loss /= static_cast<double>(result.counted);
    result.loss = static_cast<double>(figures.loss) / static_cast<double>(result.counted) +
                  result.hidden_loss;
    result.gradient_norm = figures.norm();
    if (std::isfinite(result.loss) && std::isfinite(result.gradient_norm)) update(result);
    return result;
  });
}

void GlTrainer::measure_gradients() {
  gradients_on_.begin(parameters_.size(), 1);
  for (std::size_t p = 0; p < parameters_.size(); ++p) gradients_on_.to_write(p, cells_of(p));
  backend_->updates().measure(measured_, figures_on_.to_add(0, kNoFigures.data(), kFigureWords));
}

void GlTrainer::update(const TrainStep& result) {
  lost_ = true;  // until all of it is done
  const std::optional<UpdateSample> sample = sample_update();
  const double factor = options_.clip / (result.gradient_norm + 1e-6);
  const bool clips = options_.clip > 0 && factor < 1;
  if (clips) {
    for (const GlCells& gradient : measured_)
      backend_->updates().clip(gradient, static_cast<float>(factor));
  }
  const std::int64_t number = optimizer_->count_step();
  for (std::size_t p = 0; p < parameters_.size(); ++p)
    update_parameter(p, result.learning_rate, number);
  check_device(backend_->calls(), "glDispatchCompute");
  lost_ = false;
  if (sample) check_update(*sample, clips ? factor : 1, result.learning_rate, number);
}

void GlTrainer::update_parameter(std::size_t p, double rate, std::int64_t number) {
  const OptimizerOptions& o = optimizer_->options();
  const std::int64_t cells = cells_of(p);
  const GlCells parameter{weights_on_.to_add(p, parameters_[p].data.data(), cells), cells};
  std::array<unsigned, 2> moments{};
  for (std::size_t m = 0; m < optimizer_->moment_count(); ++m)
    moments[m] = moments_on_[m].to_add(p, optimizer_->moment(p, m).data(), cells);
  const double decay = optimizer_->decay(p);
  const unsigned gradient = measured_[p].buffer;
  if (o.kind != OptimizerKind::kSgd) {
    return backend_->updates().adam(parameter, gradient, moments,
                                    adam_step(o, rate, number, decay));
  }
  backend_->updates().sgd(parameter, gradient, moments[0], static_cast<float>(rate),
                          static_cast<float>(decay), static_cast<float>(o.momentum));
}

Evaluation GlTrainer::evaluate(const TokenBatch& batch) {
  check_batch(batch, config_, shape_);
  Evaluation result;
  const std::size_t per_row = batch.targets.size() / static_cast<std::size_t>(batch.rows);
  for (auto row = batch.targets.begin(); row != batch.targets.end();) {
    const auto end = row + static_cast<std::ptrdiff_t>(per_row);
    const auto counted = std::count_if(row, end, [](int target) { return target >= 0; });
    result.counted += counted;
    result.rows += counted > 0;
    row = end;
  }
  return guarded([&] {
    run_batch(batch, {batch});
    const GlFigures figures = read_figures();
    const auto counted = static_cast<double>(std::max<std::int64_t>(result.counted, 1));
    result.hidden = elsewhere_.hidden;
    result.hidden.loss = mean_hidden(elsewhere_);
    result.loss = static_cast<double>(figures.loss) / counted + result.hidden.loss;
    result.correct = figures.correct;
    result.rows_correct = figures.rows_correct;
    result.chosen = std::move(elsewhere_.chosen);
    return result;
  });
}

std::shared_ptr<GlBackend> make_lone_gl_backend(GlBackendOptions options) {
  auto lone = std::make_shared<LoneBackend>(std::move(options));
  return {lone, &lone->backend};
}

LearnerFactory gl_learners(std::shared_ptr<GlBackend> backend) {
  return [backend](const Config& config, const RunShape& shape, std::vector<Tensor> parameters,
                   const TrainerOptions& options) {
    if (config.memory > 0) throw UsageError(Message{"error.memory_card"});
    if (options.storage != NumberFormat::kFloat32)
      throw UsageError(
          Message{"error.storage_card", {{"storage", std::string(word(options.storage))}}});
    if (options.checkpointing) throw UsageError(Message{"error.checkpointing_card"});
    return std::make_unique<GlTrainer>(config, shape, std::move(parameters), options, backend);
  };
}

}  // namespace headlight
