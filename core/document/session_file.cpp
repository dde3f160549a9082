#include "core/document/session_file.h"

#include <charconv>
#include <climits>
#include <filesystem>

#include "core/base/error.h"
#include "core/graph/config_json.h"
#include "core/io/atomic_file.h"

namespace headlight {
namespace {

using Json = OrderedJson;

constexpr std::uint64_t kMaxSessionBytes = 64u << 20;
constexpr JsonFileWords kSessionWords = {"session.wrong_value", "session.not_json",
                                         "session.too_deep"};

void read_ids(const JsonReader& in, const char* key, std::vector<int>& ids) {
  const Json* list = in.find(key);
  if (!list) return;
  bool whole = list->is_array() && list->size() <= static_cast<std::size_t>(kLargestMaxTokens);
  for (std::size_t i = 0; whole && i < list->size(); ++i) {
    const Json& id = (*list)[i];
    whole = id.is_number_unsigned() && id.get<std::uint64_t>() <= INT_MAX;
  }
  if (!whole) in.fail(key, Message{"session.ids"}, *list);
  for (const Json& id : *list) ids.push_back(id.get<int>());
}

void read_targets(const JsonReader& in, Document& document) {
  const Json* targets = in.find("targets");
  if (!targets) return;
  bool texts = targets->is_array() && targets->size() <= kMaxTargets;
  for (std::size_t i = 0; texts && i < targets->size(); ++i) texts = (*targets)[i].is_string();
  if (!texts) in.fail("targets", Message{"session.targets"}, *targets);
  for (std::size_t i = 0; i < targets->size(); ++i)
    document = apply(document, SetTarget{static_cast<int>(i), (*targets)[i].get<std::string>()});
}

// By lab, by control; what a lab cannot take it says itself.
void read_labs(const JsonReader& in, Document& document) {
  LabChoice labs;
  in.text("lab", labs.lab);
  const Json none = Json::object(), *found = in.find("labs"), &all = found ? *found : none;
  bool texts = all.is_object();
  for (auto lab = all.begin(); texts && lab != all.end(); ++lab) {
    texts = lab->is_object();
    for (auto one = lab->begin(); texts && one != lab->end(); ++one) {
      texts = one->is_string();
      if (texts) labs.settings[lab.key()][one.key()] = one->get<std::string>();
    }
  }
  if (!texts) in.fail("labs", Message{"session.labs"}, all);
  document = apply(document, SetLab{labs});
}

// 64 bits do not fit JSON's numbers everywhere: written as text.
SessionWeights read_weights(const JsonReader& in) {
  SessionWeights weights;
  std::string mark;
  in.text("weights_mark", mark);
  const auto [end, error] =
      std::from_chars(mark.data(), mark.data() + mark.size(), weights.mark, 16);
  if (error != std::errc() || end != mark.data() + mark.size()) weights.mark = 0;
  in.boolean("own_weights", weights.own);
  return weights;
}

namespace fs = std::filesystem;

// Is it a path (core/model/model.h)?
bool is_folder(const std::string& model) {
  return !model.empty() && model != "run" && !model.starts_with("bundled:");
}

// From the session's folder where the model lies in it, else as it is.
std::string named_from(const std::string& folder, const std::string& model) {
  if (folder.empty() || !is_folder(model)) return model;
  const fs::path inside = fs::path(model).lexically_relative(folder);
  if (inside.empty() || *inside.begin() == ".." || *inside.begin() == ".") return model;
  // A folder may be called as what is none.
  return is_folder(inside.string()) ? inside.string() : "./" + inside.string();
}

// The inverse. A name that is in no session's folder may be one of where the program runs.
std::string whole_name(const std::string& folder, const std::string& model) {
  if (!is_folder(model) || fs::path(model).is_absolute()) return model;
  std::error_code ignored;
  const fs::path beside = (fs::path(folder) / model).lexically_normal();
  const bool elsewhere = !fs::exists(beside, ignored) && fs::exists(model, ignored);
  return elsewhere ? model : beside.string();
}

}  // namespace

std::string folder_of(const std::string& path) {
  std::error_code error;
  const fs::path whole = fs::absolute(path, error);
  return (error ? fs::path(path) : whole).lexically_normal().parent_path().string();
}

std::string session_text(const Document& d, const SessionWeights& weights,
                         const std::string& folder) {
  Json json = {{"format", "headlight session"},
               {"version", kSessionVersion},
               {"sentence", d.sentence},
               {"tokenizer", to_string(d.tokenizer)},
               {"max_tokens", d.max_tokens}};
  if (!d.model.empty()) json["trained_model"] = named_from(folder, d.model);
  if (weights.mark != 0) {
    char mark[17] = {};
    std::to_chars(mark, mark + sizeof mark - 1, weights.mark, 16);
    json["weights_mark"] = mark;
  }
  if (weights.own) json["own_weights"] = true;
  json["model"] = config_json(d.config);
  if (!d.targets.empty()) json["targets"] = d.targets;
  if (!d.ids.empty()) json["ids"] = d.ids;
  if (!d.target_ids.empty()) json["target_ids"] = d.target_ids;
  if (!d.labs.lab.empty()) json["lab"] = d.labs.lab;
  for (const auto& [lab, settings] : d.labs.settings)
    for (const auto& [control, value] : settings) json["labs"][lab][control] = value;
  return json_text(json);
}

SessionFile parse_session(std::string_view text) {
  const Json json = parse_json(text, kSessionWords);
  const JsonReader in(json, "", kSessionWords);
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
  file.weights = read_weights(in);
  read_targets(in, file.document);
  read_ids(in, "ids", file.document.ids);
  read_ids(in, "target_ids", file.document.target_ids);
  read_labs(in, file.document);
  const Json* model = in.find("model");
  Config config = model ? read_config(*model, "model", kSessionWords) : file.document.config;
  // Positions that are not said are the trained model's own (run_config()).
  const bool own = !trained.empty() && !(model && model->contains("positions"));
  if (own) config.positions = PositionKind::kLearned;
  file.document = apply(file.document, SetConfig{config});
  try {
    validate(config);
  } catch (const Error& error) {
    file.notes.push_back(Message{"session.cannot_run"}.with(error.message()));
  }
  return file;
}

SessionFile read_session(const std::string& path) {
  try {
    SessionFile file = parse_session(read_file(path, kMaxSessionBytes));
    file.document.model = whole_name(folder_of(path), file.document.model);
    return file;
  } catch (const Error& error) {
    const std::string text = error.what();
    if (text.find(path) != std::string::npos) throw;
    throw Error(Message{"session.in_file", {{"path", path}}}.with(error.message()));
  }
}

void write_session(const std::string& path, const Document& document) {
  write_file_atomic(path, session_text(document, {}, folder_of(path)));
}

}  // namespace headlight
