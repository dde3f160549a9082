#include "core/graph/masks/number_file.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>

#include "core/base/error.h"
#include "core/base/utf8.h"
#include "core/io/npy.h"
#include "core/io/plain_file.h"

namespace headlight {
namespace {

constexpr std::string_view kSpace = " \t,;\r";

// The next word of the line; empty at its end.
std::string_view next_word(std::string_view& line) {
  const std::size_t begin = std::min(line.find_first_not_of(kSpace), line.size());
  line.remove_prefix(begin);
  const std::size_t end = std::min(line.find_first_of(kSpace), line.size());
  const std::string_view word = line.substr(0, end);
  line.remove_prefix(end);
  return word;
}

std::optional<double> number_of(std::string_view word) {
  if (word == "\u2212inf" || word == "-\u221e" || word == "\u2212\u221e") word = "-inf";
  if (word.starts_with('+')) word.remove_prefix(1);
  double value = 0;
  const char* end = word.data() + word.size();
  const auto [at, error] = std::from_chars(word.data(), end, value);
  if (error == std::errc::result_out_of_range || error != std::errc() || at != end)
    return std::nullopt;
  return value;
}

std::optional<double> truth_of(std::string_view word) {
  if (word == "true" || word == "True") return 1;
  if (word == "false" || word == "False") return 0;
  return std::nullopt;
}

class TextReader {
 public:
  NumberArray read(std::string_view text) {
    for (std::size_t line = 1; !text.empty(); ++line) {
      const std::size_t end = std::min(text.find('\n'), text.size());
      add_line(text.substr(0, end), line);
      text.remove_prefix(std::min(end + 1, text.size()));
    }
    end_matrix(last_line_);
    if (array_.values.empty()) throw Error(Message{"numbers.empty"});
    if (matrices_ == 1) {
      array_.shape = {rows_, columns_};
    } else {
      array_.shape = {matrices_, rows_, columns_};
    }
    return std::move(array_);
  }

 private:
  void add_line(std::string_view line, std::size_t number) {
    std::int64_t count = 0;
    for (std::string_view word = next_word(line); !word.empty(); word = next_word(line)) {
      const std::optional<double> truth = truth_of(word);
      const std::optional<double> value = truth ? truth : number_of(word);
      const bool first = array_.values.empty();
      if (!value || (!first && truth.has_value() != array_.is_boolean))
        throw Error(Message{"numbers.word",
                            {{"line", std::to_string(number)},
                             {"got", clean_utf8(std::string(word.substr(0, 40))).text}}});
      array_.is_boolean = truth.has_value();
      array_.values.push_back(*value);
      ++count;
    }
    if (count == 0) return end_matrix(number);
    last_line_ = number;
    if (columns_ == 0) columns_ = count;
    if (count != columns_)
      throw Error(Message{"numbers.columns",
                          {{"line", std::to_string(number)},
                           {"got", std::to_string(count)},
                           {"expected", std::to_string(columns_)}}});
    ++own_rows_;
  }

  void end_matrix(std::size_t line) {
    if (own_rows_ == 0) return;
    if (rows_ == 0) rows_ = own_rows_;
    if (rows_ != own_rows_)
      throw Error(Message{"numbers.rows",
                          {{"line", std::to_string(line)},
                           {"got", std::to_string(own_rows_)},
                           {"expected", std::to_string(rows_)}}});
    own_rows_ = 0;
    ++matrices_;
  }

  NumberArray array_;
  std::int64_t matrices_ = 0, rows_ = 0, columns_ = 0, own_rows_ = 0;
  std::size_t last_line_ = 0;
};

}  // namespace

NumberArray parse_number_text(std::string_view text) { return TextReader().read(text); }

NumberArray read_number_file(const std::filesystem::path& path, std::uint64_t max_bytes) {
  const PlainFile file(path, max_bytes);
  const std::string bytes = file.all();
  return is_npy(bytes) ? parse_npy_numbers(bytes) : parse_number_text(bytes);
}

}  // namespace headlight
