#include "app/gl/compute/source.h"

#include "core/base/error.h"

namespace headlight {
namespace {

std::string_view text_of(std::string_view file, const GlTexts& texts) {
  const std::string_view text = texts(file);
  if (text.empty()) throw Error(Message{"gpu.no_shader", {{"file", std::string(file)}}});
  return text;
}

// The file that this line includes, or nothing.
std::string_view included(std::string_view line) {
  constexpr std::string_view kWord = "#include \"";
  if (!line.starts_with(kWord)) return {};
  line.remove_prefix(kWord.size());
  return line.substr(0, line.find('"'));
}

std::string line_directive(std::size_t line, std::size_t file) {
  return "#line " + std::to_string(line) + " " + std::to_string(file) + "\n";
}

bool is_digit(std::string_view text, std::size_t i) {
  return i < text.size() && text[i] >= '0' && text[i] <= '9';
}

// A whole number of a compiler's message; `i` moves behind it.
std::size_t number_at(std::string_view text, std::size_t& i) {
  std::size_t number = 0;
  for (; is_digit(text, i) && number < 1000000; ++i) {
    number = 10 * number + static_cast<std::size_t>(text[i] - '0');
  }
  return number;
}

}  // namespace

GlSource gl_source(std::string_view file, std::string_view defines, const GlTexts& texts) {
  GlSource source;
  source.files.emplace_back(file);
  const std::string folder(file.substr(0, file.rfind('/') + 1));
  std::string_view rest = text_of(file, texts);
  for (std::size_t number = 1; !rest.empty(); ++number) {
    const std::size_t end = rest.find('\n');
    const std::string_view line = rest.substr(0, end);
    rest.remove_prefix(end == rest.npos ? rest.size() : end + 1);
    if (const std::string_view name = included(line); !name.empty()) {
      const std::string path = folder + std::string(name);
      source.text += line_directive(1, source.files.size());
      source.text += text_of(path, texts);
      source.text += "\n" + line_directive(number + 1, 0);
      source.files.push_back(path);
      continue;
    }
    source.text += line;
    source.text += '\n';
    if (number == 1) source.text += std::string(defines) + line_directive(2, 0);
  }
  return source;
}

// Mesa writes "0:12(5): error", NVIDIA "0(12) : error C1008", AMD and Intel "ERROR: 0:12: ".
std::string GlSource::place_in(std::string_view log) const {
  for (std::size_t start = 0; start < log.size(); ++start) {
    if (!is_digit(log, start) || (start > 0 && log[start - 1] != ' ' && log[start - 1] != '\n')) {
      continue;
    }
    std::size_t i = start;
    const std::size_t file = number_at(log, i);
    if (i >= log.size() || (log[i] != ':' && log[i] != '(') || !is_digit(log, i + 1)) continue;
    const std::size_t line = number_at(log, ++i);
    if (file < files.size()) return files[file] + ", line " + std::to_string(line);
  }
  return files.front();
}

}  // namespace headlight
