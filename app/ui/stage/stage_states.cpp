// The stage while there is nothing to show, and what to do about it.
#include <algorithm>

#include "app/ui/stage/stage_view.h"
#include "core/base/utf8.h"
#include "core/model/bundled.h"
#include "core/train/model_recipe.h"

namespace headlight {
namespace {

// A reason as a part of a sentence: some of them end as sentences do.
std::string without_end(std::string reason) {
  for (const std::string_view end : {".", "。"}) {
    if (reason.ends_with(end)) reason.resize(reason.size() - end.size());
  }
  return reason;
}

// A sentence to begin with: the model's own, where it has one.
std::string example_of(const AppState& state) {
  const std::string& ref = state.document().model;
  const std::shared_ptr<const Model>& model = state.derived.opened;
  std::string own;
  if (model && model->ref == ref)
    own = example_sentence(*model);
  else if (ref.starts_with(kBundledRef))
    own = bundled_recipe(ref.substr(kBundledRef.size())).example;
  return own.empty() ? Document{}.sentence : own;
}

}  // namespace

void draw_stage_without_trace(const AppState& state, Ui& ui, const Rect& r) {
  const Derived& d = state.derived;
  const bool waiting = !d.trace && d.computing;
  const bool stopped = !d.trace && !waiting && d.message.id == "progress.cancelled";
  const bool failed = !d.empty && !waiting && !stopped && !d.problem.empty();
  const bool empty = !failed && !waiting && !stopped;
  const std::string_view kind = waiting   ? "computing"
                                : stopped ? "stopped"
                                : failed  ? "failed"
                                          : "empty";
  const std::string id = "stage." + std::string(kind);
  const float width = std::min(r.width() - ui.px(48), ui.px(520));
  const std::string title = ui.tr(id + ".title", {});
  const std::string words = ui.tr(id + ".words", {{"why", without_end(d.problem)}});
  const float words_height = ui.wrapped_height(ui.fonts.body, width, words);
  const float height = ui.px(42) + words_height + (empty || stopped ? ui.px(46) : 0);
  // A little above the middle, as a page of its own.
  const float x = r.x0 + (r.width() - width) / 2;
  float y = r.y0 + std::max(ui.px(16), (r.height() - height) * 0.42f);
  ui.text(ui.fonts.title, {x, y}, ui.theme.text, title, width);
  y += ui.px(42);
  y += ui.wrapped(ui.fonts.body, {x, y}, width, ui.theme.text, words);
  if (stopped) {
    const std::string_view again = ui.tr("way.compute");
    const float room = ui.measure(ui.fonts.control, again).x + ui.px(24);
    if (ui.button("stage/again", again, {x, y + ui.px(8), x + room, y + ui.px(36)}))
      ui.push(StopWaiting{true});
  }
  if (!empty) return;
  const std::string example = example_of(state);
  std::string shown;
  for (std::size_t points = 60; points > 4; points -= 4) {
    shown = "“" + shortened(example, points) + "”";
    if (ui.measure(ui.fonts.control, shown).x + ui.px(24) <= width) break;
  }
  const float room = std::min(ui.measure(ui.fonts.control, shown).x + ui.px(24), width);
  const Rect button{x, y + ui.px(8), x + room, y + ui.px(36)};
  if (!example.empty() && ui.button("stage/example", shown, button))
    ui.push(DoEdit{SetSentence{example}, ""});
  y += ui.px(46);
  if (!d.problem.empty()) {
    ui.wrapped(ui.fonts.body, {x, y + ui.px(8)}, width, ui.theme.muted,
               ui.tr("stage.empty.now", {{"why", without_end(d.problem)}}));
  }
}

}  // namespace headlight
