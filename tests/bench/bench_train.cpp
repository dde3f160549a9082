#include "tests/bench/bench_train.h"

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "core/base/random.h"
#include "core/model/init.h"
#include "core/train/trainer.h"
#include "tests/bench/eigen_product.h"
#include "tests/bench/multiply_add_peak.h"

namespace headlight {
namespace {

constexpr BenchModel kModels[] = {{"tiny", 32, 32, 2, 1, 16, 32, 0.50},
                                  {"toy", 64, 64, 4, 2, 64, 32, 0.75},
                                  {"small", 96, 128, 4, 4, 128, 16, 0.80}};

Config config_of(const BenchModel& m) {
  Config config;
  config.layers = m.layers;
  config.heads = m.heads;
  config.d_model = m.d_model;
  config.positions = PositionKind::kLearned;
  config.mask.kind = MaskKind::kCausal;
  return config;
}

TokenBatch batch_of(const BenchModel& m) {
  TokenBatch batch{m.batch, m.positions, {}, {}};
  const auto vocab = static_cast<std::uint64_t>(m.vocab);
  for (int i = 0; i < m.batch * m.positions; ++i) {
    const auto place = static_cast<std::uint64_t>(i);
    batch.tokens.push_back(static_cast<int>(scatter(place) % vocab));
    batch.targets.push_back(static_cast<int>(scatter(place + 1) % vocab));
  }
  return batch;
}

// 6 for each weight of a matrix and token, and the two products of attention.
double flops_of(const BenchModel& m, BenchPass pass) {
  const double d = m.d_model, tokens = static_cast<double>(m.batch) * m.positions;
  const double weights = 12.0 * m.layers * d * d + d * m.vocab;
  const double all = 6 * weights * tokens + 12.0 * m.layers * m.positions * d * tokens;
  return pass == BenchPass::kTrain ? all : all / 3;
}

// A model and what its rounds showed.
class Measured {
 public:
  Measured(const BenchModel& model, BenchPass pass, int threads)
      : model_(model), pass_(pass), batch_(batch_of(model)) {
    TrainerOptions options;
    options.threads = threads;
    const Config config = config_of(model);
    const Program program = build_program(config, {1, model.positions, model.vocab});
    trainer_ = std::make_unique<Trainer>(config, model.vocab, model.positions,
                                         initial_parameters(program, Init::kNormal, 1), options);
    run();
    for (steps_ = 1; seconds([&] { turn(); }) < kTurn; steps_ *= 2) {
    }
  }

  /// Seconds of a turn, of which the caller knows how fast the product was meanwhile.
  double turn() {
    return seconds([&] {
      for (int i = 0; i < steps_; ++i) run();
    });
  }

  void add(double turn_seconds, double product_rate, double peak_rate) {
    const double flops = flops_of(model_, pass_) * steps_;
    shares_.push_back(flops / turn_seconds / product_rate);
    tokens_.push_back(static_cast<double>(batch_.tokens.size()) * steps_ / turn_seconds);
    products_.push_back(product_rate);
    peak_shares_.push_back(flops / turn_seconds / peak_rate);
    peaks_.push_back(peak_rate);
  }

  TrainRate result() {
    TrainRate rate;
    rate.model = model_;
    rate.parameters = trainer_->parameter_count();
    rate.tokens_per_second = quantile(tokens_, 0.5);
    rate.share = quantile(shares_, 0.5);
    rate.share_low = quantile(shares_, 0.25);
    rate.share_high = quantile(shares_, 0.75);
    rate.product_gflops = quantile(products_, 0.5) * 1e-9;
    rate.peak_gflops = quantile(peaks_, 0.5) * 1e-9;
    rate.peak_share = quantile(peak_shares_, 0.5);
    rate.bytes_held = static_cast<double>(trainer_->memory_bytes());
    rate.bytes_needed = static_cast<double>(trainer_->needed_bytes());
    return rate;
  }

 private:
  static constexpr double kTurn = 0.1;  // seconds, at least

  static double quantile(std::vector<double> values, double part) {
    std::sort(values.begin(), values.end());
    return values[static_cast<std::size_t>(part * static_cast<double>(values.size() - 1) + 0.5)];
  }

  void run() {
    if (pass_ == BenchPass::kTrain) {
      trainer_->step(batch_);
    } else {
      trainer_->evaluate(batch_);
    }
  }

  BenchModel model_;
  BenchPass pass_;
  TokenBatch batch_;
  std::unique_ptr<Trainer> trainer_;
  int steps_ = 1;  // in a turn
  std::vector<double> shares_, tokens_, products_, peak_shares_, peaks_;
};

}  // namespace

std::vector<std::string> bench_models() {
  std::vector<std::string> names;
  for (const BenchModel& model : kModels) names.emplace_back(model.name);
  return names;
}

std::vector<TrainRate> bench_train(BenchPass pass, int threads, int rounds, std::string_view only) {
  EigenProduct product(threads);
  product.run();
  MultiplyAddPeak peak(threads);
  peak.run();
  std::vector<Measured> models;
  for (const BenchModel& model : kModels) {
    if (only.empty() || only == model.name) models.emplace_back(model, pass, threads);
  }
  const auto product_rate = [&] { return EigenProduct::flops() / seconds([&] { product.run(); }); };
  const auto peak_rate = [&] { return peak.flops() / seconds([&] { peak.run(); }); };
  for (int round = 0; round < rounds; ++round) {
    double before = product_rate();
    double peak_before = peak_rate();
    for (Measured& model : models) {
      const double turn = model.turn(), after = product_rate(), peak_after = peak_rate();
      model.add(turn, (before + after) / 2, (peak_before + peak_after) / 2);
      before = after;
      peak_before = peak_after;
    }
  }
  std::vector<TrainRate> rates;
  for (Measured& model : models) rates.push_back(model.result());
  return rates;
}

std::string as_table(BenchPass pass, int threads, const std::vector<TrainRate>& rates) {
  std::string text = pass == BenchPass::kTrain ? "Forward, backward and update" : "Forward";
  text += " on " + std::to_string(threads) + (threads == 1 ? " thread" : " threads") +
          "; the share of the rate of an Eigen product 2048 x 2048 x 2048 beside it,\n"
          "and of the machine's multiply-add peak\n";
  char line[256];
  for (const TrainRate& r : rates) {
    std::snprintf(line, sizeof line, "%-6s %11.0f tokens/s  share %5.1f %% (%.1f to %.1f)",
                  r.model.name, r.tokens_per_second, 100 * r.share, 100 * r.share_low,
                  100 * r.share_high);
    text += line;
    if (pass == BenchPass::kTrain) {
      text += "  asked " + std::to_string(static_cast<int>(100 * r.model.asked)) + " %";
    }
    std::snprintf(line, sizeof line,
                  "  product %.1f GFLOP/s\n       %5.1f %% of the peak, %.1f GFLOP/s\n",
                  r.product_gflops, 100 * r.peak_share, r.peak_gflops);
    text += line;
    if (pass == BenchPass::kForward) continue;
    std::snprintf(line, sizeof line,
                  "       memory %.2f MB held, %.2f MB needed: %.2f times, at most 2\n",
                  r.bytes_held * 1e-6, r.bytes_needed * 1e-6, r.bytes_held / r.bytes_needed);
    text += line;
  }
  return text;
}

std::string as_json(BenchPass pass, int threads, const std::vector<TrainRate>& rates) {
  nlohmann::ordered_json configs = nlohmann::ordered_json::array();
  for (const TrainRate& r : rates) {
    nlohmann::ordered_json entry = {{"config", r.model.name},
                                    {"vocab", r.model.vocab},
                                    {"d_model", r.model.d_model},
                                    {"heads", r.model.heads},
                                    {"layers", r.model.layers},
                                    {"positions", r.model.positions},
                                    {"batch", r.model.batch},
                                    {"parameters", r.parameters},
                                    {"share", r.share},
                                    {"tokens_per_second", r.tokens_per_second},
                                    {"share_low", r.share_low},
                                    {"share_high", r.share_high},
                                    {"peak_share", r.peak_share},
                                    {"peak_gflops", r.peak_gflops},
                                    {"product_gflops", r.product_gflops}};
    if (pass == BenchPass::kTrain) {
      entry["asked"] = r.model.asked;
      entry["bytes_held"] = r.bytes_held;
      entry["bytes_needed"] = r.bytes_needed;
      entry["memory_ratio"] = r.bytes_held / r.bytes_needed;
    }
    configs.push_back(std::move(entry));
  }
  const nlohmann::ordered_json all = {{"pass", pass == BenchPass::kTrain ? "train" : "forward"},
                                      {"threads", threads},
                                      {"configs", configs}};
  return all.dump(2) + "\n";
}

}  // namespace headlight
