// The Train panel's settings: the task, the model, how it learns, when it stops.
#include <algorithm>
#include <cmath>
#include <filesystem>

#include "app/ui/frame/choices.h"
#include "app/ui/state/commands.h"
#include "app/ui/train/panel_train.h"
#include "app/ui/train/train_settings.h"
#include "core/base/number_text.h"
#include "core/graph/options/attention_options.h"

namespace headlight {
namespace {

constexpr double kWidths[] = {8, 16, 32, 48, 64, 96, 128, 192, 256};
constexpr double kMemories[] = {0, 8, 16, 32, 64, 128, 256, 512};
constexpr double kBatches[] = {1, 2, 4, 8, 16, 32, 64, 128, 256, 512};

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

// How a classifier makes one row of all tokens' rows.
void pool_settings(TrainSettings& s) {
  Config& c = s.plan.config;
  const Choices pools = choices_of(s.ui(), c.pool);
  s.choice("train/set/pool", "train.pool", c.pool, pools.labels, pools.ids);
  if (c.pool != PoolKind::kFoci) return;
  s.number({.id = "train/set/foci", .low = 1, .high = 8, .integer = true}, "train.foci", c.foci);
  int directions = c.pool_width();
  if (s.number({.id = "train/set/pool_hidden", .low = 1, .high = 64, .integer = true},
               "train.pool_hidden", directions))
    c.pool_hidden = directions;
  s.number({.id = "train/set/foci_penalty", .low = 0, .high = 2}, "train.foci_penalty",
           c.foci_penalty);
}

void distance_settings(TrainSettings& s) {
  Config& c = s.plan.config;
  if (c.positions == PositionKind::kRelative)
    s.number({.id = "train/set/relative_reach",
              .low = 1,
              .high = 512,
              .integer = true,
              .logarithmic = true},
             "train.relative_reach", c.relative_reach);
  if (c.positions != PositionKind::kT5) return;
  s.number(
      {.id = "train/set/t5_buckets", .low = 2, .high = 128, .integer = true, .logarithmic = true},
      "train.t5_buckets", c.t5_buckets);
  s.number(
      {.id = "train/set/t5_reach", .low = 1, .high = 1024, .integer = true, .logarithmic = true},
      "train.t5_reach", c.t5_reach);
}

// Several feed-forward networks and a gate in place of one.
void expert_settings(TrainSettings& s) {
  Config& c = s.plan.config;
  if (!c.has_feed_forward() || c.is_gated()) {
    c.experts = c.top_experts = 0;
    return;
  }
  s.number({.id = "train/set/experts", .low = 0, .high = 16, .integer = true}, "train.experts",
           c.experts);
  c.top_experts = std::min(c.top_experts, c.experts);
  if (!c.has_experts()) return;
  s.number({.id = "train/set/top_experts",
            .low = 0,
            .high = static_cast<double>(c.experts),
            .integer = true},
           "train.top_experts", c.top_experts);
  s.number({.id = "train/set/balance", .low = 0, .high = 2}, "train.balance", c.balance);
}

// What a model of numbers says of each: one number, or a density of several components.
void component_settings(TrainSettings& s) {
  if (!s.plan.config.numbers) return;
  s.number({.id = "train/set/components", .low = 0, .high = 16, .integer = true},
           "train.components", s.plan.config.components);
}

// Only running text has a segment before. Places that a row counts for itself would repeat: whoever
// begins to remember gets positions that only know distances.
void memory_settings(TrainSettings& s) {
  Config& c = s.plan.config;
  const bool text = s.plan.settings.task.empty() && s.plan.data == OwnData::kText &&
                    s.plan.text_options.masked == 0 && !s.plan.text_options.next_sentence;
  if (!text) {
    c.memory = 0;
    return;
  }
  s.number({.id = "train/set/memory",
            .low = 0,
            .high = 512,
            .integer = true,
            .choices = kMemories,
            .zero = s.ui().tr("train.off")},
           "train.memory", c.memory);
  const bool counts =
      c.positions == PositionKind::kSinusoidal || c.positions == PositionKind::kLearned;
  if (s.changed && c.memory > 0 && counts) c.positions = PositionKind::kRotary;
}

// What mixes the tokens, and of a convolution its window.
void mixer_settings(TrainSettings& s) {
  Config& c = s.plan.config;
  if (c.form == ModelForm::kTranslate) return;
  const Choices mixers = choices_of(s.ui(), c.mixer);
  s.choice("train/set/mixer", "train.mixer", c.mixer, mixers.labels, mixers.ids);
  if (!c.attends() && (c.has_rotary() || c.is_relative())) c.positions = PositionKind::kSinusoidal;
  if (c.mixer != MixerKind::kConvolution) return;
  s.number({.id = "train/set/kernel", .low = 1, .high = 16, .integer = true}, "train.kernel",
           c.kernel);
  s.number({.id = "train/set/dilation", .low = 1, .high = 4, .integer = true}, "train.dilation",
           c.dilation);
}

void form_settings(TrainSettings& s) {
  Ui& ui = s.ui();
  Config& c = s.plan.config;
  const bool classes = c.form == ModelForm::kClasses;
  const double least = classes ? 0 : 1;  // pooling can do without a transformer under it
  s.number({.id = "train/set/layers", .low = least, .high = 6, .integer = true}, "train.layers",
           c.layers);
  mixer_settings(s);
  const bool other_heads =
      c.attends() && s.number({.id = "train/set/heads", .low = 1, .high = 16, .integer = true},
                              "train.heads", c.heads);
  const bool other_width = s.number({.id = "train/set/d_model",
                                     .low = kWidths[0],
                                     .high = 256,
                                     .integer = true,
                                     .choices = kWidths},
                                    "train.d_model", c.d_model);
  if (c.attends() && (other_heads || other_width)) c.heads = fitting_heads(c.heads, c.d_model);
  const Choices positions = choices_of(ui, c.positions), blocks = choices_of(ui, c.block);
  const Choices norms = choices_of(ui, c.norm);
  s.choice("train/set/positions", "train.positions", c.positions, positions.labels, positions.ids);
  distance_settings(s);
  memory_settings(s);
  s.choice("train/set/block", "train.block", c.block, blocks.labels, blocks.ids);
  if (c.numbers) s.choice("train/set/norm", "train.norm", c.norm, norms.labels, norms.ids);
  s.choice("train/set/init", "train.init", s.plan.init, "train.init.");
  expert_settings(s);
  component_settings(s);
  if (classes) pool_settings(s);
  if (s.changed) drop_unfit_options(c);
}

void model_settings(TrainSettings& s) {
  Ui& ui = s.ui();
  const Config& c = s.plan.config;
  if (s.plan.settings.base.empty()) {
    form_settings(s);
  } else {
    s.column.note(ui.tr("train.base.form", {{"name", base_name(s.plan)},
                                            {"layers", std::to_string(c.layers)},
                                            {"heads", std::to_string(c.heads)},
                                            {"d_model", std::to_string(c.d_model)}}),
                  ui.theme.muted);
  }
  const std::int64_t parameters = s.state.train.run.status.parameters;
  const Rect r = s.column.row();
  ui.text(ui.fonts.control, {r.x0, r.y0 + ui.px(4)}, ui.theme.muted, ui.tr("train.parameters"));
  const bool known = parameters > 0 && !s.state.session.train.changed;
  ui.text_right(ui.fonts.mono, r.x1 - ui.px(2), r.y0 + ui.px(4), ui.theme.text,
                known ? count_text(parameters) : "–");
}

// ---- learning ----

// A choice whose name may be too long to stand before it. Returns the new one, or −1.
int long_choice(TrainSettings& s, std::string_view id, const std::string& text,
                std::span<const std::string> labels, std::span<const std::string_view> ids,
                int chosen) {
  Ui& ui = s.ui();
  const std::string_view label = ui.tr(text);
  const bool fits =
      ui.measure(ui.fonts.control, label).x <= row_label_room(s.column.x1 - s.column.x0);
  if (!fits) s.column.name_above(label);
  s.column.y += ui.px(1);
  const ChoiceRow row{id, fits ? label : "", labels, ids, chosen, ui.tr(text + ".help")};
  const int pressed = choice_row(ui, row, s.column.row(26));
  if (pressed < 0 || pressed == chosen) return -1;
  s.changed = true;
  return pressed;
}

// What a layer makes: kept, or made again in the backward pass.
void checkpointing_setting(TrainSettings& s) {
  bool& on = s.plan.settings.checkpointing;
  const std::string labels[] = {std::string(s.ui().tr("train.off")),
                                std::string(s.ui().tr("train.on"))};
  constexpr std::string_view kIds[] = {"off", "on"};
  const int pressed =
      long_choice(s, "train/set/checkpointing", "train.checkpointing", labels, kIds, on ? 1 : 0);
  if (pressed >= 0) on = pressed == 1;
}

// In how many bits it is kept, what that comes to in this run, and the loss scale of its last step.
void storage_setting(TrainSettings& s) {
  Ui& ui = s.ui();
  NumberFormat& storage = s.plan.settings.storage;
  const ChoiceWords words = words_of(ui, storage, "train.storage.");
  const int pressed = long_choice(s, "train/set/storage", "train.storage", words.labels, words.ids,
                                  choice_index(storage));
  if (pressed >= 0) storage = choices(storage)[static_cast<std::size_t>(pressed)].value;
  const RunView& run = s.state.train.run;
  s.column.y += ui.px(3);
  if (run.status.kept > 0)
    s.column.note(ui.tr("train.storage.bytes", {{"float32", bytes_text(run.status.kept)},
                                                {"half", bytes_text(run.status.kept_in_half)}}),
                  ui.theme.muted);
  if (run.curve.empty() || run.curve.back().loss_scale == 0) return;
  const auto skipped = std::ranges::count_if(run.curve, &TrainStep::skipped);
  s.column.note(ui.tr("train.loss_scale",
                      {{"scale", count_text(static_cast<long long>(run.curve.back().loss_scale))},
                       {"skipped", count_text(skipped)}}),
                ui.theme.muted);
}

// Rows of a table: drawn one by one, or in batches of similar length; and how much is padding.
void length_setting(TrainSettings& s) {
  if (!s.plan.settings.task.empty() || s.plan.data == OwnData::kText) return;
  Ui& ui = s.ui();
  bool& by_length = s.plan.settings.by_length;
  const std::string labels[] = {std::string(ui.tr("train.by_length.drawn")),
                                std::string(ui.tr("train.by_length.length"))};
  constexpr std::string_view kIds[] = {"drawn", "length"};
  s.column.y += ui.px(1);
  const ChoiceRow row{"train/set/by_length", ui.tr("train.by_length"),     labels, kIds,
                      by_length ? 1 : 0,     ui.tr("train.by_length.help")};
  const int pressed = choice_row(ui, row, s.column.row(26));
  if (pressed >= 0 && pressed != row.chosen) {
    by_length = pressed == 1;
    s.changed = true;
  }
  const double padding = s.state.train.run.status.padding;
  if (padding > 0)
    s.column.note(ui.tr("train.padding_share", {{"share", share_text(float(padding))}}),
                  ui.theme.muted);
}

void learning_settings(TrainSettings& s) {
  RunSettings& settings = s.plan.settings;
  Schedule& schedule = settings.schedule;
  const OptimizerKind before = settings.optimizer.kind;
  s.choice("train/set/optimizer", "train.optimizer", settings.optimizer.kind, "train.optimizer.");
  if (settings.optimizer.kind != before) {
    settings.optimizer = default_options(settings.optimizer.kind);
    if (settings.optimizer.kind == OptimizerKind::kSgd) settings.optimizer.momentum = 0.9;
  }
  const std::string_view off = s.ui().tr("train.off");
  if (s.number({.id = "train/set/rate", .low = 1e-6, .high = 10, .logarithmic = true}, "train.rate",
               schedule.peak)) {
    schedule.floor = std::min(schedule.floor, schedule.peak);
  }
  s.choice("train/set/schedule", "train.schedule", schedule.kind, "train.schedule.");
  s.number({.id = "train/set/warmup",
            .high = std::max<double>(double(schedule.steps) / 2, 1),
            .integer = true},
           "train.warmup", schedule.warmup);
  s.number({.id = "train/set/batch", .low = 1, .high = 512, .integer = true, .choices = kBatches},
           "train.batch", settings.batch);
  length_setting(s);
  s.number({.id = "train/set/accumulate", .low = 1, .high = 16, .integer = true},
           "train.accumulate", settings.accumulation);
  s.number({.id = "train/set/dropout", .high = 0.9, .zero = off}, "train.drop", settings.dropout);
  s.number({.id = "train/set/decay", .high = 1, .logarithmic = true, .least = 1e-4}, "train.decay",
           settings.optimizer.weight_decay);
  s.number({.id = "train/set/clip", .high = 100, .logarithmic = true, .least = 0.01, .zero = off},
           "train.clip", settings.clip);
  checkpointing_setting(s);
  storage_setting(s);
  s.number({.id = "train/set/seed", .high = 1000, .integer = true}, "train.seed",
           s.plan.config.seed);
}

void stop_settings(TrainSettings& s) {
  StopRule& stop = s.plan.stop;
  if (s.number(
          {.id = "train/set/steps", .low = 10, .high = 1e6, .integer = true, .logarithmic = true},
          "train.steps", stop.steps)) {
    Schedule& schedule = s.plan.settings.schedule;
    schedule.steps = stop.steps;
    schedule.warmup = std::min(schedule.warmup, stop.steps / 2);
  }
  const std::string_view off = s.ui().tr("train.off");
  s.number(
      {.id = "train/set/stop_loss", .high = 10, .logarithmic = true, .least = 1e-4, .zero = off},
      "train.stop_loss", stop.loss);
  if (s.plan.settings.task.empty() && s.plan.text_options.validation == 0) {
    s.plan.settings.patience = 0;
  } else {
    s.number({.id = "train/set/patience",
              .high = 1000,
              .integer = true,
              .logarithmic = true,
              .least = 1,
              .zero = off},
             "train.patience", s.plan.settings.patience);
  }
  double minutes = stop.seconds / 60;
  if (s.number({.id = "train/set/stop_minutes",
                .high = 600,
                .logarithmic = true,
                .least = 0.1,
                .zero = off},
               "train.stop_minutes", minutes)) {
    stop.seconds = minutes * 60;
  }
}

// Below the settings, always in sight.
void start_buttons(const AppState& state, Ui& ui, const Rect& r) {
  const float middle = (r.x0 + r.x1) / 2, gap = ui.px(4);
  const bool waits = state.session.train.changed;
  const bool tuned = !state.session.train.plan.settings.base.empty();
  if (ui.button("train/same", command_label(ui.language, Command::kTrainSame),
                {r.x0, r.y0, middle - gap, r.y1}, waits, true,
                tuned ? ui.tr("train.same.tuned") : command_help(ui.language, Command::kTrainSame)))
    ui.push(DoCommand{Command::kTrainSame});
  if (ui.button("train/new", command_label(ui.language, Command::kTrainNew),
                {middle + gap, r.y0, r.x1, r.y1}, false, true,
                tuned ? ui.tr("train.new.tuned") : command_help(ui.language, Command::kTrainNew)))
    ui.push(DoCommand{Command::kTrainNew});
}

}  // namespace

std::string base_name(const RunPlan& plan) {
  const std::string& ref = plan.settings.base;
  if (ref.starts_with(kBundledRef)) return ref.substr(kBundledRef.size());
  return ref.empty() ? "" : std::filesystem::path(ref).filename().string();
}

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
  ui.drawn.add("panel/train_settings", {r.x0 + 1, r.y0 + ui.px(44)},
               {r.x1 - 1, r.y0 + ui.px(44) + tall});
  const float top = r.y0 + ui.px(44) - ImGui::GetScrollY();
  SettingsColumn column{ui, r.x0 + side, r.x1 - side, top - ui.px(10)};
  TrainSettings s{state, column, state.session.train.plan};
  column.heading("train.group.task");
  task_settings(s);
  column.heading("train.group.model");
  model_settings(s);
  column.heading("train.group.learning");
  learning_settings(s);
  column.heading("train.group.stop");
  stop_settings(s);
  lab_rows(s);
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
