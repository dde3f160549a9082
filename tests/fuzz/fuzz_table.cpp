// Any bytes as a table: the cells, quoted and written out again, are read back the same. Any bytes
// as labelled rows, as pairs and as running text: a task with examples that fit, or an Error.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "core/base/error.h"
#include "core/io/table.h"
#include "core/train/data/text_source.h"

namespace {

using namespace headlight;

void require(bool condition) {
  if (!condition) std::abort();
}

void check_csv(std::string_view raw) {
  const auto rows = parse_table(raw, TableFormat::kCsv);
  std::string written;
  for (const TableRow& row : rows) {
    for (std::size_t i = 0; i < row.cells.size(); ++i) {
      written += i ? ",\"" : "\"";
      for (const char c : row.cells[i])
        written += c == '"' ? std::string("\"\"") : std::string(1, c);
      written += '"';
    }
    written += "\r\n";
  }
  const auto again = parse_table(written, TableFormat::kCsv);
  require(again.size() == rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) require(again[i].cells == rows[i].cells);
}

void check_task(const LoadedTask& loaded) {
  const Task& task = *loaded.task;
  Random random(1);
  for (const Split split : {Split::kTraining, Split::kValidation}) {
    for (int i = 0; i < 3 && task.has(split); ++i) {
      TaskExample e = task.draw(random, split);
      require(!e.tokens.empty() && e.tokens.size() == e.targets.size());
      require(e.tokens.size() <= static_cast<std::size_t>(task.context()));
      require(e.source.size() <= static_cast<std::size_t>(task.source_length()));
      require(task.kind() != TaskKind::kClassify ||
              static_cast<std::size_t>(e.label) < task.classes().size());
      pad(e, task);
      for (const int id : e.tokens) require(id >= 0 && id < task.vocabulary().size());
    }
  }
}

template <class Make>
void attempt(Make make) {
  try {
    make();
  } catch (const Error&) {
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view raw(reinterpret_cast<const char*>(data), size);
  attempt([&] { check_csv(raw); });
  attempt([&] { (void)parse_table(raw, TableFormat::kTsv); });
  const TextInput input{{}, std::string(raw)};
  TextOptions options;
  options.cut = size % 4 == 0   ? TextCut::kBpe
                : size % 4 == 1 ? TextCut::kCharacters
                : size % 4 == 2 ? TextCut::kBytes
                                : TextCut::kWords;
  options.vocabulary = options.cut == TextCut::kBpe ? 260 : static_cast<int>(size % 5);
  options.validation = 20;
  for (const TableFormat format : {TableFormat::kTsv, TableFormat::kCsv}) {
    options.format = format;
    options.context = static_cast<int>(size % 3);
    attempt([&] { check_task(load_labelled_task(input, options)); });
    attempt([&] { check_task(load_pairs_task(input, options)); });
  }
  options.context = 3;
  attempt([&] { check_task(load_text_task(input, options)); });
  return 0;
}
