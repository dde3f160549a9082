// README.md says what is so: its key table is the program's own, its examples run.
#include <cstdlib>
#include <set>
#include <sstream>

#include "app/ui/state/commands.h"
#include "test_paths.h"
#include "tests/cli/child.h"

using namespace headlight;
using namespace headlight::test;

namespace {

std::string readme() { return read_bytes(std::string(HEADLIGHT_TEST_DIR) + "../README.md"); }

// Lines inside ```sh blocks that start with "headlight ".
std::vector<std::string> examples() {
  std::vector<std::string> found;
  std::istringstream lines(readme());
  std::string line;
  bool in_shell = false;
  while (std::getline(lines, line)) {
    if (line.rfind("```", 0) == 0) in_shell = !in_shell && line == "```sh";
    if (in_shell && line.rfind("headlight ", 0) == 0) found.push_back(line);
  }
  return found;
}

}  // namespace

TEST_CASE("README: the key table is made from the table of commands") {
  const std::string table = key_table_markdown();
  INFO("README.md should have this table:\n", table);
  CHECK(contains(readme(), "\n\n" + table + "\n"));
}

TEST_CASE("README: the examples run as they stand") {
  const std::vector<std::string> all = examples();
  CHECK(all.size() >= 8);
  const Folder folder;
  const std::string binary = HEADLIGHT_BINARY;
  const std::string path = binary.substr(0, binary.rfind('/'));
  const bool draws = can_draw();
  for (const std::string& example : all) {
    CAPTURE(example);
    std::istringstream words(example);
    std::string program, sub;
    words >> program >> sub;
    static const std::set<std::string> kPictures = {"render", "screenshot", "walk",
                                                    "compare-backends", "tune"};
    if (kPictures.contains(sub) && !draws) continue;
    if (sub == "bench") continue;  // it measures for seconds; nothing to learn here
    // Later examples read what earlier ones wrote, so they share the folder.
    const std::string line =
        "cd '" + folder / "." + "' && PATH=\"" + path + ":$PATH\" " + example + " >/dev/null";
    CHECK(std::system(line.c_str()) == 0);
  }
}

TEST_CASE("README: every subcommand is in it and in --help") {
  const std::string text = readme(), help = run_well({"--help"}).out;
  for (const char* sub :
       {"trace", "explain", "code", "render", "screenshot", "walk", "train", "models", "eval",
        "generate", "compare-backends", "op", "bench", "tune"}) {
    CAPTURE(sub);
    CHECK(contains(help, sub));
    CHECK(contains(text, std::string("headlight ") + sub));
  }
}
