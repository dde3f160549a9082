// What a lab says of its run goes when the run is another one: every sentence is seen, and is gone
// in some run of the same lab. Where the sentence speaks of a trained run, that run is changed.
#include <doctest/doctest.h>

#include <set>

#include "core/base/error.h"
#include "core/base/texts.h"
#include "tests/support/lab_bench.h"
#include "tests/support/sanitized.h"

namespace headlight::test_lab_notices {
namespace {

// What no control, sentence or run of these takes away: it names the numbers of the run, whatever
// they are; or is true of the formula, of the tables that come with the lab and of float32.
constexpr std::string_view kStay[] = {
    "dot-product.notice.best",     "dot-product.notice.learned", "dot-product.notice.own",
    "experts.notice.word",         "forms.notice.pairs",         "pieces.notice.first",
    "pieces.notice.emoji",         "gradients.notice.nearest",   "gradients.notice.rounding",
    "building-up.notice.residual", "building-up.notice.alone",   "scale.notice.level",
    "shuffle.notice.same",         "positions.notice.ends",      "masks.notice.writes",
    "masks.notice.empty"};

bool stays(std::string_view id) {
  return std::ranges::any_of(kStay, [&](std::string_view one) { return id.ends_with(one); });
}

struct Said {
  std::set<std::string> seen, gone;
  std::vector<std::string> all;

  explicit Said(const Lab& lab) {
    const std::string own = "lab." + std::string(lab.id) + ".notice.";
    for (const TextEntry& text : all_texts()) {
      if (text.id.starts_with(own) && !stays(text.id)) all.emplace_back(text.id);
    }
  }
  void add(const LabResult& r) {
    for (const std::string& id : all)
      (std::ranges::any_of(r.notice, [&](const Message& m) { return m.id == id; }) ? seen : gone)
          .insert(id);
  }
  bool done() const { return seen.size() == all.size() && gone.size() == all.size(); }
};

// Every control at each of its words, or at both ends, the others as they begin.
std::vector<LabSettings> settings_of(const Lab& lab) {
  std::vector<LabSettings> all = {{}};
  for (const LabControl& control : lab.controls) {
    if (control.id == "run") continue;
    const std::string id(control.id);
    for (const std::string_view word : control.words) all.push_back({{id, std::string(word)}});
    if (!control.words.empty()) continue;
    for (const double end : {control.low, control.high}) {
      LabControl at = control;
      at.first = end;
      all.push_back({{id, first_setting(at)}});
    }
  }
  return all;
}

enum class Change { kZero, kOtherSign, kReversed, kLarge };

// A run that learned something else. "distance" says where the targets of the lab of reach stand.
std::vector<Tensor> changed(std::vector<Tensor> kept, Change change) {
  for (Tensor& tensor : kept) {
    if (tensor.name == "distance") continue;
    if (change == Change::kZero) std::ranges::fill(tensor.data, 0.0f);
    if (change == Change::kOtherSign)
      std::ranges::transform(tensor.data, tensor.data.begin(), std::negate<>());
    if (change == Change::kReversed) std::ranges::reverse(tensor.data);
    if (change == Change::kLarge) std::ranges::fill(tensor.data, 256.0f);
  }
  return kept;
}

// What a control at an end does not show.
std::vector<LabSettings> further_settings(std::string_view lab) {
  if (lab == "dictionary") return {{{"key", "3"}, {"feature", "5"}, {"number", "9"}}};
  std::vector<LabSettings> all;
  for (int weight = 1; lab == "gradients" && weight <= 40; ++weight)
    all.push_back({{"weight", std::to_string(weight)}});
  for (int draw = 1; lab == "scale" && draw <= 40; ++draw)
    all.push_back({{"mask", "none"}, {"draw", std::to_string(draw)}});
  if (lab != "without-parameters") return all;
  for (int draw = 1; draw <= 20; ++draw)
    all.push_back({{"vectors", "random"}, {"d", "2"}, {"draw", std::to_string(draw)}});
  return all;
}

class Notices : LabBench {
 public:
  explicit Notices(const Lab& lab) : lab_(lab), said_(lab) {}

  Said find() {
    const std::vector<Tensor> kept = try_run(kLabSentence, {}, "", {});
    for (const Change change :
         {Change::kZero, Change::kOtherSign, Change::kReversed, Change::kLarge}) {
      if (!kept.empty()) try_run(kLabSentence, {}, "", changed(kept, change));
    }
    for (seed_ = 2; seed_ < 6; ++seed_) {
      for (const char* sentence : {kLabSentence, "a b"}) try_run(sentence, {}, "", {});
    }
    seed_ = 1;
    for (const char* model : {"", "stories", "sentiment"}) {
      std::vector<LabSettings> all = settings_of(lab_);
      std::ranges::copy(further_settings(lab_.id), std::back_inserter(all));
      for (const LabSettings& settings : all) try_run(kLabSentence, settings, model, {});
      for (const char* sentence : {"cat", "cat cat", "a b c", "天 地"})
        try_run(sentence, {}, model, {});
    }
    return said_;
  }

 private:
  std::vector<Tensor> try_run(const std::string& sentence, const LabSettings& settings,
                              const std::string& model, const std::vector<Tensor>& kept) {
    if (said_.done()) return {};
    Document document;
    document.sentence = sentence;
    document.config.seed = seed_;
    try {
      if (!model.empty()) {
        document.model = std::string(kBundledRef) + model;
        document.config = runner.load(document.model)->file.config;
      }
      LabInput input{document, runner, *backend};
      input.kept_run = kept;
      const LabResult result = run_lab(lab_, input, settings);
      said_.add(result);
      return result.trained;
    } catch (const Error&) {  // refused: nothing is said
      return {};
    }
  }

  const Lab& lab_;
  Said said_;
  std::uint64_t seed_ = 1;
};

}  // namespace

TEST_CASE("labs: every sentence about a run is seen, and is gone where the run is another one") {
  for (std::size_t l = 0; l < all_labs().size(); l += test::kWalkStride) {
    const Lab& lab = all_labs()[l];
    if (lab.id == "cost") continue;  // speaks of measured time: test_lab_cost.cpp
    CAPTURE(lab.id);
    const Said said = Notices(lab).find();
    for (const std::string& id : said.all) {
      CHECK_MESSAGE(said.seen.contains(id), id);
      CHECK_MESSAGE(said.gone.contains(id), id);
    }
  }
}

}  // namespace headlight::test_lab_notices
