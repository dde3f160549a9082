// What the operations of single_op.h are built with: what was given, asked for piece by piece, and
// the program that is made of it.
#pragma once

#include <algorithm>
#include <charconv>
#include <cmath>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/error.h"
#include "core/base/number_text.h"
#include "core/base/utf8.h"
#include "core/check/single_op.h"
#include "core/graph/program_memory.h"

namespace headlight::single {

using Shape = std::vector<std::int64_t>;

inline std::string text_of(const Shape& shape) {
  std::string text = "(";
  for (const std::int64_t size : shape)
    text += (text.size() > 1 ? ", " : "") + std::to_string(size);
  return text + ")";
}

inline std::int64_t product_of(std::span<const std::int64_t> sizes) {
  std::int64_t product = 1;
  for (const std::int64_t size : sizes) product *= size;
  return product;
}

// What was asked for, and the program that is made of it.
class Work {
 public:
  Work(const SingleOp& op, const PlainTensors& given,
       const std::map<std::string, std::string>& said)
      : op_(op), given_(given), said_(said) {}

  // ---- what was given ----

  bool has(const std::string& name) const { return given_.contains(name); }
  const PlainTensor& any(const std::string& name) {
    known_.push_back(name);
    const auto found = given_.find(name);
    if (found != given_.end()) return found->second;
    constexpr std::size_t kMost = 10;  // a whole model has thousands
    std::string names;
    std::size_t listed = 0;
    for (const auto& one : given_) {
      if (listed++ == kMost) break;
      names += (names.empty() ? "" : ", ") + shortened(one.first, 60);
    }
    const MessageSlot found_names =
        names.empty() ? MessageSlot{"found", "single.none", true} : MessageSlot{"found", names};
    const auto more = static_cast<long long>(given_.size()) - static_cast<long long>(kMost);
    throw UsageError(Message{more > 0 ? "single.missing_of_many" : "single.missing",
                             {{"op", std::string(op_.name)},
                              {"name", name},
                              {"inputs", std::string(op_.inputs)},
                              found_names,
                              {"more", count_text(more)}}});
  }
  const PlainTensor& floats(const std::string& name) {
    const PlainTensor& t = any(name);
    if (!is_float(t)) wrong_kind(name, kFloats, t.dtype);
    return t;
  }
  static bool is_float(const PlainTensor& t) {
    return t.dtype.starts_with("F") || t.dtype.starts_with("BF");
  }
  const PlainTensor* maybe(const std::string& name) {
    known_.push_back(name);
    return has(name) ? &floats(name) : nullptr;
  }
  static constexpr const char* kFloats = "F32, F64, F16 or BF16";
  [[noreturn]] void wrong_kind(const std::string& name, const std::string& expected,
                               const std::string& dtype) const {
    throw UsageError(Message{
        "single.dtype",
        {{"op", std::string(op_.name)}, {"name", name}, {"expected", expected}, {"dtype", dtype}}});
  }
  void expect(bool fits, const std::string& name, const std::string& expected) const {
    if (fits) return;
    throw UsageError(Message{"single.shape",
                             {{"op", std::string(op_.name)},
                              {"name", name},
                              {"expected", expected},
                              {"shape", text_of(given_.at(name).shape)}}});
  }
  void expect_ids(const std::string& name, std::int64_t count) const {
    for (const float id : given_.at(name).cells) {
      if (id >= 0 && id < static_cast<float>(count)) continue;
      throw UsageError(Message{"single.id",
                               {{"op", std::string(op_.name)},
                                {"name", name},
                                {"count", std::to_string(count)},
                                {"id", exact_number(id)}}});
    }
  }
  std::optional<double> number(const std::string& name, double least, double most, bool whole) {
    attributes_.push_back(name);
    const auto found = said_.find(name);
    if (found == said_.end()) return std::nullopt;
    const std::string& text = found->second;
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    const bool read = error == std::errc() && end == text.data() + text.size();
    if (read && value >= least && value <= most && (!whole || value == std::floor(value)))
      return value;
    const auto limit = [](double at) { return exact_number(static_cast<float>(at)); };
    throw UsageError(Message{whole ? "single.whole_value" : "single.value",
                             {{"op", std::string(op_.name)},
                              {"name", name},
                              {"low", limit(least)},
                              {"high", limit(most)},
                              {"value", shortened(text, 60)}}});
  }
  // After everything was asked for: what nobody asked for is a mistake.
  void finish_asking() const {
    for (const auto& one : said_) {
      if (std::find(attributes_.begin(), attributes_.end(), one.first) != attributes_.end())
        continue;
      throw UsageError(Message{op_.attributes.empty() ? "single.no_attributes" : "single.attribute",
                               {{"op", std::string(op_.name)},
                                {"name", shortened(one.first, 60)},
                                {"known", std::string(op_.attributes)}}});
    }
    for (const auto& one : given_) {
      if (std::find(known_.begin(), known_.end(), one.first) != known_.end()) continue;
      throw UsageError(Message{"single.extra",
                               {{"op", std::string(op_.name)},
                                {"name", shortened(one.first, 60)},
                                {"inputs", std::string(op_.inputs)}}});
    }
  }

  // ---- the program ----

  TensorId input(std::vector<Axis> axes, std::vector<float> cells) {
    const TensorId id = add(std::move(axes), TensorKind::kInput);
    cells_[id] = std::move(cells);
    return id;
  }
  TensorId call(Op op, std::vector<TensorId> in, const OpParams& params = {}) {
    std::vector<TensorView> views;
    for (const TensorId id : in) views.push_back(program_.look(id));
    std::vector<Axis> axes = op_info(op).shape(views, params);
    const TensorId out = add(std::move(axes), TensorKind::kActivation);
    program_.calls.push_back({op, std::move(in), out, params});
    return out;
  }
  void output(const std::string& name, TensorId id, Shape shape) {
    outputs_[name] = {id, std::move(shape)};
  }
  // The program runs so many times, the inputs as `fill` leaves them, which is given the number of
  // the piece and writes to cells(). The results follow each other; of the last
  // piece what goes beyond the output's shape does not count.
  void in_pieces(std::int64_t pieces, std::function<void(std::int64_t piece)> fill) {
    pieces_ = pieces;
    fill_ = std::move(fill);
  }
  std::vector<float>& cells(TensorId input) { return cells_[input]; }

  PlainTensors run(Backend& backend) {
    FloatBuffer arena(arena_cells(program_));
    std::vector<float*> memory(program_.tensors.size(), nullptr);
    lay_out(program_, arena.data(), memory);
    PlainTensors results;
    for (const auto& one : outputs_) results[one.first].shape = one.second.shape;
    for (std::int64_t piece = 0; piece < pieces_; ++piece) {
      if (fill_) fill_(piece);
      for (const auto& [id, cells] : cells_)
        std::copy(cells.begin(), cells.end(), memory[static_cast<std::size_t>(id)]);
      backend.run(program_, program_.calls, memory);
      for (const auto& one : outputs_) add_result(one.second, memory, results[one.first].cells);
    }
    return results;
  }

 private:
  struct Output {
    TensorId id;
    Shape shape;
  };
  void add_result(const Output& output, std::span<float* const> memory,
                  std::vector<float>& result) const {
    const float* cells = memory[static_cast<std::size_t>(output.id)];
    const std::int64_t left = product_of(output.shape) - static_cast<std::int64_t>(result.size());
    result.insert(result.end(), cells,
                  cells + std::min(left, cell_count(program_.look(output.id).axes)));
  }
  TensorId add(std::vector<Axis> axes, TensorKind kind) {
    const auto id = static_cast<TensorId>(program_.tensors.size());
    const std::string name = "t" + std::to_string(id);
    program_.tensors.push_back({name, std::move(axes), kind, -1});
    program_.by_name[name] = id;
    return id;
  }

  const SingleOp& op_;
  const PlainTensors& given_;
  const std::map<std::string, std::string>& said_;
  std::vector<std::string> known_, attributes_;
  Program program_;
  std::map<TensorId, std::vector<float>> cells_;
  std::map<std::string, Output> outputs_;
  std::int64_t pieces_ = 1;
  std::function<void(std::int64_t)> fill_;
};

/// single_op_attention.cpp
void attention(Work& work);

}  // namespace headlight::single
