// Classifiers and encoder-decoders in every reader of a program: each step has words, a page and
// code, each cell its explanation; padding is not looked at; names come from the right row.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <string>

#include "core/backends/backend.h"
#include "core/base/error.h"
#include "core/explain/arithmetic.h"
#include "core/explain/explain.h"
#include "core/explain/step_code.h"
#include "core/explain/steps.h"
#include "core/graph/axis_symbols.h"
#include "core/model/model.h"
#include "core/model/sandbox.h"
#include "core/run/run_trace.h"
#include "core/run/runner.h"
#include "core/train/model_recipe.h"
#include "core/view/pane_layout.h"
#include "tests/model/worded_folder.h"
#include "tests/support/error_text.h"

namespace headlight::test_other_models {
namespace {

Config small(ModelForm form) {
  Config c;
  c.layers = 2;
  c.heads = 2;
  c.d_model = 8;
  c.d_hidden = 6;
  c.form = form;
  return c;
}

// The same words in both rows, so that their names cannot be told apart by chance.
RunInput words(ModelForm form) {
  RunInput input = sandbox_input({"the", "cat", "sat", "the"});
  if (form == ModelForm::kClasses) input.classes = {"bad", "good", "none"};
  if (form != ModelForm::kTranslate) return input;
  input.vocab.push_back("[MASK]");
  input.source_tokens = {"sat", "[MASK]", "sat", "cat", "sat", "the"};
  input.source_ids = {2, 3, 2, 1, 2, 0};
  return input;
}

std::shared_ptr<const Trace> run(const Config& c, bool training, bool padded = false) {
  RunInput input = words(c.form);
  const RunShape shape{.batch = 1,
                       .positions = static_cast<std::int64_t>(input.ids.size()),
                       .vocab = static_cast<std::int64_t>(input.vocab.size()),
                       .classes = static_cast<std::int64_t>(input.classes.size()),
                       .source = static_cast<std::int64_t>(input.source_ids.size()),
                       .padded = padded};
  SandboxModel model(3);
  const auto backend = make_reference_backend();
  return run_trace(std::make_shared<const Program>(training ? build_training_program(c, shape, true)
                                                            : build_program(c, shape)),
                   std::move(input), model, *backend);
}

// Every form with every block and kind of attention, in training and not.
template <class F>
void for_all_traces(F&& f) {
  int number = 0;
  for (const auto& form : choices(ModelForm{})) {
    for (const auto& block : choices(BlockKind{})) {
      for (const auto& attention : choices(AttentionKind{})) {
        Config c = small(form.value);
        c.block = block.value;
        c.attention = attention.value;
        ++number;
        c.scores = number % 3 == 0 ? ScoreKind::kAdditive : ScoreKind::kDot;
        c.positions = choices(PositionKind{})[static_cast<std::size_t>(number) % 4].value;
        c.rotary_width = 2;
        c.norm = number % 7 < 3 ? NormKind::kRms : NormKind::kLayer;
        c.kv_heads = number % 3 == 1 ? 1 : 0;
        c.activation = choices(Activation{})[static_cast<std::size_t>(number) % 6].value;
        c.mask.kind = number % 2 == 0 ? MaskKind::kNone : MaskKind::kCausal;
        c.bias = number % 5 != 0;
        c.token_head = number % 3 == 1 && form.value == ModelForm::kClasses;
        c.tied_head = number % 4 == 3 && (c.token_head || form.value != ModelForm::kClasses);
        c.pool = choices(PoolKind{})[static_cast<std::size_t>(number) / 2 % 6].value;
        c.pool_hidden = 1 + number % 3;
        c.foci_penalty = number % 4 < 3 ? 0.5 : 0;
        CAPTURE(form.word);
        CAPTURE(block.word);
        CAPTURE(attention.word);
        f(*run(c, number % 2 == 0, number % 4 < 2));
      }
    }
  }
}

// One sentence with everything that can stand in for attention, its positions and the feed-forward
// network, with gradients: its loss has what experts add to it.
std::vector<Document> other_documents() {
  std::vector<Config> configs;
  const auto with = [&](auto change) {
    Config c = small(ModelForm::kTokens);
    change(c);
    configs.push_back(c);
  };
  for (const auto& positions : choices(PositionKind{}))
    with([&](Config& c) { c.positions = positions.value; });
  for (const auto& mixer : choices(MixerKind{})) {
    for (const MaskKind mask : {MaskKind::kCausal, MaskKind::kNone}) {
      with([&](Config& c) {
        c.mixer = mixer.value;
        c.mask.kind = mask;
      });
    }
  }
  with([](Config& c) {  // recipes of published models
    c.block = BlockKind::kParallel;
    c.score_scale = 0.3;
    c.softcap = 2;
    c.layers = 2;
    c.local_layers = {1};
    c.local_window = 2;
  });
  with([](Config& c) {
    c.embed_scale = c.head_transform = true;
    c.positions = PositionKind::kSinusoidal;
    c.sinusoid = Sinusoid::kHalves;
  });
  for (const Pooler pooler : {Pooler::kTanh, Pooler::kRelu}) {
    with([&](Config& c) {
      c.form = ModelForm::kClasses;
      c.pool = PoolKind::kFirst;
      c.mask.kind = MaskKind::kNone;
      c.pooler = pooler;
      c.segments = true;
      c.segment_rows = 1;
    });
  }
  for (const RotaryScaling scaling : {RotaryScaling::kLinear, RotaryScaling::kLlama3}) {
    with([&](Config& c) {
      c.positions = PositionKind::kRotary;
      c.rotary_scaling = scaling;
      c.rotary_factor = 8;
    });
  }
  with([](Config& c) {  // no row has all of its window inside the sentence
    c.mixer = MixerKind::kConvolution;
    c.kernel = 7;
  });
  for (const int best : {0, 1, 2}) {
    with([&](Config& c) {
      c.experts = 3;
      c.top_experts = best;
      c.balance = best > 0 ? 0.5 : 0;
    });
  }
  for (const int components : {0, 2}) {
    with([&](Config& c) {
      c.numbers = true;
      c.components = components;
      c.norm = NormKind::kNone;
      c.experts = 2;
    });
  }
  with([](Config& c) {
    c.memory = 3;
    c.positions = PositionKind::kTransformerXl;
  });
  with([](Config& c) {  // the options of attention
    c.bias_kv = c.zero_attention = c.average_weights = true;
    c.d_value = 3;
    c.masked_heads = {{HeadsOf::kOwn, 0, 1}};
    c.mask.by_head[1].insert(3, 1);
  });
  for (const double temperature : {1.0, 0.5}) {
    with([&](Config& c) {
      c.fused_attention = true;
      c.kv_heads = 1;
      c.temperature = temperature;
    });
  }
  with([](Config& c) {
    c.segments = true;
    c.form = ModelForm::kClasses;
    c.pool = PoolKind::kFirst;
    c.mask.kind = MaskKind::kNone;
  });
  with([](Config& c) {
    c.token_head = true;
    c.form = ModelForm::kClasses;
    c.mask.kind = MaskKind::kNone;
  });
  std::vector<Document> documents;
  for (const Config& c : configs) {
    Document document;
    document.sentence = c.numbers ? "-0.8 0.1 0.3 0.1 1 -0.5" : "the cat sat on the mat";
    document.config = c;
    if (c.memory > 0) document.max_tokens = 3;  // two segments
    if (c.segments) document.sentence = "the cat [SEP] it sat on the mat";
    documents.push_back(document);
  }
  return documents;
}

// Places to be filled stand in braces; "{q|Q}" is markup of formulas, not of sentences.
void check_sentence(const std::string& text) {
  CHECK_FALSE(text.empty());
  CHECK_FALSE(has(text, "{"));
  CHECK_FALSE(text.starts_with("step."));
  CHECK_FALSE(text.starts_with("words."));
}

}  // namespace

TEST_CASE("forms: every step has its words, its page, its sizes and its code") {
  std::set<std::string_view> seen;
  const auto check_all = [&](const Trace& trace) {
    const Program& p = trace.program();
    for (const Step& step : p.steps) {
      if (step.backward) continue;
      const std::string& name = p.tensors[static_cast<std::size_t>(step.tensor)].name;
      CAPTURE(name);
      seen.insert(step.row.forward.sentence);
      for (const Language language : {Language::kEnglish, Language::kChinese}) {
        const StepText text = step_text(language, p, step);
        CHECK_FALSE(text.title.starts_with("step."));
        CHECK_FALSE(text.formula.empty());
        const bool additive = p.config.scores == ScoreKind::kAdditive;
        if (p.makes(step, Role::kScores)) CHECK(has(text.formula, "tanh") == additive);
        for (const std::int64_t query : {0, 3}) {
          check_sentence(step_sentence(language, trace, step, 0, query));
          std::string all;
          for (const WordPiece& piece : step_paragraphs(language, trace, step, 0, query))
            all += piece.text;
          check_sentence(all);
        }
      }
      for (const WordPiece& piece : step_paragraphs(Language::kEnglish, trace, step, 0, 1)) {
        const bool link = piece.tensor >= 0;
        CHECK((link || !has(piece.text, "|")));
      }
      const StepPage page = step_page(trace, step, 0);
      CHECK(page.lines.size() == step.calls.size());
      for (const auto& line : page.lines) {
        CHECK(line.back().pane.role == PaneRole::kResult);
        for (const PagePane& pane : line) {
          CHECK_FALSE(trace.tick(pane.pane.row_axis, 0).empty());
          CHECK_FALSE(p.tensors[static_cast<std::size_t>(pane.tensor)].symbol.empty());
        }
      }
      const auto cell = default_cell(trace, step, 0, 1);
      const TensorView t = trace.tensor(step.tensor);
      REQUIRE(cell.size() == t.axes.size());
      for (std::size_t a = 0; a < cell.size(); ++a) CHECK(cell[a] < t.axes[a].size);
      // A score that is looked at first is one that the mask leaves.
      const bool scores = p.makes(step, Role::kScores) || p.makes(step, Role::kScaledScores);
      const TensorId masked = scores ? p.find(Role::kMaskedScores, step.tensor) : -1;
      if (masked >= 0 && p.tensors[place(masked)].place == p.tensors[place(step.tensor)].place)
        CHECK(std::isfinite(trace.tensor(masked).at(cell)));
      for (const CodeLibrary library : {CodeLibrary::kNumpy, CodeLibrary::kTorch}) {
        const StepCode code = step_code(trace, step, library);
        CHECK(has(code.text, name));
        CHECK_FALSE(code.results.empty());
      }
      for (const Axis& axis : t.axes) {
        std::int64_t product = 1;
        for (const NamedSize& size : axis_sizes(p, step.tensor, axis.name, axis.size))
          product *= size.size;
        CHECK(product == axis.size);
      }
    }
  };
  for_all_traces(check_all);
  // What is said where a model fills places in.
  Document document;
  document.sentence = bundled_recipe("masked").example;
  const auto masked = load_model("bundled:masked");
  document.config = masked->file.config;
  check_all(*Runner().run(document, *make_reference_backend(), masked, true).trace);
  // And where nothing is predicted.
  const auto bare = load_model(reference_folder("bert-bare"));
  document.sentence = "5 7 9 11";
  document.config = bare->file.config;
  check_all(*Runner().run(document, *make_reference_backend(), bare, true).trace);
  for (const Document& other : other_documents()) {
    CAPTURE(word(other.config.positions));
    CAPTURE(word(other.config.mixer));
    CAPTURE(other.config.experts);
    const RunResult result = Runner().run(other, *make_reference_backend(), nullptr, true);
    REQUIRE(result.problem == "");
    check_all(*result.trace);
  }
  for (const TextEntry& entry : all_texts()) {  // every sentence there is
    CAPTURE(entry.id);
    const bool sentence = entry.id.find(".words") != entry.id.npos && entry.id.starts_with("step.");
    // Said instead of one of the others (core/explain/steps.cpp).
    const bool instead = entry.id.ends_with(".none") || entry.id.ends_with(".equal");
    if (sentence && !instead) CHECK(seen.contains(entry.id));
  }
}

TEST_CASE("forms: going back, a row of all heads is looked at where the chosen head stands") {
  Document document;
  document.sentence = "the cat sat on the mat";
  document.config.heads = 4;
  document.config.d_model = 16;
  const RunResult result = Runner().run(document, *make_reference_backend(), nullptr, true);
  REQUIRE(result.trace);
  int looked_at = 0;
  for (const Step& step : result.trace->program().steps) {
    for (int head = 0; step.backward && head < 4; ++head) {
      const StepPage page = step_page(*result.trace, step, head);
      if (page.lines.empty()) continue;
      const TensorId first = default_tensor(*result.trace, step, page);
      for (const PagePane& pane : page.lines[0]) {
        const Pane& shown = page.lines[0].back().pane;  // one head's, or of all
        const std::int64_t width = shown.columns;
        if (pane.tensor != first || width == pane.pane.columns || shown.head_columns != width)
          continue;
        CAPTURE(result.trace->program().tensors[place(first)].name);
        for (int row = 0; row < 6; ++row)
          CHECK(default_cell(*result.trace, step, head, row).back() / width == head);
        ++looked_at;
      }
    }
  }
  CHECK(looked_at >= 4);
}

TEST_CASE("forms: every cell is explained, and every operation and quantity has words") {
  for_all_traces([&](const Trace& trace) {
    const Program& p = trace.program();
    for (std::size_t id = 0; id < p.tensors.size(); ++id) {
      const auto tensor = static_cast<TensorId>(id);
      const TensorView t = trace.tensor(tensor);
      CAPTURE(t.name);
      for (std::int64_t i = 0; i < t.size(); i += 7) {
        const Explanation e = explain(trace, tensor, unravel(t.axes, i));
        double magnitude = std::fabs(e.value);
        for (const Term& term : e.terms) magnitude = std::max(magnitude, std::fabs(term.product()));
        const bool given = p.producer(tensor) < 0;
        const bool same = std::isinf(e.value)
                              ? e.sum() == e.value
                              : std::fabs(e.sum() - e.value) <= 1e-4 * magnitude + 1e-30;
        CHECK((given || same));
        CHECK(tr_or(Language::kChinese, "inspector.op." + e.operation, "") != "");
        for (const Quantity& q : e.quantities)
          CHECK(tr_or(Language::kChinese, "inspector.quantity." + q.name, "") != "");
      }
    }
  });
}

TEST_CASE("forms: source tokens name the places of the source, and both share one table") {
  const auto trace = run(small(ModelForm::kTranslate), false);
  const Program& p = trace->program();
  CHECK(trace->tick("source", 3) == "cat");
  CHECK(trace->name("source_key", 2) == "sat₂");
  CHECK(trace->name("source_query", 3) == "cat");
  CHECK(trace->name("position", 2) == "sat");
  CHECK(trace->name("query", 3) == "the₃");
  CHECK(trace->name("source", 99) == "99");
  const auto text = [&](const char* name, std::vector<std::int64_t> index) {
    return cell_text(*trace, {p.require(name), std::move(index)});
  };
  CHECK(text("decoder.blocks.0.cross_attn.pattern", {0, 1, 2, 1}) ==
        "decoder.blocks.0.cross_attn.pattern[head 1, sat, [MASK]]");
  CHECK(text("encoder.embed", {0, 3, 2}) == "encoder.embed[cat, 2]");
  // A row of the table belongs to the source token that picks it.
  const auto page_of = [&](const char* name) {
    const auto step = static_cast<std::size_t>(p.step_of(p.require(name)));
    return step_page(*trace, p.steps[step], 0).lines[0];
  };
  const auto source = page_of("encoder.embed"), target = page_of("decoder.embed");
  CHECK(link_to(*trace, source[0], {1, 0}).row == 3);
  CHECK(link_from(*trace, source[0], 1, 0).row == 3);
  CHECK(link_to(*trace, target[0], {1, 0}).row == 1);
  CHECK(shows_weights(p, p.require("decoder.blocks.0.cross_attn.pattern")));
}

TEST_CASE("forms: words of cross-attention speak of the source") {
  const auto trace = run(small(ModelForm::kTranslate), false);
  const Program& p = trace->program();
  const auto sentence = [&](const char* name) {
    const Step& step = p.steps[static_cast<std::size_t>(p.step_of(p.require(name)))];
    std::string all;
    for (const WordPiece& piece : step_paragraphs(Language::kEnglish, *trace, step, 0, 1))
      all += piece.text;
    return all + step_sentence(Language::kEnglish, *trace, step, 0, 1);
  };
  CHECK(has(sentence("decoder.blocks.0.cross_attn.k_proj"), "(6 × 8) times W_K gives each source"));
  CHECK(has(sentence("decoder.blocks.0.attn.k_proj"), "(4 × 8) times W_K gives each token"));
  CHECK(has(sentence("encoder.blocks.0.attn.k_proj"), "(6 × 8) times W_K gives each token"));
  CHECK(has(sentence("decoder.blocks.0.cross_attn.scores_raw"), "(4 × 6 for each head)"));
  CHECK(has(sentence("source_ids"), "has 6 tokens"));
  CHECK(has(sentence("source_ids"), "“[MASK]” has the id 3"));
}

TEST_CASE("forms: a class is named, and what it is made of is the mean of the tokens") {
  const auto trace = run(small(ModelForm::kClasses), true);
  const Program& p = trace->program();
  CHECK(trace->tick("class", 1) == "good");
  const Step& step = p.steps[static_cast<std::size_t>(p.step_of(p.require("probs")))];
  const std::string text = step_sentence(Language::kEnglish, *trace, step, 0, 3);
  const bool named = has(text, "“bad”") || has(text, "“good”") || has(text, "“none”");
  CHECK(named);
  CHECK(step_title(Language::kEnglish, step) == "Class");
  const TensorView x = trace->tensor("ln_final.normalized"), mean = trace->tensor("pooled");
  for (std::int64_t f = 0; f < 8; ++f) {
    const double expected =
        (double{x.data[f]} + x.data[8 + f] + x.data[16 + f] + x.data[24 + f]) / 4;
    CHECK(mean.data[f] == doctest::Approx(expected).epsilon(1e-5));
  }
}

TEST_CASE("forms: a run of another size is refused, and a document cannot ask for a form yet") {
  RunInput input = words(ModelForm::kTranslate);
  const auto program = std::make_shared<const Program>(
      build_program(small(ModelForm::kTranslate), {.positions = 4, .vocab = 4, .source = 5}));
  SandboxModel model(3);
  const auto backend = make_reference_backend();
  CHECK_THROWS_AS(run_trace(program, input, model, *backend), UsageError);
}

TEST_CASE("forms: a trace's memory is used again, not what it knew of its tokens") {
  Runner runner;
  const auto backend = make_reference_backend();
  Document d;
  d.config = small(ModelForm::kTokens);
  d.sentence = "the cat the";
  {
    const auto first = runner.run(d, *backend).trace;
    CHECK(first->name("query", 0) == "the₀");
  }
  d.sentence = "dog the bird";
  const auto second = runner.run(d, *backend).trace;
  CHECK(second->name("query", 0) == "dog");
}

}  // namespace headlight::test_other_models
