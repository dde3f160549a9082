// All that is said about steps, against a file that someone read (tests/golden/step_texts.txt):
// titles, formulas, symbols, sentences and what is said at length, with the links' targets, of a
// few models that have every step among them. After a wanted change run with
// HEADLIGHT_UPDATE_GOLDEN=1 and read the file again.
#include <doctest/doctest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <set>
#include <string>

#include "core/explain/steps.h"
#include "core/model/sandbox.h"
#include "core/run/run_trace.h"
#include "core/run/runner.h"
#include "test_paths.h"

namespace headlight::test_step_texts {
namespace {

// Each line once: most steps of two models are said to be the same.
class Lines {
 public:
  void add(const std::string& line) {
    if (seen_.insert(line).second) text_ += line + "\n";
  }
  const std::string& text() const { return text_; }

 private:
  std::set<std::string> seen_;
  std::string text_;
};

void write_step(Lines& lines, const Trace& trace, const Step& step) {
  const Program& p = trace.program();
  const auto name = [&](TensorId id) { return p.tensors[static_cast<std::size_t>(id)].name; };
  for (const Language language : {Language::kEnglish, Language::kChinese}) {
    const StepText text = step_text(language, p, step);
    lines.add(std::string(text.title) + " | " + text.hint + " | " + text.formula);
    for (const std::int64_t query : {std::int64_t{2}, trace.length() - 1})
      lines.add("  " + step_sentence(language, trace, step, 0, query));
    std::string paragraph = "    ";
    for (const WordPiece& piece : step_paragraphs(language, trace, step, 0, 2)) {
      if (piece.text == "\n") {
        lines.add(paragraph);
        paragraph = "    ";
        continue;
      }
      paragraph +=
          piece.tensor < 0 ? piece.text : "[" + piece.text + "](" + name(piece.tensor) + ")";
    }
    lines.add(paragraph);
  }
}

void write_trace(Lines& lines, const Trace& trace) {
  for (const TensorSpec& spec : trace.program().tensors) {
    const std::size_t dot = spec.name.rfind('.');
    lines.add((dot == spec.name.npos ? spec.name : spec.name.substr(dot)) + ": " + spec.symbol);
  }
  for (const Step& step : trace.program().steps) write_step(lines, trace, step);
}

Config small(ModelForm form) {
  Config c;
  c.layers = 1;
  c.heads = 2;
  c.d_model = 8;
  c.form = form;
  return c;
}

std::shared_ptr<const Trace> run(const Config& c, bool padded,
                                 std::vector<std::string> words = {"the", "cat", "[[", "the"}) {
  RunInput input = sandbox_input(std::move(words));
  if (c.form == ModelForm::kClasses) input.classes = {"bad", "good"};
  if (c.form == ModelForm::kTranslate) {
    input.source_tokens = {"cat", "the"};
    input.source_ids = {1, 0};
  }
  const RunShape shape{.batch = 1,
                       .positions = static_cast<std::int64_t>(input.ids.size()),
                       .vocab = static_cast<std::int64_t>(input.vocab.size()),
                       .classes = static_cast<std::int64_t>(input.classes.size()),
                       .source = static_cast<std::int64_t>(input.source_ids.size()),
                       .padded = padded};
  SandboxModel model(3);
  const auto backend = make_reference_backend();
  return run_trace(std::make_shared<const Program>(build_training_program(c, shape, true)),
                   std::move(input), model, *backend);
}

// Of recipes that only some published models have.
template <class F>
void write_recipes_of_attention(F&& check) {
  Config c = small(ModelForm::kTokens);
  c.block = BlockKind::kParallel;
  c.score_scale = 0.3;
  c.softcap = 2;
  c.positions = PositionKind::kRotary;
  c.rotary_scaling = RotaryScaling::kLlama3;
  c.rotary_factor = 8;
  c.local_layers = {0};
  c.local_window = 2;
  check(c);
  c.softcap = 0;
  c.rotary_scaling = RotaryScaling::kLinear;
  c.mask.kind = MaskKind::kNone;
  check(c);
  c.fused_attention = true;
  check(c);
}

std::string all_said() {
  Lines lines;
  const auto backend = make_reference_backend();
  const auto check = [&](const Config& c) {
    Document document;
    document.sentence = "the cat sat on [[ mat";
    document.config = c;
    write_trace(lines, *Runner().run(document, *backend, nullptr, true).trace);
  };
  Config c = small(ModelForm::kTokens);
  check(c);
  c.attention = AttentionKind::kBasic;
  c.scores = ScoreKind::kAdditive;
  c.activation = Activation::kRelu;
  c.positions = PositionKind::kLearned;
  c.block = BlockKind::kPostNorm;
  c.bias = false;
  c.temperature = 2;
  c.mask.kind = MaskKind::kFree;
  c.mask.forbidden = {{2, 0}, {2, 1}, {2, 2}, {2, 3}, {2, 4}, {2, 5}, {2, 6}};  // looks at nothing
  check(c);
  c.scores = ScoreKind::kDot;
  c.activation = Activation::kGeluTanh;
  c.mask.kind = MaskKind::kLocal;
  check(c);
  c.attention = AttentionKind::kWide;
  c.scores = ScoreKind::kAdditive;
  c.mask.kind = MaskKind::kStrided;
  check(c);
  // The last segment of two, and what it remembers.
  for (const BlockKind block : {BlockKind::kPreNorm, BlockKind::kPostNorm}) {
    Document document;
    document.sentence = "the cat sat on [[ mat";
    document.max_tokens = 4;
    document.config = small(ModelForm::kTokens);
    document.config.block = block;
    document.config.positions = PositionKind::kRotary;
    document.config.memory = 3;
    if (block == BlockKind::kPreNorm) document.config.norm = NormKind::kRms;
    write_trace(lines, *Runner().run(document, *backend, nullptr, true).trace);
  }
  write_trace(lines, *run(small(ModelForm::kClasses), true));
  write_trace(lines, *run(small(ModelForm::kTranslate), true));
  // Two sentences of a row.
  Document pair;
  pair.sentence = "the cat [SEP] sat on [[";
  pair.config = small(ModelForm::kClasses);
  pair.config.pool = PoolKind::kFirst;
  pair.config.mask.kind = MaskKind::kNone;
  pair.config.segments = true;
  write_trace(lines, *Runner().run(pair, *backend, nullptr, true).trace);
  pair.config.segments = false;
  pair.config.token_head = true;
  write_trace(lines, *Runner().run(pair, *backend, nullptr, true).trace);
  for (const PositionKind positions : {PositionKind::kRelative, PositionKind::kT5,
                                       PositionKind::kAlibi, PositionKind::kTransformerXl}) {
    c = small(ModelForm::kTokens);
    c.layers = 1;
    c.positions = positions;
    c.mask.kind = positions == PositionKind::kAlibi ? MaskKind::kNone : MaskKind::kCausal;
    write_trace(lines, *run(c, true));
  }
  for (const auto& pool : choices(PoolKind{})) {
    if (pool.value == PoolKind::kFirst) continue;  // above, where the row begins with [CLS]
    c = small(ModelForm::kClasses);
    c.layers = pool.value == PoolKind::kLast ? 1 : 0;
    c.pool = pool.value;
    c.foci_penalty = 0.5;
    write_trace(lines, *run(c, true));
  }
  // Numbers as tokens: one number, and a density of two components.
  for (const int components : {0, 2}) {
    Document document;
    document.sentence = "-0.5 0.2 0.8 0.2";
    document.config = small(ModelForm::kTokens);
    document.config.layers = 1;
    document.config.numbers = true;
    document.config.components = components;
    document.config.norm = NormKind::kNone;
    document.config.mixer = MixerKind::kNone;
    write_trace(lines, *Runner().run(document, *backend, nullptr, true).trace);
  }
  // Attention as one operation: heads that share keys, and a row that looks at nothing.
  c = small(ModelForm::kTokens);
  c.fused_attention = true;
  c.kv_heads = 1;
  c.mask.kind = MaskKind::kFree;
  c.mask.forbidden = {{2, 0}, {2, 1}, {2, 2}, {2, 3}, {2, 4}, {2, 5}, {2, 6}};
  check(c);
  c.attention = AttentionKind::kBasic;
  c.kv_heads = 0;
  c.temperature = 2;
  c.mask.kind = MaskKind::kCausal;
  check(c);
  write_recipes_of_attention(check);
  return lines.text();
}

}  // namespace

TEST_CASE("step texts: what is said is what someone read") {
  const std::string path = std::string(HEADLIGHT_TEST_DIR) + "/golden/step_texts.txt";
  const std::string said = all_said();
  const char* update = std::getenv("HEADLIGHT_UPDATE_GOLDEN");
  if (update && std::string(update) == "1") std::ofstream(path, std::ios::binary) << said;
  std::ifstream file(path, std::ios::binary);
  const std::string golden(std::istreambuf_iterator<char>(file), {});
  std::size_t line = 0;
  for (std::size_t at = 0; at < std::min(said.size(), golden.size()); ++line) {
    const std::size_t end = said.find('\n', at) + 1;
    CAPTURE(line);
    REQUIRE(said.substr(at, end - at) == golden.substr(at, end - at));
    at = end;
  }
  CHECK(said.size() == golden.size());
}

TEST_CASE("step texts: what a step makes has another symbol than what it is made of") {
  const auto symbols_of = [](const Program& p) {
    std::set<std::string> symbols;
    for (const Step& step : p.steps) {
      const TensorSpec& out = p.tensors[static_cast<std::size_t>(step.tensor)];
      symbols.insert(out.symbol);
      // These two only move numbers.
      if (step.calls.empty() || out.role == Role::kQueries || out.role == Role::kConcat) continue;
      for (const TensorId in : p.calls[static_cast<std::size_t>(step.calls[0])].in) {
        CAPTURE(out.name);
        CHECK(p.tensors[static_cast<std::size_t>(in)].symbol != out.symbol);
      }
    }
    return symbols;
  };
  const RunShape shape{
      .batch = 1, .positions = 4, .vocab = 5, .classes = 2, .source = 3, .padded = true};
  for (const ModelForm form : {ModelForm::kTokens, ModelForm::kClasses, ModelForm::kTranslate}) {
    for (const BlockKind block :
         {BlockKind::kPreNorm, BlockKind::kPostNorm, BlockKind::kAttention}) {
      for (const AttentionKind kind : {AttentionKind::kBasic, AttentionKind::kNarrow}) {
        Config c = small(form);
        c.layers = 11;
        c.block = block;
        c.attention = kind;
        c.scale = kind != AttentionKind::kBasic;
        if (kind == AttentionKind::kBasic) c.heads = 1;
        const std::set<std::string> symbols = symbols_of(build_training_program(c, shape, true));
        CHECK(symbols.contains("x⁽⁰⁾"));
        CHECK(symbols.contains("x⁽¹¹⁾"));
        CHECK(symbols.contains("x̂") == (block == BlockKind::kPreNorm));
        CHECK(symbols.contains("r") == (block == BlockKind::kPostNorm));
        CHECK(symbols.contains("x⁽⁰⁾″") ==
              (form == ModelForm::kTranslate && block != BlockKind::kAttention));
      }
    }
  }
}

TEST_CASE("step texts: where several weights are the largest none is said to be it") {
  Config c = small(ModelForm::kTokens);
  c.positions = PositionKind::kNone;
  c.mask.kind = MaskKind::kNone;
  const auto said = [&](std::vector<std::string> words) {
    const auto trace = run(c, false, std::move(words));
    for (const Step& step : trace->program().steps) {
      if (step.row.title != "step.softmax") continue;
      return step_sentence(Language::kEnglish, *trace, step, 0, 1);
    }
    return std::string();
  };
  CHECK(said({"a", "a", "a"}).find("3 tokens share the largest weight, 0.333") !=
        std::string::npos);
  CHECK(said({"a", "b", "c"}).find("looks most at") != std::string::npos);
}

}  // namespace headlight::test_step_texts
