// The Train panel's settings: the task, the model, how it learns, when it stops.
#include <algorithm>
#include <cmath>

#include "app/ui/choices.h"
#include "app/ui/commands.h"
#include "app/ui/number_row.h"
#include "app/ui/panel_train.h"
#include "core/error.h"
#include "core/text/number_text.h"

namespace headlight {
namespace {

// The column that the settings stand in, one below the other.
struct Column {
  Ui& ui;
  float x0, x1, y;
  Rect row(float height = 24) {
    const Rect r{x0, y, x1, y + ui.px(height)};
    y = r.y1 + ui.px(2);
    return r;
  }
  void heading(std::string_view text_id) {
    y += ui.px(14);
    ui.text(ui.fonts.note, {x0, y}, ui.theme.muted, ui.tr(text_id), x1 - x0);
    y += ui.px(20);
  }
  void note(std::string_view words, Color color) {
    y += ui.wrapped(ui.fonts.note, {x0, y}, x1 - x0, color, words) + ui.px(4);
  }
};

template <class T>
int index_of(T value) {
  const auto all = choices(value);
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i].value == value) return static_cast<int>(i);
  }
  return 0;
}

struct Words {
  std::vector<std::string> labels;
  std::vector<std::string_view> ids;
};

// The choices of an enumeration by the texts "PREFIX.WORD".
template <class T>
Words words_of(const Ui& ui, T value, const std::string& prefix) {
  Words words;
  for (const auto& choice : choices(value)) {
    words.labels.emplace_back(ui.tr(prefix + std::string(choice.word)));
    words.ids.push_back(choice.word);
  }
  return words;
}

constexpr double kWidths[] = {8, 16, 32, 48, 64, 96, 128, 192, 256};
constexpr double kBatches[] = {1, 2, 4, 8, 16, 32, 64, 128, 256, 512};
constexpr std::string_view kOwnText = "text";

struct Settings {
  const AppState& state;
  Column& column;
  RunPlan plan;
  bool changed = false;

  Ui& ui() { return column.ui; }

  // A number of the plan; `set` takes the new one.
  template <class Set>
  void number(NumberRow row, std::string_view label_id, Set set) {
    row.label = ui().tr(label_id);
    const std::string help_id = std::string(label_id) + ".help";
    row.help = ui().tr(help_id);
    if (const auto value = number_row(ui(), row, column.row())) {
      set(*value);
      changed = true;
    }
  }

  template <class T>
  void choice(std::string_view id, std::string_view label_id, T& value, const std::string& prefix) {
    const Words words = words_of(ui(), value, prefix);
    choice(id, label_id, value, words.labels, words.ids);
  }

  template <class T>
  void choice(std::string_view id, std::string_view label_id, T& value,
              std::span<const std::string> labels, std::span<const std::string_view> ids) {
    column.y += ui().px(1);
    const ChoiceRow row{id, ui().tr(label_id), labels, ids, index_of(value), {}};
    const int pressed = choice_row(ui(), row, column.row(26));
    if (pressed < 0 || pressed == row.chosen) return;
    value = choices(value)[static_cast<std::size_t>(pressed)].value;
    changed = true;
  }
};

// ---- the task ----

void choose_task(Settings& s, int pressed) {
  const auto& tasks = all_tasks();
  const auto n = static_cast<std::size_t>(pressed);
  RunPlan next = default_plan(n < tasks.size() ? tasks[n].id : "");
  next.config.seed = s.plan.config.seed;
  next.text = s.plan.text;
  next.text_options = s.plan.text_options;
  s.plan = std::move(next);
  s.changed = true;
}

void task_settings(Settings& s) {
  Ui& ui = s.ui();
  std::vector<std::string> labels;
  std::vector<std::string_view> ids;
  int chosen = -1;
  for (const TaskInfo& info : all_tasks()) {
    if (info.id == s.plan.recipe.task) chosen = static_cast<int>(ids.size());
    labels.emplace_back(ui.tr(info.name));
    ids.push_back(info.id);
  }
  if (s.plan.recipe.task.empty()) chosen = static_cast<int>(ids.size());
  labels.emplace_back(ui.tr("train.own_text"));
  ids.push_back(kOwnText);
  const int pressed = drop_down(ui, "train/set/task", labels, ids, chosen, s.column.row(34));
  if (pressed >= 0 && pressed != chosen) choose_task(s, pressed);
  s.column.y += ui.px(6);
  if (s.plan.recipe.task.empty()) {
    s.column.note(ui.tr("train.own_text.about"), ui.theme.muted);
    return;
  }
  const TaskInfo& info = task_info(s.plan.recipe.task);
  s.column.note(std::string(ui.tr(info.about)) + " " + std::string(ui.tr(info.look)),
                ui.theme.muted);
  for (const TaskOption& option : info.options) {
    const auto at = s.plan.recipe.task_options.find(option.name);
    NumberRow row;
    const std::string id = "train/set/option/" + std::string(option.name);
    row.id = id;
    // These names are whole phrases: above the slider.
    s.column.y += ui.px(3);
    s.column.note(ui.tr(option.label), ui.theme.muted);
    s.column.y -= ui.px(6);
    row.value = at == s.plan.recipe.task_options.end() ? option.value : at->second;
    row.low = option.low;
    row.high = option.high;
    row.integer = true;
    row.logarithmic = option.low > 0 && option.high > 50 * option.low;
    if (const auto value = number_row(ui, row, s.column.row())) {
      s.plan.recipe.task_options[std::string(option.name)] = static_cast<int>(*value);
      s.changed = true;
    }
  }
}

// A file, or what was copied elsewhere.
void text_settings(Settings& s) {
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
          : ui.tr("train.pasted", {{"n", count_text(static_cast<long long>(text.text.size()))}});
  s.column.y += ui.px(4);
  ui.user_text(ui.fonts.note, {r.x0, s.column.y}, ui.theme.text, to_field_text(from), r.width());
  s.column.y += ui.px(20);
  const std::vector<std::string> labels = {
      std::string(ui.tr("train.cut.characters")), std::string(ui.tr("train.cut.words")),
      std::string(ui.tr("train.cut.bytes")), std::string(ui.tr("train.cut.bpe"))};
  constexpr TextCut kCuts[] = {TextCut::kCharacters, TextCut::kWords, TextCut::kBytes,
                               TextCut::kBpe};
  constexpr std::string_view kIds[] = {"characters", "words", "bytes", "bpe"};
  TextOptions& options = s.plan.text_options;
  const int chosen =
      static_cast<int>(std::find(std::begin(kCuts), std::end(kCuts), options.cut) - kCuts);
  const int pressed = choice_row(
      ui, {"train/set/cut", ui.tr("train.cut"), labels, kIds, chosen, {}}, s.column.row(26));
  if (pressed >= 0 && pressed != chosen) {
    options.cut = kCuts[pressed];
    s.changed = true;
  }
  if (options.cut == TextCut::kBpe || options.cut == TextCut::kWords) {
    const double usual = options.cut == TextCut::kBpe ? 512 : 4000;
    s.number({.id = "train/set/vocabulary",
              .label = {},
              .value = options.vocabulary > 0 ? options.vocabulary : usual,
              .low = 258,
              .high = 32768,
              .integer = true,
              .logarithmic = true,
              .shown = {}},
             "train.vocabulary", [&](double v) { options.vocabulary = static_cast<int>(v); });
  }
  s.number({.id = "train/set/context",
            .label = {},
            .value = double(options.context),
            .low = 4,
            .high = 512,
            .integer = true,
            .logarithmic = true,
            .shown = {}},
           "train.context", [&](double v) { options.context = static_cast<int>(v); });
  s.number({.id = "train/set/held_out",
            .label = {},
            .value = double(options.validation),
            .low = 0,
            .high = 50,
            .integer = true,
            .shown = std::to_string(options.validation) + " %"},
           "train.held_out", [&](double v) { options.validation = static_cast<int>(v); });
}

// ---- the model ----

// A number of heads that divides the width: the nearest one.
int fitting_heads(int heads, int width) {
  for (int distance = 0; distance < width; ++distance) {
    for (const int n : {heads - distance, heads + distance}) {
      if (n >= 1 && n <= width && width % n == 0) return n;
    }
  }
  return 1;
}

void model_settings(Settings& s) {
  Ui& ui = s.ui();
  Config& c = s.plan.config;
  s.number({.id = "train/set/layers",
            .label = {},
            .value = double(c.layers),
            .low = 1,
            .high = 6,
            .integer = true,
            .shown = {}},
           "train.layers", [&](double v) { c.layers = static_cast<int>(v); });
  s.number({.id = "train/set/heads",
            .label = {},
            .value = double(c.heads),
            .low = 1,
            .high = 16,
            .integer = true,
            .shown = {}},
           "train.heads",
           [&](double v) { c.heads = fitting_heads(static_cast<int>(v), c.d_model); });
  s.number({.id = "train/set/d_model",
            .label = {},
            .value = double(c.d_model),
            .low = kWidths[0],
            .high = 256,
            .integer = true,
            .choices = kWidths,
            .shown = {}},
           "train.d_model", [&](double v) {
             c.d_model = static_cast<int>(v);
             c.heads = fitting_heads(c.heads, c.d_model);
           });
  const Choices positions = choices_of(ui, c.positions), blocks = choices_of(ui, c.block);
  s.choice("train/set/positions", "train.positions", c.positions, positions.labels, positions.ids);
  s.choice("train/set/block", "train.block", c.block, blocks.labels, blocks.ids);
  s.choice("train/set/init", "train.init", s.plan.init, "train.init.");
  const std::int64_t parameters = s.state.train.run.status.parameters;
  const Rect r = s.column.row();
  ui.text(ui.fonts.control, {r.x0, r.y0 + ui.px(4)}, ui.theme.muted, ui.tr("train.parameters"));
  const bool known = parameters > 0 && !s.state.session.train.changed;
  ui.text_right(ui.fonts.mono, r.x1 - ui.px(2), r.y0 + ui.px(4), ui.theme.text,
                known ? count_text(parameters) : "–");
}

// ---- learning ----

void learning_settings(Settings& s) {
  TrainRecipe& recipe = s.plan.recipe;
  Schedule& schedule = recipe.schedule;
  const OptimizerKind before = recipe.optimizer.kind;
  s.choice("train/set/optimizer", "train.optimizer", recipe.optimizer.kind, "train.optimizer.");
  if (recipe.optimizer.kind != before) {
    recipe.optimizer = default_options(recipe.optimizer.kind);
    if (recipe.optimizer.kind == OptimizerKind::kSgd) recipe.optimizer.momentum = 0.9;
  }
  s.number({.id = "train/set/rate",
            .label = {},
            .value = schedule.peak,
            .low = 1e-6,
            .high = 10,
            .logarithmic = true,
            .shown = {}},
           "train.rate", [&](double v) {
             schedule.peak = v;
             schedule.floor = std::min(schedule.floor, v);
           });
  s.choice("train/set/schedule", "train.schedule", schedule.kind, "train.schedule.");
  s.number({.id = "train/set/warmup",
            .label = {},
            .value = double(schedule.warmup),
            .low = 0,
            .high = std::max<double>(double(schedule.steps) / 2, 1),
            .integer = true,
            .shown = {}},
           "train.warmup", [&](double v) { schedule.warmup = static_cast<std::int64_t>(v); });
  s.number({.id = "train/set/batch",
            .label = {},
            .value = double(recipe.batch),
            .low = 1,
            .high = 512,
            .integer = true,
            .choices = kBatches,
            .shown = {}},
           "train.batch", [&](double v) { recipe.batch = static_cast<std::int64_t>(v); });
  s.number({.id = "train/set/accumulate",
            .label = {},
            .value = double(recipe.accumulation),
            .low = 1,
            .high = 16,
            .integer = true,
            .shown = {}},
           "train.accumulate",
           [&](double v) { recipe.accumulation = static_cast<std::int64_t>(v); });
  s.number({.id = "train/set/dropout",
            .label = {},
            .value = recipe.dropout,
            .low = 0,
            .high = 0.9,
            .shown = recipe.dropout > 0 ? std::string() : std::string(s.ui().tr("train.off"))},
           "train.drop", [&](double v) { recipe.dropout = v; });
  s.number({.id = "train/set/decay",
            .label = {},
            .value = recipe.optimizer.weight_decay,
            .low = 0,
            .high = 1,
            .logarithmic = true,
            .least = 1e-4,
            .shown = {}},
           "train.decay", [&](double v) { recipe.optimizer.weight_decay = v; });
  s.number({.id = "train/set/clip",
            .label = {},
            .value = recipe.clip,
            .low = 0,
            .high = 100,
            .logarithmic = true,
            .least = 0.01,
            .shown = recipe.clip > 0 ? std::string() : std::string(s.ui().tr("train.off"))},
           "train.clip", [&](double v) { recipe.clip = v; });
  s.number({.id = "train/set/seed",
            .label = {},
            .value = double(s.plan.config.seed),
            .low = 0,
            .high = 1000,
            .integer = true,
            .shown = {}},
           "train.seed", [&](double v) { s.plan.config.seed = static_cast<std::uint64_t>(v); });
}

void stop_settings(Settings& s) {
  StopRule& stop = s.plan.stop;
  s.number({.id = "train/set/steps",
            .label = {},
            .value = double(stop.steps),
            .low = 10,
            .high = 1e6,
            .integer = true,
            .logarithmic = true,
            .shown = {}},
           "train.steps", [&](double v) {
             stop.steps = static_cast<std::int64_t>(v);
             Schedule& schedule = s.plan.recipe.schedule;
             schedule.steps = stop.steps;
             schedule.warmup = std::min(schedule.warmup, stop.steps / 2);
           });
  const std::string off(s.ui().tr("train.off"));
  s.number({.id = "train/set/stop_loss",
            .label = {},
            .value = stop.loss,
            .low = 0,
            .high = 10,
            .logarithmic = true,
            .least = 1e-4,
            .shown = stop.loss > 0 ? std::string() : off},
           "train.stop_loss", [&](double v) { stop.loss = v; });
  s.number({.id = "train/set/stop_minutes",
            .label = {},
            .value = stop.seconds / 60,
            .low = 0,
            .high = 600,
            .logarithmic = true,
            .least = 0.1,
            .shown = stop.seconds > 0 ? std::string() : off},
           "train.stop_minutes", [&](double v) { stop.seconds = v * 60; });
}

// Below the settings, always in sight.
void start_buttons(const AppState& state, Ui& ui, const Rect& r) {
  const float middle = (r.x0 + r.x1) / 2, gap = ui.px(4);
  const bool waits = state.session.train.changed;
  if (ui.button("train/same", command_label(ui.language, Command::kTrainSame),
                {r.x0, r.y0, middle - gap, r.y1}, waits, true,
                command_help(ui.language, Command::kTrainSame)))
    ui.push(DoCommand{Command::kTrainSame});
  if (ui.button("train/new", command_label(ui.language, Command::kTrainNew),
                {middle + gap, r.y0, r.x1, r.y1}, false, true,
                command_help(ui.language, Command::kTrainNew)))
    ui.push(DoCommand{Command::kTrainNew});
}

}  // namespace

void panel_train(const AppState& state, Ui& ui, const Rect& r) {
  const bool waits = state.session.train.changed;
  const float side = ui.px(16);
  const std::string_view hint = ui.tr("train.next_start");
  const float hint_height =
      waits ? ui.wrapped_height(ui.fonts.note, r.width() - 2 * side, hint) + ui.px(6) : 0;
  const float foot = ui.px(50) + hint_height;
  ui.begin_panel("rail", r);
  ui.text(ui.fonts.title, {r.x0 + side, r.y0 + ui.px(10)}, ui.theme.text, ui.tr("train.title"));
  ImGui::SetCursorScreenPos({r.x0 + 1, r.y0 + ui.px(44)});
  const float tall = std::max(r.height() - ui.px(46) - foot, 1.0f);
  begin_child("train_settings", {r.width() - 2, tall}, ImGuiWindowFlags_NoBackground);
  ui.probe.add("panel/train_settings", {r.x0 + 1, r.y0 + ui.px(44)},
               {r.x1 - 1, r.y0 + ui.px(44) + tall});
  const float top = r.y0 + ui.px(44) - ImGui::GetScrollY();
  Column column{ui, r.x0 + side, r.x1 - side, top - ui.px(10)};
  Settings s{state, column, state.session.train.plan};
  column.heading("train.group.task");
  task_settings(s);
  if (s.plan.recipe.task.empty()) text_settings(s);
  column.heading("train.group.model");
  model_settings(s);
  column.heading("train.group.learning");
  learning_settings(s);
  column.heading("train.group.stop");
  stop_settings(s);
  ImGui::SetCursorScreenPos({r.x0, column.y});
  ImGui::Dummy({1, ui.px(8)});
  ImGui::EndChild();
  if (s.changed) ui.push(PlanRun{s.plan});
  const float foot_top = r.y1 - foot;
  ImGui::GetWindowDrawList()->AddLine({r.x0, foot_top}, {r.x1, foot_top}, to_u32(ui.theme.line));
  if (waits)
    ui.wrapped(ui.fonts.note, {r.x0 + side, foot_top + ui.px(6)}, r.width() - 2 * side,
               ui.theme.text, hint);
  start_buttons(state, ui, {r.x0 + side, r.y1 - ui.px(41), r.x1 - side, r.y1 - ui.px(9)});
  ui.end_panel();
}

}  // namespace headlight
