// Positions: sinusoids as hands of clocks, products of positions by distance, a shift as a
// rotation, and models of each kind that read rows longer than those they learned from.
#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "core/lab/lab_training.h"
#include "core/lab/labs/labs.h"
#include "core/train/predictor.h"
#include "core/train/tasks/task_list.h"

namespace headlight {
namespace {

// ---- the task: say the token that stood so many places back ----

constexpr int kLearnedLength = 16, kTestedLength = 32, kBackLetters = 8;

class BackTask final : public Task {
 public:
  BackTask(int length, int back)
      : Task({.id = "back",
              .kind = TaskKind::kNextToken,
              .vocabulary = words_vocabulary({}, letters(kBackLetters)),
              .context = length,
              .source_length = 0,
              .classes = {},
              .options = {}}),
        back_(static_cast<std::size_t>(back)) {}

 private:
  TaskExample make(Random& random, Split) const override {
    TaskExample example;
    for (std::size_t t = 0; t < static_cast<std::size_t>(context()); ++t) {
      example.tokens.push_back(static_cast<int>(random.below(kBackLetters)));
      example.targets.push_back(t < back_ ? -1 : example.tokens[t - back_]);
    }
    return example;
  }
  std::size_t back_;
};

constexpr std::array<PositionKind, 7> kPositionKinds = {
    PositionKind::kNone,   PositionKind::kSinusoidal, PositionKind::kLearned,
    PositionKind::kRotary, PositionKind::kRelative,   PositionKind::kAlibi,
    PositionKind::kT5};
constexpr std::array<int, 2> kBacks = {1, 3};
constexpr std::int64_t kBackSteps = 500;
constexpr std::size_t kBackExamples = 256;
constexpr int kPositionWidth = 32;

std::string back_name(PositionKind kind, int back) {
  return std::string(word(kind)) + "." + std::to_string(back);
}

RunPlan back_plan(PositionKind kind) {
  RunPlan plan = copying_plan(kPositionWidth, kBackSteps);
  plan.config.positions = kind;
  return plan;
}

// How often the model is right at each position of fresh rows, of kBackExamples times. A causal
// model reads the beginning of a long row as it reads a short one.
Tensor right_by_position(const std::shared_ptr<const Model>& model, PositionKind kind, int back) {
  const int length = kind == PositionKind::kLearned ? kLearnedLength : kTestedLength;
  const BackTask task(length, back);
  Random random(99);
  std::vector<int> ids, targets;
  for (std::size_t e = 0; e < kBackExamples; ++e) {
    const TaskExample example = task.draw(random, Split::kValidation);
    ids.insert(ids.end(), example.tokens.begin(), example.tokens.end());
    targets.insert(targets.end(), example.targets.begin(), example.targets.end());
  }
  Predictor predictor(model, 1);
  const std::span<const float> logits = predictor.logits(ids, length);
  std::vector<float> right(static_cast<std::size_t>(length), 0.0f);
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const auto row = logits.subspan(i * kBackLetters, kBackLetters);
    const auto best = std::ranges::max_element(row) - row.begin();
    if (best == targets[i]) ++right[i % right.size()];
  }
  return lab_tensor("right." + back_name(kind, back), {{"kept", length}}, right);
}

std::vector<Tensor> train_positions(LabRun& run) {
  std::vector<Tensor> kept;
  constexpr double kAll = kBacks.size() * kPositionKinds.size();
  double done = 0;
  for (const int back : kBacks) {
    for (const PositionKind kind : kPositionKinds) {
      LabTraining training{back_name(kind, back),
                           back_plan(kind),
                           std::make_shared<BackTask>(kLearnedLength, back),
                           50,
                           {},
                           done / kAll,
                           (done + 1) / kAll};
      const auto model = train(run, training, kept);
      kept.push_back(right_by_position(model, kind, back));
      ++done;
      if (kind != PositionKind::kLearned) continue;
      const Program program =
          build_program(training.plan.config, shape_of(*training.task, training.plan.config));
      for (const Tensor& weight : model->weights) {
        if (program.tensors[place(program.require(weight.name))].role == Role::kPositionTable)
          kept.push_back(lab_tensor("table." + std::to_string(back), weight.axes,
                                    {weight.data.begin(), weight.data.end()}));
      }
    }
  }
  return kept;
}

// ---- the sinusoids ----

constexpr std::int64_t kPlaces = 128;
constexpr std::size_t kShownRows = 32, kClockPairs = kPositionWidth / 2, kSlowerPair = 8;

struct PositionRows {
  std::vector<float> cells;
  std::size_t rows() const { return cells.size() / kPositionWidth; }
  std::span<const float> row(std::size_t p) const {
    return std::span(cells).subspan(p * kPositionWidth, kPositionWidth);
  }
  double cosine(std::size_t a, std::size_t b) const {
    double product = 0, aa = 0, bb = 0;
    for (std::size_t f = 0; f < kPositionWidth; ++f) {
      const double x = static_cast<double>(row(a)[f]), y = static_cast<double>(row(b)[f]);
      product += x * y, aa += x * x, bb += y * y;
    }
    return product / std::sqrt(aa * bb);
  }
};

PositionRows clock_table() {
  const Tensor ids =
      lab_tensor("ids", {{"batch", 1}, {"position", kPlaces}}, std::vector<float>(kPlaces, 0.0f));
  const Tensor* in[] = {&ids};
  OpParams params;
  params.features = kPositionWidth;
  const Tensor table = lab_op(Op::kSinusoid, in, params);
  return {{table.data.begin(), table.data.end()}};
}

double angle_step(std::size_t pair) {
  return std::pow(10000.0, -2.0 * static_cast<double>(pair) / kPositionWidth);
}

// The largest difference between row p + k and row p, each of whose pairs (sin, cos) is turned by
// the angle of k.
double rotation_error(const PositionRows& table, std::size_t k) {
  double worst = 0;
  for (std::size_t p = 0; p + k < table.rows(); ++p) {
    for (std::size_t i = 0; i < kClockPairs; ++i) {
      const double turn = angle_step(i) * static_cast<double>(k);
      const double s = static_cast<double>(table.row(p)[2 * i]),
                   c = static_cast<double>(table.row(p)[2 * i + 1]);
      const double sine = s * std::cos(turn) + c * std::sin(turn),
                   cosine = c * std::cos(turn) - s * std::sin(turn);
      worst = std::max({worst, std::fabs(sine - static_cast<double>(table.row(p + k)[2 * i])),
                        std::fabs(cosine - static_cast<double>(table.row(p + k)[2 * i + 1]))});
    }
  }
  return worst;
}

// By distance the mean product over all pairs of positions, and the smallest and the largest.
LabSeries products_of(std::string name, const PositionRows& table, std::size_t most) {
  LabSeries s{std::move(name), {}, {}};
  for (std::size_t d = 0; d < std::min(most, table.rows()); ++d) {
    double sum = 0, low = 2, high = -2;
    for (std::size_t p = 0; p + d < table.rows(); ++p) {
      const double product = table.cosine(p, p + d);
      sum += product, low = std::min(low, product), high = std::max(high, product);
    }
    s.x.push_back(static_cast<double>(d));
    s.y.push_back(sum / static_cast<double>(table.rows() - d));
    s.low.push_back(low);
    s.high.push_back(high);
  }
  return s;
}

// The hands of all pairs at a position, as points on a circle.
LabSeries clock_hands(std::string name, const PositionRows& table, std::size_t position) {
  LabSeries s{std::move(name), {}, {}};
  for (std::size_t i = 0; i < kClockPairs; ++i) {
    s.x.push_back(static_cast<double>(table.row(position)[2 * i + 1]));
    s.y.push_back(static_cast<double>(table.row(position)[2 * i]));
    s.names.push_back(std::to_string(i));
  }
  return s;
}

double hand_moved(const PositionRows& table, std::size_t pair, std::size_t from, std::size_t to) {
  const auto cell = [&](std::size_t p, std::size_t f) {
    return static_cast<double>(table.row(p)[f]);
  };
  return std::hypot(cell(to, 2 * pair) - cell(from, 2 * pair),
                    cell(to, 2 * pair + 1) - cell(from, 2 * pair + 1));
}

std::vector<std::string> position_numbers(std::size_t n) {
  std::vector<std::string> all;
  for (std::size_t i = 0; i < n; ++i) all.push_back(std::to_string(i));
  return all;
}

void add_position_tables(LabRun& run, const PositionRows& table, const PositionRows& learned) {
  const std::vector<std::string> words = run.tokens(kShownRows);
  std::vector<float> products;
  for (std::size_t i = 0; i < words.size(); ++i) {
    for (std::size_t j = 0; j < words.size(); ++j)
      products.push_back(static_cast<float>(table.cosine(i, j)));
  }
  const std::vector<std::string> features = position_numbers(kPositionWidth);
  const auto shown = static_cast<std::ptrdiff_t>(words.size() * kPositionWidth);
  float largest = 0;
  for (const float x : learned.cells) largest = std::max(largest, std::fabs(x));
  std::vector<float> scaled;
  for (const float x : learned.cells) scaled.push_back(x / largest);
  run.result.pictures.push_back({"sinusoidal",
                                 words,
                                 features,
                                 {table.cells.begin(), table.cells.begin() + shown},
                                 LabColours::kSigned});
  run.result.pictures.push_back(
      {"products", words, words, std::move(products), LabColours::kSigned});
  run.result.pictures.push_back({"learned", position_numbers(learned.rows()), features,
                                 std::move(scaled), LabColours::kSigned});
}

// ---- longer rows ----

struct LongerRows {
  double learned = 0,
         all = 0;  // accuracy at the positions of the rows that were learned from, at all
};

LongerRows add_longer_rows(LabRun& run, PositionKind kind, int back, const Tensor& right) {
  run.result.tensors.push_back(right);
  LabSeries s{"longer." + std::string(word(kind)), {}, {}};
  LongerRows found;
  for (std::size_t p = static_cast<std::size_t>(back); p < right.data.size(); ++p) {
    s.x.push_back(static_cast<double>(p));
    s.y.push_back(static_cast<double>(right.data[p]) / kBackExamples);
    found.all += s.y.back();
    if (p < kLearnedLength) found.learned += s.y.back();
  }
  found.learned /= kLearnedLength - back;
  found.all /= static_cast<double>(s.y.size());
  run.value("at_16." + std::string(word(kind)), found.learned);
  if (s.y.size() + static_cast<std::size_t>(back) > kLearnedLength)
    run.value("at_32." + std::string(word(kind)), found.all);
  run.result.series.push_back(std::move(s));
  return found;
}

std::string position_percent(double share) { return lab_number(100 * share); }

void add_longer_words(LabRun& run, const std::map<PositionKind, LongerRows>& found, int back,
                      std::size_t rows) {
  const LongerRows& sinusoidal = found.at(PositionKind::kSinusoidal);
  if (sinusoidal.learned > sinusoidal.all + 0.1)
    run.notice("sinusoidal", {{"n", position_percent(sinusoidal.learned)},
                              {"longer", position_percent(sinusoidal.all)}});
  const LongerRows &rotary = found.at(PositionKind::kRotary),
                   &relative = found.at(PositionKind::kRelative);
  if (std::min(rotary.all, relative.all) > sinusoidal.all + 0.1)
    run.notice("relative", {{"rotary", position_percent(rotary.all)},
                            {"relative", position_percent(relative.all)}});
  if (rows < kTestedLength) run.notice("ends", {{"rows", std::to_string(rows)}});
  if (const LongerRows& none = found.at(PositionKind::kNone); none.learned < 0.6)
    run.notice("none", {{"n", position_percent(none.learned)}});
  const LongerRows& alibi = found.at(PositionKind::kAlibi);
  LabQuestion ask{"alibi", {{"back", std::to_string(back)}}, {"most", "few"}, 0, {}};
  ask.right = alibi.learned > 0.5 ? 0 : 1;
  ask.because =
      run.because("alibi", {{"n", position_percent(alibi.learned)},
                            {"none", position_percent(found.at(PositionKind::kNone).learned)}});
  run.result.questions.push_back(std::move(ask));
}

void add_position_words(LabRun& run, const PositionRows& table, std::size_t p, std::size_t k) {
  const double error = run.result.value("rotation_error");
  if (k > 0 && error < 1e-4)
    run.notice("rotation", {{"k", std::to_string(k)}, {"error", lab_number(error)}});
  if (k == 0) return;
  const double fast = hand_moved(table, 0, p, p + k),
               slow = hand_moved(table, kSlowerPair, p, p + k);
  LabQuestion ask{
      "hand", {{"p", std::to_string(p)}, {"k", std::to_string(k)}}, {"fast", "slow"}, 0, {}};
  ask.right = fast < slow ? 0 : 1;
  ask.because = run.because("hand", {{"fast", lab_number(fast)}, {"slow", lab_number(slow)}});
  run.result.questions.push_back(std::move(ask));
}

void add_product_words(LabRun& run, const LabSeries& fixed, const LabSeries& learned) {
  double widest = 0;
  for (std::size_t d = 0; d < fixed.y.size(); ++d)
    widest = std::max(widest, fixed.high[d] - fixed.low[d]);
  if (widest < 1e-3 && learned.high[1] - learned.low[1] > 0.1)
    run.notice("distance", {{"fixed", lab_number(fixed.y[1])},
                            {"low", lab_number(learned.low[1])},
                            {"high", lab_number(learned.high[1])}});
}

void run_positions(LabRun& run) {
  const auto p = static_cast<std::size_t>(run.whole("position")),
             k = static_cast<std::size_t>(run.whole("shift"));
  const int back = static_cast<int>(run.whole("back"));
  const PositionRows table = clock_table();
  run.result.series.push_back(clock_hands("hands.at", table, p));
  run.result.series.push_back(clock_hands("hands.shifted", table, p + k));
  LabSeries wavelength{"wavelength", {}, {}};
  for (std::size_t i = 0; i < kClockPairs; ++i) {
    wavelength.x.push_back(static_cast<double>(i));
    wavelength.y.push_back(2 * std::numbers::pi / angle_step(i));
  }
  run.result.series.push_back(std::move(wavelength));
  const LabSeries fixed = products_of("product.sinusoidal", table, kPlaces / 2);
  run.result.series.push_back(fixed);
  run.value("rotation_error", rotation_error(table, k));
  run.value("product", table.cosine(p, p + k));
  add_position_words(run, table, p, k);
  run.trace();  // is there a sentence?
  run.show();

  const std::vector<Tensor>& kept = run.trained([&] { return train_positions(run); });
  const Tensor& own = kept_tensor(kept, "table." + std::to_string(back));
  run.result.tensors.push_back(own);
  const PositionRows learned{{own.data.begin(), own.data.end()}};
  const LabSeries by_learned = products_of("product.learned", learned, kPlaces / 2);
  run.result.series.push_back(by_learned);
  add_position_tables(run, table, learned);
  add_product_words(run, fixed, by_learned);
  std::map<PositionKind, LongerRows> found;
  for (const PositionKind kind : kPositionKinds)
    found[kind] =
        add_longer_rows(run, kind, back, kept_tensor(kept, "right." + back_name(kind, back)));
  add_longer_words(run, found, back, learned.rows());
  run.show_in_steps([](Config& c) { c.positions = PositionKind::kSinusoidal; });
}

}  // namespace

Lab positions_lab() {
  std::vector<std::string_view> kinds;
  for (const PositionKind kind : kPositionKinds) kinds.push_back(word(kind));
  return {"positions",
          "order",
          "Vaswani et al. 2017, 3.5, https://arxiv.org/abs/1706.03762",
          {{"position", {}, 0, kPlaces / 2 - 1, 5, true},
           {"shift", {}, 0, kPlaces / 2 - 1, 3, true},
           {"back", {"1", "3"}},
           training_control()},
          run_positions,
          {{"hands", {"at", "shifted"}, false, false, "", LabChartForm::kPoints},
           {"wavelength", {}, false, true},
           {"product", {"sinusoidal", "learned"}, false, false, "shift"},
           {"longer", kinds, false, false}},
          "",
          {Role::kPosition, Role::kPositionTable, Role::kTurnedQueries},
          "PE[p, 2i] = sin(p ω_i),  PE[p, 2i + 1] = cos(p ω_i),  ω_i = 10000^(−2i ÷ d)"};
}

}  // namespace headlight
