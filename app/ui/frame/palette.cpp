#include "app/ui/frame/palette.h"

#include <algorithm>

#include "app/ui/state/commands.h"
#include "core/base/texts.h"

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

  void offer_commands() {
    for (const CommandInfo& info : all_commands()) {
      // These two make no sense from inside.
      if (info.command == Command::kPalette || info.command == Command::kLeaveField) continue;
      const std::string id(info.id);
      const Language language = state_.session.language;
      offer({id, std::string(command_label(language, info.command)), shortcut_text(info.key),
             DoCommand{info.command}, is_enabled(info.command, state_)},
            {command_label(Language::kEnglish, info.command), info.id,
             command_help(language, info.command)});
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

  void offer_steps() {
    if (!state_.derived.trace) return;
    const Program& program = state_.derived.trace->program();
    for (const Step& step : program.steps) {
      const std::string& name = program.tensors[static_cast<std::size_t>(step.tensor)].name;
      offer({"step/" + name, tr(state_.session.language, "palette.go_to", {{"step", name}}), "",
             GoToStep{name}},
            {name});
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
  const AppState& state_;
  std::string query_;
  std::vector<Scored> found_;
};

}  // namespace

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
  return finder.best_first();
}

}  // namespace headlight
