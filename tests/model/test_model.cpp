// Trained models: loaded, run on a sentence, chosen by a document, measured, and gone on with.
#include <doctest/doctest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "core/base/error.h"
#include "core/document/session_file.h"
#include "core/model/bundled.h"
#include "core/model/checkpoint.h"
#include "core/model/init.h"
#include "core/run/runner.h"
#include "core/train/metrics/model_score.h"
#include "core/train/model_recipe.h"
#include "core/train/predictor.h"
#include "tests/support/error_text.h"

namespace headlight::test_model {
namespace {

namespace fs = std::filesystem;

class Folder {
 public:
  Folder() {
    char name[] = "/tmp/headlight_model_XXXXXX";
    path = mkdtemp(name);
  }
  ~Folder() {
    std::error_code ignored;
    fs::remove_all(path, ignored);
  }
  fs::path path;
};

// A small model with weights by a seed; learned positions.
Model small_model(std::vector<std::string> words, std::uint64_t seed = 1, int context = 6) {
  Model model;
  model.file.config.layers = 1;
  model.file.config.heads = 2;
  model.file.config.d_model = 8;
  model.file.config.positions = PositionKind::kLearned;
  model.file.vocab = static_cast<std::int64_t>(words.size());
  model.file.context = context;
  model.file.kind = "next-token";
  model.vocabulary = std::make_shared<const Vocabulary>(TextCut::kWords, std::move(words));
  const Program program =
      build_program(model.file.config, {1, model.file.context, model.file.vocab});
  model.weights = initial_parameters(program, Init::kGlorot, seed);
  model.ref = model.name = "small";
  return model;
}

std::shared_ptr<const Model> shared(Model model) {
  return std::make_shared<const Model>(std::move(model));
}

void save(const fs::path& folder, const Model& model) {
  CheckpointParts parts;
  parts.model = model.file;
  const std::string tokenizer = model.vocabulary->to_json();
  parts.tokenizer = tokenizer;
  for (const Tensor& w : model.weights) {
    std::vector<std::int64_t> shape;
    for (const Axis& axis : w.axes) shape.push_back(axis.size);
    parts.weights.push_back({w.name, shape, std::span<const float>(w.data)});
  }
  save_checkpoint(folder, parts);
}

RunResult run(const Document& document, std::shared_ptr<const Model> model = nullptr) {
  const auto backend = make_reference_backend();
  return Runner().run(document, *backend, std::move(model));
}

Document with(std::string sentence, std::string model) {
  Document document;
  document.sentence = std::move(sentence);
  document.model = std::move(model);
  document.config.positions = PositionKind::kLearned;  // its own
  return document;
}

}  // namespace

TEST_CASE("model: a document that chooses one is run with its weights, its shape, its tokens") {
  Document document = with("d b a d b", "bundled:induction");
  document.config.layers = 5;  // what the document says of the shape does not count
  document.config.activation = Activation::kRelu;
  const auto model = load_model("bundled:induction");
  const RunResult result = run(document);
  REQUIRE(result.trace);
  const Trace& trace = *result.trace;
  CHECK(trace.config() == run_config(document.config, model->file.config));
  CHECK(trace.config().layers == 2);
  CHECK(trace.input().tokens == std::vector<std::string>{"d", "b", "a", "d", "b"});
  CHECK(trace.input().ids == std::vector<int>{3, 1, 0, 3, 1});
  CHECK(trace.input().vocab == *model->vocabulary->tokens());
  CHECK(trace.tick("vocab", 23) == "x");
  for (const Tensor& w : model->weights) {
    CAPTURE(w.name);
    const TensorView used = trace.tensor(w.name);
    CHECK(std::equal(used.cells().begin(), used.cells().end(), w.data.begin()));
  }
  CHECK(trace.tensor("pos_embed.W_pos").axes[0].size == 32);
  // What followed "b" the last time is "a", and the model has learned to say so.
  const TensorView probs = trace.tensor("probs");
  CHECK(probs.data[4 * 24 + 0] > 0.9);
  // The predictor computes the same by its own way.
  Predictor predictor(model, 1);
  const auto logits = predictor.logits(trace.input().ids, 5);
  for (std::size_t i = 0; i < logits.size(); ++i)
    CHECK(logits[i] == doctest::Approx(trace.tensor("logits").data[i]).epsilon(1e-3));
}

TEST_CASE("model: weights are not copied, and another run reuses the memory of the last") {
  const auto model = load_model("bundled:grammar");
  const auto backend = make_cpu_backend(1);
  Runner runner;
  const Document document = with("mary thanks tom .", "run");
  RunResult first = runner.run(document, *backend, model);
  REQUIRE(first.trace);
  CHECK(first.trace->tensor("embed.W_E").data == model->weights[0].data.data());
  const Tensor* positions = nullptr;
  for (const Tensor& w : model->weights)
    if (w.name == "pos_embed.W_pos") positions = &w;
  REQUIRE(positions);
  CHECK(first.trace->tensor("pos_embed.W_pos").data == positions->data.data());
  const float* arena = first.trace->tensor("logits").data;
  const std::string* words = first.trace->input().vocab.data();
  first = {};
  first = runner.run(document, *backend, model);  // in the memory of the run before
  CHECK(first.trace->tensor("logits").data == arena);
  CHECK(first.trace->input().vocab.data() == words);
}

TEST_CASE("model: mask, scale, temperature and residual can be switched, the rest is the model's") {
  Document document = with("d b a d b", "bundled:induction");
  document.config.mask.kind = MaskKind::kNone;
  document.config.scale = false;
  document.config.temperature = 2;
  document.config.residual = false;
  const RunResult result = run(document);
  REQUIRE(result.trace);
  CHECK_FALSE(result.trace->find("blocks.0.attn.scores_masked").data);
  CHECK_FALSE(result.trace->find("blocks.0.attn.scores_scaled").data);
  CHECK(result.trace->config().temperature == 2);
  CHECK_FALSE(result.trace->config().residual);
}

TEST_CASE("model: a sentence over the learned positions is cut, a token it lacks is named") {
  std::string sentence;
  for (int i = 0; i < 40; ++i) sentence += "a ";
  const RunResult cut = run(with(sentence, "bundled:induction"));
  REQUIRE(cut.trace);
  CHECK(cut.trace->length() == 32);
  CHECK(cut.cut);
  CHECK(cut.limit == 32);
  CHECK(cut.limit_of_model);
  CHECK(cut.tokens_in_sentence == 40);
  // What comes next follows from the last tokens; what a class is, from the first.
  sentence += "b c";
  const RunResult last = run(with(sentence, "bundled:induction"));
  CHECK(last.skipped == 10);
  CHECK(last.trace->input().tokens.back() == "c");
  CHECK(last.trace->length() == 32);
  std::string opinion = "not";
  for (int i = 0; i < 40; ++i) opinion += " good";
  Document judged = with(opinion, "bundled:sentiment");
  judged.max_tokens = 12;
  const RunResult classes = run(judged);
  CHECK(classes.cut);
  CHECK(classes.skipped == 0);
  CHECK(classes.trace->input().tokens.front() == "not");
  Document few = with(sentence, "bundled:induction");
  few.max_tokens = 7;
  CHECK(run(few).trace->length() == 7);
  CHECK_FALSE(run(few).limit_of_model);

  const RunResult unknown = run(with("a Ж b", "bundled:induction"));
  CHECK_FALSE(unknown.trace);
  CHECK(has(unknown.problem, "'Ж'"));
  CHECK(has(unknown.problem, "24 tokens"));
  CHECK(run(with("  ", "bundled:induction")).empty);
}

TEST_CASE("model: one that is given is run whatever the document names; the run's own is nowhere") {
  const auto model = shared(small_model({"x", "y", "z"}));
  const RunResult given = run(with("x z y", "run"), model);
  REQUIRE(given.trace);
  CHECK(given.model == model);
  CHECK(has(run(with("x z y", "run")).problem, "training run that has ended"));
  CHECK(has(run(with("x", "/nowhere/at/all")).problem, "/nowhere/at/all"));
  const RunResult slip = run(with("x", "bundled:inducton"));
  CHECK(has(slip.problem, "did you mean 'induction'"));
  CHECK(say(Language::kChinese, slip.message).find("你是不是想输入“induction”？自带的有") !=
        std::string::npos);
}

TEST_CASE("model: a folder is loaded, kept, and loaded again when it was written anew") {
  const Folder folder;
  const fs::path path = folder.path / "mine";
  save(path, small_model({"x", "y", "z"}, 1));
  ModelCache cache;
  const auto first = cache.get(path.string());
  CHECK(first->name == "mine");
  CHECK(first->weights.size() == small_model({"x", "y", "z"}).weights.size());
  CHECK(cache.get(path.string()) == first);
  save(path, small_model({"x", "y", "z"}, 2));
  fs::last_write_time(path / "config.json",
                      fs::last_write_time(path / "config.json") + std::chrono::seconds(5));
  const auto second = cache.get(path.string());
  CHECK(second != first);
  CHECK(second->weights[0].data != first->weights[0].data);
  fs::remove_all(path);
  CHECK(cache.get(path.string()) == second);
  CHECK(has(error_of([&] { (void)load_model(path.string()); }), "config.json' is missing"));

  save(path, small_model({"x", "y", "z"}, 1));
  std::ofstream(path / "tokenizer.json") << Vocabulary(TextCut::kWords, {"x", "y"}).to_json();
  CHECK(has(error_of([&] { (void)load_model(path.string()); }),
            "has 2 tokens, but the weights know 3"));
  std::ofstream(path / "tokenizer.json") << "[]";
  CHECK(has(error_of([&] { (void)load_model(path.string()); }), "tokenizer.json"));
  std::ofstream(path / "tokenizer.json") << kNoTokenizer;  // it learned rows of ids
  CHECK(load_model(path.string())->vocabulary->token(2) == "2");
}

TEST_CASE("model: what a person typed names a folder or a bundled model") {
  const Folder folder;
  CHECK(model_ref("induction") == "bundled:induction");
  CHECK(model_ref("bundled:sort") == "bundled:sort");
  CHECK(model_ref(folder.path.string()) == folder.path.string());
  CHECK(has(error_of([] { (void)model_ref("revers"); }), "did you mean 'reverse'"));
  CHECK(has(error_of([] { (void)model_ref(""); }), "grammar, induction"));
}

TEST_CASE("model: choosing one is one step of undo, and a session keeps it") {
  const auto model = load_model("bundled:sort");
  History history;
  const Document before = history.now();
  history.edit(choose_model(history.now(), *model));
  CHECK(history.now().model == "bundled:sort");
  CHECK(history.now().config == model->file.config);
  CHECK(history.now().sentence == bundled_recipe("sort").example);
  CHECK(run(history.now()).trace);
  CHECK(parse_session(session_text(history.now())).document == history.now());
  history.undo();
  CHECK(history.now() == before);
  CHECK_FALSE(has(session_text(before), "trained_model"));
  CHECK(parse_session(session_text(before)).document.model.empty());
  CHECK(has(error_of([] {
              (void)parse_session(
                  R"({"format":"headlight session","version":1,"trained_model":7})");
            }),
            "trained_model"));
  // A sentence that it knows stays.
  Document known = before;
  known.sentence = "3 1 2";
  CHECK_FALSE(choose_model(known, *model).sentence);
}

TEST_CASE("model: random weights in a trained one's place read words") {
  for (const BundledModel& files : bundled_models()) {
    CAPTURE(files.name);
    const auto model = load_model(files);
    const Document trained = apply(Document{}, choose_model(Document{}, *model));
    const Document random = apply(trained, choose_sandbox(trained));
    CHECK(random.tokenizer == TokenizerKind::kWords);
    CHECK_NOTHROW(validate(random.config));
  }
  // Who chose another way to cut text for random weights keeps it.
  Document document;
  document.tokenizer = TokenizerKind::kBytes;
  CHECK(apply(document, choose_sandbox(document)).tokenizer == TokenizerKind::kBytes);
}

TEST_CASE("model: a token that is moved goes as the model cuts it") {
  const auto model = load_model("bundled:reverse");
  Document document = with("a b [SEP] c", "bundled:reverse");
  document.config.mask.padding = {0, 2};
  const Document moved = move_model_token(document, *model, {2, 0});
  CHECK(moved.sentence == "[SEP] a b c");
  CHECK(moved.config.mask.padding == std::vector<int>{0, 1});
  CHECK(move_model_token(document, *model, {9, 0}) == document);
}

TEST_CASE("recipe: written and read again, and what is wrong is named") {
  const ModelRecipe& sort = bundled_recipe("sort");
  const ModelRecipe again = parse_recipe(recipe_text(sort));
  CHECK(again.config == sort.config);
  CHECK(again.example == sort.example);
  CHECK(again.score == sort.score);
  CHECK(again.init == sort.init);
  CHECK(train_text(again.training, {}) == train_text(sort.training, {}));
  CHECK(has(error_of([] { (void)parse_recipe("{}"); }), "not a recipe"));
  CHECK_FALSE(again.training.text);
  ModelRecipe of_text = sort;
  of_text.training.text = RunText{
      "a.txt", std::string(64, 'f'), ByteRange{5, 900}, ByteRange{900, 1000}, TextCut::kBpe, 700,
      32};
  of_text.config.tied_head = true;
  CHECK(parse_recipe(recipe_text(of_text)).training.text == of_text.training.text);
  CHECK(parse_recipe(recipe_text(of_text)).config.tied_head);
  const auto with_text = [&](const std::string& from, const std::string& to) {
    std::string text = recipe_text(of_text);
    REQUIRE(has(text, from));
    return error_of([&] { (void)parse_recipe(text.replace(text.find(from), from.size(), to)); });
  };
  CHECK(has(with_text("\"bpe\"", "\"bits\""), "'text.cut'"));
  CHECK(has(with_text("900", "-1"), "'text.bytes'"));
  CHECK(has(with_text("1000", "900"), "'text.validation_bytes'"));
  CHECK(has(with_text("\"vocabulary\": 700", "\"vocabulary\": -7"), "'text.vocabulary'"));
  of_text.training.text->bytes = of_text.training.text->validation_bytes = std::nullopt;
  CHECK(parse_recipe(recipe_text(of_text)).training.text == of_text.training.text);
  const std::string start = R"({"format":"headlight recipe","version":1,)";
  CHECK(has(error_of([&] { (void)parse_recipe(start + R"("score":2})"); }), "'score'"));
  CHECK(has(error_of([&] { (void)parse_recipe(start + R"("score":1})"); }), "'training'"));
  CHECK(has(error_of([&] { (void)parse_recipe(start); }), "not whole JSON"));
}

namespace {

// Sentences of ours that a model has not read; the text that it has learned is not kept here.
std::string plain_text(std::string_view name) {
  if (name == "poems")
    return "秋夜山中月色明，清风吹过竹林声。故人不见音书断，一盏寒灯对雨声。\n"
           "我昨天在图书馆看了一本书。\n你明天有时间吗？\n他们都不知道该怎么办。\n";
  REQUIRE(name == "stories");
  return "Sara had a small red boat. She took it to the lake with her dad. The wind was strong and "
         "the boat went far away. Sara was sad and began to cry. \"Do not worry,\" said her dad. "
         "\"We can wait for it on the other side.\" They walked around the lake and saw a duck. "
         "The duck pushed the boat back to them. Sara was so happy. She said, \"Thank you, "
         "duck!\" and gave it some bread. Then they all went home.";
}

}  // namespace

TEST_CASE("bundled models: small, and each does what its recipe says, on fresh examples") {
  CHECK(bundled_models().size() >= 8);
  std::size_t bytes = 0;
  for (const BundledModel& files : bundled_models()) {
    CAPTURE(files.name);
    bytes += files.weights.size();
    const auto model = load_model(std::string(kBundledRef) + std::string(files.name));
    const ModelRecipe& recipe = bundled_recipe(files.name);
    CHECK(run_config(model->file.config, recipe.config) == recipe.config);
    CHECK(run(with(recipe.example, model->ref)).trace);
    CHECK_FALSE(run(with(recipe.example, model->ref)).cut);
    if (recipe.training.text) {
      CHECK(score_text(model, plain_text(files.name), 32, 1).bits_per_byte() < 1.7);
      continue;
    }
    CHECK(recipe.score > 0.5);
    const auto task = task_of(*model);
    const TaskFigures figures = score_task(model, *task, 77, 500, 1);
    CHECK(figures.score.sequences == 500);
    CHECK(figures.score.token_accuracy() >= recipe.score);
  }
  CHECK(bytes < 16000000);
}

TEST_CASE("session: positions that are not said are the trained model's own") {
  for (const char* name : {"dates", "stories"}) {
    CAPTURE(name);
    const auto model = load_model(std::string("bundled:") + name);
    SessionFile before;
    before.document.model = model->ref;
    before.document.config = model->file.config;
    before.document.config.positions = PositionKind::kNone;
    auto json = nlohmann::json::parse(session_text(before.document));
    const auto positions = [&] {
      const Config read = parse_session(json.dump()).document.config;
      return run_config(read, model->file.config).positions;
    };
    CHECK(positions() == PositionKind::kNone);
    json["model"].erase("positions");
    CHECK(positions() == model->file.config.positions);
    json.erase("model");
    CHECK(positions() == model->file.config.positions);
  }
}

TEST_CASE("eval: every token of a text is predicted once, as a run of its window says") {
  const auto model = shared(small_model({"x", "y", "z"}));
  const std::string text = "x y z z y x x z y y z x z";  // 13 tokens, context 6
  for (const int stride : {1, 2, 3, 5, 6}) {
    CAPTURE(stride);
    double nats = 0;
    int done = 0;
    const std::vector<int> ids = model->vocabulary->encode(text);
    while (done < 12) {
      const int end = done == 0 ? 6 : std::min(done + stride, 12), begin = end - 6;
      const std::string window =
          model->vocabulary->decode(std::span(ids).subspan(static_cast<std::size_t>(begin), 6));
      const RunResult result = run(with(window, "run"), model);
      REQUIRE(result.trace);
      for (; done < end; ++done)
        nats -= std::log(static_cast<double>(
            result.trace->tensor("probs")
                .data[(done - begin) * 3 + ids[static_cast<std::size_t>(done) + 1]]));
    }
    const TextFigures figures = score_text(model, text, stride, 1);
    CHECK(figures.tokens == 12);
    CHECK(figures.bytes == 24);
    CHECK(figures.nats == doctest::Approx(nats).epsilon(1e-5));
    CHECK(figures.bits_per_byte() == doctest::Approx(nats / std::log(2.0) / 24).epsilon(1e-5));
    CHECK(figures.perplexity() == doctest::Approx(std::exp(nats / 12)).epsilon(1e-5));
  }
  CHECK(score_text(model, "x y z", 3, 1).tokens == 2);
  CHECK(has(error_of([&] { (void)score_text(model, "x", 3, 1); }), "at least 2"));
  CHECK(has(error_of([&] { (void)score_text(model, text, 7, 1); }), "context, 6; got 7"));
  CHECK(has(error_of([&] { (void)score_text(model, "x w", 3, 1); }), "'w'"));
  CHECK(has(error_of([&] { (void)task_of(*model); }), "not on a task"));
}

namespace {

std::string generated(std::shared_ptr<const Model> model, const std::string& prompt, int tokens,
                      const SamplingOptions& options = {}, std::uint64_t seed = 1) {
  Generator generator(std::move(model), prompt, options, seed, 1);
  std::string text = prompt;
  for (int i = 0; i < tokens; ++i) {
    const std::optional<std::string> more = generator.next();
    if (!more) break;
    text += *more;
  }
  return text;
}

}  // namespace

TEST_CASE("generate: the same seed gives the same text, and the most probable token goes on") {
  const auto induction = load_model("bundled:induction");
  SamplingOptions best;
  best.temperature = 0;
  // 10 + 25 tokens are more than its context: it goes on with the last 32.
  const std::string wanted =
      "k r m q b t k r m q b t k r m q b t k r m q b t k r m q b t k r m q b";
  CHECK(generated(induction, "k r m q b t k r m q", 25, best) == wanted);
  const auto small = shared(small_model({"x", "y", "z"}));
  const std::string one = generated(small, "x", 20, {}, 5);
  CHECK(generated(small, "x", 20, {}, 5) == one);
  CHECK(generated(small, "x", 20, {}, 6) != one);
  CHECK(has(error_of([&] { (void)generated(small, "", 1); }), "no token"));
  CHECK(has(error_of([&] { (void)generated(small, "w", 1); }), "'w'"));
  Model masked = small_model({"x", "y"});
  masked.file.kind = "masked";
  CHECK(has(error_of([&] { (void)generated(shared(std::move(masked)), "x", 1); }),
            "what stands behind [MASK]"));
}

TEST_CASE("generate: ends at [EOS], begins at [BOS]") {
  Model model = small_model({"[BOS]", "x", "[EOS]"});
  for (Tensor& w : model.weights) {
    if (w.name == "unembed.b_U") w.data[2] = 100;  // always the end
  }
  const auto ends = shared(std::move(model));
  CHECK(generated(ends, "x", 9) == "x [EOS]");
  Generator from_nothing(ends, "", {}, 1, 1);
  CHECK(from_nothing.ids() == std::vector<int>{0});
}

}  // namespace headlight::test_model
