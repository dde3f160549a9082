// Why a lab shows nothing, and what can be done about it.
#include <algorithm>
#include <array>

#include "app/ui/labs/labs_view.h"
#include "core/model/bundled.h"
#include "core/model/model.h"
#include "core/train/model_recipe.h"

namespace headlight {
namespace {

bool is_one_of(std::string_view id, std::initializer_list<std::string_view> all) {
  return std::ranges::find(all, id) != all.end();
}

// Does the same thing asked again go otherwise? What is read, kept in memory or stopped may; what
// was computed from the document never.
bool may_pass(std::string_view problem) {
  if (problem.starts_with("error.needs_memory")) return true;
  return !problem.starts_with("lab.") && !problem.starts_with("error.");
}

// A sentence that has what the lab misses.
void add_sentence_way(const AppState& state, Language language, std::vector<LabWay>& ways) {
  const bool asks =
      is_one_of(state.labs.problem.id,
                {"error.empty_sentence", "error.only_spaces", "error.only_spaces.model",
                 "error.form_source", "lab.error.words", "lab.error.no_weight"});
  const auto& model = state.derived.model;
  const bool loaded = model && model->ref == state.document().model;
  const std::string example =
      loaded ? example_sentence(*model) : bundled_recipe(first_model(language).name).example;
  if (asks && !example.empty() && example != state.document().sentence)
    ways.push_back({"lab/example", std::string(tr(language, "way.example")),
                    DoEdit{SetSentence{example}, ""}});
}

// The model that the lab takes; where it is that already, its settings as they were.
void add_model_way(const AppState& state, const Lab& lab, Language language,
                   std::vector<LabWay>& ways) {
  const Document& now = state.document();
  const bool random = lab.takes.empty() || lab.takes == "random";
  const std::string taken = random ? "" : std::string(kBundledRef) + std::string(lab.takes);
  const auto add = [&](std::string_view of_random, std::string_view of_model, Action action) {
    const std::string label = random ? std::string(tr(language, of_random))
                                     : tr(language, of_model, {{"model", std::string(lab.takes)}});
    ways.push_back({"lab/take", label, std::move(action)});
  };
  if (now.model != taken) return add("lab.take_random", "lab.take_model", ChooseModel{taken});
  if (!random) {
    if (!is_as_trained(state)) add("", "lab.take_model_anew", ChooseModel{taken});
    return;
  }
  Config usual;
  usual.seed = now.config.seed;
  if (now.config == usual && now.tokenizer == TokenizerKind::kWords) return;
  add("lab.take_random_anew", "",
      DoEdit{SetModel{"", usual, TokenizerKind::kWords, std::nullopt}, ""});
}

}  // namespace

std::vector<LabWay> lab_ways(const AppState& state, const Lab& lab, Language language) {
  std::vector<LabWay> ways;
  const std::string_view problem = state.labs.problem.id;
  const bool stopped = problem == "progress.cancelled";
  if (problem == "lab.error.fused") {
    Config apart = state.document().config;
    apart.fused_attention = false;
    ways.push_back(
        {"lab/unfuse", std::string(tr(language, "way.unfuse")), DoEdit{SetConfig{apart}, ""}});
  }
  if (!stopped) add_sentence_way(state, language, ways);
  if (!stopped) add_model_way(state, lab, language, ways);
  if (state.document().labs.settings.contains(lab.id))
    ways.push_back({"lab/problem/reset", std::string(tr(language, "lab.start_again")), ResetLab{}});
  if (may_pass(problem) || ways.empty())
    ways.push_back({"lab/again", std::string(tr(language, "lab.again")), StopLab{true}});
  return ways;
}

float lab_problem(const AppState& state, Ui& ui, const Lab& lab, const Rect& r) {
  float y = r.y0 +
            ui.wrapped(ui.fonts.control, r.min(), r.width(), ui.theme.error,
                       say(ui.language, Message{"lab.refused"}.with(state.labs.problem))) +
            ui.px(12);
  float x = r.x0;
  for (LabWay& way : lab_ways(state, lab, ui.language)) {
    const float wide = ui.measure(ui.fonts.control, way.label).x + ui.px(24);
    if (x > r.x0 && x + wide > r.x1) x = r.x0, y += ui.px(36);
    if (ui.button(way.id, way.label, {x, y, x + wide, y + ui.px(30)}))
      ui.push(std::move(way.action));
    x += wide + ui.px(8);
  }
  return y + ui.px(44);
}

}  // namespace headlight
