// The Train panel's first settings: the task, or the person's own data.
#include <algorithm>
#include <filesystem>

#include "app/ui/kit/line_text.h"
#include "app/ui/labs/labs_view.h"
#include "app/ui/train/train_settings.h"
#include "core/base/number_text.h"
#include "core/model/bundled.h"
#include "core/train/fine_tuning.h"
#include "core/train/model_recipe.h"

namespace headlight {
namespace {

constexpr std::string_view kOwnText = "text";

void choose_task(TrainSettings& s, int pressed) {
  const auto& tasks = all_tasks();
  const auto n = static_cast<std::size_t>(pressed);
  // What was said of the person's own data stays said.
  RunPlan next = default_plan(n < tasks.size() ? tasks[n].id : "", s.plan.data);
  next.config.seed = s.plan.config.seed;
  next.text = s.plan.text;
  next.text_options = s.plan.text_options;
  if (next.settings.task.empty()) {
    const TextOptions& options = s.plan.text_options;
    next = with_objective(std::move(next), {options.masked, options.next_sentence});
  }
  s.plan = std::move(next);
  s.changed = true;
}

void option_settings(TrainSettings& s, const TaskInfo& info) {
  Ui& ui = s.ui();
  for (const TaskOption& option : info.options) {
    const auto at = s.plan.settings.task_options.find(option.name);
    NumberRow row;
    const std::string id = "train/set/option/" + std::string(option.name);
    row.id = id;
    // These names are whole phrases: above the slider.
    s.column.name_above(ui.tr(option.label));
    row.value = at == s.plan.settings.task_options.end() ? option.value : at->second;
    row.low = option.low;
    row.high = option.high;
    row.integer = true;
    row.logarithmic = option.low > 0 && option.high > 50 * option.low;
    if (const auto value = number_row(ui, row, s.column.row())) {
      s.plan.settings.task_options[std::string(option.name)] = static_cast<int>(*value);
      s.changed = true;
    }
  }
}

// ---- the person's own data ----

void choose_data(TrainSettings& s) {
  const ChoiceWords words = words_of(s.ui(), s.plan.data, "train.data.");
  const int chosen = choice_index(s.plan.data);
  s.column.y += s.ui().px(1);
  const int pressed = choice_row(
      s.ui(), {"train/set/data", s.ui().tr("train.data"), words.labels, words.ids, chosen, {}},
      s.column.row(26));
  if (pressed < 0 || pressed == chosen) return;
  s.plan =
      with_data(std::move(s.plan), choices(s.plan.data)[static_cast<std::size_t>(pressed)].value);
  s.changed = true;
}

// A file, or what was copied elsewhere.
void choose_source(TrainSettings& s) {
  Ui& ui = s.ui();
  const Rect r = s.column.row(28);
  const float middle = (r.x0 + r.x1) / 2, gap = ui.px(4);
  if (ui.button("train/set/text_file", ui.tr("train.text_file"), {r.x0, r.y0, middle - gap, r.y1}))
    ui.push(AskText{});
  if (ui.button("train/set/text_paste", ui.tr("train.text_paste"),
                {middle + gap, r.y0, r.x1, r.y1})) {
    const char* copied = ImGui::GetClipboardText();
    s.plan.text = {{}, copied ? copied : ""};
    s.changed = true;
  }
  const TextInput& text = s.plan.text;
  const std::string from =
      !text.path.empty() ? text.path.filename().string()
      : text.text.empty()
          ? std::string(ui.tr("train.no_text"))
          : ui.tr("train.pasted",
                  {{"n", count_text(static_cast<long long>(text.text.str().size()))}});
  s.column.y += ui.px(4);
  ui.user_text(ui.fonts.note, {r.x0, s.column.y}, ui.theme.text, to_field_text(from), r.width());
  s.column.y += ui.px(20);
}

struct Bases {
  std::vector<std::string> refs, labels, ids;  // new weights first
};

// Does it put a head of its own on the model that it begins with?
bool judges(const RunPlan& plan) { return judges_rows(plan.data, plan.text_options); }

// Kept models beside those that come with the program? Which of these have learned a text say what
// comes next; who fills holes begins with a kept model that does so too.
bool offers_kept(const RunPlan& plan) { return judges(plan) || plan.text_options.masked > 0; }

// New weights, a bundled model that has learned a text, and models that were kept.
Bases bases(const TrainSettings& s, const std::string& as_new) {
  Bases all{{""}, {as_new}, {"new"}};
  const auto add = [&](std::string ref, std::string label, std::string id) {
    all.refs.push_back(std::move(ref));
    all.labels.push_back(std::move(label));
    all.ids.push_back(std::move(id));
  };
  for (const BundledModel& model : bundled_models()) {
    const std::string name(model.name);
    const bool fits = judges(s.plan) || s.plan.text_options.masked == 0;
    if (fits && bundled_recipe(model.name).training.text)
      add(std::string(kBundledRef) + name, name, name);
  }
  if (!offers_kept(s.plan)) return all;
  for (const std::string& folder : s.state.session.runs.kept)
    add(folder, std::filesystem::path(folder).filename().string(), folder);
  const std::string& now = s.plan.settings.base;  // may be kept no more
  if (std::ranges::find(all.refs, now) == all.refs.end()) add(now, base_name(s.plan), now);
  return all;
}

// Which layers of the model keep its weights; the head always learns.
void choose_frozen(TrainSettings& s) {
  Ui& ui = s.ui();
  const int layers = s.plan.config.layers, all = layers + 1;
  int& frozen = s.plan.settings.frozen;
  int shown = frozen == kAllFrozen ? all : std::min(frozen, layers);
  const std::string words = shown == kNoneFrozen ? std::string(ui.tr("train.frozen.none"))
                            : shown == all       ? std::string(ui.tr("train.frozen.all"))
                            : shown == 0         ? std::string(ui.tr("train.frozen.tables"))
                                         : ui.tr("train.frozen.n", {{"n", std::to_string(shown)}});
  if (s.number({.id = "train/set/frozen",
                .low = kNoneFrozen,
                .high = static_cast<double>(all),
                .integer = true,
                .shown = words},
               "train.frozen", shown))
    frozen = shown == all ? kAllFrozen : shown;
}

void choose_base(TrainSettings& s) {
  Ui& ui = s.ui();
  const Bases all = bases(s, std::string(ui.tr("train.base.new")));
  const std::vector<std::string_view> ids(all.ids.begin(), all.ids.end());
  const auto at = std::ranges::find(all.refs, s.plan.settings.base);
  const int chosen = at == all.refs.end() ? 0 : static_cast<int>(at - all.refs.begin());
  s.column.y += ui.px(1);
  int pressed = -1;
  if (offers_kept(s.plan)) {  // names of folders may be long, and many
    s.column.name_above(ui.tr("train.base"));
    pressed = drop_down(ui, "train/set/base", all.labels, ids, chosen, s.column.row(30));
    s.column.y += ui.px(4);
  } else {
    pressed = choice_row(ui, {"train/set/base", ui.tr("train.base"), all.labels, ids, chosen, {}},
                         s.column.row(26));
  }
  if (pressed >= 0 && pressed != chosen)
    ui.push(StartFrom{all.refs[static_cast<std::size_t>(pressed)]});
  const std::string base = base_name(s.plan);
  if (base.empty()) return;
  s.column.note(ui.tr(s.plan.data == OwnData::kLabels  ? "train.base.about.labels"
                      : judges(s.plan)                 ? "train.base.about.next_sentence"
                      : s.plan.text_options.masked > 0 ? "train.base.about.masked"
                                                       : "train.base.about",
                      {{"name", base}}),
                ui.theme.muted);
  if (judges(s.plan)) choose_frozen(s);
}

// What a new model is asked: the token that comes next, what stands where tokens are hidden,
// whether a sentence follows another, or the last two at once.
void choose_objective(TrainSettings& s) {
  Ui& ui = s.ui();
  const std::vector<std::string> labels{
      std::string(ui.tr("train.learns.next")), std::string(ui.tr("train.learns.masked")),
      std::string(ui.tr("train.learns.next_sentence")), std::string(ui.tr("train.learns.both"))};
  constexpr std::string_view kIds[] = {"next", "masked", "next_sentence", "both"};
  const auto hides = [](int choice) { return choice == 1 || choice == 3; };
  const TextOptions& options = s.plan.text_options;
  const int chosen = 2 * options.next_sentence + (options.masked > 0 ? 1 : 0);
  s.column.y += ui.px(1);
  const int pressed = choice_row(
      ui, {"train/set/learns", ui.tr("train.learns"), labels, kIds, chosen, {}}, s.column.row(26));
  if (pressed >= 0 && pressed != chosen) {
    s.plan = with_objective(std::move(s.plan), {hides(pressed) ? kMaskedShare : 0, pressed >= 2});
    s.changed = true;
  }
  int& share = s.plan.text_options.masked;
  if (share == 0) return;
  s.number({.id = "train/set/masked",
            .low = 1,
            .high = kMostMasked,
            .integer = true,
            .shown = std::to_string(share) + " %"},
           "train.masked", share);
}

// The longest context that there can be: of a model that has learned, its own.
int longest_context(const RunPlan& plan) {
  if (plan.settings.base.empty()) return 512;
  if (judges(plan) || !plan.settings.base.starts_with(kBundledRef))
    return plan.text_options.context;
  return static_cast<int>(learned_context(bundled_recipe(base_name(plan))));
}

// How the data are cut into tokens.
void choose_cut(TrainSettings& s) {
  Ui& ui = s.ui();
  const std::vector<std::string> labels = {
      std::string(ui.tr("train.cut.characters")), std::string(ui.tr("train.cut.words")),
      std::string(ui.tr("train.cut.wordpiece")), std::string(ui.tr("train.cut.bytes")),
      std::string(ui.tr("train.cut.bpe"))};
  constexpr TextCut kCuts[] = {TextCut::kCharacters, TextCut::kWords, TextCut::kWordPiece,
                               TextCut::kBytes, TextCut::kBpe};
  constexpr std::string_view kIds[] = {"characters", "words", "wordpiece", "bytes", "bpe"};
  TextOptions& options = s.plan.text_options;
  const int chosen =
      static_cast<int>(std::find(std::begin(kCuts), std::end(kCuts), options.cut) - kCuts);
  const int pressed = choice_row(
      ui, {"train/set/cut", ui.tr("train.cut"), labels, kIds, chosen, {}}, s.column.row(26));
  if (pressed >= 0 && pressed != chosen) {
    options.cut = kCuts[pressed];
    s.changed = true;
  }
  if (options.cut == TextCut::kCharacters || options.cut == TextCut::kBytes) return;
  const bool words = options.cut == TextCut::kWords;  // 0: all of them
  const int learned = options.cut == TextCut::kBpe ? kDefaultBpe : kDefaultWordPieces;
  int size = options.vocabulary > 0 || words ? options.vocabulary : learned;
  if (s.number({.id = "train/set/vocabulary",
                .low = words ? 0.0 : 258.0,
                .high = 32768,
                .integer = true,
                .logarithmic = true,
                .least = words ? 10.0 : 0.0,
                .zero = ui.tr("train.vocabulary.all")},
               "train.vocabulary", size)) {
    options.vocabulary = size;
  }
}

// Who learns pairs: an encoder and a decoder, or a decoder alone that reads both in one row.
void choose_pair_form(TrainSettings& s) {
  if (s.plan.data != OwnData::kPairs) return;
  Ui& ui = s.ui();
  const std::string labels[] = {std::string(ui.tr("train.pair_form.both")),
                                std::string(ui.tr("train.pair_form.decoder"))};
  constexpr std::string_view kIds[] = {"both", "decoder"};
  const int chosen = s.plan.text_options.joined ? 1 : 0;
  s.column.y += ui.px(1);
  const int pressed = choice_row(ui,
                                 {"train/set/pair_form", ui.tr("train.pair_form"), labels, kIds,
                                  chosen, ui.tr("train.pair_form.help")},
                                 s.column.row(26));
  if (pressed < 0 || pressed == chosen) return;
  s.plan = with_joined_pairs(std::move(s.plan), pressed == 1);
  s.changed = true;
}

// Of running text a window, of a table the longest row.
void own_settings(TrainSettings& s) {
  Ui& ui = s.ui();
  choose_data(s);
  s.column.y += ui.px(4);
  choose_source(s);
  const bool rows = s.plan.data != OwnData::kText;
  choose_pair_form(s);
  if (s.plan.data != OwnData::kPairs) choose_base(s);
  if (!rows && s.plan.settings.base.empty()) choose_objective(s);
  if (s.plan.settings.base.empty()) choose_cut(s);
  TextOptions& options = s.plan.text_options;
  s.number({.id = "train/set/context",
            .low = rows ? 0.0 : 4.0,
            .high = static_cast<double>(longest_context(s.plan)),
            .integer = true,
            .logarithmic = true,
            .least = rows ? 4.0 : 0.0,
            .zero = ui.tr("train.row.any")},
           rows ? "train.row" : "train.context", options.context);
  s.number({.id = "train/set/held_out",
            .high = 50,
            .integer = true,
            .shown = std::to_string(options.validation) + " %"},
           rows ? "train.rows_held_out" : "train.held_out", options.validation);
}

// Why there is no run; what the message says to do is done in the settings above it.
void problem_note(TrainSettings& s) {
  const TrainStatus& status = s.state.train.run.status;
  const bool failed = status.phase == TrainPhase::kFailed;
  const bool none = failed || status.phase == TrainPhase::kNone;
  const Message& problem = none ? status.problem : status.start_problem;
  if (problem.empty()) return;
  const std::string words = to_field_text(say(s.ui().language, problem));
  const float top = s.column.y + s.ui().px(4);
  s.column.y = top;
  s.column.note(words, failed ? s.ui().theme.error : s.ui().theme.muted);
  s.ui().drawn.add("label/train/problem", {s.column.x0, top}, {s.column.x1, s.column.y});
}

}  // namespace

void task_settings(TrainSettings& s) {
  Ui& ui = s.ui();
  std::vector<std::string> labels;
  std::vector<std::string_view> ids;
  int chosen = -1;
  for (const TaskInfo& info : all_tasks()) {
    if (info.id == s.plan.settings.task) chosen = static_cast<int>(ids.size());
    labels.emplace_back(ui.tr(info.name));
    ids.push_back(info.id);
  }
  if (s.plan.settings.task.empty()) chosen = static_cast<int>(ids.size());
  labels.emplace_back(ui.tr("train.own_text"));
  ids.push_back(kOwnText);
  const int pressed = drop_down(ui, "train/set/task", labels, ids, chosen, s.column.row(34));
  if (pressed >= 0 && pressed != chosen) choose_task(s, pressed);
  s.column.y += ui.px(6);
  if (s.plan.settings.task.empty()) {
    const TextOptions& options = s.plan.text_options;
    const bool text = s.plan.data == OwnData::kText;
    const bool hides = text && options.masked > 0;
    const std::string data(text && options.next_sentence ? hides ? "both" : "next_sentence"
                           : hides                       ? "masked"
                                                         : word(s.plan.data));
    s.column.note(ui.tr("train.data.about." + data), ui.theme.muted);
    own_settings(s);
    return problem_note(s);
  }
  const TaskInfo& info = task_info(s.plan.settings.task);
  s.column.note(two_sentences(ui.tr(info.about), ui.tr(info.look)), ui.theme.muted);
  option_settings(s, info);
  problem_note(s);
}

void lab_rows(TrainSettings& s) {
  for (const Lab& lab : all_labs()) {
    if (std::ranges::find(lab.tasks, s.plan.settings.task) == lab.tasks.end()) continue;
    const Lab* one[] = {&lab};
    lab_links(s.ui(), {s.column.x0, s.column.y + s.ui().px(6)}, s.column.x1, one, "train/set/lab");
    s.column.y += s.ui().px(32);
  }
}

}  // namespace headlight
