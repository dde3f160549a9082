// The documentation says what is so: its examples run, its tables are the program's own, its links
// and paths lead somewhere.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <regex>
#include <set>
#include <sstream>

#include "app/ui/state/commands.h"
#include "core/base/tensor.h"
#include "core/check/single_op.h"
#include "core/model/bundled.h"
#include "core/train/tasks/task.h"
#include "test_paths.h"
#include "tests/cli/child.h"

namespace headlight::test_readme {

using namespace headlight;
using namespace headlight::test;
namespace fs = std::filesystem;

namespace {

// What stands between two lines of ```; `language` is what follows the first.
struct Block {
  std::string language;
  std::vector<std::string> lines;
};

struct Page {
  std::string name;  // "docs/tests.md"
  std::vector<Block> blocks;
  std::vector<std::string> lines;  // outside the blocks
  std::size_t line_count = 0;

  std::string text() const {
    std::string all;
    for (const std::string& line : lines) all += line + "\n";
    return all;
  }
  // The lines of "## heading", up to the next one.
  std::string section(const std::string& heading) const {
    std::string found;
    bool inside = false;
    for (const std::string& line : lines) {
      if (line.starts_with("## ")) inside = line == "## " + heading;
      if (inside) found += line + "\n";
    }
    CHECK_MESSAGE(!found.empty(), name << " has no section " << heading);
    return found;
  }
};

fs::path root() { return fs::path(HEADLIGHT_TEST_DIR).parent_path().parent_path(); }

Page read_page(const std::string& name) {
  Page page{name, {}, {}, 0};
  std::istringstream text(read_bytes((root() / name).string()));
  std::string line;
  bool inside = false;
  while (std::getline(text, line)) {
    ++page.line_count;
    if (line.starts_with("```")) {
      inside = !inside;
      if (inside) page.blocks.push_back({line.substr(3), {}});
    } else {
      (inside ? page.blocks.back().lines : page.lines).push_back(line);
    }
  }
  CHECK_MESSAGE(!inside, name << ": a block has no end");
  return page;
}

const std::vector<Page>& pages() {
  static const std::vector<Page> kPages = [] {
    std::vector<Page> all = {read_page("README.md"), read_page("CONTRIBUTING.md")};
    std::vector<std::string> names;
    for (const auto& entry : fs::recursive_directory_iterator(root() / "docs")) {
      if (entry.path().extension() == ".md")
        names.push_back(fs::relative(entry.path(), root()).generic_string());
    }
    std::sort(names.begin(), names.end());
    for (const std::string& name : names) all.push_back(read_page(name));
    return all;
  }();
  return kPages;
}

const Page& page(const std::string& name) {
  const auto found = std::find_if(pages().begin(), pages().end(),
                                  [&](const Page& one) { return one.name == name; });
  REQUIRE_MESSAGE(found != pages().end(), name);
  return *found;
}

// What the first group of the pattern takes, wherever it fits.
std::vector<std::string> matches(const std::string& text, const char* pattern) {
  const std::regex regex(pattern);
  std::vector<std::string> found;
  for (std::sregex_iterator it(text.begin(), text.end(), regex), end; it != end; ++it)
    found.push_back((*it)[1].str());
  return found;
}

std::vector<std::string> code_spans(const std::string& text) {
  return matches(text, "`([^`\n]+)`");
}

std::set<std::string> options_in(const std::string& text) {
  const auto found = matches(text, "(--[a-z][a-z-]*)");
  return {found.begin(), found.end()};
}

// As the sites that show Markdown make it from a heading.
std::string anchor(const std::string& heading) {
  std::string made;
  for (const char c : heading) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == ' ') made += '-';
    if (std::isalnum(byte) || c == '-' || c == '_' || byte >= 0x80)
      made += static_cast<char>(std::tolower(byte));
  }
  return made;
}

struct Link {
  std::string file, anchor;  // "docs/tests.md", "" or a heading's
};

// The links of a page that do not leave the repository, pictures included, in their order.
std::vector<Link> links(const Page& from) {
  std::vector<Link> found;
  for (const std::string& target : matches(from.text(), "\\]\\(([^)]+)\\)")) {
    if (contains(target, "://")) continue;
    const std::size_t hash = std::min(target.find('#'), target.size());
    fs::path file = fs::path(from.name);
    if (hash > 0) file = file.parent_path() / target.substr(0, hash);
    found.push_back({file.lexically_normal().generic_string(),
                     hash < target.size() ? target.substr(hash + 1) : ""});
  }
  return found;
}

// ---- examples ----

// Numbers may differ a little, as they do between processors.
bool same_word(std::string a, std::string b) {
  if (a == b) return true;
  for (std::string* word : {&a, &b}) {
    if (word->starts_with("−")) *word = "-" + word->substr(std::string("−").size());
  }
  char *a_end = nullptr, *b_end = nullptr;
  const double x = std::strtod(a.c_str(), &a_end), y = std::strtod(b.c_str(), &b_end);
  return a_end != a.c_str() && std::string(a_end) == b_end &&
         std::abs(x - y) <= 1e-3 * std::abs(y) + 1e-9;
}

void check_same_text(const std::string& printed, const std::vector<std::string>& lines) {
  std::string shown;
  for (const std::string& line : lines) shown += line + "\n";
  std::istringstream got(printed), expected(shown);
  std::string a, b;
  while (expected >> b) {
    CAPTURE(b);
    REQUIRE(static_cast<bool>(got >> a));
    CHECK_MESSAGE(same_word(a, b), "the program prints " << a);
  }
  CHECK_FALSE(static_cast<bool>(got >> a));
}

// Runs one line in the folder and says what it printed; nothing where it cannot be run here.
std::optional<std::string> run_example(const Folder& folder, const std::string& example,
                                       bool draws) {
  static const std::set<std::string> kPictures = {"render", "screenshot", "walk",
                                                  "compare-backends", "tune"};
  std::istringstream words(example);
  std::string program, sub;
  words >> program >> sub;
  if (kPictures.contains(sub) && !draws) return std::nullopt;
  if (sub == "bench") return std::nullopt;  // it measures for seconds; nothing to learn here
  const std::string path = fs::path(HEADLIGHT_BINARY).parent_path().string();
  const std::string line = "cd '" + folder / "." + "' && export HOME=\"$PWD\" PATH=\"" + path +
                           ":$PATH\" && " + example + " >printed.txt 2>said.txt";
  const bool ran = std::system(line.c_str()) == 0;
  const std::string said = read_bytes(folder / "said.txt");  // a failing check cannot check
  CHECK_MESSAGE(ran, said);
  return read_bytes(folder / "printed.txt");
}

// ---- options ----

// The options that --help explains, not those that its sentences mention.
std::set<std::string> options_of(Args command) {
  command.push_back("--help");
  std::istringstream help(run_well(command).out);
  std::set<std::string> found;
  for (std::string line; std::getline(help, line);) {
    for (const std::string& option : matches(line, "^ +(--[a-z][a-z-]*)")) found.insert(option);
  }
  return found;
}

const std::vector<std::string> kSubcommands = {
    "trace",  "explain", "code",     "render",           "screenshot", "walk",    "train",
    "models", "eval",    "generate", "compare-backends", "op",         "bench",   "tune",
    "cost",   "presets", "lab",      "convert",          "info",       "tokenize"};

std::set<std::string> options_of_all(const std::string& sub) {
  std::set<std::string> all = options_of({sub});
  if (sub != "bench") return all;
  for (const char* inner : {"train", "forward", "memory", "folder", "gl", "switch"})
    all.merge(options_of({sub, inner}));
  return all;
}

// The keys as Markdown.
std::string key_table_markdown() {
  std::string text = "| key | what it does |\n|---|---|\n";
  for (const CommandInfo& info : all_commands()) {
    if (info.key.key == kKeyNone) continue;
    text += "| " + shortcut_text(info.key) + " | " +
            std::string(command_label(Language::kEnglish, info.command)) + ": " +
            std::string(command_help(Language::kEnglish, info.command)) + " |\n";
  }
  return text;
}

}  // namespace

TEST_CASE("docs: the key table is made from the table of commands") {
  const std::string table = key_table_markdown();
  INFO("docs/window.md should have this table:\n", table);
  CHECK(contains(page("docs/window.md").text(), "\n\n" + table));
}

TEST_CASE("docs: the examples run as they stand, and print what is said") {
  const bool draws = can_draw();
  int examples = 0, printed = 0;
  for (const Page& one : pages()) {
    CAPTURE(one.name);
    const Folder folder;  // later examples read what earlier ones wrote
    std::optional<std::string> last;
    // Somebody's own model: one of ours stands for it.
    const bool own_model = std::ranges::any_of(one.blocks, [](const Block& block) {
      return std::ranges::any_of(block.lines,
                                 [](const std::string& l) { return contains(l, "~/models/gpt2"); });
    });
    if (own_model) {
      std::filesystem::create_directories(folder / "models");
      (void)run_well({"convert", "stories", "--out", folder / "models/gpt2"});
    }
    for (const Block& block : one.blocks) {
      if (block.language == "text") {
        ++printed;
        if (last) check_same_text(*last, block.lines);
        continue;
      }
      for (const std::string& line : block.lines) {
        if (!line.starts_with("headlight ")) continue;
        CAPTURE(line);
        CHECK(block.language == "sh");
        ++examples;
        last = run_example(folder, line, draws);
      }
    }
  }
  CHECK(examples >= 30);
  CHECK(printed >= 1);
}

TEST_CASE("docs: every subcommand and every option has its place on the page, and no other") {
  const Page& text = page("docs/command-line.md");
  const std::string shared_section = text.section("Sentence and model");
  const std::set<std::string> shared = options_in(shared_section);
  const std::string help = run_well({"--help"}).out;
  std::set<std::string> known = options_of({});
  for (const std::string& option : shared) CHECK_MESSAGE(known.contains(option), option);
  const std::set<std::string> of_window = options_in(text.section("The window"));
  for (const std::string& option : known)
    CHECK_MESSAGE((shared.contains(option) || of_window.contains(option) || option == "--version"),
                  option);
  for (const std::string& sub : kSubcommands) {
    CAPTURE(sub);
    CHECK(contains(help, "\n  " + sub + " "));
    CHECK(contains(text.text(), "[`" + sub + "`](#" + sub + ")"));
    const std::string section = text.section(sub);
    const std::set<std::string> here = options_in(section), there = options_of_all(sub);
    const bool shares = there.contains("--d-model") && sub != "bench";
    for (const std::string& option : there)
      CHECK_MESSAGE((here.contains(option) || (shares && shared.contains(option))), option);
    for (const std::string& cells : matches(section, "\n(\\|[^|\n]*\\|[^|\n]*)\\|")) {
      for (const std::string& option : options_in(cells))
        CHECK_MESSAGE(there.contains(option), option);
    }
    known.insert(there.begin(), there.end());
  }
  for (const Page& one : pages()) {
    CAPTURE(one.name);
    for (const std::string& span : code_spans(one.text())) {
      if (!span.starts_with("--") && !span.starts_with("headlight ")) continue;
      for (const std::string& option : options_in(span))
        CHECK_MESSAGE((known.contains(option) || option == "--help"), option);
    }
  }
}

TEST_CASE("docs: the command line names every task, model and operation") {
  const Page& text = page("docs/command-line.md");
  const std::string train = text.section("train"), models = text.section("models"),
                    op = text.section("op");
  for (const TaskInfo& task : all_tasks())
    CHECK_MESSAGE(contains(train, "`" + std::string(task.id) + "`"), task.id);
  for (const BundledModel& model : bundled_models())
    CHECK_MESSAGE(contains(models, "`" + std::string(model.name) + "`"), model.name);
  for (const SingleOp& single : single_ops())
    CHECK_MESSAGE(contains(op, "`" + std::string(single.name) + "`"), single.name);
}

TEST_CASE("docs: every tensor, parameter and axis that the program writes has its name there") {
  const std::vector<Args> runs = {
      {"--layers", "1", "--gradients"},
      {"--layers", "1", "--block", "post-norm", "--positions", "learned", "--scores", "additive"},
      {"--norm", "rms", "--positions", "rotary", "--kv-heads", "2", "--activation", "swiglu"},
      {"--model", "sentiment"},
      {"--model", "dates"}};
  const Page& text = page("docs/names.md");
  std::set<std::string> words;
  for (const std::string& span : code_spans(text.text())) {
    for (const std::string& word : matches(span, "([A-Za-z0-9_]+)")) words.insert(word);
  }
  const Folder folder;
  for (const Args& run : runs) {
    const std::string trace = folder / "trace.safetensors", weights = folder / "w.safetensors";
    run_well(joined({"trace", "--out", trace, "--weights-out", weights}, run));
    for (const std::string& file : {trace, weights}) {
      for (const auto& entry : read_safetensors(file).entries) {
        CAPTURE(entry.first);
        for (const std::string& word : matches(entry.first, "([A-Za-z_][A-Za-z0-9_]*)"))
          CHECK_MESSAGE(words.contains(word), word);
      }
    }
  }
  const std::string axes = text.section("Axes");
  for (const std::string_view word : axis_words())
    CHECK_MESSAGE(contains(axes, "`" + std::string(word) + "`"), word);
}

TEST_CASE("docs: every link leads to a file, and to a heading of it") {
  int all = 0;
  for (const Page& one : pages()) {
    CAPTURE(one.name);
    for (const Link& link : links(one)) {
      CAPTURE(link.file);
      ++all;
      const bool is_there = fs::exists(root() / link.file);
      CHECK(is_there);
      if (link.anchor.empty() || !is_there) continue;
      CAPTURE(link.anchor);
      bool found = false;
      for (const std::string& heading : matches(read_page(link.file).text(), "\n#+ ([^\n]+)"))
        found = found || anchor(heading) == link.anchor;
      CHECK(found);
    }
  }
  CHECK(all >= 50);
}

TEST_CASE("docs: every path that a page names is there") {
  int all = 0;
  for (const Page& one : pages()) {
    CAPTURE(one.name);
    for (const std::string& span : code_spans(one.text())) {
      static const std::regex kOurs(
          "(core|app|tests|shaders|assets|docs|scripts|cmake|\\.ci)/[^ ]*.*");
      if (!std::regex_match(span, kOurs)) continue;
      CAPTURE(span);
      ++all;
      // Up to what stands for a name: <name>, NAME, *.
      fs::path path;
      for (const fs::path& part : fs::path(span.substr(0, span.find(' ')))) {
        static const std::regex kStandsForOne("[A-Z]+|.*[<*].*");
        if (std::regex_match(part.string(), kStandsForOne)) break;
        path /= part;
      }
      CHECK(fs::exists(root() / path));
    }
  }
  CHECK(all >= 100);
}

TEST_CASE("docs: every folder of the code is in the page about how it is built") {
  const std::string text = page("docs/architecture.md").text();
  for (const char* top : {"core", "app"}) {
    for (const auto& entry : fs::recursive_directory_iterator(root() / top)) {
      if (!entry.is_directory()) continue;
      const std::string name = fs::relative(entry.path(), root()).generic_string();
      CHECK_MESSAGE(contains(text, "`" + name + "/`"), name);
    }
  }
}

TEST_CASE("README: short, leads to every page, and is the same in Chinese") {
  const Page &english = page("README.md"), &chinese = page("docs/README.zh.md");
  CHECK(english.line_count <= 200);
  CHECK(contains(english.lines.front(), "(docs/README.zh.md)"));
  CHECK(contains(chinese.lines.front(), "(../README.md)"));
  std::vector<std::string> targets[2];
  std::size_t headings[2] = {};
  for (const int i : {0, 1}) {
    const Page& one = i == 0 ? english : chinese;
    for (const Link& link : links(one)) targets[i].push_back(link.file);
    headings[i] = matches(one.text(), "\n(#+) ").size();
  }
  for (const Page& one : pages()) {
    if (one.name != english.name)
      CHECK_MESSAGE(std::count(targets[0].begin(), targets[0].end(), one.name) > 0, one.name);
  }
  // But for the first link of each, which leads to the other, and the language of its pictures.
  for (std::string& file : targets[1]) {
    if (file.ends_with("-zh.png")) file.replace(file.size() - 7, 7, ".png");
  }
  CHECK(std::vector(targets[0].begin() + 1, targets[0].end()) ==
        std::vector(targets[1].begin() + 1, targets[1].end()));
  CHECK(headings[0] == headings[1]);
  REQUIRE(english.blocks.size() == chinese.blocks.size());
  for (std::size_t i = 0; i < english.blocks.size(); ++i)
    CHECK(english.blocks[i].lines == chinese.blocks[i].lines);
}

}  // namespace headlight::test_readme
