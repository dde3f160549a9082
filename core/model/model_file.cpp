#include "core/model/model_file.h"

#include "core/base/error.h"
#include "core/graph/config_json.h"

namespace headlight {
namespace {

constexpr JsonFileWords kModelWords = {"checkpoint.wrong_value", "checkpoint.not_json",
                                       "checkpoint.too_deep"};
constexpr std::size_t kMostForced = 1024, kMostEnds = 64;

}  // namespace

RunShape shape_of(const ModelFile& m) {
  return {.batch = 1,
          .positions = m.context,
          .vocab = m.vocab,
          .classes = static_cast<std::int64_t>(m.classes.size()),
          .source = m.source,
          .source_vocab = m.source_vocab};
}

std::string model_text(const ModelFile& m) {
  OrderedJson json = {{"format", "headlight model"},
                      {"version", kModelVersion},
                      {"kind", m.kind},
                      {"task", m.task},
                      {"vocab", m.vocab},
                      {"context", m.context}};
  if (!m.classes.empty()) json["classes"] = m.classes;
  if (m.source > 0) json["source"] = m.source;
  if (m.source_vocab > 0) json["source_vocab"] = m.source_vocab;
  if (m.begin) json["begin"] = *m.begin;
  if (m.ends.size() == 1) json["end"] = m.ends.front();
  if (m.ends.size() > 1) json["end"] = m.ends;
  if (!m.forced.empty()) json["forced"] = m.forced;
  if (!m.never.empty()) json["never"] = m.never;
  if (m.unplaced) json["unplaced"] = *m.unplaced;
  json["model"] = config_json(m.config);
  return json_text(json);
}

namespace {

// Rows of the table, `most` of them.
void read_rows(const JsonReader& in, const char* key, int last, std::size_t most,
               std::vector<int>& rows) {
  const OrderedJson* list = in.find(key);
  if (!list) return;
  for (const OrderedJson& one : *list) {
    const bool row = one.is_number_unsigned() && one.get<std::uint64_t>() <= std::uint64_t(last);
    if (!list->is_array() || !row || rows.size() >= most)
      in.fail(key, Message{"session.ids"}, *list);
    rows.push_back(one.get<int>());
  }
}

// What ends a row: a row of the table, or several.
void read_ends(const JsonReader& in, ModelFile& file) {
  const int last = static_cast<int>(file.vocab) - 1;
  const OrderedJson* ends = in.find("end");
  if (!ends) return;
  if (ends->is_array()) return read_rows(in, "end", last, kMostEnds, file.ends);
  int id = 0;
  in.number("end", id, 0, last);
  file.ends = {id};
}

// What a row of an encoder-decoder begins with, and never has: rows of its table.
void read_begin(const JsonReader& in, ModelFile& file) {
  const int last = static_cast<int>(file.vocab) - 1;
  int id = 0;
  in.number("begin", id, 0, last);
  if (in.find("begin")) file.begin = id;
  read_rows(in, "forced", last, kMostForced, file.forced);
  read_rows(in, "never", last, static_cast<std::size_t>(file.vocab), file.never);
}

// What only some forms of model have, and must have.
void read_form(const JsonReader& in, ModelFile& file) {
  read_ends(in, file);
  int unplaced = 0;
  in.number("unplaced", unplaced, 0, static_cast<int>(file.vocab) - 1);
  if (in.find("unplaced")) file.unplaced = unplaced;
  if (file.config.form == ModelForm::kTranslate) {
    if (!in.find("source")) throw Error(Message{"checkpoint.no_key", {{"key", "source"}}});
    in.number("source", file.source, 1, kLargestContext);
    in.number("source_vocab", file.source_vocab, 1, kLargestVocab);
    read_begin(in, file);
  }
  if (file.config.form != ModelForm::kClasses) return;
  const OrderedJson* list = in.find("classes");
  if (!list) throw Error(Message{"checkpoint.no_key", {{"key", "classes"}}});
  const Message expected{"checkpoint.classes", {{"most", std::to_string(kLargestClasses)}}};
  if (!list->is_array() || list->size() < 2 || list->size() > kLargestClasses)
    in.fail("classes", expected, *list);
  for (const OrderedJson& name : *list) {
    if (!name.is_string()) in.fail("classes", expected, name);
    file.classes.push_back(name.get<std::string>());
  }
}

}  // namespace

ModelFile parse_model(std::string_view text) {
  const OrderedJson json = parse_json(text, kModelWords);
  const JsonReader in(json, "", kModelWords);
  const OrderedJson* format = in.find("format");
  if (!format || *format != "headlight model") throw Error(Message{"checkpoint.not_a_model"});
  for (const char* key : {"version", "vocab", "context", "model"}) {
    if (!in.find(key)) throw Error(Message{"checkpoint.no_key", {{"key", key}}});
  }
  int version = 0;
  in.number("version", version, 0, 1 << 30);
  if (version != kModelVersion) {
    throw Error(
        Message{version > kModelVersion ? "checkpoint.newer_version" : "checkpoint.version",
                {{"version", std::to_string(version)}, {"ours", std::to_string(kModelVersion)}}});
  }
  ModelFile file;
  in.text("kind", file.kind);
  in.text("task", file.task);
  in.number("vocab", file.vocab, 1, kLargestVocab);
  in.number("context", file.context, 1, kLargestContext);
  file.config = read_config(*in.find("model"), "model", kModelWords);
  validate(file.config);
  read_form(in, file);
  return file;
}

}  // namespace headlight
