// What an encoder-decoder writes: the source is read once, and every row has the logits of a whole
// run; whoever waits hears of it, and can stop it.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "core/model/init.h"
#include "core/run/large/grown_run.h"
#include "core/run/run_trace.h"
#include "core/run/runner.h"
#include "core/run/written_row.h"
#include "tests/model/worded_folder.h"
#include "tests/run/drawn_models.h"

namespace headlight::test_written_row {
namespace {

// Counts the calls that make each tensor, and the rows that they make of those with a row for each
// token.
class Counting final : public Backend {
 public:
  explicit Counting(bool parts) : parts_(parts) {}
  std::string_view name() const override { return "counting"; }
  bool supports(const Program&, const OpCall&) const override { return true; }
  bool runs_parts() const override { return parts_; }
  void run(const Program& program, std::span<const OpCall> calls,
           std::span<float* const> memory) override {
    for (const OpCall& call : calls) {
      const TensorSpec& out = program.tensors[place(call.out)];
      Made& made_here = made[out.name];
      ++made_here.calls;
      if (goes_row_by_row(program, call)) made_here.rows += out.axes[row_axis(out)].size;
    }
    inner_->run(program, calls, memory);
  }
  void run_backward(const Program&, std::span<const BackwardCall>, std::span<float* const>,
                    std::span<float* const>) override {
    FAIL("nothing goes backwards");
  }

  struct Made {
    int calls = 0;
    std::int64_t rows = 0;
  };
  std::map<std::string, Made> made;

 private:
  bool parts_;
  std::unique_ptr<Backend> inner_ = make_cpu_backend(1);
};

std::vector<float> whole_run(const Model& model, const RunInput& input, ParameterSource& weights,
                             Backend& backend) {
  RunShape shape = shape_of(model.file);
  shape.positions = std::ssize(input.ids);
  shape.source = std::ssize(input.source_ids);
  const auto trace =
      run_trace(std::make_shared<const Program>(build_program(model.file.config, shape)), input,
                weights, backend);
  const auto cells = trace->tensor(trace->program().logits).cells();
  const auto row = cells.last(static_cast<std::size_t>(shape.vocab));
  return {row.begin(), row.end()};
}

RunInput source_of(std::vector<int> ids) {
  RunInput input;
  input.source_tokens.resize(ids.size());
  input.source_ids = std::move(ids);
  return input;
}

// The folders of other programs, and models of our own with each kind of positions.
std::vector<std::shared_ptr<const Model>> models() {
  std::vector<std::shared_ptr<const Model>> all;
  for (const char* folder : {"marian", "marian-apart", "bart", "m2m_100"})
    all.push_back(load_model(reference_folder(folder)));
  const auto dates = load_model("bundled:dates");
  all.push_back(dates);
  for (const PositionKind kind :
       {PositionKind::kNone, PositionKind::kSinusoidal, PositionKind::kLearned,
        PositionKind::kRotary, PositionKind::kRelative, PositionKind::kT5, PositionKind::kAlibi}) {
    Model model = *dates;
    model.name = word(kind);
    model.file.config.positions = kind;
    const RunShape shape = shape_of(model.file);
    model.weights = initial_parameters(build_program(model.file.config, shape), Init::kGlorot, 5);
    all.push_back(std::make_shared<const Model>(std::move(model)));
  }
  for (std::uint64_t seed = 1; seed <= 80; ++seed) {
    Config config = drawn::drawn_config(seed);
    config.form = ModelForm::kTranslate;
    config.encoder_layers = seed % 3 == 0 ? 1 : 0;
    if (seed % 8 == 0) config.mask.kind = MaskKind::kNone;  // every token looks at those behind it
    if (!drawn::is_model(config)) continue;
    Model model = *drawn::readable_model(config, seed);
    model.name = "seed " + std::to_string(seed);
    model.file.begin = 1;
    all.push_back(std::make_shared<const Model>(std::move(model)));
  }
  return all;
}

// Of a cross-attention these belong to what the encoder made.
bool is_of_source(const std::string& tensor) {
  return tensor.starts_with("encoder.") || tensor.ends_with(".cross_attn.k_proj") ||
         tensor.ends_with(".cross_attn.v_proj");
}

}  // namespace

TEST_CASE("written rows: what is known is not computed, and each row's logits are a whole run's") {
  int looking_ahead = 0;
  for (const auto& model : models()) {
    for (const bool parts : {true, false}) {
      CAPTURE(model->name);
      CAPTURE(parts);
      ModelParameters weights;
      weights.use(model);
      const RunInput input = source_of({5, 7, 9, 11, 6});
      const auto backend = make_cpu_backend(1);
      std::vector<std::vector<float>> heard;
      Counting counting(parts);
      constexpr std::int64_t kMost = 9;
      const auto choose = [&](std::span<const float> logits) {
        heard.emplace_back(logits.begin(), logits.end());
        return 5 + static_cast<int>(heard.size());  // never the end
      };
      const std::vector<int> row =
          written_row(*model, model->file.config, input, kMost, choose, weights, counting);
      REQUIRE(std::ssize(row) == kMost);
      const std::size_t given = row.size() - heard.size();  // what the row begins with
      for (std::size_t i = 0; i < heard.size(); ++i) {
        RunInput so_far = input;
        so_far.ids.assign(row.begin(), row.begin() + static_cast<std::ptrdiff_t>(given + i));
        so_far.tokens.resize(so_far.ids.size());
        std::vector<float> expected = whole_run(*model, so_far, weights, *backend);
        for (const int never : model->file.never)
          expected[static_cast<std::size_t>(never)] = heard[i][static_cast<std::size_t>(never)];
        if (!parts) {
          CHECK(heard[i] == expected);
          continue;
        }
        const auto [least, most] =
            std::ranges::minmax(whole_run(*model, so_far, weights, *backend));
        const float close = 1e-5f * std::max({1.0f, std::abs(least), std::abs(most)});
        int far = 0;  // NaN, too; what is never written is −∞ in both
        for (std::size_t c = 0; c < expected.size(); ++c) {
          const float got = heard[i][c], want = expected[c];
          far += got == want || std::abs(got - want) <= close ? 0 : 1;
        }
        CHECK(far == 0);
      }
      const bool back = looks_back_only(model->file.config.mask, static_cast<int>(kMost));
      looking_ahead += back ? 0 : 1;
      const int runs = static_cast<int>(heard.size());
      const std::int64_t last = std::ssize(row) - 1;  // rows of the last run
      const PositionKind positions = model->file.config.positions;
      const bool biased = positions == PositionKind::kRelative || positions == PositionKind::kT5 ||
                          positions == PositionKind::kAlibi;  // their scores are made whole
      int of_source = 0, by_rows = 0;
      for (const auto& each : counting.made) {
        const std::string& name = each.first;
        const Counting::Made& made = each.second;
        CAPTURE(name);
        if (is_of_source(name)) {
          ++of_source;
          CHECK(made.calls == (parts ? 1 : runs));
        } else if (biased && name.find(".attn.scores") != std::string::npos) {
          CHECK(made.calls == runs);
        } else if (parts && back && name.starts_with("decoder.") && made.rows > 0) {
          ++by_rows;
          CHECK(made.rows == last);
        } else {
          CHECK((made.calls == runs || (parts && made.calls == 1)));
        }
      }
      CHECK(of_source > 2);
      CHECK((by_rows > 2) == (parts && back));
    }
  }
  CHECK(looking_ahead > 10);
}

TEST_CASE("written rows: whoever waits hears how far it is, and can stop it") {
  const auto model = load_model(reference_folder("marian"));
  ModelParameters weights;
  weights.use(model);
  const auto backend = make_cpu_backend(1);
  const RunInput input = source_of({5, 7, 9});
  const auto choose = [](std::span<const float>) { return 11; };
  double last = -1;
  const auto listen = [&](const Progress& p) {
    CHECK(p.share > last);
    last = p.share;
    return true;
  };
  (void)written_row(*model, model->file.config, input, 12, choose, weights, *backend, listen);
  CHECK(last > 0.8);
  CHECK(last < 1);
  int words = 0;
  const auto stop = [&](const Progress&) { return ++words < 4; };
  CHECK_THROWS_AS(
      (void)written_row(*model, model->file.config, input, 12, choose, weights, *backend, stop),
      Cancelled);
  CHECK(words == 4);
}

TEST_CASE("written rows: of a document, too, in one share that never falls") {
  Document document;
  document.model = reference_folder("marian");
  document.sentence = "5 7 9";
  document.max_tokens = 16;
  Runner runner;
  const auto backend = make_cpu_backend(1);
  std::vector<double> shares;
  double until = 2;
  runner.set_progress([&](const Progress& p) {
    shares.push_back(p.share);
    return p.share < until;
  });
  const auto model = runner.load(document.model);
  document.config = model->file.config;
  shares.clear();
  const RunResult all = runner.run(document, *backend, model);
  REQUIRE(all.trace);
  CHECK(std::ranges::is_sorted(shares));
  CHECK(std::ssize(shares) >= std::ssize(all.own_row));
  CHECK(shares.back() < 1);
  document.sentence = "5 7 8";
  until = 0.2;
  const RunResult stopped = runner.run(document, *backend, model);
  CHECK_FALSE(stopped.trace);
  CHECK(stopped.message.id == "progress.cancelled");
}

}  // namespace headlight::test_written_row
