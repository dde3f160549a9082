// Checkpoints: bit for bit there and back, every kind of damage named, and a save that fails leaves
// the old one whole.
#include <doctest/doctest.h>

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/io/atomic_file.h"
#include "core/io/atomic_folder.h"
#include "core/io/safetensors.h"
#include "core/model/checkpoint.h"
#include "core/model/init.h"
#include "core/model/own_folder.h"
#include "core/train/optim/optimizer.h"
#include "tests/support/error_text.h"

namespace headlight::test_checkpoint {
namespace {

namespace fs = std::filesystem;
constexpr std::uint64_t kPlenty = 1 << 22;

// A folder of its own for each test, removed at the end.
struct Folder {
  fs::path path;
  Folder() {
    std::string name = (fs::temp_directory_path() / "headlight_test_XXXXXX").string();
    REQUIRE(::mkdtemp(name.data()) != nullptr);
    path = name;
  }
  ~Folder() {
    std::error_code ignored;
    fs::remove_all(path, ignored);
  }
  int count() const {
    int n = 0;
    for (auto it = fs::directory_iterator(path); it != fs::directory_iterator(); ++it) ++n;
    return n;
  }
};

// A small model with weights by a seed, and what is saved with it.
struct Model {
  ModelFile file;
  std::vector<Tensor> weights;
  std::string tokenizer = "{\"words\": [\"ü\", \"\"]}\n", train = "{\"step\": 3}";
  std::vector<float> moments = {0.1f, -0.0f, 1e-45f};

  explicit Model(std::uint64_t seed) {
    file.config.layers = 1;
    file.config.heads = 2;
    file.config.d_model = 8;
    file.config.scores = ScoreKind::kAdditive;  // its vector has another name in the file
    file.config.positions = PositionKind::kLearned;
    file.config.temperature = 0.7;
    file.config.seed = seed;
    file.vocab = 11;
    file.context = 6;
    file.task = "repeat \"A\"";
    file.kind = "decoder";
    const Program program = build_program(file.config, {1, file.context, file.vocab});
    weights = initial_parameters(program, Init::kNormal, seed);
  }
  // The same weights' shapes in another form of model.
  explicit Model(ModelForm form) : Model(1) {
    file.config.form = form;
    if (form == ModelForm::kClasses) file.classes = {"bad", "good \"x\""};
    if (form == ModelForm::kTranslate) file.source = 9;
    weights = initial_parameters(build_program(file.config, shape_of(file)), Init::kNormal, 2);
  }
  CheckpointParts parts(bool training = false) const {
    CheckpointParts parts;
    parts.model = file;
    parts.tokenizer = tokenizer;
    for (const Tensor& tensor : weights) {
      std::vector<std::int64_t> shape;
      for (const Axis& axis : tensor.axes) shape.push_back(axis.size);
      parts.weights.push_back({tensor.name, shape, std::span<const float>(tensor.data)});
    }
    if (training) {
      parts.training = {.json = train,
                        .optimizer = {{"w.exp_avg", {3, 1}, std::span<const float>(moments)}}};
    }
    return parts;
  }
};

bool is_saved(const fs::path& folder, const Model& model) {
  const Checkpoint loaded = load_checkpoint(folder);
  if (loaded.model != model.file || loaded.weights.size() != model.weights.size()) return false;
  for (std::size_t i = 0; i < loaded.weights.size(); ++i) {
    const Tensor &a = loaded.weights[i], &b = model.weights[i];
    if (a.name != b.name || a.axes != b.axes || a.data.size() != b.data.size()) return false;
    if (std::memcmp(a.data.data(), b.data.data(), a.data.size() * sizeof(float)) != 0) return false;
  }
  return loaded.tokenizer == model.tokenizer;
}

// Runs `body` in a process of its own, whose limits and rights it may change; true when it says so.
bool in_child(const std::function<bool()>& body) {
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    bool ok = false;
    try {
      ok = body();
    } catch (...) {
    }
    ::_exit(ok ? 0 : 1);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

}  // namespace

TEST_CASE("checkpoint: there and back bit for bit, with and without the training's state") {
  const Folder folder;
  const fs::path at = folder.path / "model";
  Model model(1);
  model.weights[0].data[0] = -0.0f;
  model.weights[0].data[1] = 1e-45f;
  save_checkpoint(at, model.parts(true));
  CHECK(is_saved(at, model));
  CHECK_FALSE(load_checkpoint(at).training);
  const Checkpoint loaded = load_checkpoint(at, true);
  REQUIRE(loaded.training);
  CHECK(loaded.training->json == model.train);
  REQUIRE(loaded.training->optimizer.size() == 1);
  const NamedArray state = array_views(loaded.training->optimizer)[0];
  CHECK(state.name == "w.exp_avg");
  CHECK(state.shape == std::vector<std::int64_t>{3, 1});
  CHECK(std::memcmp(loaded.training->optimizer[0].data.data(), model.moments.data(), 12) == 0);
  // In the file the weights have the names of the field.
  const SafetensorsFile file = parse_safetensors(read_file(at / "model.safetensors", kPlenty));
  CHECK(file.entries.contains("blocks.0.attn.v"));
  CHECK_FALSE(file.entries.contains("blocks.0.attn.score_v"));
  // Saved again without it: no state of an earlier run is left to go on from.
  const Model next(2);
  save_checkpoint(at / "", next.parts());
  CHECK(is_saved(at, next));
  CHECK_FALSE(load_checkpoint(at, true).training);
  CHECK(folder.count() == 1);
}

TEST_CASE("checkpoint: a classifier and an encoder-decoder say what they need, or are refused") {
  const Folder folder;
  const fs::path at = folder.path / "model";
  const auto damaged = [&](const std::string& from, const std::string& to) {
    std::string text = read_file(at / "config.json", kPlenty);
    REQUIRE(has(text, from));
    text.replace(text.find(from), from.size(), to);
    write_file_atomic(at / "config.json", text);
    return error_of([&] { (void)load_checkpoint(at); });
  };
  const Model classes(ModelForm::kClasses), pairs(ModelForm::kTranslate);
  save_checkpoint(at, classes.parts());
  CHECK(is_saved(at, classes));
  CHECK(has(damaged("\"bad\",", ""), "'classes' should be a list of 2 to 1000 names"));
  save_checkpoint(at, classes.parts());
  CHECK(has(damaged("\"bad\"", "3"), "'classes' should be"));
  save_checkpoint(at, classes.parts());
  CHECK(has(damaged("\"classes\": [", "\"glasses\": ["), "it has no 'classes'"));
  save_checkpoint(at, classes.parts());
  CHECK(has(damaged("\"bad\"", "\"bad\", \"new\""), "classify.W_C"));
  save_checkpoint(at, pairs.parts());
  CHECK(is_saved(at, pairs));
  CHECK(has(damaged("\"source\": 9", "\"source\": 0"), "'source' should be"));
  save_checkpoint(at, pairs.parts());
  CHECK(has(damaged("\"source\": 9", "\"source\": 8"), "encoder.pos_embed.W_pos"));
  save_checkpoint(at, pairs.parts());
  CHECK(has(damaged("\"source\": 9,", ""), "it has no 'source'"));
  // A file from before there were forms.
  const Model old(3);
  save_checkpoint(at, old.parts());
  CHECK(damaged("\"form\": \"tokens\",", "").empty());
  CHECK(is_saved(at, old));
  CHECK(has(damaged("\"layers\"", "\"form\": \"talk\", \"layers\""),
            "one of tokens, classes, translate"));
}

TEST_CASE("checkpoint: what else stands in the folder stays; links and rights too") {
  const Folder folder;
  const fs::path at = folder.path / "model";
  fs::create_directory(at);
  REQUIRE(::chmod(at.c_str(), 0750) == 0);
  write_file_atomic(at / "loss.csv", "step,loss\n");
  const int log = ::open((at / "loss.csv").c_str(), O_WRONLY | O_APPEND);
  REQUIRE(log >= 0);
  fs::create_symlink("model", folder.path / "link");
  for (const std::uint64_t seed : {1, 2}) {
    const Model model(seed);
    save_checkpoint(folder.path / "link", model.parts(seed == 1));
    CHECK(is_saved(at, model));
    CHECK(::write(log, "x\n", 2) == 2);  // a log that is open goes on
  }
  ::close(log);
  CHECK(read_file(at / "loss.csv", kPlenty) == "step,loss\nx\nx\n");
  CHECK(fs::hard_link_count(at / "loss.csv") == 1);
  CHECK(fs::is_symlink(folder.path / "link"));
  CHECK((static_cast<unsigned>(fs::status(at).permissions()) & 0777u) == 0750);
  CHECK(folder.count() == 2);
}

TEST_CASE("checkpoint: a save that fails leaves the old one whole") {
  const Folder folder;
  const fs::path at = folder.path / "model";
  const Model old(1), next(2);
  save_checkpoint(at, old.parts(true));
  // config.json fits under the limit, model.safetensors does not: it fails half-way.
  const auto half_way = [&](const fs::path& where) {
    return in_child([&] {
      std::signal(SIGXFSZ, SIG_IGN);
      const rlimit limit{1500, 1500};
      if (::setrlimit(RLIMIT_FSIZE, &limit) != 0) return false;
      return has(error_of([&] { save_checkpoint(where, next.parts()); }),
                 "Nothing that was there before has been changed");
    });
  };
  CHECK(half_way(at));
  CHECK(is_saved(at, old));
  CHECK(load_checkpoint(at, true).training);
  CHECK(half_way(folder.path / "new"));
  CHECK(folder.count() == 1);  // nothing half-made is left

  const auto save_error = [&](const fs::path& where) {
    return error_of([&] { save_checkpoint(where, next.parts()); });
  };
  write_file_atomic(folder.path / "file", "x");
  CHECK(has(save_error(folder.path / "file"), "this is a file"));
  CHECK(has(save_error(folder.path / "no" / "model"), "Create the folder first"));
  CHECK(has(save_error(""), "names no folder"));
  CHECK(has(save_error("/"), "names no folder"));
  CHECK(has(save_error(fs::current_path()), "was started in"));
  fs::create_directory(at / "mine");
  CHECK(has(save_error(at), "holds the folder 'mine'"));
  CHECK(is_saved(at, old));
  if (::geteuid() != 0) {
    REQUIRE(::chmod(folder.path.c_str(), 0500) == 0);
    CHECK(has(save_error(folder.path / "new"), "Permission denied"));
    REQUIRE(::chmod(folder.path.c_str(), 0700) == 0);
  }
  CHECK(folder.count() == 2);
}

TEST_CASE("checkpoint: folders change places also where it takes two steps") {
  const Folder folder;
  for (const bool may_exchange : {true, false}) {
    const fs::path made = folder.path / "made", target = folder.path / "target";
    for (const fs::path& path : {made, target}) {
      fs::create_directory(path);
      write_file_atomic(path / "x", path.filename().string());
    }
    CHECK(exchange_folders(made, target, may_exchange) == 0);
    CHECK(read_file(target / "x", kPlenty) == "made");
    CHECK(read_file(made / "x", kPlenty) == "target");
    CHECK(folder.count() == 2);
    // The new one is not there: the old one comes back.
    CHECK(exchange_folders(folder.path / "none", target, may_exchange) == ENOENT);
    CHECK(read_file(target / "x", kPlenty) == "made");
    CHECK(folder.count() == 2);
    fs::remove_all(made);
    fs::remove_all(target);
  }
}

TEST_CASE("checkpoint: every kind of damage is refused by its name") {
  const Folder folder;
  const fs::path at = folder.path / "model", weights = at / "model.safetensors";
  const Model model(1);
  save_checkpoint(at, model.parts(true));
  const std::string whole = read_file(weights, kPlenty);
  const std::string config = read_file(at / "config.json", kPlenty);
  const auto error = [&] { return error_of([&] { (void)load_checkpoint(at, true); }); };
  const auto with_weights = [&](const std::string& bytes) {
    write_file_atomic(weights, bytes);
    const std::string said = error();
    CHECK(has(said, "model.safetensors': "));
    return said;
  };
  const auto with_config = [&](const std::string& from, const std::string& to) {
    std::string text = config;
    REQUIRE(has(text, from));
    text.replace(text.find(from), from.size(), to);
    write_file_atomic(at / "config.json", text);
    return error();
  };
  // The header as text, changed, its length kept right.
  const auto with_header = [&](const std::string& from, const std::string& to) {
    std::uint64_t length = 0;
    std::memcpy(&length, whole.data(), 8);
    std::string header = whole.substr(8, length);
    const std::string data = whole.substr(8 + length);
    REQUIRE(has(header, from));
    header.replace(header.find(from), from.size(), to);
    length = header.size();
    std::string bytes(8, '\0');
    std::memcpy(bytes.data(), &length, 8);
    return with_weights(bytes + header + data);
  };
  CHECK(error().empty());
  CHECK(has(with_weights(whole.substr(0, whole.size() - 1)), "bytes of data, but its range"));
  CHECK(has(with_weights(whole.substr(0, 100)), "its header should have"));
  CHECK(has(with_weights(whole.substr(0, 5)), "8 bytes of header length"));
  std::string huge = whole;
  huge[7] = '\x80';
  CHECK(has(with_weights(huge), "its header should have 92233720368547"));
  CHECK(has(with_header("[0,", "[4,"), "needs"));
  CHECK(has(with_header("\"F32\"", "\"I32\""),
            "should hold numbers of type F32 or F16; they are I32"));
  CHECK(has(with_header("attn.W_K", "attn.W_L"),
            "'blocks.0.attn.W_K' (head 2, d_model 8, "
            "d_head 4) is missing"));
  std::vector<NamedArray> more = model.parts().weights;
  for (NamedArray& array : more) {
    if (array.name == "blocks.0.attn.score_v") array.name = "blocks.0.attn.v";
  }
  more.push_back({"extra", {1}, std::span<const float>(model.moments).first(1)});
  CHECK(has(with_weights(to_safetensors(more)), "has the tensor 'extra'"));
  write_file_atomic(weights, whole);

  CHECK(has(with_config("\"d_hidden\": 0", "\"d_hidden\": 20"),
            "'blocks.0.mlp.W_in' should have the shape (d_model 8, hidden 20) by config.json; "
            "it has (8, 32)"));
  CHECK(has(with_config("\"vocab\": 11", "\"vocab\": 12"), "should have the shape (vocab 12"));
  CHECK(has(with_config("\"context\": 6", "\"context\": 7"), "'pos_embed.W_pos'"));
  CHECK(has(with_config("\"vocab\": 11", "\"vocab\": 18446744073709551617"), "model's 'vocab'"));
  CHECK(has(with_config("\"vocab\": 11,", ""), "it has no 'vocab'"));
  CHECK(has(with_config("\"heads\": 2", "\"heads\": 3"), "does not divide into 3 heads"));
  CHECK(has(with_config("\"heads\": 2", "\"heads\": \"2\""), "'model.heads' should be a whole"));
  CHECK(has(with_config("\"causal\"", "\"casual\""), "'model.mask.kind' should be one of"));
  CHECK(has(with_config("\"version\": 1", "\"version\": 2"), "Update Headlight"));
  CHECK(has(with_config("headlight model", "headlight session"), "not the config.json"));
  CHECK(has(with_config(config.substr(config.size() / 2), ""), "not whole JSON"));
  CHECK(has(with_config("{", std::string(30, '[')), "16 levels deep"));
  CHECK(has(with_config("\"vocab\": 11", "\"vocab\": 0"), "config.json': the model's 'vocab'"));
  write_file_atomic(at / "config.json", config);

  write_file_atomic(at / "optimizer.safetensors", "x");
  CHECK(has(error(), "optimizer.safetensors': This is not a usable"));
  CHECK(error_of([&] { (void)load_checkpoint(at); }).empty());  // not asked for
  for (const char* name : {"train.json", "tokenizer.json", "model.safetensors", "config.json"}) {
    fs::remove(at / name);
    CHECK(has(error(), std::string(name) + "' is missing"));
  }
  CHECK(has(error_of([&] { (void)load_checkpoint(folder.path / "none"); }), "is missing"));
  write_file_atomic(folder.path / "file", "x");
  CHECK(has(error_of([&] { (void)load_checkpoint(folder.path / "file"); }), "is a file"));
}

TEST_CASE("checkpoint: overlapping offsets are refused in Chinese too") {
  const std::string header = R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},)"
                             R"("b":{"dtype":"F32","shape":[1],"data_offsets":[2,6]}})";
  std::string bytes(8, '\0');
  bytes[0] = static_cast<char>(header.size());
  const Folder folder;
  const fs::path at = folder.path / "model";
  save_checkpoint(at, Model(1).parts());
  write_file_atomic(at / "model.safetensors", bytes + header + "123456");
  try {
    (void)load_checkpoint(at);
    FAIL("offsets overlap");
  } catch (const Error& error) {
    CHECK(has(error.what(), "the tensor 'b' should begin at byte 4 of the data"));
    CHECK(has(say(Language::kChinese, error.message()), "张量“b”应从数据的第 4 字节开始"));
  }
}

TEST_CASE("checkpoint: a model of another kind brings its own list of parameters") {
  const Folder folder;
  const std::vector<float> numbers = {1, 2, 3};
  const Model model(1);
  CheckpointParts parts = model.parts();
  parts.weights = {{"classify.W", {3, 1}, std::span<const float>(numbers)}};
  save_checkpoint(folder.path / "m", parts);
  CHECK(has(error_of([&] { (void)load_checkpoint(folder.path / "m"); }), "'embed.W_E'"));
  const Checkpoint loaded = load_checkpoint(folder.path / "m", false, [](const ModelFile&) {
    TensorSpec spec{"classify.W", {{"feature", 3}, {"class", 1}}};
    spec.file_name = spec.name;
    return std::vector<TensorSpec>{spec};
  });
  REQUIRE(loaded.weights.size() == 1);
  CHECK(loaded.weights[0].data[2] == 3);
}

namespace {

// The files of a folder, so that what was changed shows.
std::vector<std::string> contents(const fs::path& folder) {
  std::vector<std::string> all;
  for (const auto& entry : fs::directory_iterator(folder))
    all.push_back(entry.path().filename().string() + ": " + read_file(entry.path(), kPlenty));
  std::sort(all.begin(), all.end());
  return all;
}

}  // namespace

TEST_CASE("checkpoint: nobody's files are replaced by one, nor a newer version's") {
  const Folder folder;
  const fs::path to = folder.path / "model";
  fs::create_directory(to);
  const Model model(1);
  const auto write = [&](const char* name, std::string_view text) {
    write_file_atomic(to / name, text);
  };
  std::string expected = "holds files that this program did not write";
  SUBCASE("another program's model") {
    write("config.json", R"({"model_type": "bert"})");
    write("model.safetensors", "weights");
  }
  SUBCASE("weights alone") { write("model.safetensors", "weights"); }
  SUBCASE("what cannot be told") { write("config.json", "{\"format\": \"headl"); }
  SUBCASE("a tokenizer alone") { write("tokenizer.json", R"({"version": "1.0"})"); }
  SUBCASE("newer") {
    expected = "version 9";
    save_checkpoint(to, model.parts());
    write("config.json", R"({"format": "headlight model", "version": 9})");
  }
  SUBCASE("a newer run") {
    expected = "version 2";
    save_checkpoint(to, model.parts());
    write("train.json", R"({"format": "headlight training", "version": 2})");
  }
  const std::vector<std::string> before = contents(to);
  CHECK(has(error_of([&] { save_checkpoint(to, model.parts()); }), expected));
  CHECK(contents(to) == before);
  CHECK_FALSE(holds_own_alone(to));
}

TEST_CASE("checkpoint: a folder of notes, and an older model of this program's, take one") {
  const Folder folder;
  const fs::path to = folder.path / "model";
  fs::create_directory(to);
  const Model model(1);
  write_file_atomic(to / "notes.txt", "mine");
  CHECK_NOTHROW(save_checkpoint(to, model.parts()));
  CHECK_NOTHROW(save_checkpoint(to, model.parts()));
  CHECK_FALSE(holds_own_alone(to));
  CHECK(read_file(to / "notes.txt", kPlenty) == "mine");
  fs::remove(to / "notes.txt");
  CHECK(holds_own_alone(to));
  fs::create_directory(to / "more");
  CHECK_FALSE(holds_own_alone(to));
}

TEST_CASE("folder: what cannot be written is known before, and nothing is left behind") {
  const Folder folder;
  const std::vector<std::string_view> own = {"a"};
  const auto problem = [&](const fs::path& to, std::uint64_t bytes) {
    return error_of([&] { check_folder_atomic(to, bytes, own); });
  };
  CHECK(problem(folder.path / "new", 1000).empty());
  CHECK(problem(folder.path / "new", 0).empty());
  CHECK(folder.count() == 0);
  write_file_atomic(folder.path / "file", "x");
  CHECK(has(problem(folder.path / "file", 1), "this is a file"));
  CHECK(has(problem(folder.path / "file" / "new", 1), "Could not save"));
  CHECK(has(problem(folder.path / "none" / "new", 1), "Could not save"));
  CHECK(has(problem(folder.path / "new", std::uint64_t{1} << 60), "Could not save"));
  CHECK(folder.count() == 1);
}

}  // namespace headlight::test_checkpoint
