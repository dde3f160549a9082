// The lines of a kernel that are said to make its cells: each one matters, none that computes is
// left out.
#include <cstring>

#include "tests/gl/test_gl_kernel_support.h"

namespace headlight::test_gl_kernel_lines {

using namespace test;

namespace {

// The first word of the function that a line stands in.
std::string type_around(const std::vector<std::string>& lines, std::size_t line) {
  while (line > 0 && (lines[line].empty() || !std::isalpha(lines[line][0]))) --line;
  return lines[line].substr(0, lines[line].find(' '));
}

// The line with `number` in place of the fraction that it computes; empty where it computes none,
// or only in a case apart.
std::string spoilt(const std::vector<std::string>& lines, std::size_t at,
                   const std::string& number) {
  const std::string code = without_comment(lines[at]);
  const std::size_t end = code.rfind(';');
  const std::size_t first = code.find_first_not_of(' ');
  if (first == code.npos || end == code.npos || code.find('{', end) != code.npos) return "";
  const std::string start = code.substr(first, code.find(' ', first) - first);
  if (start == "uint" || start == "int" || start == "bool" || start == "void") return "";
  if (start == "RowStatistics") return "";
  if (start.starts_with("vec")) {
    const std::size_t sign = code.find(" = ");
    return sign == code.npos
               ? ""
               : code.substr(0, sign + 3) + start + "(" + number + ")" + code.substr(end);
  }
  std::size_t back = code.find("return ");
  if (back != code.npos) {
    const bool plain = back == first || code.find("{ return ") + 2 == back;
    if (!plain || type_around(lines, at) != "float") return "";
    back += std::strlen("return ");
    return code.substr(0, back) + number + code.substr(end);
  }
  std::size_t sign = std::string::npos;
  for (const char* op : {" = ", " += ", " -= ", " *= "}) {
    const std::size_t found = code.rfind(op);
    if (found != code.npos && (sign == std::string::npos || found > sign)) sign = found;
  }
  if (sign == std::string::npos) return "";
  const std::size_t value = code.find(' ', sign + 1) + 1;
  const bool whole = code.find_first_not_of("0123456789u", value) == end;
  return whole ? "" : code.substr(0, value) + number + code.substr(end);
}

bool is_code(const std::string& line) {
  const std::string code = without_comment(line);
  return code.find_first_not_of(" }") != code.npos && !code.starts_with("#");
}

}  // namespace

TEST_CASE("kernel view: a claimed line that goes wrong shows in the result") {
  if (!compute_ready()) return;
  std::set<std::pair<std::string, int>> tried;
  const auto check = [&](Job& job, const KernelDevice& device, const KernelSource& source) {
    const std::vector<std::string> lines = lines_of(source.text);
    for (const int number : source.lines) {
      const auto at = static_cast<std::size_t>(number - 1);
      if (spoilt(lines, at, "0.0").empty() || !tried.insert({source.file, number}).second) continue;
      CAPTURE(source.file);
      CAPTURE(number);
      CAPTURE(lines[at]);
      bool shows = false;
      for (const char* wrong : {"uintBitsToFloat(0x7fc00000u)", "0.25"}) {
        std::vector<std::string> changed = lines;
        changed[at] = spoilt(lines, at, wrong);
        const Texts texts = {{source.file, joined(changed)}};
        if (!shows) shows = !job.is_all_right(job.run_with(texts, device));
      }
      CHECK(shows);
    }
  };
  const auto check_job = [&](Job& job, const KernelDevice& device) {
    for (const KernelSite& site : job.view(job.cells() - 1, device).sites) {
      if (site.file() == "shaders/embed_links.comp") continue;  // computes no fractions
      for (const KernelSource& source : site.sources) check(job, device, source);
    }
  };
  for_all_jobs({2, 3, 5, 7, 6, 4}, small_device(), check_job);
  for_all_jobs({2, 3, 5, 7, 6, 4}, sharing_device(small_device()), check_job);
  CHECK(tried.size() > 100);
}

TEST_CASE("kernel view: lines are lines of code, and none that computes is left out") {
  std::map<std::string, std::set<int>> claimed;
  std::map<std::string, std::string> texts;
  const auto look = [&](Job& job, const KernelDevice& device) {
    const KernelView view = job.view(0, device);
    CHECK(view.none.empty());
    REQUIRE_FALSE(view.sites.empty());
    for (const KernelSite& site : view.sites) {
      CHECK(site.call == 0);
      CHECK(site.buffers.size() >= 1);
      CHECK(site.defines.starts_with("#define "));
      REQUIRE_FALSE(site.sources.empty());
      CHECK_FALSE(site.sources[0].lines.empty());
      for (const KernelSource& source : site.sources) {
        CAPTURE(source.file);
        CHECK(source.text == embedded_file(source.file));
        CHECK(std::is_sorted(source.lines.begin(), source.lines.end()));
        const std::vector<std::string> lines = lines_of(source.text);
        for (const int line : source.lines) {
          CAPTURE(line);
          REQUIRE(line >= 1);
          REQUIRE(line <= static_cast<int>(lines.size()));
          CHECK(is_code(lines[static_cast<std::size_t>(line - 1)]));
        }
        claimed[source.file].insert(source.lines.begin(), source.lines.end());
        texts[source.file] = source.text;
      }
    }
  };
  for_all_jobs({2, 3, 5, 7, 6, 4}, KernelDevice::usual(), look);
  for_all_jobs({2, 3, 5, 7, 6, 4}, sharing_device(KernelDevice::usual()), look);
  CHECK(texts.size() > 60);
  for (const auto& entry : texts) {
    const std::vector<std::string> lines = lines_of(entry.second);
    const std::string array = written_array(lines);
    for (std::size_t i = 0; i < lines.size(); ++i) {
      const std::string code = without_comment(lines[i]);
      const std::size_t first = std::min(code.find_first_not_of(' '), code.size());
      const bool declares =
          code.substr(first).starts_with("float ") && code.find(" = ") != code.npos;
      const bool sums = code.find(" += ") != code.npos && code.find("for (") == code.npos;
      const bool stores = !array.empty() && store_in(code, array).begin != std::string::npos;
      if (!declares && !sums && !stores) continue;
      CAPTURE(entry.first);
      CAPTURE(lines[i]);
      CHECK(claimed[entry.first].contains(static_cast<int>(i) + 1));
    }
  }
}

TEST_CASE("kernel view: a product has the lines of its tiles, shared by a group or not") {
  const GradCase linear{Op::kLinear, [](const Sizes& z) -> Shapes {
                          return {{z.b, z.t, z.n}, {z.n, z.m}};
                        }};
  Job job(linear, {2, 3, 5, 7, 6, 4}, -1);
  const KernelDevice device = KernelDevice::usual();
  const KernelView alone = job.view(20, device), shared = job.view(20, sharing_device(device));
  CHECK(alone.sites.at(0).help == KernelHelp::kNone);
  CHECK(shared.sites.at(0).help == KernelHelp::kGroup);
  const auto claims_tiles = [](const KernelView& view) {
    for (const KernelSource& source : view.sites[0].sources) {
      const std::vector<std::string> lines = lines_of(source.text);
      for (const int line : source.lines) {
        if (lines[static_cast<std::size_t>(line - 1)].find("_tile[") != std::string::npos)
          return true;
      }
    }
    return false;
  };
  CHECK_FALSE(claims_tiles(alone));
  CHECK(claims_tiles(shared));
}

TEST_CASE("kernel view: of an included file only the functions that the kernel calls") {
  const KernelDevice device = KernelDevice::usual();
  const GradCase softmax{Op::kSoftmax, [](const Sizes& z) -> Shapes {
                           return {{z.b, z.h, z.t, z.s}};
                         }};
  Job job(softmax, {2, 3, 5, 7, 6, 4}, -1);
  const KernelView view = job.view(20, device);
  REQUIRE(view.sites.size() == 1);
  const KernelSite& site = view.sites[0];
  CHECK(site.file() == "shaders/softmax.comp");
  CHECK(site.defines == "#define GROUP 32\n");
  CHECK(site.group == Groups{2, 0, 0});
  CHECK(site.invocation == Groups{6, 0, 0});
  CHECK(site.help == KernelHelp::kGroup);
  CHECK(site.buffers == std::vector<std::string>{"in0", "out"});
  const std::pair<std::string, std::string> columns("columns", "7");
  CHECK(std::find(site.uniforms.begin(), site.uniforms.end(), columns) != site.uniforms.end());
  const auto claims = [&](const char* file, std::string_view start) {
    for (const KernelSource& source : site.sources) {
      if (source.file != file) continue;
      const std::vector<std::string> lines = lines_of(source.text);
      return std::any_of(source.lines.begin(), source.lines.end(), [&](int line) {
        return lines[static_cast<std::size_t>(line - 1)].starts_with(start);
      });
    }
    return false;
  };
  CHECK(claims("shaders/functions.glsl", "float exp_of("));
  CHECK(claims("shaders/functions.glsl", "  return (r * r * p"));
  CHECK_FALSE(claims("shaders/functions.glsl", "float log_of("));
  CHECK_FALSE(claims("shaders/functions.glsl", "  return float(n) * 0.69"));
  CHECK(claims("shaders/rows.glsl", "float larger("));
  CHECK_FALSE(claims("shaders/softmax.comp", "  if (row >= rows)"));
  CHECK_FALSE(claims("shaders/softmax.comp", "// "));
}

}  // namespace headlight::test_gl_kernel_lines
