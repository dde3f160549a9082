// Any words as the options of a model on the command line: a config that can be built, or refused.
// Words that name files are left out.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <sstream>
#include <string>
#include <vector>

#include "app/cli/options.h"
#include "core/base/error.h"

namespace {

// The options are described once: doing it for each input took ten times as long as reading it.
struct CommandLine {
  headlight::ModelOptions options;
  CLI::App app;
  CommandLine() { options.add_to(app); }
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace headlight;
  static CommandLine line;
  std::istringstream lines(std::string(reinterpret_cast<const char*>(data), size));
  std::vector<std::string> words;
  for (std::string word; std::getline(lines, word);) {
    if (word.find('/') == std::string::npos) words.insert(words.begin(), word);  // CLI11: backwards
  }
  line.options = ModelOptions();
  try {
    line.app.parse(words);
    validate(line.options.config(line.options.document()));
  } catch (const CLI::Error&) {
  } catch (const Error&) {
  }
  return 0;
}
