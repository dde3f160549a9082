// What a person can get wrong: each time one sentence on stderr and an honest exit status.
#include <cmath>
#include <cstdlib>

#include "test_paths.h"
#include "tests/cli/child.h"

namespace headlight::test_cli_bad_input {

using namespace headlight;
using namespace headlight::test;

namespace {

Result list(const Args& model) { return run(joined({"trace", "--list"}, model)); }

std::string repeated(const std::string& text, int times) {
  std::string all;
  for (int i = 0; i < times; ++i) all += text;
  return all;
}

}  // namespace

TEST_CASE("help and version are on stdout with status 0") {
  CHECK(run_well({"--version"}).out == "headlight " HEADLIGHT_VERSION "\n");
  const std::string help = run_well({"--help"}).out;
  for (const char* sub : {"trace", "explain", "render", "screenshot", "walk", "bench"}) {
    CAPTURE(sub);
    CHECK(contains(help, sub));
    const Result own = run_well({sub, "--help"});
    CHECK(contains(own.out, std::string("headlight ") + sub));
    CHECK(own.err == "");
  }
}

TEST_CASE("sentences without a word") {
  check_refused(list({"--sentence", ""}), 2, {"the sentence is empty", "type at least one word"});
  check_refused(list({"--sentence", " \t \n "}), 2, {"only spaces", "characters tokenizer"});
  check_refused(list({"--sentence", "", "--tokenizer", "bytes"}), 2, {"the sentence is empty"});
  CHECK(list({"--sentence", "   ", "--tokenizer", "characters"}).status == 0);
}

TEST_CASE("100,000 characters: the limit, its reason and how to raise it") {
  const Folder folder;
  const std::string words = folder.write("words.txt", repeated("word ", 20000));
  check_refused(list({"--sentence-file", words}), 2,
                {"20,000 tokens", "the limit of 1,024", "every pair of tokens", "--max-tokens"});
  // As an argument too, and for the other tokenizers.
  check_refused(list({"--sentence", repeated("word ", 20000)}), 2, {"20,000 tokens"});
  check_refused(list({"--sentence-file", words, "--tokenizer", "characters"}), 2,
                {"100,000 tokens"});
  const Args tiny = {"--layers", "1", "--heads", "1", "--d-model", "8"};
  const Result result =
      list(joined({"--sentence-file", words, "--max-tokens", "20000", "--max-memory", "1"}, tiny));
  check_refused(result, 1, {"20000 tokens", "GB of memory", "fewer"});
  CHECK(result.seconds < 2);
  // The same number of characters in 1,000 words fits.
  const std::string fits = folder.write("fits.txt", repeated(std::string(99, 'x') + " ", 1000));
  CHECK(contains(run_well(joined({"trace", "--list", "--sentence-file", fits}, tiny)).out,
                 "(1, 1000, 1000)"));
}

TEST_CASE("any text becomes tokens") {
  const auto ids = [](const std::string& text, const std::string& tokenizer) {
    const Args model = {"--sentence", text,      "--tokenizer", tokenizer,   "--layers",
                        "1",          "--heads", "1",           "--d-model", "4"};
    return tensor_as_int64(export_run(model).trace, "token_ids").size();
  };
  CHECK(ids("👩‍👩‍👧 🎉", "characters") == 3);
  CHECK(ids("e\xcc\x81te\xcc\x81", "characters") == 3);
  CHECK(ids("e\xcc\x81te\xcc\x81", "bytes") == 7);
  CHECK(ids("שלום עולם", "words") == 2);
  CHECK(ids("我喜欢学习", "words") > 1);
  CHECK(ids("a\x01\x1b\x7f", "characters") == 4);
  CHECK(ids("a\nb\tc", "words") == 3);
}

TEST_CASE("invalid UTF-8 is noted and goes on") {
  const Result result = list({"--sentence", "abc \xff\xfe def"});
  CHECK(result.status == 0);
  CHECK(contains(result.err, "2 invalid UTF-8"));
  CHECK(contains(result.err, "U+FFFD"));
  CHECK(list({"--sentence", "abc def"}).err == "");
}

TEST_CASE("models that cannot be") {
  check_refused(list({"--heads", "3", "--d-model", "10"}), 2,
                {"width 10 does not divide into 3 heads", "choose 2 or 5 heads", "d_head"});
  check_refused(list({"--heads", "5"}), 2, {"choose 4 or 8 heads"});
  CHECK(list({"--heads", "3", "--d-model", "10", "--d-head", "4"}).status == 0);
  check_refused(list({"--layers", "0"}), 2, {"layers", "between 1 and 256", "got 0"});
  check_refused(list({"--layers", "-3"}), 2, {"layers", "got -3"});
  check_refused(list({"--heads", "0"}), 2, {"heads", "got 0"});
  check_refused(list({"--d-model", "0"}), 2, {"d_model", "got 0"});
  check_refused(list({"--d-model", "1000000"}), 2, {"d_model", "smaller"});
  check_refused(list({"--layers", "99999999999999999999"}), 2, {"--layers"});
  check_refused(list({"--layers", "two"}), 2, {"--layers", "two"});
  check_refused(list({"--window", "-1"}), 2, {"--window", "got -1"});
  check_refused(list({"--stride", "0"}), 2, {"--stride", "got 0"});
  check_refused(list({"--max-tokens", "0"}), 2, {"--max-tokens", "got 0"});
  for (const char* threads : {"0", "-1", "10000", "many"})
    check_refused(list({"--threads", threads}), 2, {"--threads"});
}

TEST_CASE("variables by which others are told of threads change nothing, whatever they say") {
  const Args args = {"trace", "--sentence", "a b c", "--out"};
  const Folder folder;
  const auto numbers = [&] {
    run_well(joined(args, {folder / "t.safetensors"}));
    return read_bytes(folder / "t.safetensors");
  };
  const std::string before = numbers();
  const char* const names[] = {"OMP_NUM_THREADS", "OMP_STACKSIZE",        "OMP_SCHEDULE",
                               "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "GOMP_CPU_AFFINITY"};
  for (const char* name : names) ::setenv(name, "-7 nonsense", 1);
  CHECK(numbers() == before);
  for (const char* name : names) ::unsetenv(name);
}

TEST_CASE("recipes of published models that cannot be") {
  const auto rotary = [](const Args& more) {
    return list(joined({"--positions", "rotary"}, more));
  };
  for (const char* bad : {"-1", "nan", "1e9"}) {
    check_refused(list({"--score-scale", bad}), 2, {"factor of the scores", "Choose 0"});
    check_refused(list({"--softcap", bad}), 2, {"cap of the scores", "50 is common"});
  }
  check_refused(list({"--score-scale", "1", "--attention-scale", "off"}), 2,
                {"--attention-scale on", "--score-scale 0"});
  check_refused(list({"--softcap", "30", "--fused-attention", "on"}), 2, {"--softcap 0"});
  check_refused(list({"--rotary-scaling", "linear", "--rotary-factor", "2"}), 2,
                {"linear", "these positions are sinusoidal", "--positions rotary"});
  check_refused(rotary({"--rotary-factor", "8"}), 2, {"--rotary-scaling linear or llama3"});
  check_refused(rotary({"--rotary-scaling", "yarn"}), 2, {"none, linear, llama3", "'yarn'"});
  check_refused(rotary({"--rotary-scaling", "linear", "--rotary-low", "2"}), 2,
                {"--rotary-scaling llama3"});
  check_refused(rotary({"--rotary-scaling", "llama3", "--rotary-factor", "0.5"}), 2,
                {"between 1 and 1e6; got 0.5"});
  check_refused(rotary({"--rotary-scaling", "llama3", "--rotary-factor", "8", "--rotary-low", "4"}),
                2, {"lower bound above 0"});
  check_refused(list({"--local-layers", "2", "--local-window", "4"}), 2,
                {"no layer 2", "layers 0 to 1"});
  check_refused(list({"--local-layers", "1"}), 2, {"window of at least 1", "--local-window"});
  check_refused(list({"--local-window", "4"}), 2, {"needs layers that have it"});
  check_refused(list({"--local-layers", "one", "--local-window", "4"}), 2, {"1,3,5", "'one'"});
  CHECK(list({"--local-layers", "1", "--local-window", "4", "--softcap", "20", "--score-scale",
              "0.1", "--block", "parallel"})
            .status == 0);
  CHECK(rotary({"--rotary-scaling", "llama3", "--rotary-factor", "8"}).status == 0);
}

TEST_CASE("shared heads and rotary positions that cannot be") {
  check_refused(list({"--kv-heads", "3"}), 2,
                {"4 heads cannot share 3 heads of keys and values evenly", "choose 2 or 4"});
  check_refused(list({"--kv-heads", "0"}), 2, {"--kv-heads must be 1 or more", "got 0"});
  check_refused(list({"--kv-heads", "-2"}), 2, {"--kv-heads must be 1 or more", "got -2"});
  check_refused(list({"--kv-heads", "8"}), 2, {"4 heads cannot share 8", "choose 2 or 4"});
  check_refused(list({"--kv-heads", "some"}), 2, {"--kv-heads", "some"});
  const auto rotary = [](const Args& more) {
    return list(joined({"--positions", "rotary"}, more));
  };
  check_refused(rotary({"--d-head", "5"}), 2, {"even width; got 5", "Choose an even d_head"});
  check_refused(rotary({"--rotary-width", "3"}), 2, {"even number", "16; got 3"});
  check_refused(rotary({"--rotary-width", "18"}), 2, {"even number", "16; got 18"});
  check_refused(rotary({"--rotary-width", "-2"}), 2, {"even number", "got -2"});
  for (const char* base : {"0", "-5", "nan", "1e13"}) {
    CAPTURE(base);
    check_refused(rotary({"--rotary-base", base}), 2, {"between 1 and 1e12", "10000"});
  }
  CHECK(rotary({"--d-head", "5", "--rotary-width", "4"}).status == 0);
  const Result idle = list({"--rotary-width", "4"});
  CHECK(idle.status == 0);
  CHECK(contains(idle.err, "change nothing without --positions rotary"));
  for (const auto& given : {std::pair{"--pad", "1"},
                            {"--window", "1"},
                            {"--stride", "2"},
                            {"--forbid", "1,0"},
                            {"--allow", "1,0"}}) {
    CAPTURE(std::string(given.first));
    CHECK(contains(list({given.first, given.second}).err, "without --mask"));
  }
  CHECK_FALSE(contains(list({"--mask", "padding", "--pad", "1"}).err, "without --mask"));
  const Result single = list({"--kv-heads", "2", "--attention", "single"});
  CHECK(single.status == 0);
  CHECK(contains(single.err, "--kv-heads changes nothing"));
}

TEST_CASE("a temperature out of range, and one within") {
  for (const char* given : {"0", "-1", "0.04", "11", "nan", "inf"}) {
    CAPTURE(given);
    check_refused(list({"--temperature", given}), 2, {"--temperature", "between 0.05 and 10"});
  }
  CHECK(list({"--temperature", "warm"}).status == 2);
  CHECK(list({"--temperature", "0.05"}).status == 0);
}

TEST_CASE("words that are not among the choices are answered with the choices") {
  const std::vector<std::pair<std::string, std::string>> options = {
      {"--attention", "narrow"},  {"--scores", "additive"},   {"--block", "pre-norm"},
      {"--activation", "gelu"},   {"--positions", "learned"}, {"--mask", "strided"},
      {"--tokenizer", "bytes"},   {"--backend", "cpu"},       {"--norm", "rms"},
      {"--activation", "swiglu"}, {"--positions", "rotary"},  {"--rotary", "interleaved"}};
  for (const auto& pair : options) {  // Clang 14 cannot capture a structured binding
    CAPTURE(pair.first);
    check_refused(list({pair.first, "nonsense"}), 2, {"nonsense", pair.second});
  }
  for (const char* option :
       {"--bias", "--residual", "--output-projection", "--mask-causal", "--attention-scale",
        "--bias-kv", "--zero-attention", "--average-weights", "--fused-attention"}) {
    CAPTURE(option);
    check_refused(list({option, "maybe"}), 2, {option, "on or off", "maybe"});
  }
  check_refused(list({"--mask", "free", "--forbid", "1"}), 2, {"query,key"});
  check_refused(list({"--mask", "free", "--allow", "1,2,3"}), 2, {"query,key"});
  check_refused(list({"--mask", "padding", "--pad", "x"}), 2, {"whole numbers"});
}

// Two layers of four heads.
TEST_CASE("masks of heads that are not there, and of other shapes than the sentence") {
  const std::vector<std::pair<Args, std::vector<std::string>>> refused = {
      {{"--head-mask", "2.0"}, {"no head 2.0", "layers 0 to 1", "heads 0 to 3"}},
      {{"--head-mask", "0.4"}, {"no head 0.4", "heads 0 to 3"}},
      {{"--head-mask", "cross.0.1"}, {"cross.0.1", "one stack"}},
      {{"--head-mask", "first"}, {"layer.head", "first"}},
      {{"--head-mask", "0.-1"}, {"layer.head", "0.-1"}},
      {{"--forbid-head", "4:0,0"}, {"head 4", "0 to 3"}},
      {{"--forbid-head", "0,0"}, {"head, a colon", "0,0"}},
      {{"--d-value", "-1"}, {"d_value"}},
      {{"--d-value", "5", "--output-projection", "off"}, {"5", "W_O"}},
      {{"--bias-kv", "on", "--positions", "alibi"}, {"--bias-kv", "alibi"}},
      {{"--zero-attention", "on", "--positions", "t5"}, {"--zero-attention", "t5"}},
      {{"--d-value", "5", "--positions", "relative"}, {"relative", "--d-value"}},
      {{"--fused-attention", "on", "--scores", "additive"}, {"additive", "--fused-attention off"}},
      {{"--fused-attention", "on", "--positions", "alibi"}, {"alibi", "rotary"}},
      {{"--fused-attention", "on", "--head-mask", "0.1"}, {"head mask", "--fused-attention off"}},
      {{"--fused-attention", "on", "--forbid-head", "1:2,0"}, {"single heads"}},
      {{"--fused-attention", "on", "--average-weights", "on"}, {"--average-weights off"}},
  };
  for (const auto& pair : refused) {  // Clang 14 cannot capture a structured binding
    CAPTURE(shown(pair.first));
    check_refused(list(pair.first), 2, pair.second);
  }
  const Folder folder;
  const Args six = {"--sentence", "the cat sat on the mat"};
  const auto with = [&](const std::string& text) {
    return list(joined(six, {"--mask-file", folder.write("mask.csv", text)}));
  };
  const std::string row = "0,0,0,0,0,0\n";
  std::string matrix;
  for (int i = 0; i < 6; ++i) matrix += row;
  CHECK(with(matrix).status == 0);
  CHECK(with(matrix + "\n" + matrix + "\n" + matrix + "\n" + matrix).status == 0);
  check_refused(with(row + row), 2, {"(2, 6)", "(T, T)"});
  check_refused(with("0,0\n0,0\n"), 2, {"2 tokens", "there are 6"});
  check_refused(with(matrix + "\n" + matrix), 2, {"2 heads", "has 4"});
  check_refused(with("0,0\n0\n"), 1, {"line 2", "1 number", "2"});
  check_refused(with("0,x\n0,0\n"), 1, {"line 1", "'x'"});
  check_refused(with("nan,0\n0,0\n"), 2, {"nan", "-inf"});
  check_refused(with("inf,0\n0,0\n"), 2, {"inf", "-inf"});
  check_refused(with(""), 1, {"no number"});
  check_refused(with("\x93NUMPY nonsense"), 1, {".npy"});
  check_refused(list({"--mask-file", folder / "missing.npy"}), 1, {"missing.npy"});
}

// Every key forbidden to every query, to one head and to all: zeros, no NaN.
TEST_CASE("masks of -inf everywhere leave zeros") {
  const Folder folder;
  const std::string path = folder.write("mask.txt", "-inf -inf\n-inf -inf\n");
  for (const Args& mask : {Args{"--mask-file", path}, Args{"--forbid-head", "1:0,0;0,1;1,0;1,1"}}) {
    const SafetensorsFile run =
        export_run(joined({"--sentence", "the cat", "--mask", "none"}, mask)).trace;
    for (const auto& entry : run.entries) {
      const std::string& name = entry.first;
      CAPTURE(name);
      const bool forbids = contains(name, "mask") || contains(name, "scores_added");
      for (const float x : tensor_as_float(run, name)) CHECK((forbids || std::isfinite(x)));
    }
  }
}

TEST_CASE("more memory than the machine has: said at once, nothing allocated") {
  const std::vector<Args> models = {
      {"--layers", "256", "--heads", "1024", "--d-model", "65536", "--attention", "wide"},
      {"--layers", "256", "--d-model", "65536", "--d-hidden", "262144"},
      {"--max-memory", "0.0001"}};
  for (const Args& model : models) {
    CAPTURE(shown(model));
    const Result result = list(model);
    check_refused(result, 1, {"would need", "of memory", "choose fewer layers, heads or tokens"});
    CHECK(result.seconds < 2);
    CHECK(result.peak_mb < 300);
  }
}

TEST_CASE("unknown tensors and cells") {
  const auto explain = [](const std::string& tensor, const std::string& at) {
    return run({"explain", "--tensor", tensor, "--at", at});
  };
  const std::string pattern = "blocks.0.attn.pattern";
  check_refused(
      explain("blocks.0.attn.patern", "0,0,0"), 2,
      {"no tensor named 'blocks.0.attn.patern'", "did you mean '" + pattern + "'", "trace --list"});
  check_refused(explain("zzzzzzzzzzzzzzzzzz", "0"), 2, {"no tensor named", "trace --list"});
  check_refused(explain(std::string(5000, 'x').substr(0, 300), "0"), 2, {"no tensor named"});
  check_refused(explain("", "0"), 2, {"no tensor named ''"});
  check_refused(explain(pattern, "0,0"), 2, {"head 4, query 11, key 11", "3 numbers", "got 2"});
  check_refused(explain(pattern, "0,0,0,0"), 2, {"3 numbers", "got 4"});
  check_refused(explain(pattern, "0,0,11"), 2, {"key 0 to 10", "got 11"});
  check_refused(explain(pattern, "4,0,0"), 2, {"head 0 to 3", "got 4"});
  check_refused(explain(pattern, "0,-1,0"), 2, {"whole numbers from 0", "0,-1,0"});
  check_refused(explain(pattern, "0,1.5,0"), 2, {"0,1.5,0"});
  check_refused(explain(pattern, ","), 2, {"whole numbers"});
  check_refused(explain(pattern, "0,0,99999999999999999999"), 2, {"whole numbers"});
  check_refused(explain(pattern, "0,0,9223372036854775807"), 2, {"key 0 to 10"});
}

TEST_CASE("unknown options and subcommands") {
  check_refused(run({"--bogus"}), 2, {"--bogus", "headlight --help"});
  check_refused(run({"bogus"}), 2, {"bogus", "headlight --help"});
  check_refused(run({"trace", "--list", "--bogus", "1"}), 2, {"--bogus"});
  check_refused(run({"trace", "--list", "extra"}), 2, {"extra"});
  check_refused(run({"trace"}), 2, {"--out", "--list"});
  check_refused(run({"explain"}), 2, {"required"});
  check_refused(list({"--sentence", "a", "--sentence-file", "b"}), 2, {"not both"});
  check_refused(run({"--theme", "blue"}), 2, {"light", "dark"});
}

TEST_CASE("files that cannot be read or written") {
  const Folder folder;
  check_refused(list({"--sentence-file", folder / "none.txt"}), 1,
                {"none.txt", "No such file", "Check the spelling"});
  check_refused(list({"--sentence-file", folder / "."}), 1, {"folder"});
  check_refused(run({"trace", "--out", folder / "no/such/t.npz"}), 1,
                {"t.npz", "No such file or directory", "Create the folder"});
  check_refused(run({"trace", "--weights-out", folder / "no/such/w.safetensors"}), 1,
                {"Create the folder"});
  check_refused(run({"trace", "--out", folder / "t.txt"}), 2, {".npz, .safetensors or .json"});
  check_refused(run({"trace", "--weights-out", folder / "w.json"}), 2, {".npz or .safetensors"});
  // A full disk, under a name that the trace accepts.
  for (const char* name : {"t.npz", "t.safetensors", "t.json"}) {
    std::filesystem::create_symlink("/dev/full", folder / name);
    check_refused(run({"trace", "--out", folder / name}), 1, {"No space left", "Free some space"});
  }
}

TEST_CASE("a file that is damaged is named, whatever asked for it") {
  const Folder folder;
  const std::string junk = folder.write("junk.safetensors", "junk"),
                    table = folder.write("quote.csv", "\"a b,x\n"),
                    npy = folder.write("junk.npy", "junk");
  check_refused(run({"op", "softmax", "--in", junk, "--out", folder / "out.safetensors"}), 1,
                {junk, "not a usable .safetensors file"});
  check_refused(run({"train", "--task", "sort", "--steps", "1", "--init", junk}), 1,
                {junk, "not a usable .safetensors file"});
  check_refused(run({"train", "--data-ids", npy, "--steps", "1"}), 1, {npy, ".npy"});
  check_refused(run({"train", "--labels", table, "--steps", "1"}), 1, {table, "line 1"});
  check_refused(run({"train", "--pairs", table, "--steps", "1"}), 1, {table, "line 1"});
  check_refused(run({"eval", "--model", "dates", "--pairs", table}), 1, {table, "line 1"});
  const Result mask = list({"--mask-file", npy});
  check_refused(mask, mask.status, {npy, "a number was expected"});
  CHECK(mask.status > 0);
  std::filesystem::create_symlink("loop", folder / "loop");
  check_refused(run({"train", "--text", folder / "loop", "--steps", "1"}), 1,
                {"loop", "Too many levels of symbolic links", "choose another path"});
  check_refused(run({"screenshot", "--train", "text", "--train-file", folder / "none", "--out",
                     folder / "w.png"}),
                1, {"none", "No such file"});
  CHECK_FALSE(std::filesystem::exists(folder / "w.png"));
}

TEST_CASE("files of a newer version are refused by it, and stay as they are") {
  const Folder folder;
  const auto newer = [&](const std::string& name, const std::string& from) {
    std::string text = read_bytes(from);
    const std::size_t at = text.find("\"version\": ");
    REQUIRE(at != std::string::npos);
    return folder.write(name, text.replace(at, text.find(',', at) - at, "\"version\": 99"));
  };
  const std::string assets = HEADLIGHT_TEST_DIR "../assets/models/sort/";
  const std::string recipe = newer("recipe.json", assets + "recipe.json");
  check_refused(run({"train", "--config", recipe, "--steps", "1"}), 1,
                {recipe, "has version 99", "Update Headlight"});
  const std::string out = folder / "run";
  run_well(
      {"train", "--task", "sort", "--steps", "1", "--layers", "1", "--d-model", "8", "--out", out});
  const std::string tokens = newer("run/tokenizer.json", out + "/tokenizer.json");
  const std::string before = read_bytes(tokens);
  check_refused(run({"train", "--resume", out, "--steps", "2", "--out", out}), 1,
                {tokens, "has version 99", "Update Headlight"});
  CHECK(read_bytes(tokens) == before);
}

TEST_CASE("names that are empty, and numbers that name nothing") {
  const Folder folder;
  check_refused(run({""}), 2, {"'' is neither a subcommand nor a session file"});
  check_refused(run({"walk", "--out", ""}), 2, {"--out is empty"});
  check_refused(run({"screenshot", "--out", ""}), 2, {"it is empty"});
  check_refused(run({"walk", "--out", "/dev/full/x"}), 1, {"/dev/full/x", "Create the folder"});
  check_refused(
      run({"screenshot", "--lab", "scale", "--lab-answer", "99", "--out", folder / "w.png"}), 2,
      {"--lab-answer must be from 0 to", "got 99"});
  check_refused(run({"train", "--text", folder.write("a.txt", "a b c"), "--bytes",
                     "0:99999999999999999999", "--steps", "1"}),
                2, {"0:99999999999999999999"});
  check_refused(run({"convert", "stories", "--to", "nosuch", "--out", folder / "m"}), 2,
                {"got 'nosuch'.\n"});
  const Result pad =
      run_well({"trace", "--list", "--sentence", "a b c", "--mask", "padding", "--pad", "1,5"});
  CHECK(contains(pad.err, "--pad 5 changes nothing"));
  CHECK_FALSE(contains(pad.err, "--pad 1 "));
}

TEST_CASE("the window without a display says what to do instead") {
  const Result result = run({}, {{"DISPLAY", {}}, {"WAYLAND_DISPLAY", {}}});
  check_refused(result, 1, {"no display", "headlight walk --out DIR", "headlight screenshot"});
  CHECK(result.seconds < 5);
  check_refused(run({}, {{"DISPLAY", ":12345"}, {"WAYLAND_DISPLAY", {}}}), 1, {"no display"});
}

}  // namespace headlight::test_cli_bad_input
