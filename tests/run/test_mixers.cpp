// Models with recurrent layers and convolutions in attention's place: what is allowed, how far
// their rows hear of each other, and the reach of a cell, against finite differences.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "core/backends/backend.h"
#include "core/base/error.h"
#include "core/explain/explain.h"
#include "core/explain/reach_picture.h"
#include "core/explain/step_code.h"
#include "core/explain/steps.h"
#include "core/graph/reach.h"
#include "core/graph/step_names.h"
#include "core/model/sandbox.h"
#include "core/run/run_trace.h"
#include "core/run/runner.h"
#include "core/view/pane_layout.h"
#include "tests/support/error_text.h"

namespace headlight::test_mixers {
namespace {

Config small(MixerKind mixer, MaskKind mask, int layers = 2) {
  Config c;
  c.layers = layers;
  c.d_model = 6;
  c.d_hidden = 5;
  c.heads = 2;
  c.mixer = mixer;
  c.mask.kind = mask;
  return c;
}

std::shared_ptr<const Trace> run(const Config& c, int tokens, std::shared_ptr<Backend> backend,
                                 int changed = -1, float step = 0) {
  std::vector<std::string> words;
  for (int i = 0; i < tokens; ++i) words.push_back("w" + std::to_string(i));
  RunInput input = sandbox_input(words, c.form);
  // A source that moves one number of one token's embedding.
  class Moved : public ParameterSource {
   public:
    Moved(int token, float by) : token_(token), by_(by) {}
    std::shared_ptr<const Tensor> parameter(const TensorSpec& spec, const RunInput& in) override {
      auto made = model_.parameter(spec, in);
      if (token_ < 0 || spec.role != Role::kTokenTable) return made;
      auto copy = std::make_shared<Tensor>(*made);
      copy->data[static_cast<std::size_t>(token_) * 6 + 2] += by_;
      return copy;
    }

   private:
    SandboxModel model_{3};
    int token_;
    float by_;
  } source(changed, step);
  const RunShape shape{.batch = 1, .positions = tokens, .vocab = tokens, .classes = 2};
  return run_trace(std::make_shared<const Program>(build_program(c, shape)), std::move(input),
                   source, *backend);
}

// The last row of what the last layer ends with, first number.
float last_cell(const Trace& trace, std::int64_t row) {
  const TensorView out = trace.tensor(name_in_layer("", trace.config().layers - 1, "resid_post"));
  return out.data[row * out.axes[2].size];
}

Reach reach(const Trace& trace, std::int64_t row) {
  const TensorId id =
      trace.program().find(name_in_layer("", trace.config().layers - 1, "resid_post"));
  const auto found = reach_of(trace, id, {0, row, 0});
  REQUIRE(found);
  return *found;
}

const MixerKind kMixers[] = {MixerKind::kAttention, MixerKind::kRecurrent, MixerKind::kGru,
                             MixerKind::kConvolution};

}  // namespace

TEST_CASE("mixers: what does not go with them is said, and what to do") {
  Config c = small(MixerKind::kGru, MaskKind::kCausal);
  c.form = ModelForm::kTranslate;
  CHECK(error_of([&] { validate(c); }).find("choose the mixer attention") != std::string::npos);
  c = small(MixerKind::kRecurrent, MaskKind::kCausal);
  c.positions = PositionKind::kRotary;
  CHECK(error_of([&] { validate(c); }).find("sinusoidal") != std::string::npos);
  c = small(MixerKind::kConvolution, MaskKind::kCausal, 10);
  c.dilation = 16;
  const std::string text = error_of([&] { validate(c); });
  CHECK(text.find("at most 3") != std::string::npos);
  c.dilation = 3;
  CHECK_NOTHROW(validate(c));
  c.kernel = 0;
  CHECK_THROWS_AS(validate(c), UsageError);
  // Heads mean nothing there, so they need not divide the width.
  c = small(MixerKind::kRecurrent, MaskKind::kCausal);
  c.heads = 5;
  CHECK_NOTHROW(validate(c));
  CHECK(c.head_count() == 1);
}

TEST_CASE("mixers: path lengths and receptive fields") {
  Config c = small(MixerKind::kRecurrent, MaskKind::kCausal);
  CHECK(path_length(c, 20, 12, 3) == 9);
  CHECK_FALSE(path_length(c, 20, 3, 12));
  c.mask.kind = MaskKind::kNone;
  CHECK(path_length(c, 20, 3, 12) == 9);
  CHECK(sequential_steps(c, 20) == 20);
  c = small(MixerKind::kAttention, MaskKind::kCausal);
  CHECK(path_length(c, 20, 12, 3) == 1);
  CHECK(sequential_steps(c, 20) == 1);
  c.mask.kind = MaskKind::kLocal;
  c.mask.window = 3;
  CHECK(path_length(c, 20, 12, 7) == 2);   // by the second layer
  CHECK_FALSE(path_length(c, 20, 12, 3));  // further than both reach
  c = small(MixerKind::kConvolution, MaskKind::kCausal, 3);
  c.dilation = 2;
  CHECK(receptive_field(c, 3) == ReceptiveField{14, 0});
  CHECK(path_length(c, 20, 16, 12) == 1);  // the last layer's window: 0, 4 and 8 to the left
  CHECK(path_length(c, 20, 16, 14) == 1);  // the second layer's: 2
  CHECK(path_length(c, 20, 16, 2) == 3);   // all three: 2 + 4 + 8
  CHECK_FALSE(path_length(c, 20, 16, 1));
  c.mask.kind = MaskKind::kNone;
  CHECK(receptive_field(c, 3) == ReceptiveField{7, 7});
}

TEST_CASE("mixers: the reach is the gradient, against finite differences") {
  const std::shared_ptr<Backend> backend = make_reference_backend();
  for (const MixerKind mixer : kMixers) {
    for (const MaskKind mask : {MaskKind::kCausal, MaskKind::kNone}) {
      CAPTURE(word(mixer));
      CAPTURE(word(mask));
      const Config c = small(mixer, mask);
      const auto trace = run(c, 6, backend);
      const TensorId id = trace->program().find("blocks.1.resid_post");
      // One number of an embedding alone: the gradient's cell is the slope.
      const Reach found = reach(*trace, 4);
      REQUIRE(found.rows.size() == 2);
      CHECK(found.rows[0].after == -1);
      CHECK(found.token == 4);
      for (int token = 0; token < 6; ++token) {
        CAPTURE(token);
        constexpr float kStep = 1e-2f;
        const double up = last_cell(*run(c, 6, backend, token, kStep), 4);
        const double down = last_cell(*run(c, 6, backend, token, -kStep), 4);
        const double slope = std::fabs(up - down) / (2 * kStep);
        // One of the numbers that the length is of.
        CHECK(slope <= found.rows[0].norms[static_cast<std::size_t>(token)] * 1.01 + 2e-3);
        if (slope > 0.01) CHECK(found.rows[0].norms[static_cast<std::size_t>(token)] > 0);
      }
      CHECK(id >= 0);
    }
  }
}

TEST_CASE("mixers: nothing comes from the right of a causal model, nor from beyond a window") {
  const std::shared_ptr<Backend> backend = make_cpu_backend(1);
  for (const MixerKind mixer : kMixers) {
    CAPTURE(word(mixer));
    const auto trace = run(small(mixer, MaskKind::kCausal), 12, backend);
    const Reach found = reach(*trace, 8);
    for (const ReachRow& row : found.rows) {
      for (std::size_t t = 9; t < 12; ++t) CHECK(row.norms[t] == 0);
      CHECK(row.norms[8] > 0);
    }
    // Two layers of width 3 reach 4 to the left.
    const bool windowed = mixer == MixerKind::kConvolution;
    for (std::size_t t = 0; t < 4; ++t) CHECK((found.rows[0].norms[t] == 0) == windowed);
    for (std::size_t t = 4; t < 8; ++t) CHECK(found.rows[0].norms[t] > 0);
    // After the first layer only the second one's window is left.
    for (std::size_t t = 0; t < 6; ++t) CHECK((found.rows[1].norms[t] == 0) == windowed);
  }
}

TEST_CASE("mixers: padding changes no state, in either direction") {
  const std::shared_ptr<Backend> backend = make_cpu_backend(2);
  for (const MixerKind mixer : {MixerKind::kRecurrent, MixerKind::kGru, MixerKind::kConvolution}) {
    CAPTURE(word(mixer));
    Config c = small(mixer, MaskKind::kPadding, 1);
    c.mask.padding = {4, 5};
    const auto trace = run(c, 6, backend);
    const Reach found = reach(*trace, 2);
    for (std::size_t t = 1; t < 4; ++t) CHECK(found.rows[0].norms[t] > 0);
    CHECK((found.rows[0].norms[0] == 0) == (mixer == MixerKind::kConvolution));
    for (std::size_t t = 4; t < 6; ++t) CHECK(found.rows[0].norms[t] == 0);
  }
}

TEST_CASE("mixers: one token, a window wider than the text, a long text: no NaN") {
  const std::shared_ptr<Backend> backend = make_cpu_backend(2);
  for (const MixerKind mixer : kMixers) {
    for (const int tokens : {1, 3, 70}) {
      CAPTURE(word(mixer));
      CAPTURE(tokens);
      Config c = small(mixer, MaskKind::kNone);
      c.kernel = 9;
      c.dilation = 2;
      const auto trace = run(c, tokens, backend);
      const TensorView out = trace->tensor(trace->program().logits);
      CHECK(std::ranges::all_of(out.cells(), [](float x) { return std::isfinite(x); }));
    }
  }
}

TEST_CASE("mixers: every step has words in both languages, a page and code") {
  const std::shared_ptr<Backend> backend = make_reference_backend();
  for (const MixerKind mixer : kMixers) {
    for (const MaskKind mask : {MaskKind::kCausal, MaskKind::kNone}) {
      const auto trace = run(small(mixer, mask), 5, backend);
      for (const Step& step : trace->program().steps) {
        for (const Language language : {Language::kEnglish, Language::kChinese}) {
          const StepText text = step_text(language, trace->program(), step);
          CHECK_FALSE(text.title.empty());
          CHECK(text.hint.find("[[") == std::string::npos);
        }
        if (step.calls.empty()) continue;  // the tokens have a page of their own
        CHECK_FALSE(step_page(*trace, step, 0).lines.empty());
        CHECK_FALSE(step_code(*trace, step, CodeLibrary::kTorch).text.empty());
      }
    }
  }
}

}  // namespace headlight::test_mixers
