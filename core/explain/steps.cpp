// The texts about a step hold {places}, which lookups fill, and links: [[name|words]] stands for a
// tensor, [[name]] for one or several by their symbols. Where a lookup has nothing to say, the text
// with the same id and ".none" behind it is said instead; where one with ".equal" behind it has all
// that it asks for, that one is said. Formulas and hints hold links alone;
// there [[d0]] is the gradient of the first input, [[=0]] the sign behind it, "=", or "+=" where
// other steps pass it gradients too, and [[d0=]] both.
#include "core/explain/steps.h"

#include <algorithm>
#include <optional>

#include "core/autodiff/gradient_program.h"
#include "core/explain/lookups.h"

namespace headlight {
namespace {

// What a step that goes backwards passes on: the gradients of what its operations read.
std::vector<TensorId> passed_on(const Program& program, const Step& step) {
  std::vector<TensorId> made;
  for (const int c : step.calls) {
    const OpCall& call = program.calls[static_cast<std::size_t>(c)];
    for (std::size_t i = 0; i < call.in.size(); ++i) {
      const TensorId d = program.gradient(call.in[i]);
      const bool passes = d >= 0 && !op_info(call.op).is_fixed(i);
      if (passes && std::ranges::find(made, d) == made.end()) made.push_back(d);
    }
  }
  return made;
}

// What a link's name stands for: "out" is the step's result, "x0" its first input, "passed" what it
// passes back; all else a role, of the tensor that has it nearest to the step.
std::vector<TensorId> link_targets(const Program& program, const Step& step,
                                   std::string_view name) {
  if (name == "out") return {step.tensor};
  if (name == "passed") return passed_on(program, step);
  if (name.size() == 2 && name[0] == 'x' && !step.calls.empty()) {
    const OpCall& call = program.calls[static_cast<std::size_t>(step.calls[0])];
    const auto place = static_cast<std::size_t>(name[1] - '0');
    return {place < call.in.size() ? call.in[place] : -1};
  }
  const std::optional<Role> role = role_from_word(name);
  return {role ? program.find(*role, step.tensor) : -1};
}

// The symbol of a formula's link.
std::string symbol_of(const Program& program, const Step& step, std::string_view link) {
  if (link[0] == '=') {
    const TensorId of = link_targets(program, step, "x" + std::string(link.substr(1)))[0];
    return gradient_parts(program, of).size() > 1 ? " +=" : " =";
  }
  if (link[0] != 'd') {
    const TensorId id = link_targets(program, step, link)[0];
    return program.tensors[static_cast<std::size_t>(id)].symbol;
  }
  const TensorId of = link_targets(program, step, "x" + std::string(link.substr(1, 1)))[0];
  const TensorId gradient = program.gradient(of);
  // What the gradient does not reach has none.
  std::string symbol = gradient < 0 ? "d" + program.tensors[static_cast<std::size_t>(of)].symbol
                                    : program.tensors[static_cast<std::size_t>(gradient)].symbol;
  return link.ends_with('=')
             ? symbol + symbol_of(program, step, "=" + std::string(link.substr(1, 1)))
             : symbol;
}

// The mark behind an underscore as a formula lowers it: Q_u -> Q_{u}. A coloured symbol, {q|Q_u},
// ends before it, as nothing is lowered within colours; its own brace then closes the mark.
void add_lowered(std::string& text, std::string_view symbol, std::string_view& rest) {
  const std::size_t bar = symbol.find('_');
  const std::size_t end = std::min(symbol.find(' ', bar), symbol.size());
  const bool coloured = rest.starts_with("}");
  text += symbol.substr(0, bar);
  text += coloured ? "}_{" : "_{";
  text += symbol.substr(bar + 1, end - bar - 1);
  text += "}";
  text += symbol.substr(end);
  if (coloured) rest.remove_prefix(1);
}

// A formula or a hint with its symbols. What is raised gets braces where it ends in a raised mark
// itself.
std::string with_symbols(const Program& program, const Step& step, std::string_view markup,
                         bool lowers) {
  std::string text;
  while (!markup.empty()) {
    const std::size_t open = markup.find("[["), close = markup.find("]]", open);
    text += markup.substr(0, open);
    if (close == markup.npos) break;
    const std::string symbol = symbol_of(program, step, markup.substr(open + 2, close - open - 2));
    markup.remove_prefix(close + 2);
    if (lowers && symbol.find('_') != symbol.npos) {
      add_lowered(text, symbol, markup);
      continue;
    }
    const bool is_raised =
        markup.starts_with("^") || markup.starts_with("²") || markup.starts_with("ᵀ");
    const bool is_plain = std::ranges::all_of(symbol, [](char c) { return c >= 0; }) ||
                          symbol.ends_with("\u0302") || symbol.ends_with("\u0304");
    text += is_raised && !is_plain ? "(" + symbol + ")" : symbol;
  }
  return text;
}

// Nothing when a lookup has nothing.
std::optional<std::string> filled(const Subject& subject, std::string_view text) {
  std::string result;
  while (!text.empty()) {
    const std::size_t close = text[0] == '{' ? text.find('}') : text.npos;
    const Lookup lookup = close == text.npos ? nullptr : find_lookup(text.substr(1, close - 1));
    if (!lookup) {
      result += text[0];
      text.remove_prefix(1);
      continue;
    }
    const std::optional<std::string> value = lookup(subject);
    if (!value) return std::nullopt;
    result += *value;
    text.remove_prefix(close + 1);
  }
  return result;
}

// Links are found before tokens are put in: a token may well be "[[".
std::optional<std::vector<WordPiece>> pieces_of(const Subject& subject, std::string_view markup) {
  const Program& program = subject.trace.program();
  std::vector<WordPiece> pieces;
  const auto add = [&](std::string_view text, TensorId tensor) {
    const std::optional<std::string> words = filled(subject, text);
    if (words) pieces.push_back({*words, tensor});
    return words.has_value();
  };
  while (!markup.empty()) {
    const std::size_t open = markup.find("[["), close = markup.find("]]", open);
    const std::string_view plain = markup.substr(0, close == markup.npos ? close : open);
    if (!plain.empty() && !add(plain, -1)) return std::nullopt;
    if (close == markup.npos) break;
    const std::string_view link = markup.substr(open + 2, close - open - 2);
    const std::size_t bar = link.find('|');
    const std::vector<TensorId> tensors = link_targets(program, subject.step, link.substr(0, bar));
    markup = markup.substr(close + 2);
    if (bar != link.npos) {
      if (!add(link.substr(bar + 1), tensors[0])) return std::nullopt;
      continue;
    }
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      if (i > 0) pieces.push_back({subject.language == Language::kChinese ? "、" : ", ", -1});
      pieces.push_back({program.tensors[static_cast<std::size_t>(tensors[i])].symbol, tensors[i]});
    }
  }
  return pieces;
}

std::vector<WordPiece> say(const Subject& subject, std::string_view id) {
  const std::string equal = std::string(id) + ".equal";
  const std::string_view alike = tr_or(subject.language, equal, "");
  if (!alike.empty()) {
    if (auto pieces = pieces_of(subject, alike)) return *pieces;
  }
  if (auto pieces = pieces_of(subject, tr(subject.language, id))) return *pieces;
  const std::string none = std::string(id) + ".none";
  return pieces_of(subject, tr(subject.language, none)).value_or(std::vector<WordPiece>{});
}

}  // namespace

StepText step_text(Language language, const Program& program, const Step& step) {
  const StepWords& words = step.words();
  return {step_title(language, step),
          with_symbols(program, step, tr_or(language, words.hint, words.hint), false),
          with_symbols(program, step, words.formula, true)};
}

std::string_view step_title(Language language, const Step& step) {
  return tr_or(language, step.row.title, step.row.title);
}

std::string step_place(Language language, const Step& step, const Place* from) {
  std::string words;
  const auto add = [&](std::string_view part) {
    words += words.empty() ? "" : " · ";
    words += part;
  };
  if (step.stack != Stack::kOnly && !(from && from->stack == step.stack))
    add(tr(language, step.stack == Stack::kEncoder ? "stage.encoder" : "stage.decoder"));
  if (step.layer >= 0) add(tr(language, "stage.layer", {{"n", std::to_string(step.layer)}}));
  if (step.section == Section::kCrossAttention && !(from && from->section == step.section))
    add(tr(language, "stage.cross_attention"));
  return words;
}

std::string step_sentence(Language language, const Trace& trace, const Step& step,
                          std::int64_t head, std::int64_t query) {
  std::string text;
  for (const WordPiece& piece : say({language, trace, step, head, query}, step.words().sentence))
    text += piece.text;
  return text;
}

std::vector<WordPiece> step_paragraphs(Language language, const Trace& trace, const Step& step,
                                       std::int64_t head, std::int64_t query) {
  const Subject subject{language, trace, step, head, query};
  std::vector<std::string_view> ids = step.row.paragraphs;
  if (step.backward) ids = {step.words().sentence, "back.from_to", "back.about"};
  std::vector<WordPiece> all;
  for (const std::string_view id : ids) {
    if (!all.empty()) all.push_back({"\n", -1});
    for (WordPiece& piece : say(subject, id)) all.push_back(std::move(piece));
  }
  return all;
}

}  // namespace headlight
