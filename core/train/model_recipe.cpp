#include "core/train/model_recipe.h"

#include <algorithm>
#include <map>

#include "core/base/error.h"
#include "core/base/random.h"
#include "core/base/utf8.h"
#include "core/graph/config_json.h"
#include "core/graph/options/fitting.h"
#include "core/run/model_input.h"
#include "core/text/unknown_words.h"

namespace headlight {
namespace {

constexpr JsonFileWords kWords = {"recipe.wrong_value", "recipe.not_json", "recipe.too_deep"};

// A recipe's "training" is train.json without what only a run that has begun has.
OrderedJson training_json(const RunSettings& settings) {
  OrderedJson json = OrderedJson::parse(train_text(settings, {}));
  for (const char* key : {"format", "version", "step", "data"}) json.erase(key);
  return json;
}

RunSettings read_training(const JsonReader& in) {
  const OrderedJson* given = in.find("training");
  if (!given || !given->is_object())
    in.fail("training", Message{"session.object"}, given ? *given : OrderedJson());
  OrderedJson json = *given;
  json["format"] = "headlight training";
  json["version"] = 1;
  json["step"] = 0;
  json["data"] = "0";
  if (!json.contains("seed")) json["seed"] = "1";
  RunSettings settings;
  TrainState ignored;
  parse_train(json.dump(-1, ' ', false, OrderedJson::error_handler_t::replace), settings, ignored);
  return settings;
}

}  // namespace

bool knows(const Model& model, const std::string& sentence) {
  const Vocabulary& vocabulary = *model.vocabulary;
  try {
    if (model.file.config.form != ModelForm::kTranslate)
      return !vocabulary.encode(sentence).empty();
    const SourceAndTarget pair = split_pair(sentence);
    if (pair.target) (void)vocabulary.encode(*pair.target);
    return !vocabulary.encode(pair.source).empty();
  } catch (const Error&) {
    return false;
  }
}

std::vector<std::string> unknown_to(const Model& model, const std::string& sentence) {
  if (model.file.config.form != ModelForm::kTranslate)
    return unknown_tokens(*model.vocabulary, sentence);
  const SourceAndTarget pair = split_pair(sentence);
  std::vector<std::string> unknown = unknown_tokens(*model.vocabulary, pair.source);
  for (std::string& token : unknown_tokens(*model.vocabulary, pair.target.value_or("")))
    unknown.push_back(std::move(token));
  return unknown;
}

std::string recipe_text(const ModelRecipe& r) {
  OrderedJson json = {{"format", "headlight recipe"},
                      {"version", 1},
                      {"score", r.score},
                      {"example", r.example},
                      {"claims", claims_json(r.claims, r.example)},
                      {"init", word(r.init)},
                      {"training", training_json(r.training)},
                      {"model", config_json(r.config)}};
  if (!r.words.empty()) json["words"] = r.words;
  return json_text(json);
}

ModelRecipe parse_recipe(std::string_view text) {
  const OrderedJson json = parse_json(text, kWords);
  const JsonReader in(json, "", kWords);
  const OrderedJson* format = in.find("format");
  if (!format || *format != "headlight recipe") throw Error(Message{"recipe.not_a_recipe"});
  int version = 0;
  in.number("version", version, 1, 1 << 30);
  if (version > 1)
    throw Error(
        Message{"error.newer_version", {{"version", std::to_string(version)}, {"ours", "1"}}});
  ModelRecipe recipe;
  in.number("score", recipe.score, 0, 1);
  in.text("example", recipe.example);
  if (const OrderedJson* claims = in.find("claims"))
    recipe.claims = read_claims(*claims, recipe.example, kWords);
  if (const OrderedJson* words = in.find("words")) recipe.words = read_word_lists(*words, kWords);
  in.choice("init", recipe.init);
  recipe.training = read_training(in);
  if (const OrderedJson* model = in.find("model"))
    recipe.config = read_config(*model, "model", kWords);
  validate(recipe.config);
  return recipe;
}

const ModelRecipe& bundled_recipe(std::string_view name) {
  // Read once: the window asks for all of them at every frame of its list.
  static const std::map<std::string, ModelRecipe, std::less<>> kRecipes = [] {
    std::map<std::string, ModelRecipe, std::less<>> recipes;
    for (const BundledModel& model : bundled_models())
      recipes.emplace(model.name, parse_recipe(model.recipe));
    return recipes;
  }();
  return kRecipes.find(bundled_model(name).name)->second;
}

std::int64_t learned_context(const ModelRecipe& recipe) {
  const RunSettings& learned = recipe.training;
  if (learned.text) return learned.text->context;
  return make_task(learned.task, learned.task_options)->context();
}

ModelWords bundled_words(std::string_view name) {
  const std::string& task = bundled_recipe(name).training.task;
  const std::string id = "model." + std::string(name);
  return words_of_model("", task).value_or(ModelWords{id, id + ".about", id + ".look"});
}

std::optional<ModelWords> words_of_model(std::string_view ref, std::string_view task) {
  if (ref.starts_with(kBundledRef)) return bundled_words(ref.substr(kBundledRef.size()));
  for (const TaskInfo& info : all_tasks()) {
    if (info.id == task)
      return ModelWords{std::string(info.name), std::string(info.about), std::string(info.look)};
  }
  return std::nullopt;
}

namespace {

// A few rows of its table, where words mean nothing to a model.
std::string some_ids(const Model& model) {
  constexpr int kShown = 5;
  std::string ids;
  for (int i = 1; i <= kShown; ++i)
    ids += (i > 1 ? " " : "") + std::to_string(i * model.vocabulary->size() / (kShown + 1));
  return ids;
}

}  // namespace

std::string example_sentence(const Model& model) {
  if (model.ref.starts_with(kBundledRef)) return bundled_recipe(model.name).example;
  for (const TaskInfo& info : all_tasks()) {
    if (info.id != model.file.task) continue;
    // The task may have been made with other sizes; then it may say what the model does not know.
    const auto task = make_task(info.id);
    Random random(1);
    const TaskExample example = task->draw(random);
    const std::string sentence =
        task->vocabulary().decode(example.source.empty() ? example.tokens : example.source);
    if (knows(model, sentence)) return sentence;
  }
  return has_ids_alone(model) ? some_ids(model) : std::string();
}

SetModel choose_model(const Document& document, const Model& model) {
  SetModel edit{model.ref, model.file.config, model.vocabulary->tokenizer_kind(), std::nullopt};
  if (knows(model, document.sentence)) return edit;
  const std::string example = example_sentence(model);
  if (!example.empty()) edit.sentence = example;
  return edit;
}

SetModel choose_sandbox(const Document& document) {
  SetModel edit;
  if (!document.model.empty()) edit.tokenizer = TokenizerKind::kWords;
  if (document.config.form == ModelForm::kTokens) return edit;
  const ConfigChange plain = [](Config& c) {
    c.form = ModelForm::kTokens;
    c.token_head = false;
  };
  edit.config = changed(fitting(document.config, {&plain, 1}), plain);
  return edit;
}

namespace {

FirstStart start_with(const BundledModel& files) {
  const auto model = load_model(files);
  const ModelRecipe& recipe = bundled_recipe(files.name);
  SetModel edit = choose_model(Document{}, *model);
  edit.sentence = recipe.example;
  return {apply(Document{}, edit), recipe.claims[0]};
}

}  // namespace

const BundledModel& first_model(Language language) {
  return bundled_model(language == Language::kChinese ? "poems" : "stories");
}

FirstStart first_start(Language language) { return start_with(first_model(language)); }

FirstWindow first_window(const BundledModel& files) {
  try {
    FirstStart first = start_with(files);
    return {std::move(first.document), std::move(first.look_at), std::nullopt};
  } catch (const Error& error) {
    return {Document{}, std::nullopt, error.message()};
  }
}

namespace {

// The part of the sentence that the row's tokens stand for. Nothing where the model wrote the row.
std::optional<std::string_view> moved_part(const Document& doc, bool of_pair, bool source) {
  if (!of_pair) return doc.sentence;
  const SourceAndTarget pair = split_pair(doc.sentence);
  return source ? pair.source : pair.target;
}

}  // namespace

Document move_model_token(Document doc, const Model& model, const MoveToken& move) {
  const Vocabulary& vocabulary = *model.vocabulary;
  const bool of_pair = model.file.config.form == ModelForm::kTranslate;
  const std::optional<std::string_view> part = moved_part(doc, of_pair, move.source);
  if (!part) return doc;
  std::vector<PlacedToken> tokens;
  try {
    tokens = vocabulary.encode_placed(*part);
  } catch (const Error&) {
    return doc;  // the model does not know all of it
  }
  // An encoder-decoder's own row begins with [BOS], which stays where it is, as [CLS] does.
  const int first =
      of_pair && !move.source ? 1 : static_cast<int>(row_frame(&model, doc).before.size());
  const auto count = static_cast<int>(tokens.size());
  const int from = move.from - first;
  if (from < 0 || from >= count) return doc;
  std::vector<int> order;  // new place -> old place
  for (int i = 0; i < count; ++i) {
    if (i != from) order.push_back(i);
  }
  order.insert(order.begin() + std::clamp(move.to - first, 0, count - 1), from);
  std::string text;
  std::vector<int> new_place(tokens.size());
  for (int place = 0; place < count; ++place) {
    const auto old = static_cast<std::size_t>(order[static_cast<std::size_t>(place)]);
    new_place[old] = place;
    const bool pieces = vocabulary.cut() == TextCut::kWordPiece;
    const bool apart =
        pieces ? !vocabulary.goes_on(tokens[old].id) : vocabulary.cut() == TextCut::kWords;
    if (place > 0 && apart) text += ' ';
    text.append(*part, tokens[old].begin, tokens[old].end - tokens[old].begin);
  }
  const auto begin = static_cast<std::size_t>(part->data() - doc.sentence.data());
  doc.sentence.replace(begin, part->size(), clean_utf8(text).text);
  MaskSpec& mask = doc.config.mask;
  std::vector<int>& padding = move.source ? mask.source_padding : mask.padding;
  for (int& place : padding) {
    const int old = place - first;
    if (old >= 0 && old < count) place = new_place[static_cast<std::size_t>(old)] + first;
  }
  std::sort(padding.begin(), padding.end());
  return doc;
}

}  // namespace headlight
