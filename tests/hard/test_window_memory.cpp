// A window that may take hardly any more memory: what it cannot do it says, and does later; what is
// open stays open. Where not even a frame finds room to be drawn in it ends with a word.
// HEADLIGHT_HARD=long: smaller steps.
#include <filesystem>
#include <functional>
#include <iostream>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <vector>

#include "tests/gui/harness.h"
#include "tests/hard/hard.h"
#include "tests/hard/small_process.h"

namespace headlight::test {
namespace {

constexpr std::uint64_t kKilobyte = 1000, kMegabyte = 1'000'000;
constexpr std::uint64_t kSurvives = 2 * kMegabyte;
constexpr std::uint64_t kSurvivesFonts = 40 * kMegabyte;  // those of Chinese are 20 MB
constexpr std::uint64_t kMost = 700 * kMegabyte;          // enough for everything here

void expect(bool holds, const std::string& what) {
  if (!holds) throw std::runtime_error(what);
}

// A folder of Llama's type whose weights take 64 MB, all 0: a file with a hole.
void write_model(const std::string& folder) {
  constexpr int kLayers = 5, kWidth = 512, kInner = 1408, kVocabulary = 256;
  nlohmann::json header;
  std::uint64_t end = 0;
  const auto add = [&](const std::string& name, std::vector<std::uint64_t> shape) {
    const std::uint64_t begin = end;
    end += sizeof(float) * shape[0] * (shape.size() > 1 ? shape[1] : 1);
    header[name] = {{"dtype", "F32"}, {"shape", shape}, {"data_offsets", {begin, end}}};
  };
  add("model.embed_tokens.weight", {kVocabulary, kWidth});
  add("model.norm.weight", {kWidth});
  for (int layer = 0; layer < kLayers; ++layer) {
    const std::string at = "model.layers." + std::to_string(layer) + ".";
    for (const char* part : {"q", "k", "v", "o"})
      add(at + "self_attn." + part + "_proj.weight", {kWidth, kWidth});
    for (const char* part : {"gate", "up"})
      add(at + "mlp." + part + "_proj.weight", {kInner, kWidth});
    add(at + "mlp.down_proj.weight", {kWidth, kInner});
    for (const char* part : {"input", "post_attention"})
      add(at + part + "_layernorm.weight", {kWidth});
  }
  const nlohmann::json config = {{"model_type", "llama"},       {"num_hidden_layers", kLayers},
                                 {"hidden_size", kWidth},       {"intermediate_size", kInner},
                                 {"num_attention_heads", 8},    {"vocab_size", kVocabulary},
                                 {"tie_word_embeddings", true}, {"max_position_embeddings", 64}};
  std::filesystem::create_directories(folder);
  write_text(folder + "/config.json", config.dump());
  const std::string text = header.dump(), file = folder + "/model.safetensors";
  std::string size(8, '\0');
  for (std::size_t i = 0; i < 8; ++i) size[i] = static_cast<char>(text.size() >> (8 * i) & 255);
  write_text(file, size + text);
  std::filesystem::resize_file(file, size.size() + text.size() + end);
}

// The window with its workers, as the program makes it.
class Window {
 public:
  explicit Window(const TemporaryFolder& folder)
      : options_(options_in(folder)), gui_(small_document(), std::cref(options_)) {
    gui_.shell().start_keeping(0);
    settle();
  }

  void act(const Action& action) {
    gui_.push(action);
    settle();
  }
  const AppState& state() const { return gui_.state(); }
  /// All that was said.
  const std::string& said() const { return said_; }
  Gui& gui() { return gui_; }

 private:
  static ShellOptions options_in(const TemporaryFolder& folder) {
    ShellOptions options;
    options.folders = {folder.path("config/settings.json"), folder.path("state/autosave"),
                       folder.path("data/runs")};
    return options;
  }
  void settle() {
    for (int i = 0; i < 3; ++i) {
      gui_.shell().wait();
      gui_.shell().poll();
      gui_.frame();
      said_ += gui_.notices();
    }
  }

  const ShellOptions options_;
  std::string said_;
  Gui gui_;
};

// What a person asks for; what must be true afterwards unless something was said of it.
struct Wish {
  const char* name;
  std::vector<Action> actions;
  std::function<bool(const AppState&)> holds;
  std::uint64_t survives = kSurvives;
  std::vector<Action> again = {};  // once there is memory; none: the same
};

std::vector<Wish> wishes(const std::string& model) {
  const std::string words = "the cat sat on the mat and looked at the dog";
  return {
      {"open", {OpenFile{model}}, [=](const AppState& s) { return s.document().model == model; }},
      {"train",
       {ShowMode{Mode::kTrain}, PlayRun{true, 3}},
       [](const AppState& s) { return s.train.run.status.step == 3; },
       kMost,  // its thread may just have taken what a frame needs
       {StartRun{}, PlayRun{true, 3}}},
      {"type",
       {DoEdit{SetSentence{words}, ""}},
       [](const AppState& s) { return s.derived.trace && s.derived.trace->length() == 11; }},
      {"language",
       {ChooseLanguage{Language::kChinese}},
       [](const AppState& s) { return s.session.language == Language::kChinese; },
       kSurvivesFonts},
      {"lab",
       {ShowLab{"scale"}},
       [](const AppState& s) { return s.labs.result != nullptr; },
       kSurvives,
       {StopLab{true}}}};
}

// With so little memory, then with all.
void try_wish(const Wish& wish, std::uint64_t bytes) {
  const TemporaryFolder folder;
  Window window(folder);
  leave_addresses(bytes);
  for (const Action& action : wish.actions) window.act(action);
  const bool held = wish.holds(window.state());
  leave_all_addresses();
  const bool said = !window.said().empty() || !window.state().labs.problem.empty();
  expect(held || said, "nothing came of it, and nothing was said");
  expect(inconsistency(window.state()).empty(), inconsistency(window.state()));
  if (!held) {
    for (const Action& action : wish.again.empty() ? wish.actions : wish.again) window.act(action);
    expect(wish.holds(window.state()), "it does not work afterwards: " + window.said());
  }
  std::fputs(held ? "held" : "refused", stderr);
}

}  // namespace

TEST_CASE("hard: a window with hardly any memory says what it cannot do, and does it later") {
  const TemporaryFolder folder;
  const std::string model = folder.path("model");
  write_model(model);
  for (const Wish& wish : wishes(model)) {
    CAPTURE(wish.name);
    int held = 0, refused = 0, ended = 0;
    std::uint64_t least = 0;
    for (std::uint64_t bytes = 0; bytes < kMost;
         bytes += std::max(bytes / (is_long() ? 50 : 3), (is_long() ? 100 : 1000) * kKilobyte)) {
      CAPTURE(bytes);
      const EndedProcess process = run_in_copy([&] { try_wish(wish, bytes); });
      INFO("said: ", process.err);
      const bool no_room = process.status == 1 && process.err == "std::bad_alloc";
      CHECK((process.status == 0 || (no_room && bytes < wish.survives)));
      ended += no_room;
      if (process.status != 0) continue;
      const bool works = process.err == "held";
      ++(works ? held : refused);
      if (works && least == 0) least = bytes;
    }
    std::cout << wish.name << ": ended with a word " << ended << " times, refused " << refused
              << " times, worked " << held << " times, first with " << least / kKilobyte
              << " kB more" << std::endl;
    CHECK(held > 0);
  }
}

}  // namespace headlight::test
