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

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace headlight;
  std::istringstream lines(std::string(reinterpret_cast<const char*>(data), size));
  std::vector<std::string> words;
  for (std::string line; std::getline(lines, line);) {
    if (line.find('/') == std::string::npos) words.insert(words.begin(), line);  // CLI11: backwards
  }
  CLI::App app;
  ModelOptions options;
  options.add_to(app);
  try {
    app.parse(words);
    validate(options.config(options.document()));
  } catch (const CLI::Error&) {
  } catch (const Error&) {
  }
  return 0;
}
