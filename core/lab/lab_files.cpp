#include "core/lab/lab_files.h"

#include <nlohmann/json.hpp>

#include "core/io/json_numbers.h"
#include "core/io/safetensors.h"
#include "core/lab/lab_assets.h"

namespace headlight {
namespace {

std::string quoted(const std::string& text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

// Things between brackets, with commas.
template <class Range, class F>
std::string listed(const char* open, const Range& range, const char* close, F&& text_of) {
  std::string all;
  for (const auto& one : range) all += (all.empty() ? "" : ", ") + text_of(one);
  return open + all + close;
}

std::string numbers(const std::vector<double>& all) {
  return listed("[", all, "]", [](double x) { return json_number(x); });
}

std::string series_json(Language language, const LabSeries& s) {
  std::string text = "{\"x\": " + numbers(s.x) + ", \"y\": " + numbers(s.y);
  if (!s.low.empty()) text += ", \"low\": " + numbers(s.low) + ", \"high\": " + numbers(s.high);
  if (!s.names.empty())
    text += ", \"names\": " + listed("[", s.names, "]", [&](const std::string& name) {
              return quoted(lab_name(language, name));
            });
  return quoted(s.name) + ": " + text + "}";
}

std::string branch_json(const LabBranch& b) {
  return "{\"parent\": " + std::to_string(b.parent) + ", \"text\": " + quoted(b.text) +
         ", \"probability\": " + json_number(b.probability) + "}";
}

std::string question_json(Language language, const Lab& lab, const LabQuestion& question) {
  const AskedQuestion q = asked(language, lab, question);
  return "{\"id\": " + quoted(question.id) + ", \"text\": " + quoted(q.text) +
         ", \"answers\": " + listed("[", q.answers, "]", quoted) +
         ", \"right\": " + std::to_string(question.right) +
         ", \"because\": " + quoted(say(language, question.because)) + "}";
}

std::string csv_number(const std::vector<double>& all, std::size_t i) {
  return i < all.size() ? json_number(all[i]) : "";
}

}  // namespace

std::string_view lab_text(Language language, const Lab& lab, std::string_view rest) {
  const std::string id = "lab." + std::string(lab.id) + "." + std::string(rest);
  const std::string_view said = tr(language, id);
  return said.data() == id.data() ? std::string_view() : said;  // missing: tr() gave the id
}

std::string lab_name(Language language, const std::string& name) {
  return std::string(name.starts_with("lab.") ? tr_or(language, name, name) : name);
}

AskedQuestion asked(Language language, const Lab& lab, const LabQuestion& question) {
  const std::string id = "lab." + std::string(lab.id) + ".ask." + question.id;
  AskedQuestion q{say(language, Message(id, question.slots)), {}};
  for (const std::string& answer : question.answers)
    q.answers.emplace_back(tr(language, id + "." + answer));
  return q;
}

std::string lab_json(const Lab& lab, const LabResult& r, Language language) {
  const auto said = [&](const Message& m) { return quoted(say(language, m)); };
  return "{\"id\": " + quoted(std::string(lab.id)) + ",\n \"controls\": " +
         listed("{", r.settings, "}",
                [](const auto& one) { return quoted(one.first) + ": " + quoted(one.second); }) +
         ",\n \"values\": " +
         listed("{", r.values, "}",
                [](const LabValue& v) { return quoted(v.name) + ": " + json_number(v.value); }) +
         ",\n \"series\": " +
         listed("{", r.series, "}", [&](const LabSeries& s) { return series_json(language, s); }) +
         ",\n \"tree\": " + listed("[", r.tree, "]", branch_json) +
         ",\n \"notice\": " + listed("[", r.notice, "]", said) + ",\n \"questions\": " +
         listed("[", r.questions, "]",
                [&](const LabQuestion& q) { return question_json(language, lab, q); }) +
         ",\n \"notes\": " + listed("[", r.notes, "]", said) + "}\n";
}

std::string lab_csv(const LabResult& r) {
  std::string text = "series,x,y,low,high\n";
  for (const LabSeries& s : r.series) {
    for (std::size_t i = 0; i < s.x.size(); ++i)
      text += s.name + "," + csv_number(s.x, i) + "," + csv_number(s.y, i) + "," +
              csv_number(s.low, i) + "," + csv_number(s.high, i) + "\n";
  }
  return text;
}

std::string lab_code(const Lab& lab) {
  const std::string_view own = lab_asset(std::string(lab.id) + ".py");
  if (own.empty()) return {};
  return std::string(lab_asset("read.py")) + std::string(own) + std::string(lab_asset("write.py"));
}

namespace {

std::vector<NamedArray> arrays_of(const std::vector<Tensor>& tensors) {
  std::vector<NamedArray> arrays;
  for (const Tensor& t : tensors) {
    std::vector<std::int64_t> shape;
    for (const Axis& a : t.axes) shape.push_back(a.size);
    arrays.push_back({t.name, std::move(shape), std::span<const float>(t.data)});
  }
  return arrays;
}

}  // namespace

std::string lab_kept(const LabResult& r) { return to_safetensors(arrays_of(r.trained)); }

std::string lab_safetensors(const Lab& lab, const LabResult& r) {
  std::map<std::string, std::string> metadata(r.settings.begin(), r.settings.end());
  metadata["id"] = lab.id;
  return to_safetensors(arrays_of(r.tensors), metadata);
}

}  // namespace headlight
