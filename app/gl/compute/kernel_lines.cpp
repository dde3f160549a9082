#include "app/gl/compute/kernel_lines.h"

#include <algorithm>
#include <set>
#include <string>

namespace headlight {
namespace {

bool is_word(char c) {
  return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r");
  if (first == text.npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

// A line of a shader: what is compiled, and the comment at its end.
struct Line {
  int number = 0;
  std::string_view code, comment;

  bool is_marked() const { return comment == "cell" || comment.starts_with("cell:"); }
  bool marks_function() const { return comment == "cell: all of it"; }
  bool does_something() const { return !code.empty() && code != "}"; }
};

// A function with all its lines, or, without a name, what stands between functions.
struct LineStretch {
  std::size_t file = 0;
  std::string_view name;
  std::vector<Line> lines;
};

Line line_of(std::string_view text, int number) {
  const std::size_t comment = text.find("//");
  Line line{number, trimmed(text.substr(0, comment)), {}};
  if (comment != text.npos) line.comment = trimmed(text.substr(comment + 2));
  return line;
}

// Functions begin in the first column, "float left(uint r) {", and end there, or on the same line.
std::string_view function_begun(std::string_view text, std::string_view code) {
  const std::size_t open = code.find('(');
  const bool begins = !text.empty() && is_word(text[0]) && open != code.npos && open > 0 &&
                      (code.back() == '{' || code.back() == '}');
  if (!begins) return {};
  std::size_t start = open;
  while (start > 0 && is_word(code[start - 1])) --start;
  return code.substr(start, open - start);
}

// Tells which lines are compiled: shaders have "#ifdef NAME", "#ifndef NAME", #else and #endif.
class Conditions {
 public:
  explicit Conditions(std::string_view defines) {
    while (!defines.empty()) {
      const std::size_t end = std::min(defines.find('\n'), defines.size());
      follow(trimmed(defines.substr(0, end)));
      defines.remove_prefix(std::min(end + 1, defines.size()));
    }
  }

  // Is this line compiled? Directives are not.
  bool follow(std::string_view code) {
    if (!code.starts_with('#')) return compiled();
    const std::size_t space = code.find(' ');
    const std::string_view kind = code.substr(0, space);
    const std::string_view rest = space == code.npos ? "" : trimmed(code.substr(space));
    const std::string_view name = rest.substr(0, rest.find_first_of(" ("));
    if (kind == "#define" && compiled()) names_.insert(name);
    if (kind == "#ifdef") branches_.push_back(names_.contains(name));
    if (kind == "#ifndef") branches_.push_back(!names_.contains(name));
    if (kind == "#else" && !branches_.empty()) branches_.back() = !branches_.back();
    if (kind == "#endif" && !branches_.empty()) branches_.pop_back();
    return false;
  }

 private:
  bool compiled() const {
    return std::find(branches_.begin(), branches_.end(), false) == branches_.end();
  }

  std::set<std::string_view> names_;
  std::vector<bool> branches_;  // is each of the #ifdefs around a line fulfilled?
};

void add_stretches(std::vector<LineStretch>& all, std::size_t file, std::string_view text,
                   Conditions& conditions) {
  bool inside = false;
  for (int number = 1; !text.empty(); ++number) {
    const std::size_t end = text.find('\n');
    const std::string_view whole = text.substr(0, end);
    text.remove_prefix(end == text.npos ? text.size() : end + 1);
    const Line line = line_of(whole, number);
    if (!conditions.follow(line.code)) continue;
    const std::string_view name = inside ? std::string_view() : function_begun(whole, line.code);
    if (!inside) all.push_back({file, name, {}});
    all.back().lines.push_back(line);
    if (!name.empty()) inside = line.code.back() == '{';
    if (inside && name.empty()) inside = !whole.starts_with("}");
  }
}

// The words before "(" in the function's own lines: what it calls, and a few more.
void add_calls(const LineStretch& function, std::vector<std::string_view>& names) {
  for (const Line& line : function.lines) {
    for (std::size_t open = line.code.find('('); open != line.code.npos;
         open = line.code.find('(', open + 1)) {
      std::size_t start = open;
      while (start > 0 && is_word(line.code[start - 1])) --start;
      if (start < open) names.push_back(line.code.substr(start, open - start));
    }
  }
}

// The names of the functions that run.
std::set<std::string_view> reached(const std::vector<LineStretch>& all) {
  std::set<std::string_view> names;
  std::vector<std::string_view> open = {"main"};
  while (!open.empty()) {
    const std::string_view name = open.back();
    open.pop_back();
    if (!names.insert(name).second) continue;
    for (const LineStretch& stretch : all) {
      if (stretch.name == name) add_calls(stretch, open);
    }
  }
  return names;
}

}  // namespace

std::vector<KernelSource> kernel_sources(std::string_view file, std::string_view defines,
                                         const GlTexts& texts) {
  std::vector<KernelSource> sources;
  for (std::string& name : gl_source(file, "", texts).files) {
    std::string text(texts(name));
    sources.push_back({std::move(name), std::move(text), {}});
  }
  std::vector<LineStretch> all;
  Conditions conditions(defines);
  for (std::size_t i = 0; i < sources.size(); ++i) {
    add_stretches(all, i, sources[i].text, conditions);
  }
  const std::set<std::string_view> running = reached(all);
  for (const LineStretch& stretch : all) {
    if (!stretch.name.empty() && !running.contains(stretch.name)) continue;
    const bool whole = stretch.lines.front().marks_function();
    for (const Line& line : stretch.lines) {
      if (line.does_something() && (whole || line.is_marked())) {
        sources[stretch.file].lines.push_back(line.number);
      }
    }
  }
  return sources;
}

}  // namespace headlight
