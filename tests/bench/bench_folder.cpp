#include "tests/bench/bench_folder.h"

#include <fstream>
#include <limits>
#include <numeric>

#include "core/base/error.h"
#include "core/base/number_text.h"
#include "core/run/runner.h"
#include "core/train/cached_predictor.h"
#include "tests/bench/eigen_product.h"
#include "tests/bench/median.h"
#include "tests/bench/multiply_add_peak.h"

namespace headlight {
namespace {

// Most memory that this process has had, in bytes; 0 where the system does not say.
double most_memory() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    double kilobytes = 0;
    if (word == "VmHWM:" && status >> kilobytes) return 1024 * kilobytes;
  }
  return 0;
}

// Reads every weight once, as a run of one token has to.
class PlainSum {
 public:
  PlainSum(const Model& model, int threads) : model_(model), pool_(threads) {
    for (std::size_t t = 0; t < model.weights.size(); ++t) {
      const auto cells = static_cast<std::int64_t>(model.weights[t].data.size());
      for (std::int64_t at = 0; at < cells; at += kPiece)
        pieces_.push_back({t, at, std::min(kPiece, cells - at)});
      bytes_ += sizeof(float) * static_cast<double>(cells);
    }
    sums_.resize(pieces_.size());
  }
  double bytes() const { return bytes_; }
  void run() {
    pool_.parallel_for(std::ssize(pieces_), [&](std::int64_t i, int) {
      const Piece& piece = pieces_[static_cast<std::size_t>(i)];
      const float* x = model_.weights[piece.tensor].data.data() + piece.first;
      constexpr std::int64_t kLanes = 64;
      float lanes[kLanes] = {};
      for (std::int64_t j = 0; j + kLanes <= piece.cells; j += kLanes)
        for (std::int64_t k = 0; k < kLanes; ++k) lanes[k] += x[j + k];
      sums_[static_cast<std::size_t>(i)] = std::accumulate(lanes, lanes + kLanes, 0.0f);
    });
  }

 private:
  static constexpr std::int64_t kPiece = 1 << 18;
  struct Piece {
    std::size_t tensor;
    std::int64_t first, cells;
  };
  const Model& model_;
  ThreadPool pool_;
  std::vector<Piece> pieces_;
  std::vector<float> sums_;
  double bytes_ = 0;
};

std::vector<int> some_ids(std::int64_t vocab, int count) {
  std::vector<int> ids;
  for (int i = 0; i < count; ++i) ids.push_back(static_cast<int>((7919LL * i + 11) % vocab));
  return ids;
}

RunLimits without_growing() {
  RunLimits limits = machine_limits();
  limits.grow_from = std::numeric_limits<double>::infinity();
  return limits;
}

// However small the model is.
RunLimits always_growing() {
  RunLimits limits = machine_limits();
  limits.grow_from = 0;
  return limits;
}

class FolderBench {
 public:
  FolderBench(std::shared_ptr<const Model> model, int tokens, int threads)
      : model_(std::move(model)),
        ids_(some_ids(model_->file.vocab, static_cast<int>(model_->file.context))),
        tokens_(tokens),
        backend_(make_cpu_backend(threads)),
        whole_(without_growing()),
        grows_(always_growing()) {
    document_.model = model_->ref;
    document_.config = model_->file.config;
    document_.max_tokens = static_cast<int>(model_->file.context);
  }

  double run_whole() { return time_of(whole_, tokens_); }
  /// One id more than at the last call.
  double run_grown() {
    if (grown_ == 0) time_of(grows_, grown_ = tokens_);
    return time_of(grows_, ++grown_);
  }
  std::int64_t rows_taken() const { return rows_taken_; }
  double flops() const { return flops_; }
  int most_rounds() const { return static_cast<int>(std::ssize(ids_)) - tokens_ - 1; }
  std::span<const int> ids(int count) const { return std::span(ids_).first(place(count)); }

 private:
  double time_of(Runner& runner, int count) {
    document_.ids.assign(ids_.begin(), ids_.begin() + count);
    RunResult result;
    const double took = seconds([&] { result = runner.run(document_, *backend_, model_); });
    if (!result.trace) throw Error(result.message);
    rows_taken_ = result.rows_taken;
    if (&runner == &whole_) flops_ = program_flops(result.trace->program());
    return took;
  }

  std::shared_ptr<const Model> model_;
  std::vector<int> ids_;
  int tokens_, grown_ = 0;
  std::unique_ptr<Backend> backend_;
  Runner whole_, grows_;
  Document document_;
  std::int64_t rows_taken_ = 0;
  double flops_ = 0;
};

}  // namespace

std::vector<BenchRow> bench_folder(const std::filesystem::path& folder, int tokens, int threads,
                                   int rounds) {
  std::shared_ptr<const Model> model;
  const double opening = seconds([&] { model = load_model(folder.string()); });
  if (model->file.config.form != ModelForm::kTokens ||
      !CachedPredictor::can_read(*model, model->file.config))
    throw UsageError(
        "bench folder measures models that go on with a text token by token, and this one does "
        "not; choose a decoder such as GPT-2 or Llama");
  FolderBench bench(model, tokens, threads);
  if (bench.most_rounds() < 2) {
    throw UsageError("the model's context is " + count_text(model->file.context) +
                     " tokens, which has no place for --tokens " + std::to_string(tokens) +
                     " and two more; give fewer");
  }
  MultiplyAddPeak peak(threads);
  PlainSum sum(*model, threads);
  CachedPredictor cached(model, model->file.config);
  (void)cached.logits(bench.ids(tokens));
  bench.run_whole();
  bench.run_grown();
  std::vector<double> peaks, sums, wholes, growns, ones;
  for (int round = 0; round < std::min(rounds, bench.most_rounds() - 1); ++round) {
    peaks.push_back(seconds([&] { peak.run(); }));
    sums.push_back(seconds([&] { sum.run(); }));
    wholes.push_back(bench.run_whole());
    growns.push_back(bench.run_grown());
    if (bench.rows_taken() == 0) throw Error("no rows were taken from the run before");
    ones.push_back(seconds([&] { (void)cached.logits(bench.ids(tokens + 1 + round)); }));
  }
  const double peak_rate = peak.flops() / median(peaks) * 1e-9;
  const double rate = bench.flops() / median(wholes) * 1e-9;
  const double bandwidth = sum.bytes() / median(sums) * 1e-9;
  const std::string on = std::to_string(threads) + (threads == 1 ? " thread" : " threads");
  const std::string all = std::to_string(tokens) + " tokens";
  return {
      {"opening", opening, "s", 1, "at most"},
      {"most memory", most_memory() * 1e-9, "GB", 1, "at most; " + all + " and their numbers"},
      {"multiply-add peak", peak_rate, "GFLOP/s", 0, "the machine's own limit on " + on},
      {"plain sum over the weights", bandwidth, "GB/s", 0, "the same for what is read once"},
      {all + ", all logits", median(wholes) * 1e3, "ms", 0,
       "one run, its layers computed again when looked at"},
      {"", rate / peak_rate, "of the peak", 0.55, "at least; products of matrices are counted"},
      {"one more token typed", median(growns) * 1e3, "ms", 0,
       "its rows in what is kept of every layer"},
      {"", median(growns) / median(wholes), "of all", 0.125, "at most"},
      {"one more token generated", median(ones) * 1e3, "ms", 0, "logits alone, on 1 thread"},
      {"", median(ones) / median(wholes), "of all", 0.125, "at most"},
      {"reading every weight once", median(sums) / median(wholes), "of all", 0,
       "the least that one more token can take"},
  };
}

}  // namespace headlight
