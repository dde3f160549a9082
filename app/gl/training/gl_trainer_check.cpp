// Spot checks of a training step's update: some cells of a parameter, with their gradient and their
// moments, updated once more by the processor.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "app/gl/training/gl_trainer.h"
#include "core/base/number_text.h"

namespace headlight {
namespace {

constexpr std::int64_t kUpdatedCells = 16;  // one behind the other

// What the last place of a number is worth counts for nothing: a small rate moves large weights by
// little more.
double beyond_rounding(double off, double number) {
  constexpr double kPlaces = 4;
  const double rounding = kPlaces * std::numeric_limits<float>::epsilon() * std::fabs(number);
  return std::max(0.0, std::fabs(off) - rounding);
}

}  // namespace

// None where no check is due.
std::optional<GlTrainer::UpdateSample> GlTrainer::sample_update() {
  GlSpotChecks& checks = backend_->spot_checks();
  const int chosen = checks.choose(parameters_.size());
  if (chosen < 0) return std::nullopt;
  UpdateSample sample;
  const auto p = static_cast<std::size_t>(chosen);
  sample.parameter = p;
  const std::int64_t size = cells_of(p), count = std::min(kUpdatedCells, size);
  const std::int64_t first = checks.draw(size - count + 1);
  for (std::int64_t i = 0; i < count; ++i) sample.cells.push_back(first + i);
  checks.spend([&] {
    const auto bring = [&](unsigned buffer) {
      const std::span<const float> cells = checks.bring(buffer, sample.cells);
      return std::vector<float>(cells.begin(), cells.end());
    };
    const auto bring_from = [&](GlTensors& tensors, const float* memory) {
      return bring(tensors.to_read(p, memory, size));
    };
    sample.value = bring_from(weights_on_, parameters_[p].data.data());
    sample.gradient = bring(measured_[p].buffer);
    for (std::size_t m = 0; m < optimizer_->moment_count(); ++m)
      sample.moments[m] = bring_from(moments_on_[m], optimizer_->moment(p, m).data());
  });
  return sample;
}

void GlTrainer::check_update(const UpdateSample& sample, double factor, double rate,
                             std::int64_t number) {
  GlSpotChecks& checks = backend_->spot_checks();
  try {
    checks.spend([&] { compare_update(sample, factor, rate, number); });
  } catch (const WrongResult& wrong) {
    wrong_update_ = wrong;
  }
}

void GlTrainer::compare_update(const UpdateSample& sample, double factor, double rate,
                               std::int64_t number) {
  GlSpotChecks& checks = backend_->spot_checks();
  const std::size_t p = sample.parameter, count = sample.cells.size();
  std::vector<float> value = sample.value, gradient = sample.gradient;
  if (factor != 1) {
    for (float& cell : gradient) cell *= static_cast<float>(factor);
  }
  Optimizer here(optimizer_->options(), {{parameters_[p].name,
                                          {static_cast<std::int64_t>(count)},
                                          value,
                                          gradient,
                                          parameter_kinds_[p]}});
  for (std::size_t m = 0; m < here.moment_count(); ++m)
    std::ranges::copy(sample.moments[m], here.moment(0, m).begin());
  while (here.steps() < number - 1) here.count_step();
  here.step(rate);
  const std::span<const float> got = checks.bring(weights_on_.buffer(p), sample.cells);
  double off = 0, change = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const auto expected = static_cast<double>(value[i]),
               before = static_cast<double>(sample.value[i]);
    off += std::pow(beyond_rounding(static_cast<double>(got[i]) - expected, expected), 2);
    change += std::pow(expected - before, 2);
  }
  const double limit = is_software_renderer(backend_->device().renderer) ? 1e-9 : 1e-7;
  const double error = SpotJudge::error(std::sqrt(off), 0, std::sqrt(change));
  if (error <= limit) return checks.count_cell(error / limit);
  backend_->tell_wrong({std::string(word(optimizer_->options().kind)), GlWrong::Kind::kUpdate,
                        shape_text(parameters_[p].axes), error, limit});
}

}  // namespace headlight
