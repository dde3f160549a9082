#include "core/document/session_file.h"

#include "core/base/error.h"
#include "core/graph/config_json.h"
#include "core/io/atomic_file.h"

namespace headlight {
namespace {

using Json = OrderedJson;

constexpr std::uint64_t kMaxSessionBytes = 64u << 20;
constexpr JsonFileWords kWords = {"session.wrong_value", "session.not_json", "session.too_deep"};

void read_targets(const JsonReader& in, Document& document) {
  const Json* targets = in.find("targets");
  if (!targets) return;
  bool texts = targets->is_array() && targets->size() <= kMaxTargets;
  for (std::size_t i = 0; texts && i < targets->size(); ++i) texts = (*targets)[i].is_string();
  if (!texts) in.fail("targets", Message{"session.targets"}, *targets);
  for (std::size_t i = 0; i < targets->size(); ++i)
    document = apply(document, SetTarget{static_cast<int>(i), (*targets)[i].get<std::string>()});
}

}  // namespace

std::string session_text(const Document& d) {
  Json json = {{"format", "headlight session"},
               {"version", kSessionVersion},
               {"sentence", d.sentence},
               {"tokenizer", to_string(d.tokenizer)},
               {"max_tokens", d.max_tokens}};
  if (!d.model.empty()) json["trained_model"] = d.model;
  json["model"] = config_json(d.config);
  if (!d.targets.empty()) json["targets"] = d.targets;
  return json_text(json);
}

SessionFile parse_session(std::string_view text) {
  const Json json = parse_json(text, kWords);
  const JsonReader in(json, "", kWords);
  const Json* format = in.find("format");
  if (!format || *format != "headlight session") {
    throw Error(Message{"session.not_a_session"});
  }
  int version = 0;
  in.number("version", version, 0, 1 << 30);
  if (version != kSessionVersion) {
    throw Error(
        Message{version > kSessionVersion ? "session.newer_version" : "session.version",
                {{"version", std::to_string(version)}, {"ours", std::to_string(kSessionVersion)}}});
  }
  SessionFile file;
  std::string sentence = file.document.sentence;
  in.text("sentence", sentence);
  file.document = apply(file.document, SetSentence{sentence});
  if (const Json* tokenizer = in.find("tokenizer")) {
    const auto kind = tokenizer->is_string() ? tokenizer_from_string(tokenizer->get<std::string>())
                                             : std::nullopt;
    if (!kind) {
      in.fail("tokenizer", JsonReader::one_of("one of words, characters, bytes"), *tokenizer);
    }
    file.document.tokenizer = *kind;
  }
  in.number("max_tokens", file.document.max_tokens, 1, kLargestMaxTokens);
  std::string trained;
  in.text("trained_model", trained);
  file.document = apply(file.document, SetModel{trained, {}, {}, {}});
  read_targets(in, file.document);
  if (const Json* model = in.find("model")) {
    file.document = apply(file.document, SetConfig{read_config(*model, "model", kWords)});
    try {
      validate(file.document.config);
    } catch (const Error& error) {
      file.notes.push_back(Message{"session.cannot_run"}.with(error.message()));
    }
  }
  return file;
}

SessionFile read_session(const std::string& path) {
  try {
    return parse_session(read_file(path, kMaxSessionBytes));
  } catch (const Error& error) {
    const std::string text = error.what();
    if (text.find(path) != std::string::npos) throw;
    throw Error(Message{"session.in_file", {{"path", path}}}.with(error.message()));
  }
}

void write_session(const std::string& path, const Document& document) {
  write_file_atomic(path, session_text(document));
}

}  // namespace headlight
