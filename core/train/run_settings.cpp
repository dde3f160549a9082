#include "core/train/run_settings.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include "core/base/error.h"
#include "core/graph/config_json.h"
#include "core/model/model_file.h"
#include "core/train/data/text_source.h"
#include "core/train/learner.h"
#include "core/train/optim/check_number.h"
#include "core/train/optim/early_stop.h"

namespace headlight {
namespace {

constexpr JsonFileWords kRunWords = {"train.wrong_value", "train.not_json", "train.too_deep"};
constexpr std::int64_t kMax = std::int64_t{1} << 53;  // what JSON's numbers hold exactly
constexpr double kAny = std::numeric_limits<double>::max();

// 64 bits do not fit JSON's numbers everywhere: written as text.
std::uint64_t read_bits(const JsonReader& in, const char* key) {
  std::string text;
  in.text(key, text);
  std::uint64_t bits = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), bits);
  if (text.empty() || error != std::errc() || end != text.data() + text.size())
    in.fail(in.name(key), Message{"train.bits"}, OrderedJson(text));
  return bits;
}

OrderedJson optimizer_json(const OptimizerOptions& o) {
  return {{"kind", word(o.kind)},
          {"momentum", o.momentum},
          {"beta1", o.beta1},
          {"beta2", o.beta2},
          {"epsilon", o.epsilon},
          {"weight_decay", o.weight_decay},
          {"decay_matrices_only", o.decay_matrices_only}};
}

OptimizerOptions read_optimizer(const OrderedJson& json) {
  const JsonReader in(json, "optimizer", kRunWords);
  OptimizerOptions o;
  in.choice("kind", o.kind);
  in.number("momentum", o.momentum, 0, kAny);
  in.number("beta1", o.beta1, 0, 1);
  in.number("beta2", o.beta2, 0, 1);
  in.number("epsilon", o.epsilon, 0, kAny);
  in.number("weight_decay", o.weight_decay, 0, kAny);
  in.boolean("decay_matrices_only", o.decay_matrices_only);
  validate(o);
  return o;
}

OrderedJson schedule_json(const Schedule& s) {
  return {{"kind", word(s.kind)},
          {"peak", s.peak},
          {"floor", s.floor},
          {"warmup", s.warmup},
          {"steps", s.steps}};
}

Schedule read_schedule(const OrderedJson& json) {
  const JsonReader in(json, "schedule", kRunWords);
  Schedule s;
  in.choice("kind", s.kind);
  in.number("peak", s.peak, 0, kAny);
  in.number("floor", s.floor, 0, kAny);
  in.number("warmup", s.warmup, 0, kMax);
  in.number("steps", s.steps, 1, kMax);
  validate(s);
  return s;
}

OrderedJson text_json(const RunText& t) {
  OrderedJson json = {{"file", t.file}, {"sha256", t.sha256}};
  if (t.bytes) json["bytes"] = {t.bytes->begin, t.bytes->end};
  if (t.validation_bytes)
    json["validation_bytes"] = {t.validation_bytes->begin, t.validation_bytes->end};
  json["cut"] = to_string(t.cut);
  if (t.characters) json["characters"] = true;
  json["vocabulary"] = t.vocabulary;
  json["context"] = t.context;
  if (t.masked > 0) json["masked"] = t.masked;
  if (t.next_sentence) json["next_sentence"] = true;
  return json;
}

std::optional<ByteRange> read_range(const JsonReader& in, const char* key) {
  const OrderedJson* list = in.find(key);
  if (!list) return std::nullopt;
  const auto is_number = [](const OrderedJson& n) { return n.is_number_unsigned(); };
  if (!list->is_array() || list->size() != 2 || !std::ranges::all_of(*list, is_number) ||
      (*list)[0] >= (*list)[1])
    in.fail(in.name(key), Message{"train.bytes"}, *list);
  return ByteRange{(*list)[0].get<std::uint64_t>(), (*list)[1].get<std::uint64_t>()};
}

RunText read_text(const OrderedJson& json) {
  const JsonReader in(json, "text", kRunWords);
  RunText t;
  in.text("file", t.file);
  in.text("sha256", t.sha256);
  t.bytes = read_range(in, "bytes");
  t.validation_bytes = read_range(in, "validation_bytes");
  std::string cut(to_string(t.cut));
  in.text("cut", cut);
  const std::optional<TextCut> known = text_cut_from_string(cut);
  if (!known || *known == TextCut::kNumbers)
    in.fail(in.name("cut"), Message{"train.wrong_cut"}, OrderedJson(cut));
  t.cut = *known;
  in.boolean("characters", t.characters);
  in.number("vocabulary", t.vocabulary, 0, kMaxVocabulary);
  in.number("context", t.context, 1, kMaxContext);
  in.number("masked", t.masked, 0, kMostMasked);
  in.boolean("next_sentence", t.next_sentence);
  return t;
}

OrderedJson score_json(const TrainState::Score& score) {
  return {{"loss", score.loss}, {"accuracy", score.accuracy}};
}

TrainState::Score read_score(const JsonReader& in) {
  TrainState::Score score;
  in.number("loss", score.loss, 0, kAny);
  in.number("accuracy", score.accuracy, 0, 1);
  return score;
}

}  // namespace

void check_clip(double norm) {
  if (!(norm >= 0) || !std::isfinite(norm)) throw UsageError(Message{"train.clip_range"});
}

void validate(const RunSettings& r) {
  validate(r.optimizer);
  validate(r.schedule);
  check_clip(r.clip);
}

std::string train_text(const RunSettings& r, const TrainState& state) {
  OrderedJson sizes = OrderedJson::object();
  for (const auto& size : r.task_options) sizes[size.first] = size.second;
  OrderedJson json = {{"format", "headlight training"},
                      {"version", kModelVersion},
                      {"step", state.step},
                      {"data", std::to_string(state.data)},
                      {"task", r.task},
                      {"task_options", sizes},
                      {"batch", r.batch},
                      {"accumulation", r.accumulation},
                      {"seed", std::to_string(r.seed)},
                      {"clip", r.clip},
                      {"dropout", r.dropout},
                      {"optimizer", optimizer_json(r.optimizer)},
                      {"schedule", schedule_json(r.schedule)}};
  if (r.checkpointing) json["checkpointing"] = true;
  if (r.storage != NumberFormat::kFloat32) json["storage"] = word(r.storage);
  if (state.loss_scale)
    json["loss_scale"] = {{"scale", state.loss_scale->scale}, {"good", state.loss_scale->good}};
  if (r.by_length) json["by_length"] = true;
  if (r.patience > 0) json["patience"] = r.patience;
  if (!r.base.empty()) json["base"] = r.base;
  if (r.frozen >= 0) json["frozen"] = r.frozen;
  if (r.text) json["text"] = text_json(*r.text);
  if (state.score) json["validation"] = score_json(*state.score);
  if (state.best) {
    json["best"] = {{"step", state.best->step}, {"waited", state.waited}};
    json["best"].update(score_json(state.best->score));
  }
  return json_text(json);
}

void parse_train(std::string_view text, RunSettings& settings, TrainState& state) {
  const OrderedJson json = parse_json(text, kRunWords);
  const JsonReader in(json, "", kRunWords);
  const OrderedJson* format = in.find("format");
  if (!format || *format != "headlight training") throw Error(Message{"train.not_a_run"});
  int version = 0;
  in.number("version", version, 1, 1 << 30);
  if (version > kModelVersion) {
    throw Error(
        Message{"train.newer_version",
                {{"version", std::to_string(version)}, {"ours", std::to_string(kModelVersion)}}});
  }
  in.number("step", state.step, 0, kMax);
  state.data = read_bits(in, "data");
  in.text("task", settings.task);
  in.text("base", settings.base);
  in.number("frozen", settings.frozen, kNoneFrozen, kAllFrozen);
  if (const OrderedJson* source = in.find("text")) settings.text = read_text(*source);
  if (const OrderedJson* sizes = in.find("task_options")) {
    const JsonReader options(*sizes, "task_options", kRunWords);
    for (const auto& size : sizes->items())
      options.number(size.key().c_str(), settings.task_options[size.key()], 0, 1 << 30);
  }
  in.number("batch", settings.batch, 1, 1 << 20);
  in.number("accumulation", settings.accumulation, 1, 1 << 20);
  settings.seed = read_bits(in, "seed");
  in.number("clip", settings.clip, 0, kAny);
  in.number("dropout", settings.dropout, 0, kMaxDropout);
  in.boolean("checkpointing", settings.checkpointing);
  in.choice("storage", settings.storage);
  if (const OrderedJson* found = in.find("loss_scale")) {
    const JsonReader scale(*found, "loss_scale", kRunWords);
    state.loss_scale = LossScale{};
    scale.number("scale", state.loss_scale->scale, 1, LossScale::kMost);
    scale.number("good", state.loss_scale->good, 0, kMax);
  }
  in.boolean("by_length", settings.by_length);
  in.number("patience", settings.patience, 0, kMostPatience);
  if (const OrderedJson* validation = in.find("validation")) {
    state.score = read_score(JsonReader(*validation, "validation", kRunWords));
  }
  if (const OrderedJson* found = in.find("best")) {
    const JsonReader best(*found, "best", kRunWords);
    state.best = TrainState::Best{};
    best.number("step", state.best->step, 0, kMax);
    best.number("waited", state.waited, 0, kMax);
    state.best->score = read_score(best);
  }
  if (const OrderedJson* optimizer = in.find("optimizer"))
    settings.optimizer = read_optimizer(*optimizer);
  if (const OrderedJson* schedule = in.find("schedule"))
    settings.schedule = read_schedule(*schedule);
}

}  // namespace headlight
