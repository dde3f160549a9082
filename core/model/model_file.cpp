#include "core/model/model_file.h"

#include "core/config_json.h"
#include "core/error.h"

namespace headlight {
namespace {

constexpr JsonFileWords kWords = {"checkpoint.wrong_value", "checkpoint.not_json",
                                  "checkpoint.too_deep"};

}  // namespace

std::string model_text(const ModelFile& m) {
  return json_text({{"format", "headlight model"},
                    {"version", kModelVersion},
                    {"kind", m.kind},
                    {"task", m.task},
                    {"vocab", m.vocab},
                    {"context", m.context},
                    {"model", config_json(m.config)}});
}

ModelFile parse_model(std::string_view text) {
  const OrderedJson json = parse_json(text, kWords);
  const JsonReader in(json, "", kWords);
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
  file.config = read_config(*in.find("model"), "model", kWords);
  validate(file.config);
  return file;
}

}  // namespace headlight
