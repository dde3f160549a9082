#include "tests/gl/strict/strict_shader.h"

#include <algorithm>
#include <cctype>
#include <set>
#include <stdexcept>

#include "app/gl/compute/kernel_table.h"
#include "app/gl/context/embedded.h"

namespace headlight::test {
namespace {

bool in_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

[[noreturn]] void refuse(const std::string& why) { throw std::invalid_argument(why); }

// Names and numbers whole, all else a character each.
std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> words;
  for (std::size_t i = 0; i < text.size();) {
    std::size_t end = i + 1;
    while (in_name(text[i]) && end < text.size() && in_name(text[end])) ++end;
    if (!std::isspace(static_cast<unsigned char>(text[i])))
      words.push_back(text.substr(i, end - i));
    i = end;
  }
  return words;
}

// ---- expressions ----

class Expression {
 public:
  Expression(std::string_view text, const Numbers& numbers)
      : words_(words_of(text)), numbers_(numbers) {}
  std::int64_t value() {
    const std::int64_t result = sum();
    if (at_ != words_.size()) refuse("'" + std::string(words_[at_]) + "' is not understood");
    return result;
  }

 private:
  bool next_is(std::string_view word) { return at_ < words_.size() && words_[at_] == word; }
  bool take(std::string_view word) { return next_is(word) && ++at_; }

  std::int64_t sum() {
    std::int64_t result = product();
    for (;;) {
      if (take("+")) {
        result += product();
      } else if (take("-")) {
        result -= product();
      } else {
        return result;
      }
    }
  }
  std::int64_t product() {
    std::int64_t result = factor();
    for (;;) {
      const bool times = next_is("*"), rest = next_is("%");
      if (!times && !rest && !next_is("/")) return result;
      ++at_;
      const std::int64_t right = factor();
      if (!times && right == 0) refuse("division by 0");
      result = times ? result * right : rest ? result % right : result / right;
    }
  }
  std::int64_t factor() {
    if (take("(")) {
      const std::int64_t result = sum();
      if (!take(")")) refuse("a parenthesis is not closed");
      return result;
    }
    if (at_ == words_.size()) refuse("a number is missing");
    const std::string_view word = words_[at_++];
    if (is_digit(word[0])) return std::stoll(std::string(word));
    if (const auto number = numbers_(word)) return *number;
    refuse("'" + std::string(word) + "' is no number");
  }

  std::vector<std::string_view> words_;
  const Numbers& numbers_;
  std::size_t at_ = 0;
};

// ---- directives ----

// Names that are defined, and the lines that remain.
class Preprocessor {
 public:
  explicit Preprocessor(StrictShader& shader) : shader_(shader) {}

  std::string run(std::string_view text) {
    if (!text.starts_with("#version 430 core\n")) refuse("the first line is not #version 430 core");
    text.remove_prefix(text.find('\n') + 1);
    std::string kept;
    while (!text.empty()) {
      const std::size_t end = text.find('\n');
      std::string_view line = text.substr(0, end);
      text.remove_prefix(end == text.npos ? text.size() : end + 1);
      line = line.substr(0, line.find("//"));
      if (line.starts_with('#')) {
        // A directive goes on where its line ends with a backslash.
        std::string whole(line.substr(1));
        while (whole.ends_with('\\') && !text.empty()) {
          whole.back() = ' ';
          const std::size_t next = std::min(text.find('\n'), text.size() - 1);
          whole += text.substr(0, next);
          text.remove_prefix(next + 1);
        }
        directive(whole);
      } else if (keeps()) {
        kept.append(line).append("\n");
      }
    }
    if (!branches_.empty()) refuse("an #ifdef without an #endif");
    return kept;
  }

 private:
  bool keeps() const {
    return std::find(branches_.begin(), branches_.end(), false) == branches_.end();
  }

  void directive(std::string_view line) {
    const std::vector<std::string_view> words = words_of(line);
    const std::string_view kind = words.empty() ? "" : words[0];
    if (kind == "line") return;
    if (kind == "else" || kind == "endif") {
      if (branches_.empty()) refuse("an #" + std::string(kind) + " without an #ifdef");
      const bool was = branches_.back();
      branches_.pop_back();
      if (kind == "else") branches_.push_back(!was);
      return;
    }
    if (words.size() < 2) refuse("the directive '#" + std::string(line) + "' is not known here");
    const std::string name(words[1]);
    if (kind == "ifdef" || kind == "ifndef") {
      branches_.push_back(shader_.defines.contains(name) == (kind == "ifdef"));
    } else if (kind == "define") {
      const auto after = static_cast<std::size_t>(words[1].data() - line.data()) + name.size();
      if (after < line.size() && line[after] == '(') refuse("macros with arguments: " + name);
      if (keeps()) shader_.defines[name] = line.substr(after);
    } else {
      refuse("the directive '#" + std::string(line) + "' is not known here");
    }
  }

  StrictShader& shader_;
  std::vector<bool> branches_;  // is each of the #ifdefs around a line fulfilled?
};

// ---- declarations ----

GLenum type_of(std::string_view word) {
  if (word == "uint") return GL_UNSIGNED_INT;
  if (word == "int") return GL_INT;
  if (word == "float") return GL_FLOAT;
  refuse("uniforms of type " + std::string(word) + " are not known here");
}

class Declarations {
 public:
  Declarations(std::string_view text, StrictShader& shader)
      : words_(words_of(text)), shader_(shader) {}

  void read() {
    int depth = 0;
    while (at_ < words_.size()) {
      const std::string_view word = words_[at_++];
      depth += word == "{" ? 1 : word == "}" ? -1 : 0;
      if (depth != 0) continue;
      if (word == "layout") layout();
      if (word == "buffer") refuse("a buffer without layout(std430, binding = …)");
      if (word == "uniform") uniforms();
      if (word == "shared") shared_arrays();
    }
    keep_what_is_used();
  }

 private:
  std::string_view next() {
    if (at_ == words_.size()) refuse("the text ends in the middle of a declaration");
    return words_[at_++];
  }
  void expect(std::string_view word) {
    const std::string_view got = next();
    if (got != word) refuse("expected " + std::string(word) + ", got " + std::string(got));
  }

  // layout(std430, binding = N) [readonly | writeonly] buffer …; layout(local_size_x = N) in;
  void layout() {
    std::map<std::string_view, std::string> given;
    expect("(");
    for (std::string_view end = ","; end == ",";) {
      const std::string_view name = next();
      std::string& value = given[name];
      for (end = next(); end != "," && end != ")"; end = next()) {
        if (end != "=") value += std::string(end) + " ";
      }
    }
    StrictShader::Block block{0, "", true, true};
    for (std::string_view word = next();; word = next()) {
      if (word == "in") return group(given);
      if (word == "buffer") break;
      if (word == "readonly") block.writes = false;
      if (word == "writeonly") block.reads = false;
      if (word == ";" || word == "{") refuse("a layout of neither a buffer nor the group");
    }
    if (!given.contains("std430")) refuse("a buffer without std430");
    if (given["binding"].empty()) refuse("a buffer without a binding");
    block.name = next();
    block.binding = static_cast<unsigned>(number(given["binding"]));
    for (const StrictShader::Block& other : shader_.blocks) {
      if (other.binding == block.binding) refuse(block.name + " has the binding of " + other.name);
    }
    shader_.blocks.push_back(std::move(block));
    while (next() != "}") {
    }
  }

  void group(const std::map<std::string_view, std::string>& given) {
    for (const auto& [name, value] : given) {
      if (!name.starts_with("local_size_") || name.back() < 'x' || name.back() > 'z') {
        refuse("the group has no " + std::string(name));
      }
      shader_.group[static_cast<std::size_t>(name.back() - 'x')] = number(value);
    }
    expect(";");
  }

  void uniforms() {
    const GLenum type = type_of(next());
    for (std::string_view end = ","; end == ",";) {
      shader_.uniforms.push_back({std::string(next()), type});
      end = next();
      if (end != "," && end != ";") refuse("a uniform that is no plain number");
    }
  }

  // Arrays of floats or other words of 4 bytes.
  void shared_arrays() {
    next();  // their type
    for (std::string_view word = ","; word == ",";) {
      next();  // a name
      std::int64_t cells = 1;
      for (word = next(); word == "["; word = next()) {
        std::string size;
        for (word = next(); word != "]"; word = next()) size += std::string(word) + " ";
        cells *= number(size);
      }
      if (word != "," && word != ";") refuse("expected arrays in shared memory");
      shader_.shared_bytes += 4 * cells;
    }
  }

  // A driver leaves out uniforms that nothing reads: those that stand nowhere but in their
  // declaration.
  void keep_what_is_used() {
    std::map<std::string_view, int> seen;
    for (const std::string_view word : words_) ++seen[word];
    for (const auto& entry : shader_.defines) {
      for (const std::string_view word : words_of(entry.second)) ++seen[word];
    }
    std::erase_if(shader_.uniforms,
                  [&](const StrictShader::Uniform& uniform) { return seen[uniform.name] < 2; });
  }

  std::int64_t number(const std::string& expression) const {
    return evaluate(expression, [&](std::string_view name) -> std::optional<std::int64_t> {
      return shader_.number(name);
    });
  }

  std::vector<std::string_view> words_;
  StrictShader& shader_;
  std::size_t at_ = 0;
};

// The comment that a kernel's file begins with, after its first line.
std::string_view first_comment(std::string_view text) {
  std::size_t end = 0;
  while (text.substr(end).starts_with("//")) {
    const std::size_t line = text.find('\n', end);
    end = line == text.npos ? text.size() : line + 1;
  }
  return text.substr(0, end);
}

// The kernel whose text this is, told by the comment that it begins with.
std::string file_of(std::string_view text) {
  constexpr std::string_view kMain = "#line 2 0\n";
  const std::size_t main = text.find(kMain);
  if (main == text.npos) return "an unknown shader";
  const std::string_view comment = first_comment(text.substr(main + kMain.size()));
  for (int k = 0; k < kKernels && !comment.empty(); ++k) {
    const std::string_view file = kernel_info(static_cast<Kernel>(k)).file;
    const std::string_view whole = embedded_file(file);
    if (first_comment(whole.substr(whole.find('\n') + 1)) == comment) return std::string(file);
  }
  return "an unknown shader";
}

}  // namespace

std::int64_t evaluate(std::string_view expression, const Numbers& numbers) {
  return Expression(expression, numbers).value();
}

std::int64_t StrictShader::number(std::string_view name, const Numbers& others) const {
  const auto found = defines.find(name);
  if (found == defines.end()) {
    const auto other = others ? others(name) : std::nullopt;
    if (!other) refuse("'" + std::string(name) + "' is not defined");
    return *other;
  }
  return evaluate(found->second, [&](std::string_view inner) -> std::optional<std::int64_t> {
    if (inner == name) refuse("'" + std::string(name) + "' is defined by itself");
    return number(inner, others);
  });
}

StrictShader read_shader(std::string_view text) {
  StrictShader shader;
  shader.file = file_of(text);
  const std::string kept = Preprocessor(shader).run(text);
  Declarations(kept, shader).read();
  return shader;
}

}  // namespace headlight::test
