#include "app/ui/frame/palette.h"

#include <algorithm>
#include <iterator>

#include "app/ui/state/commands.h"
#include "core/base/texts.h"
#include "core/base/utf8.h"
#include "core/explain/steps.h"
#include "core/lab/lab.h"
#include "core/model/bundled.h"
#include "core/model/presets.h"
#include "core/train/model_recipe.h"
#include "core/train/tasks/task.h"

namespace headlight {
namespace {

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return out;
}

bool is_letter(char c) {
  // Bytes of characters beyond ASCII count as letters.
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || static_cast<unsigned char>(c) >= 0x80;
}

// One word of the query; both in small letters.
int word_score(std::string_view word, std::string_view text) {
  int best = 0;
  for (std::size_t at = text.find(word); at != text.npos; at = text.find(word, at + 1)) {
    const bool starts_word = at == 0 || !is_letter(text[at - 1]);
    const bool whole = at + word.size() == text.size() || !is_letter(text[at + word.size()]);
    best = std::max(best, 100 + (starts_word ? 60 : 0) + (starts_word && whole ? 25 : 0) +
                              (at == 0 ? 15 : 0) + (text == word ? 5 : 0));
  }
  if (best > 0) return best;
  // Letter by letter; letters that begin words count more.
  std::size_t at = 0;
  int score = 10;
  for (const char c : word) {
    const std::size_t found = text.find(c, at);
    if (found == text.npos) return 0;
    const bool starts_word = found == 0 || !is_letter(text[found - 1]);
    score += starts_word ? 8 : found == at ? 4 : -1;
    at = found + 1;
  }
  return std::clamp(score, 1, 90);
}

struct Scored {
  PaletteLine line;
  int score = 0;
};

class Finder {
 public:
  explicit Finder(const AppState& state)
      : state_(state), query_(lower(state.session.palette_typed)) {}

  // `also` are other names that it is found by.
  void offer(PaletteLine line, std::initializer_list<std::string_view> also) {
    int score = match_score(query_, line.label);
    for (const std::string_view name : also) score = std::max(score, match_score(query_, name) - 1);
    if (score > 0) found_.push_back({std::move(line), score});
  }

  // The same text in all languages, so that it is found by the words of each.
  std::string in_all(std::string_view id) const {
    std::string all;
    for (const Language language : {Language::kEnglish, Language::kChinese})
      all += std::string(tr(language, id)) + " ";
    return all;
  }

  void offer_commands() {
    for (const CommandInfo& info : all_commands()) {
      // These two make no sense from inside.
      if (info.command == Command::kPalette || info.command == Command::kLeaveField) continue;
      const std::string id(info.id);
      const Language language = state_.session.language;
      offer({id, std::string(command_label(language, info.command)), shortcut_text(info.key),
             DoCommand{info.command}, is_enabled(info.command, state_)},
            {command_label(Language::kEnglish, info.command),
             command_label(Language::kChinese, info.command), info.id,
             command_help(Language::kEnglish, info.command),
             command_help(Language::kChinese, info.command)});
    }
  }

  void offer_recent() {
    const std::vector<std::string>& recent = state_.session.recent;
    for (std::size_t i = 0; i < recent.size(); ++i) {
      const std::size_t slash = recent[i].find_last_of('/');
      const std::string name = slash == std::string::npos ? recent[i] : recent[i].substr(slash + 1);
      offer({"recent/" + std::to_string(i),
             tr(state_.session.language, "palette.open", {{"file", name}}),
             slash == std::string::npos ? "" : recent[i].substr(0, slash), OpenFile{recent[i]}},
            {recent[i]});
    }
  }

  // By the names that the rail shows; the shown layer's comes first.
  void offer_steps() {
    if (!state_.derived.trace) return;
    const Program& program = state_.derived.trace->program();
    const Language language = state_.session.language;
    for (const bool here : {true, false}) {
      for (const Step& step : program.steps) {
        if ((step.layer < 0 || step.layer == state_.session.layer) != here) continue;
        const std::string& name = program.tensors[static_cast<std::size_t>(step.tensor)].name;
        std::string title(step_text(language, program, step).title), also = name;
        for (const Language other : {Language::kEnglish, Language::kChinese})
          also += " " + std::string(step_text(other, program, step).title);
        if (step.layer >= 0)
          title += " · " + tr(language, "stage.layer", {{"n", std::to_string(step.layer)}});
        if (step.backward) title += " · " + std::string(tr(language, "stage.backward"));
        const std::string go_to = tr(language, "palette.go_to", {{"step", name}});
        offer({"step/" + name, tr(language, "palette.go_to", {{"step", title}}), name,
               GoToStep{name}},
              {also, name, go_to, title});
      }
    }
  }

  // Trained ones by their names and by what they have learned, the random one, and their sentences.
  void offer_models() {
    const Language language = state_.session.language;
    const auto label = [&](std::string_view name) {
      return tr(language, "palette.model", {{"name", std::string(name)}});
    };
    offer({"model/sandbox", label(tr(language, "model.sandbox")), "", ChooseModel{}},
          {in_all("model.sandbox"), in_all("model.sandbox.about")});
    for (const BundledModel& model : bundled_models()) {
      const std::string ref = std::string(kBundledRef) + std::string(model.name);
      const ModelWords words = bundled_words(model.name);
      const std::string titles = in_all(words.name), abouts = in_all(words.about);
      const std::string detail(tr(language, words.name));
      offer({"model/" + std::string(model.name), label(model.name), detail, ChooseModel{ref}},
            {model.name, titles, abouts, in_all("model.trained")});
      const std::string& example = bundled_recipe(model.name).example;
      offer({"sentence/" + std::string(model.name),
             tr(language, "palette.sentence", {{"sentence", shortened(example, 60)}}),
             std::string(model.name), ChooseModel{ref, example}},
            {example, in_all("palette.sentence")});
    }
  }

  // Those from papers, as miniatures.
  void offer_presets() {
    const Language language = state_.session.language;
    for (const Preset& preset : all_presets()) {
      const std::string name(preset.name);
      offer(
          {"preset/" + name, tr(language, "palette.preset", {{"name", std::string(preset.title)}}),
           std::to_string(preset.year), ChoosePreset{name, false}},
          {preset.name, preset.title, preset.source, in_all("preset.miniature")});
    }
  }

  void offer_settings() {
    const Document& document = state_.document();
    const Config& config = document.config;
    const auto always = [](auto) { return true; };
    const auto free = [&](auto) { return document.model.empty(); };
    const auto possible = [&](PositionKind kind) { return can_have(state_, kind); };
    offer_choices("mask", "switch.mask", config.mask.kind, always, [&](MaskKind kind) {
      MaskSpec mask = config.mask;
      mask.kind = kind;
      return SetMask{mask};
    });
    const auto set = [&](auto Config::*member) {
      return [&config, member](auto kind) {
        Config next = config;
        next.*member = kind;
        return SetConfig{next};
      };
    };
    offer_choices("positions", "model.positions", config.positions, possible,
                  set(&Config::positions));
    offer_choices("attention", "model.attention", config.attention, free, set(&Config::attention));
    offer_choices("scores", "model.scores", config.scores, free, set(&Config::scores));
    offer_choices("block", "model.block", config.block, free, set(&Config::block));
    offer_choices("norm", "model.norm", config.norm, free, set(&Config::norm));
    offer_choices("activation", "model.activation", config.activation, free,
                  set(&Config::activation));
    for (const SettingInfo& setting : all_settings()) {
      const Language language = state_.session.language;
      offer({"setting/" + std::string(setting.control), std::string(tr(language, setting.text)),
             std::string(tr(language, setting.place)), ShowSetting{std::string(setting.control)}},
            {in_all(setting.text), in_all(setting.place)});
    }
  }

  void offer_labs() {
    const Language language = state_.session.language;
    for (const Lab& lab : all_labs()) {
      const std::string title = "lab." + std::string(lab.id) + ".title",
                        question = "lab." + std::string(lab.id) + ".question";
      offer({"lab/" + std::string(lab.id), std::string(tr(language, title)),
             std::string(tr(language, "mode.labs")), ShowLab{std::string(lab.id)}},
            {in_all(title), in_all(question), in_all("mode.labs")});
    }
  }

  std::vector<PaletteLine> best_first() {
    std::stable_sort(found_.begin(), found_.end(),
                     [](const Scored& a, const Scored& b) { return a.score > b.score; });
    std::vector<PaletteLine> lines;
    for (Scored& found : found_) lines.push_back(std::move(found.line));
    return lines;
  }

 private:
  // "Mask: causal" for each choice there is.
  template <class Kind, class MakeEdit>
  void offer_choices(const std::string& group, std::string_view text, Kind now, auto possible,
                     MakeEdit edit) {
    const Language language = state_.session.language;
    for (const auto& choice : choices(now)) {
      const std::string word = "choice." + group + "." + std::string(choice.word);
      const std::string label = tr(
          language, "palette.setting",
          {{"name", std::string(tr(language, text))}, {"value", std::string(tr(language, word))}});
      offer({"setting/" + group + "/" + std::string(choice.word), label,
             std::string(tr(language, choice.value == now ? "palette.now" : "palette.settings")),
             DoEdit{edit(choice.value), ""}, possible(choice.value)},
            {in_all(text) + in_all(word)});
    }
  }

  const AppState& state_;
  std::string query_;
  std::vector<Scored> found_;
};

}  // namespace

std::span<const SettingInfo> all_settings() {
  static constexpr SettingInfo kSettings[] = {
      {"temperature", "inspector.quantity.temperature", "palette.settings"},
      {"model/layers", "model.layers", "command.model/settings"},
      {"model/heads", "model.heads", "command.model/settings"},
      {"model/d_model", "model.d_model", "command.model/settings"},
      {"model/d_head", "model.d_head", "command.model/settings"},
      {"model/d_hidden", "model.d_hidden", "command.model/settings"},
      {"model/kv_heads", "model.kv_heads", "command.model/settings"},
      {"model/memory", "model.memory", "command.model/settings"},
      {"model/mixer/attention", "model.mixer", "command.model/settings"},
      {"model/experts", "model.experts", "command.model/settings"},
      {"model/numbers/on", "model.numbers", "command.model/settings"},
      {"model/seed", "model.seed", "command.model/settings"},
      {"model/max_tokens", "model.max_tokens", "command.model/settings"},
      {"model/form/tokens", "model.form", "command.model/settings"},
      {"model/scale/on", "model.scale", "command.model/settings"},
      {"model/bias/on", "model.bias", "command.model/settings"},
      {"model/norm_epsilon", "model.norm_epsilon", "command.model/settings"},
      {"model/qkv_bias/on", "model.qkv_bias", "command.model/settings"},
      {"model/output_bias/on", "model.output_bias", "command.model/settings"},
      {"model/mlp_bias/on", "model.mlp_bias", "command.model/settings"},
      {"model/head_bias/on", "model.head_bias", "command.model/settings"},
      {"model/embed_scale/on", "model.embed_scale", "command.model/settings"},
      {"model/embed_norm/on", "model.embed_norm", "command.model/settings"},
      {"model/position_offset", "model.position_offset", "command.model/settings"},
      {"model/sinusoid/interleaved", "model.sinusoid", "command.model/settings"},
      {"model/score_scale", "model.score_scale", "command.model/settings"},
      {"model/softcap", "model.softcap", "command.model/settings"},
      {"model/local_layers", "model.local_layers", "command.model/settings"},
      {"model/head_transform/on", "model.head_transform", "command.model/settings"},
      {"model/output_projection/on", "model.output_projection", "command.model/settings"},
      {"model/d_value", "model.d_value", "command.model/settings"},
      {"model/bias_kv/on", "model.bias_kv", "command.model/settings"},
      {"model/zero_attention/on", "model.zero_attention", "command.model/settings"},
      {"model/average_weights/on", "model.average_weights", "command.model/settings"},
      {"model/fused_attention/on", "model.fused_attention", "command.model/settings"},
      {"model/tied_head/on", "model.tied_head", "command.model/settings"},
      {"model/segment_rows/on", "model.segment_rows", "command.model/settings"},
      {"model/residual/on", "model.residual", "command.model/settings"},
      {"model/tokenizer/words", "model.tokenizer", "command.model/settings"},
      {"train/set/task", "train.group.task", "mode.train"},
      {"train/set/rate", "train.rate", "mode.train"},
      {"train/set/warmup", "train.warmup", "mode.train"},
      {"train/set/batch", "train.batch", "mode.train"},
      {"train/set/accumulate", "train.accumulate", "mode.train"},
      {"train/set/dropout", "train.drop", "mode.train"},
      {"train/set/decay", "train.decay", "mode.train"},
      {"train/set/clip", "train.clip", "mode.train"},
      {"train/set/checkpointing", "train.checkpointing", "mode.train"},
      {"train/set/storage", "train.storage", "mode.train"},
      {"train/set/steps", "train.steps", "mode.train"},
      {"train/set/stop_loss", "train.stop_loss", "mode.train"},
      {"train/set/stop_minutes", "train.stop_minutes", "mode.train"},
  };
  return kSettings;
}

int match_score(std::string_view query, std::string_view text) {
  const std::string wanted = lower(query), given = lower(text);
  int score = 1;
  std::size_t at = 0;
  while (at < wanted.size()) {
    const std::size_t end = std::min(wanted.find(' ', at), wanted.size());
    if (end > at) {
      const int word = word_score(std::string_view(wanted).substr(at, end - at), given);
      if (word == 0) return 0;
      score += word;
    }
    at = end + 1;
  }
  return score;
}

std::vector<PaletteLine> palette_lines(const AppState& state) {
  Finder finder(state);
  finder.offer_commands();
  finder.offer_recent();
  finder.offer_steps();
  finder.offer_models();
  finder.offer_labs();
  finder.offer_presets();
  finder.offer_settings();
  return finder.best_first();
}

}  // namespace headlight
