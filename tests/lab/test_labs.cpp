// The labs: what they refuse, that a sentence is gone where the run does not support it, and that
// each question is judged right in both ways. Their numbers are NumPy's: tests/cli/run_labs.py.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "core/base/error.h"
#include "core/lab/lab_files.h"
#include "core/model/bundled.h"
#include "core/train/model_recipe.h"
#include "tests/support/error_text.h"
#include "tests/support/sanitized.h"

namespace headlight::test_labs {
namespace {

struct Bench {
  Runner runner;
  std::unique_ptr<Backend> backend = make_backend("cpu", 1);

  LabResult run(const char* lab, const std::string& sentence, const LabSettings& settings = {},
                const std::string& model = "", ProgressFunction progress = {}) {
    Document document;
    document.sentence = sentence;
    if (!model.empty()) {
      document.model = std::string(kBundledRef) + model;
      document.config = runner.load(document.model)->file.config;
    }
    return run_lab(find_lab(lab), {document, runner, *backend, std::move(progress)}, settings);
  }
};

constexpr const char* kSentence = "the little dog was sad because it lost the ball";

bool notices(const LabResult& r, std::string_view id) {
  return std::ranges::any_of(r.notice, [&](const Message& m) { return m.id.ends_with(id); });
}

std::string right(const LabResult& r) {
  REQUIRE(r.questions.size() == 1);
  const LabQuestion& q = r.questions[0];
  return q.answers[q.right];
}

// A text that stands in the table in both languages.
void check_text(const std::string& id) {
  CAPTURE(id);
  const auto& all = all_texts();
  const auto found = std::ranges::find(all, id, &TextEntry::id);
  REQUIRE(found != all.end());
  CHECK_FALSE(found->english.empty());
  CHECK_FALSE(found->chinese.empty());
}

void check_name(const std::string& name) {
  if (name.starts_with("lab.")) check_text(name);
}

bool is_number(std::string_view word) {
  return !word.empty() && word.find_first_not_of("0123456789.") == std::string_view::npos;
}

void check_controls(const Lab& lab) {
  for (const LabControl& control : lab.controls) {
    check_text("lab.control." + std::string(control.id));
    for (const std::string_view w : control.words) {
      if (!is_number(w)) check_text("lab.word." + std::string(w));
    }
    if (!control.words.empty()) CHECK(control.first_word < control.words.size());
  }
}

void check_charts(const Lab& lab, const LabResult& r) {
  const std::string own = "lab." + std::string(lab.id) + ".";
  std::vector<std::string> drawn;
  for (const LabChart& chart : lab.charts) {
    const std::string id(chart.id);
    for (const char* part : {"", ".x", ".y"}) check_text(own + "chart." + id + part);
    for (const std::string_view line : chart.lines) {
      check_text(own + "line." + std::string(line));
      drawn.push_back(id + "." + std::string(line));
    }
    if (chart.lines.empty()) drawn.push_back(id);
    if (!chart.at.empty())
      CHECK(std::ranges::find(lab.controls, chart.at, &LabControl::id) != lab.controls.end());
  }
  for (const LabSeries& s : r.series) {
    CAPTURE(s.name);
    CHECK(std::ranges::count(drawn, s.name) == 1);
    CHECK(s.x.size() == s.y.size());
    if (!s.names.empty()) CHECK(s.names.size() == s.y.size());
    for (const std::string& name : s.names) check_name(name);
  }
}

void check_pictures(const Lab& lab, const LabResult& r) {
  for (const LabPicture& p : r.pictures) {
    check_text("lab." + std::string(lab.id) + ".picture." + p.name);
    check_text("lab." + std::string(lab.id) + ".picture." + p.name + ".axes");
    check_name(p.over);
    for (const std::string& name : p.rows) check_name(name);
    for (const std::string& name : p.columns) check_name(name);
  }
}

}  // namespace

TEST_CASE("labs: every control, chart, line and picture has its texts, every series its chart") {
  Bench bench;
  for (const Lab& lab : all_labs()) {
    CAPTURE(lab.id);
    check_text("lab." + std::string(lab.id) + ".about");
    check_name(std::string(lab.formula));
    check_text("lab.group." + std::string(lab.group));
    check_controls(lab);
    for (const char* model : {"", "stories"}) {
      try {
        const LabResult r = bench.run(std::string(lab.id).c_str(), kSentence, {}, model);
        check_charts(lab, r);
        check_pictures(lab, r);
      } catch (const Error&) {
        CHECK(*model);  // every lab takes the random model
      }
    }
  }
}

TEST_CASE("labs: every text is there in both languages, and every place of it is filled") {
  Bench bench;
  for (const Lab& lab : all_labs()) {
    const LabResult r = bench.run(std::string(lab.id).c_str(), kSentence);
    for (const Language language : {Language::kEnglish, Language::kChinese}) {
      std::string all = lab_json(lab, r, language);
      for (const char* text : {"title", "question"}) {
        const std::string words(lab_text(language, lab, text));
        CHECK_FALSE(words.starts_with("lab."));
        all += words;
      }
      CHECK(all.find("lab.") == std::string::npos);
      for (const LabQuestion& q : r.questions) {
        CHECK(say(language, q.because).find('{') == std::string::npos);
        CHECK(asked(language, lab, q).text.find('{') == std::string::npos);
      }
      for (const Message& m : r.notice) CHECK(say(language, m).find('{') == std::string::npos);
    }
    CHECK_FALSE(r.tensors.empty());
    CHECK(missing_text() == "");
  }
}

TEST_CASE("labs: the same sentence and settings give the same bytes; another draw others") {
  Bench bench;
  const Lab& scale = find_lab("scale");
  const auto json = [&](const LabSettings& s) {
    return lab_json(scale, bench.run("scale", kSentence, s), Language::kEnglish);
  };
  CHECK(json({}) == json({}));
  CHECK(json({}) != json({{"draw", "2"}}));
}

TEST_CASE("labs: scale says what this draw shows, and judges by it") {
  Bench bench;
  const LabResult usual = bench.run("scale", kSentence);
  CHECK(right(usual) == "falls");
  CHECK(notices(usual, ".one_word"));
  CHECK(notices(usual, ".level"));
  CHECK(notices(usual, ".root"));
  // One token: there is nothing to choose from, so nothing is asked and nothing is said of it.
  const LabResult one = bench.run("scale", "cat");
  CHECK(one.questions.empty());
  CHECK_FALSE(notices(one, ".one_word"));
  CHECK(one.value("gradient.undivided") == 0);
  // Whether the gradient falls depends on the draw where there is but one row to look at.
  std::vector<std::string> answers;
  for (int draw = 1; draw <= 40; ++draw)
    answers.push_back(right(bench.run("scale", "a b", {{"draw", std::to_string(draw)}})));
  for (const char* answer : {"falls", "same", "grows"})
    CHECK_MESSAGE(std::ranges::count(answers, answer) > 0, answer);
}

TEST_CASE("labs: scale sets the model's own scores beside random ones") {
  Bench bench;
  const auto spread = [](const LabResult& r, const char* name) {
    return std::ranges::find(r.series, name, &LabSeries::name)->y[0];
  };
  std::vector<std::string> answers;
  LabResult first;
  for (int head = 0; head < 4; ++head) {
    const LabResult r = bench.run(
        "scale", kSentence, {{"vectors", "model"}, {"head", std::to_string(head)}}, "stories");
    CHECK(notices(r, ".model"));
    REQUIRE(r.questions.size() == 2);
    const double ratio = spread(r, "own_spread.model") / spread(r, "own_spread.random");
    // Another head has other queries and keys.
    for (const char* name : {"model_q", "model_k"}) {
      const auto cells = [&](const LabResult& of) {
        return std::ranges::find(of.tensors, name, &Tensor::name)->data;
      };
      if (head > 0) CHECK(cells(r) != cells(first));
    }
    if (head == 0) first = r;
    answers.push_back(r.questions[0].answers[r.questions[0].right]);
    CHECK((answers.back() == "more") == (ratio > 1.25));
    CHECK((answers.back() == "less") == (ratio < 0.8));
  }
  const LabResult random = bench.run("scale", kSentence, {{"vectors", "model"}});
  answers.push_back(random.questions[0].answers[random.questions[0].right]);
  CHECK(std::ranges::count(answers, "more") > 0);
  CHECK(std::ranges::count(answers, "more") < std::ssize(answers));
  CHECK_FALSE(notices(bench.run("scale", kSentence), ".model"));
  CHECK(error_of([&] {
          bench.run("scale", "a b", {{"vectors", "model"}, {"layer", "9"}});
        }).find("0 … 1") != std::string::npos);
}

TEST_CASE("labs: without parameters, a word sees itself unless another is longer") {
  Bench bench;
  const LabResult random = bench.run("without-parameters", kSentence, {{"vectors", "random"}});
  CHECK(right(random) == "itself");
  CHECK(notices(random, ".themselves"));
  CHECK(notices(random, ".equal"));  // "the" twice
  CHECK(notices(random, ".length"));
  CHECK(notices(random, ".geometry"));
  CHECK_FALSE(notices(bench.run("without-parameters", "a b c"), ".equal"));
  CHECK(right(bench.run("without-parameters", "a cat cat")) == "equally");
  // In two dimensions lengths differ so much that many words see a longer one.
  bool another = false;
  for (int draw = 1; draw <= 20 && !another; ++draw) {
    const LabResult flat =
        bench.run("without-parameters", kSentence,
                  {{"vectors", "random"}, {"d", "2"}, {"draw", std::to_string(draw)}});
    another = right(flat) == "another";
    if (another) CHECK_FALSE(notices(flat, ".length"));
    if (another) CHECK(notices(flat, ".beaten"));
  }
  CHECK(another);
  CHECK(bench.run("without-parameters", "cat").questions.empty());
}

TEST_CASE("labs: a dictionary goes from one key to the mean of all") {
  Bench bench;
  const LabResult story = bench.run("dictionary", kSentence, {}, "stories");
  CHECK(right(story) == "best");
  CHECK(notices(story, ".hot"));
  CHECK(notices(story, ".now"));
  const LabSeries& largest = story.series[0];
  CHECK(std::ranges::is_sorted(largest.y, std::greater{}));
  // Two equal keys share the weight however cold it is.
  Document equal;
  equal.sentence = "cat cat";
  equal.config.positions = PositionKind::kNone;
  const LabResult twins = run_lab(find_lab("dictionary"), {equal, bench.runner, *bench.backend},
                                  {{"temperature", "0.0625"}});
  CHECK(twins.value("largest") == doctest::Approx(0.5));
  CHECK_FALSE(notices(twins, ".cold"));
  // At 0 the hard look-up itself, at infinity the mean of all.
  const LabResult hard = bench.run("dictionary", kSentence, {{"temperature", "0"}}, "stories");
  CHECK(hard.value("largest") == 1);
  CHECK(hard.value("distance.hard") == 0);
  CHECK(notices(hard, ".hard"));
  const LabResult mean =
      bench.run("dictionary", kSentence, {{"temperature", "infinity"}}, "stories");
  CHECK(mean.value("largest") ==
        doctest::Approx(1 / static_cast<double>(mean.pictures[0].columns.size())));
  CHECK(mean.value("distance.mean") < 1e-6);
  CHECK(notices(mean, ".mean"));
  CHECK_FALSE(notices(mean, ".now"));
  CHECK_FALSE(notices(story, ".hard"));
  CHECK(bench.run("dictionary", "cat").questions.empty());
}

TEST_CASE("labs: a number of a key that is set by hand changes that key's score and no other") {
  Bench bench;
  for (const char* model : {"", "stories"}) {
    const auto scores = [&](const LabSettings& s) {
      const LabResult r = bench.run("dictionary", kSentence, s, model);
      CHECK(notices(r, ".edited") == s.contains("key"));
      return std::ranges::find(r.series, "scores", &LabSeries::name)->y;
    };
    const std::vector<double> before = scores({});
    const std::vector<double> after = scores({{"key", "3"}, {"feature", "5"}, {"number", "9"}});
    for (std::size_t j = 0; j < before.size(); ++j) CHECK((before[j] == after[j]) == (j != 2));
    // As a key that is set further away, by as much again.
    const std::vector<double> low = scores({{"key", "3"}, {"feature", "5"}, {"number", "-10"}}),
                              high = scores({{"key", "3"}, {"feature", "5"}, {"number", "10"}}),
                              middle = scores({{"key", "3"}, {"feature", "5"}, {"number", "0"}});
    CHECK(middle[2] == doctest::Approx((low[2] + high[2]) / 2));
  }
  // Another head has other keys and values.
  const LabResult first = bench.run("dictionary", kSentence, {}, "stories"),
                  second = bench.run("dictionary", kSentence, {{"head", "1"}}, "stories");
  for (const char* name : {"query", "keys", "values", "scores"}) {
    const auto cells = [&](const LabResult& r) {
      return std::ranges::find(r.tensors, name, &Tensor::name)->data;
    };
    CHECK(cells(first) != cells(second));
  }
  CHECK(error_of([&] {
          bench.run("dictionary", "a b", {{"key", "1"}, {"feature", "999"}});
        }).find("feature") != std::string::npos);
}

TEST_CASE("labs: shuffled words are the same words, until something tells their order") {
  Bench bench;
  const LabResult none = bench.run("shuffle", kSentence);
  CHECK(right(none) == "nothing");
  for (const char* id : {".same", ".causal", ".positions", ".classes"}) CHECK(notices(none, id));
  CHECK(right(bench.run("shuffle", kSentence, {{"mask", "causal"}})) == "something");
  for (const char* kind : {"alibi", "transformer-xl", "t5", "learned"})
    CHECK(right(bench.run("shuffle", kSentence, {{"positions", kind}})) == "something");
  const LabPicture& table = none.pictures[0];
  REQUIRE(table.rows.size() == 8);
  REQUIRE(table.columns.size() == 3);
  for (std::size_t i = 0; i < table.cells.size(); ++i) {
    CAPTURE(i);
    // Lost without positions and without a mask; what is left to the others is no rounding.
    CHECK((table.cells[i] < 1e-4f) == (i == 0 || i == 2));
  }
  // Put back in order nothing is left, or something is.
  CHECK(none.pictures[3].over == "lab.shuffle.over.left");
  for (const float cell : none.pictures[3].cells) CHECK(std::fabs(cell) < 1e-4f);
  // One word has no other place.
  const LabResult one = bench.run("shuffle", "cat", {{"positions", "rotary"}});
  CHECK(right(one) == "nothing");
  for (const char* id : {".causal", ".positions", ".classes"}) CHECK_FALSE(notices(one, id));
  CHECK(error_of([&] { bench.run("shuffle", "a b", {}, "stories"); }).find("random model") !=
        std::string::npos);
}

TEST_CASE("labs: what is drawn, and how the sentence may go on") {
  Bench bench;
  const LabResult story =
      bench.run("sampling", "Once upon a time there was a little", {}, "stories");
  CHECK(right(story) == "more");
  CHECK(notices(story, ".temperature"));
  CHECK_FALSE(notices(story, ".kept"));
  REQUIRE(story.tree.size() == 12);  // three tokens, and three behind each
  const LabResult three = bench.run("sampling", "Once upon a time there was a little",
                                    {{"top_k", "3"}, {"top_p", "0.5"}}, "stories");
  CHECK(notices(three, ".kept"));
  CHECK(three.value("kept") <= 3);
  double sum = 0;
  for (const double p : three.series[1].y) sum += p;
  CHECK(three.series[1].name == "distribution.drawn");
  CHECK(sum == doctest::Approx(1));
  CHECK(three.series[1].names.size() == 12);
  // One token in the vocabulary: it is certain at any temperature.
  const LabResult certain = bench.run("sampling", "cat");
  CHECK(certain.questions.empty());
  CHECK_FALSE(notices(certain, ".temperature"));
  CHECK(error_of([&] { bench.run("sampling", "a good film", {}, "sentiment"); }) != "");
}

TEST_CASE("labs: a gradient is the slope of the loss, until rounding wins") {
  Bench bench;
  const LabResult usual = bench.run("gradients", kSentence);
  CHECK(right(usual) == "farther");
  CHECK(notices(usual, ".nearest"));
  CHECK(notices(usual, ".rounding"));
  CHECK(notices(usual, ".wins"));
  CHECK(usual.value("error.central") < 1e-3 * std::fabs(usual.value("gradient")));
  bool order = false;
  for (int weight = 0; weight < 20 && !order; ++weight)
    order =
        notices(bench.run("gradients", kSentence, {{"weight", std::to_string(weight)}}), ".order");
  CHECK(order);
  CHECK(error_of([&] {
          bench.run("gradients", kSentence, {{"weight", "5000"}});
        }).find("0 … ") != std::string::npos);
}

TEST_CASE("labs: each rung adds one thing, and says so only where it shows") {
  Bench bench;
  const LabResult r = bench.run("building-up", kSentence);
  for (const char* id : {".queries", ".mask", ".heads", ".residual", ".norm", ".alone"})
    CHECK(notices(r, id));
  // The order of the rungs: the norm before the network that needs it.
  const std::vector<std::string_view>& rungs = find_lab("building-up").controls[0].words;
  CHECK(rungs == std::vector<std::string_view>{"basic", "queries", "scale", "mask", "heads",
                                               "output", "residual", "norm", "feed-forward",
                                               "layers"});
  const Config normed = bench.run("building-up", kSentence, {{"rung", "norm"}}).in_steps.config;
  CHECK(normed.has_norms());
  CHECK_FALSE(normed.has_feed_forward());
  CHECK(right(r) == "layers");
  CHECK(r.pictures.size() == 10);
  CHECK(r.pictures.size() == find_lab("building-up").controls[0].words.size());
  CHECK(r.settings.at("rung") == "layers");
  // One word has no later ones, and no other to be scored by.
  const LabResult one = bench.run("building-up", "cat");
  for (const char* id : {".queries", ".scale", ".mask", ".heads"}) CHECK_FALSE(notices(one, id));
  CHECK(bench.run("building-up", kSentence, {{"rung", "scale"}}).in_steps.config.attention ==
        AttentionKind::kSingle);
  CHECK(error_of([&] { bench.run("building-up", "a", {}, "stories"); }).find("random model") !=
        std::string::npos);
}

TEST_CASE("labs: products rank films, are learned from ratings, and are the sentence's own") {
  Bench bench;
  const LabResult r = bench.run("dot-product", kSentence, {}, "stories");
  CHECK(right(r) == "last");
  for (const char* id : {".best", ".terms", ".learned", ".own"}) CHECK(notices(r, id));
  // The sum of the terms of each film is its product, and films come in the order of products.
  for (std::size_t film = 0; film < 6; ++film) {
    double sum = 0;
    for (const LabSeries& s : r.series) sum += s.name.starts_with("terms.") ? s.y[film] : 0;
    CHECK(r.series[0].y[film] == doctest::Approx(sum));
  }
  CHECK(std::ranges::is_sorted(r.series[0].y, std::greater{}));
  // A film that becomes all that the person wishes for comes first.
  const LabResult edited = bench.run(
      "dot-product", kSentence,
      {{"edit", "love"}, {"action", "1"}, {"romance", "-1"}, {"comedy", "1"}, {"length", "0"}});
  CHECK(edited.series[0].names[0] == "lab.word.love");
  CHECK(r.series[0].names[0] == "lab.word.chase");
  // Someone else's wishes: another ranking.
  const LabResult ann = bench.run("dot-product", kSentence, {{"edit", "ann"}, {"action", "-0.5"}});
  CHECK(ann.pictures[0].over == "lab.word.ann");
  // Nothing is wished for: nothing fits better than anything else, and nothing is asked.
  const LabResult none =
      bench.run("dot-product", kSentence,
                {{"action", "0"}, {"romance", "0"}, {"comedy", "0"}, {"length", "0"}});
  CHECK(none.questions.empty());
  CHECK_FALSE(notices(none, ".best"));
  Document still;
  still.sentence = "a b";
  still.config.mixer = MixerKind::kRecurrent;
  CHECK_FALSE(
      notices(run_lab(find_lab("dot-product"), {still, bench.runner, *bench.backend}), ".own"));
}

TEST_CASE("labs: settings and models that cannot be are refused with what can") {
  Bench bench;
  const auto refused = [&](const char* lab, const LabSettings& s, const std::string& model = "") {
    return error_of([&] { bench.run(lab, "a b", s, model); });
  };
  CHECK(error_of([] { find_lab("scales"); }).find("without-parameters") != std::string::npos);
  CHECK(refused("scale", {{"d_k", "65"}}).find("1024") != std::string::npos);
  CHECK(refused("scale", {{"draw", "1.5"}}).find("whole number") != std::string::npos);
  CHECK(refused("scale", {{"draw", "nan"}}).find("got nan") != std::string::npos);
  CHECK(refused("scale", {{"width", "4"}}).find("it has vectors, mask") != std::string::npos);
  CHECK(refused("dictionary", {{"head", "99"}}).find("0 … 3") != std::string::npos);
  CHECK(refused("dictionary", {{"key", "40"}}).find("key") != std::string::npos);
  CHECK(error_of([&] { bench.run("scale", ""); }) != "");
  Document still;
  still.sentence = "a b";
  still.config.mixer = MixerKind::kRecurrent;
  CHECK(error_of([&] {
          run_lab(find_lab("dictionary"), {still, bench.runner, *bench.backend});
        }).find("random model") != std::string::npos);
  Document fused;
  fused.sentence = "a b";
  fused.config.fused_attention = true;
  CHECK(error_of([&] {
          run_lab(find_lab("dictionary"), {fused, bench.runner, *bench.backend});
        }).find("--fused-attention off") != std::string::npos);
  const LabResult cut = bench.run(
      "scale", std::string(3000, 'a') + [] {
        std::string words;
        for (int i = 0; i < 90; ++i) words += " w" + std::to_string(i);
        return words;
      }());
  REQUIRE(cut.notes.size() == 1);
  CHECK(say(Language::kEnglish, cut.notes[0]).find("first 32 of 91") != std::string::npos);
}

TEST_CASE(
    "labs: whatever the model is, pictures have their rows and columns, or a sentence says why "
    "not") {
  Bench bench;
  const auto changed = [](auto change) {
    Document d;
    d.sentence = "the cat sat on [SEP] the mat";
    change(d.config);
    return d;
  };
  std::vector<Document> all = {
      changed([](Config&) {}),
      changed([](Config& c) {
        c.form = ModelForm::kClasses, c.pool = PoolKind::kFirst, c.mask.kind = MaskKind::kNone;
      }),
      changed([](Config& c) { c.form = ModelForm::kClasses, c.token_head = c.segments = true; }),
      changed([](Config& c) { c.form = ModelForm::kTranslate; }),
      changed([](Config& c) { c.segments = true; }),
      changed([](Config& c) { c.fused_attention = true; }),
      changed([](Config& c) { c.bias_kv = c.zero_attention = true; }),
      changed([](Config& c) { c.mixer = MixerKind::kGru; }),
      changed([](Config& c) { c.memory = 4; }),
      changed([](Config& c) { c.layers = 0; })};
  for (const char* name : {"dates", "sentiment", "masked", "grammar", "stories", "sort"}) {
    all.push_back(all[0]);
    all.back().model = std::string(kBundledRef) + name;
    all.back().config = bench.runner.load(all.back().model)->file.config;
    all.back().sentence = example_sentence(*bench.runner.load(all.back().model));
  }
  int done = 0;
  for (std::size_t d = 0; d < all.size(); ++d) {
    for (std::size_t l = d % test::kWalkStride; l < all_labs().size(); l += test::kWalkStride) {
      const Lab& lab = all_labs()[l];
      CAPTURE(d);
      CAPTURE(lab.id);
      try {
        const LabResult r = run_lab(lab, {all[d], bench.runner, *bench.backend});
        ++done;
        for (const LabPicture& p : r.pictures)
          CHECK(p.cells.size() == p.rows.size() * p.columns.size());
        for (const LabQuestion& q : r.questions) CHECK(q.right < q.answers.size());
      } catch (const Error& error) {
        CHECK(std::string(error.what()) != "");
        CHECK(std::string(error.what()).find("lab.") == std::string::npos);
      }
    }
  }
  CHECK(done > 90 / static_cast<int>(test::kWalkStride));
}

TEST_CASE(
    "labs: scale shows its first draw, whose numbers stay; gradients read so much of a text") {
  Bench bench;
  Document document;
  document.sentence = kSentence;
  std::vector<LabResult> shown;
  LabInput input{document, bench.runner, *bench.backend};
  input.show = [&](const LabResult& r) { shown.push_back(r); };
  const LabResult last = run_lab(find_lab("scale"), input);
  REQUIRE(shown.size() == 1);
  REQUIRE(shown[0].series.size() == last.series.size());
  for (std::size_t i = 0; i < last.series.size(); ++i) {
    CHECK(shown[0].series[i].y == last.series[i].y);
    CHECK(shown[0].series[i].low == last.series[i].y);  // one draw: no band yet
  }
  CHECK(shown[0].notice == last.notice);
  CHECK(last.series[0].low != last.series[0].y);
  for (int i = 0; i < 90; ++i) document.sentence += " and";
  const LabResult cut = run_lab(find_lab("gradients"), input);
  CHECK(say(Language::kEnglish, cut.notes[0]).find("first 64 of 100") != std::string::npos);
}

TEST_CASE("labs: a run that is cancelled stops") {
  Bench bench;
  int told = 0;
  CHECK_THROWS_AS(
      bench.run("scale", kSentence, {}, "", [&](const Progress&) { return ++told < 3; }),
      Cancelled);
  CHECK(told == 3);
}

}  // namespace headlight::test_labs
