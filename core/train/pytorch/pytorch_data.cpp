#include "core/train/pytorch/pytorch_data.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "core/base/error.h"

namespace headlight {
namespace {

struct Ints {
  std::string name;
  std::vector<std::int64_t> shape;
  std::vector<std::int32_t> cells;
};

// Safetensors of I32: half the bytes of those that the program writes for itself.
std::string int_tensors(const std::vector<Ints>& arrays) {
  OrderedJson header = OrderedJson::object();
  std::size_t at = 0;
  for (const Ints& a : arrays) {
    const std::size_t end = at + a.cells.size() * sizeof(std::int32_t);
    header[a.name] = {{"dtype", "I32"}, {"shape", a.shape}, {"data_offsets", {at, end}}};
    at = end;
  }
  std::string text = header.dump();
  text.resize((text.size() + 7) / 8 * 8, ' ');
  const std::uint64_t length = text.size();
  std::string file(sizeof length + text.size() + at, '\0');
  std::memcpy(file.data(), &length, sizeof length);  // all machines it runs on are little-endian
  std::memcpy(file.data() + sizeof length, text.data(), text.size());
  char* to = file.data() + sizeof length + text.size();
  for (const Ints& a : arrays) {
    if (a.cells.empty()) continue;
    std::memcpy(to, a.cells.data(), a.cells.size() * sizeof(std::int32_t));
    to += a.cells.size() * sizeof(std::int32_t);
  }
  return file;
}

std::vector<int> specials_of(const Vocabulary& vocabulary) {
  std::vector<int> ids;
  for (int id = 0; id < vocabulary.size(); ++id)
    if (vocabulary.is_special(id)) ids.push_back(id);
  return ids;
}

PytorchData running_text(const Task& task, std::vector<int> text) {
  const auto size = static_cast<std::int64_t>(text.size());
  PytorchData data;
  data.about = {{"kind", "windows"}, {"context", task.context()}};
  if (task.kind() == TaskKind::kMasked) {
    const auto share = task.options().find("share");
    data.about["hidden_percent"] = share == task.options().end() ? 0 : share->second;
    data.about["mask"] = task.vocabulary().id_of(Special::kMask).value_or(-1);
    data.about["specials"] = specials_of(task.vocabulary());
  }
  data.numbers = int_tensors({{"text", {size}, {text.begin(), text.end()}}});
  return data;
}

PytorchData rows_of_ids(const RowBatches& rows) {
  const NpyIntegers& all = rows.rows();
  PytorchData data;
  data.about = {{"kind", "rows"}};
  data.numbers = int_tensors({{"rows", all.shape, {all.values.begin(), all.values.end()}}});
  return data;
}

// Lists of rows that may be narrower than others, one below the other, each as wide as the widest.
class Table {
 public:
  Table(std::string name, std::int64_t width) : made_{std::move(name), {}, {}}, width_(width) {}
  void add(const std::vector<int>& ids, std::int64_t rows) {
    const auto own = static_cast<std::int64_t>(ids.size()) / rows;
    for (std::int64_t r = 0; r < rows; ++r) {
      made_.cells.insert(made_.cells.end(), ids.begin() + r * own, ids.begin() + (r + 1) * own);
      made_.cells.insert(made_.cells.end(), static_cast<std::size_t>(width_ - own), 0);
    }
  }
  Ints finish(std::int64_t batches, std::int64_t rows) {
    made_.shape = {batches, rows, width_};
    return std::move(made_);
  }

 private:
  Ints made_;
  std::int64_t width_;
};

// A number of 64 bits as two of 32.
void add_state(std::vector<std::int32_t>& to, std::uint64_t state) {
  to.push_back(static_cast<std::int32_t>(static_cast<std::uint32_t>(state)));
  to.push_back(static_cast<std::int32_t>(static_cast<std::uint32_t>(state >> 32)));
}

PytorchData drawn_batches(const Task& task, BatchSource& source, std::int64_t count) {
  constexpr std::int64_t kMostCells = std::int64_t{1} << 28;  // a GiB of each list
  const bool classes = task.kind() == TaskKind::kClassify, hides = task.hides_tokens();
  const std::int64_t width = task.context(), sources = task.source_length();
  Table tokens("tokens", width), targets("targets", classes ? 1 : width), lengths("lengths", 1);
  Table from("source", sources), from_lengths("source_lengths", 1), hidden("token_targets", width);
  Ints widths{"widths", {count, 2}, {}}, states{"states", {count + 1, 2}, {}};
  add_state(states.cells, source.state());
  std::int64_t rows = 1;
  for (std::int64_t i = 0; i < count; ++i) {
    const TokenBatch& batch = source.next();
    rows = batch.rows;
    if (count * rows * (width + sources) > kMostCells)
      throw UsageError(Message{"pytorch.too_many",
                               {{"got", std::to_string(count)},
                                {"most", std::to_string(std::max<std::int64_t>(
                                             kMostCells / (rows * (width + sources)), 1))}}});
    tokens.add(batch.tokens, rows);
    targets.add(batch.targets, rows);
    lengths.add(batch.lengths, rows);
    if (sources > 0) from.add(batch.source, rows);
    if (sources > 0) from_lengths.add(batch.source_lengths, rows);
    if (hides) hidden.add(batch.token_targets, rows);
    widths.cells.push_back(static_cast<std::int32_t>(batch.positions));
    widths.cells.push_back(static_cast<std::int32_t>(batch.sources));
    add_state(states.cells, source.state());
  }
  std::vector<Ints> all = {tokens.finish(count, rows), targets.finish(count, rows),
                           lengths.finish(count, rows)};
  if (sources > 0) all.push_back(from.finish(count, rows));
  if (sources > 0) all.push_back(from_lengths.finish(count, rows));
  if (hides) all.push_back(hidden.finish(count, rows));
  all.push_back(std::move(widths));
  all.push_back(std::move(states));
  PytorchData data;
  data.about = {{"kind", "batches"}, {"batches", count}};
  data.numbers = int_tensors(all);
  return data;
}

}  // namespace

PytorchData pytorch_data(const Task* task, BatchSource& source, std::int64_t batches) {
  if (!task) return rows_of_ids(dynamic_cast<const RowBatches&>(source));
  std::vector<int> text = task->running_text(Split::kTraining);
  return text.empty() ? drawn_batches(*task, source, batches)
                      : running_text(*task, std::move(text));
}

}  // namespace headlight
