// Which kernel, group and invocation made a cell, and which lines: what is claimed is put to the
// test by shaders that are changed so that it shows.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <set>
#include <tuple>

#include "app/gl/embedded.h"
#include "app/gl/gl_kernel_view.h"
#include "tests/gradient_cases.h"
#include "tests/test_gl_backend_support.h"

namespace headlight {
namespace {

using test::check_no_messages;
using test::compute_ready;

Backend& reference() {
  static const auto kReference = make_reference_backend();
  return *kReference;
}

using Groups = std::array<std::int64_t, 3>;

std::vector<Groups>& dispatched() {
  static std::vector<Groups> groups;
  return groups;
}

// The driver's calls, with a note of every dispatch.
const GlCalls& noting_calls() {
  static const GlCalls kReal = real_gl();
  static const GlCalls kNoting = [] {
    GlCalls gl = kReal;
    gl.dispatch_compute = [](GLuint x, GLuint y, GLuint z) {
      dispatched().push_back({x, y, z});
      kReal.dispatch_compute(x, y, z);
    };
    return gl;
  }();
  return kNoting;
}

// ---- shaders with a change ----

using Texts = std::map<std::string, std::string, std::less<>>;

GlTexts texts_with(const Texts& changed) {
  return [&changed](std::string_view file) {
    const auto at = changed.find(file);
    return at == changed.end() ? embedded_file(file) : std::string_view(at->second);
  };
}

std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> lines;
  for (std::size_t start = 0; start < text.size();) {
    const std::size_t end = std::min(text.find('\n', start), text.size());
    lines.emplace_back(text.substr(start, end - start));
    start = end + 1;
  }
  return lines;
}

std::string joined(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

std::string without_comment(const std::string& line) {
  const std::string code = line.substr(0, line.find("//"));
  const std::size_t last = code.find_last_not_of(' ');
  return last == code.npos ? "" : code.substr(0, last + 1);
}

// The array of the buffer with the highest binding, which is the one that a kernel writes.
std::string written_array(const std::vector<std::string>& lines) {
  std::string name;
  for (const std::string& line : lines) {
    const std::size_t open = line.find("[];");
    if (!line.starts_with("layout(std430") || open == line.npos) continue;
    const std::size_t start = line.rfind(' ', open) + 1;
    name = line.substr(start, open - start);
  }
  return name;
}

/// A statement that writes a cell: where "y[i] = … ;" begins and ends in a line, and its "y[i]".
struct Store {
  std::size_t begin = std::string::npos, end = 0;
  std::string cell;
};

Store store_in(const std::string& code, const std::string& array) {
  Store store;
  std::size_t at = code.find(array + "[");
  while (at != code.npos && at > 0 && (std::isalnum(code[at - 1]) || code[at - 1] == '_')) {
    at = code.find(array + "[", at + 1);
  }
  if (at == code.npos) return store;
  int depth = 0;
  std::size_t close = at + array.size();
  do {
    depth += code[close] == '[' ? 1 : code[close] == ']' ? -1 : 0;
  } while (++close < code.size() && depth > 0);
  const std::string rest = code.substr(close, 4);
  if (!rest.starts_with(" = ") && !rest.starts_with(" += ")) return store;
  return {at, code.find(';', close) + 1, code.substr(at, close - at)};
}

// The .comp of a site in which every line that is said to write cells is replaced.
template <class Change>
Texts with_stores(const KernelSite& site, const Change& change) {
  std::vector<std::string> lines = lines_of(site.sources[0].text);
  const std::string array = written_array(lines);
  int stores = 0;
  for (const int number : site.sources[0].lines) {
    std::string& line = lines[static_cast<std::size_t>(number - 1)];
    line = without_comment(line);
    const Store store = store_in(line, array);
    if (store.begin == std::string::npos) continue;
    const std::string statement = line.substr(store.begin, store.end - store.begin);
    line.replace(store.begin, statement.size(), change(store, statement));
    ++stores;
  }
  CHECK(stores > 0);
  return {{site.file(), joined(lines)}};
}

std::string vector_text(const Groups& v) {
  return "uvec3(" + std::to_string(v[0]) + ", " + std::to_string(v[1]) + ", " +
         std::to_string(v[2]) + ")";
}

constexpr std::int64_t kFirstName = 1 << 22;  // below the numbers of a test, and exact with ours

// What every invocation but the chosen one writes: a number that says who it is.
float name_of(const KernelSite& s) {
  const std::int64_t size = s.group_size[0] * s.group_size[1];
  const std::int64_t group = (s.group[2] * s.groups[1] + s.group[1]) * s.groups[0] + s.group[0];
  return static_cast<float>(
      -(kFirstName + group * size + s.invocation[1] * s.group_size[0] + s.invocation[0]));
}

Texts only_by(const KernelSite& site) {
  const std::string size = std::to_string(site.group_size[0] * site.group_size[1]) + "u";
  const std::string name =
      "-float(" + std::to_string(kFirstName) +
      "u + ((gl_WorkGroupID.z * gl_NumWorkGroups.y + gl_WorkGroupID.y) * gl_NumWorkGroups.x + "
      "gl_WorkGroupID.x) * " +
      size + " + gl_LocalInvocationIndex)";
  const std::string chosen = "gl_WorkGroupID == " + vector_text(site.group) +
                             " && gl_LocalInvocationID == " + vector_text(site.invocation);
  return with_stores(site, [&](const Store& store, const std::string& statement) {
    return "{ if (" + chosen + ") { " + statement + " } else { " + store.cell + " = " + name +
           "; } }";
  });
}

// ---- a call on the device ----

/// One operation of the table of gradients: its result, or the gradient of an input.
class Job {
 public:
  Job(const GradCase& c, const Sizes& z, int input)
      : single(c, z), input_(input), axes_(axes_of(input < 0 ? single.out() : input)) {
    single.run(reference());
    expected_ = run(reference());
  }

  std::vector<float> run(Backend& backend) {
    if (input_ < 0) {
      single.run(backend);
      return copy(single.memory[single.out()]);
    }
    BackwardCall step{0, {}};
    step.uses[static_cast<std::size_t>(input_)] = GradientUse::kWritten;
    backend.run_backward(single.program(), {&step, 1}, single.memory.pointers(),
                         single.gradients.pointers());
    return copy(single.gradients[input_]);
  }
  std::vector<float> run_with(const Texts& changed, const KernelDevice& device) {
    GlBackendOptions options;
    options.program_folder.clear();
    options.calls = &noting_calls();
    options.limits = device.limits;
    options.texts = texts_with(changed);
    dispatched().clear();
    GlBackend gl(options);
    std::vector<float> cells = run(gl);
    CHECK(gl.fallbacks().empty());
    return cells;
  }
  KernelView view(std::size_t cell, const KernelDevice& device) {
    const KernelCells cells = [&](TensorId id) { return single.memory[id]; };
    return locate_kernel(single.program(), 0, input_,
                         unravel(axes_, static_cast<std::int64_t>(cell)), device, cells);
  }

  const std::vector<float>& expected() const { return expected_; }
  std::size_t cells() const { return expected_.size(); }
  bool is_right(const std::vector<float>& got, std::size_t cell) const {
    const float g = got[cell], e = expected_[cell];
    if (!std::isfinite(e)) return std::isnan(e) ? std::isnan(g) : g == e;
    return std::fabs(g - e) <= 1e-4f * (1 + std::fabs(e));
  }
  bool is_all_right(const std::vector<float>& got) const {
    for (std::size_t i = 0; i < got.size(); ++i) {
      if (!is_right(got, i)) return false;
    }
    return true;
  }

  Single single;

 private:
  static std::vector<float> copy(std::span<const float> cells) {
    return {cells.begin(), cells.end()};
  }
  std::vector<Axis> axes_of(TensorId id) const {
    return single.program().tensors[static_cast<std::size_t>(id)].axes;
  }

  int input_;
  std::vector<Axis> axes_;
  std::vector<float> expected_;
};

// Every operation, forward (-1) and each of its gradients; the same kernels once.
template <class F>
void for_all_jobs(const Sizes& z, const KernelDevice& device, const F& f) {
  std::set<std::pair<Op, std::vector<std::string>>> seen;
  for (const GradCase& c : kGradientTable) {
    const auto inputs = static_cast<int>(c.inputs(z).size());
    for (int input = -1; input < inputs; ++input) {
      const bool feels = input < 0 || (input != op_info(c.op).fixed_input && c.op != Op::kSinusoid);
      if (!feels) continue;
      Job job(c, z, input);
      std::vector<std::string> kernels;
      for (const KernelSite& site : job.view(0, device).sites) kernels.push_back(site.file());
      if (!seen.insert({c.op, kernels}).second) continue;
      CAPTURE(op_info(c.op).id);
      CAPTURE(input);
      f(job, device);
    }
  }
}

KernelDevice this_device() {
  KernelDevice device;
  device.limits = GlDevice::ask(real_gl()).limits;
  device.table = KernelTable::of(device.limits);
  device.texts = embedded_file;
  return device;
}

// Smaller tiles, and groups that have to lie in two dimensions.
KernelDevice small_device() {
  KernelDevice device = this_device();
  device.limits.group_invocations = 128;
  device.limits.shared_bytes = 8192;
  device.limits.group_count = {7, 300, 6};
  device.table = KernelTable::of(device.limits);
  return device;
}

bool same_invocation(const KernelSite& a, const KernelSite& b) {
  return a.group == b.group && a.invocation == b.invocation;
}

// ---- what is claimed of one job ----

// The last site of a view that writes the cell itself; -1 where that is not this file's.
int last_writer(const KernelView& view, const std::string& file) {
  const auto last = static_cast<int>(view.sites.size()) - 1;
  return last >= 0 && view.sites[static_cast<std::size_t>(last)].file() == file ? last : -1;
}

bool mentions(const KernelView& view, const std::string& file) {
  return std::any_of(view.sites.begin(), view.sites.end(),
                     [&](const KernelSite& s) { return s.file() == file; });
}

// Names are one for each invocation only where no index is out of range.
bool lies_inside(const KernelSite& s) {
  for (std::size_t axis = 0; axis < 3; ++axis) {
    if (s.group[axis] < 0 || s.group[axis] >= s.groups[axis]) return false;
    if (s.invocation[axis] < 0 || s.invocation[axis] >= s.group_size[axis]) return false;
  }
  return true;
}

struct Looked {
  std::size_t cell = 0;
  KernelView view;
};

// Only one invocation does what the lines say, all others leave their names.
void check_invocations(Job& job, const std::vector<Looked>& looked, const std::string& file,
                       const KernelDevice& device, std::size_t turn) {
  CAPTURE(file);
  std::vector<const KernelSite*> makers;
  for (const Looked& l : looked) {
    if (const int at = last_writer(l.view, file); at >= 0) {
      makers.push_back(&l.view.sites[static_cast<std::size_t>(at)]);
    }
  }
  REQUIRE_FALSE(makers.empty());
  const KernelSite& chosen = *makers[turn % 3 == 0   ? 0
                                     : turn % 3 == 1 ? makers.size() - 1
                                                     : makers.size() / 2];
  const std::vector<float> got = job.run_with(only_by(chosen), device);
  for (const Looked& l : looked) {
    CAPTURE(l.cell);
    const int at = last_writer(l.view, file);
    if (at < 0 && mentions(l.view, file)) continue;  // a later kernel added to it
    const bool is_chosen =
        at >= 0 && same_invocation(l.view.sites[static_cast<std::size_t>(at)], chosen);
    if (at < 0 || is_chosen) {
      CHECK(job.is_right(got, l.cell));
    } else {
      CHECK(got[l.cell] == name_of(l.view.sites[static_cast<std::size_t>(at)]));
    }
  }
}

void check_job(Job& job, const KernelDevice& device, std::size_t turn) {
  constexpr std::size_t kLooked = 60;
  std::vector<Looked> looked;
  const std::size_t most = std::min(job.cells(), kLooked);
  for (std::size_t i = 0; i < most; ++i) {
    const std::size_t even = most > 1 ? i * (job.cells() - 1) / (most - 1) : 0;
    const std::size_t cell = i % 3 == 1 && i + 1 < most ? scatter(i) % job.cells() : even;
    looked.push_back({cell, job.view(cell, device)});
  }
  const auto longest = std::max_element(
      looked.begin(), looked.end(),
      [](const Looked& a, const Looked& b) { return a.view.sites.size() < b.view.sites.size(); });
  for (const Looked& l : looked) {
    for (const KernelSite& site : l.view.sites) CHECK(lies_inside(site));
  }
  for (const KernelSite& site : longest->view.sites) {
    if (site.help != KernelHelp::kAll) {
      check_invocations(job, looked, site.file(), device, turn);
      continue;
    }
    // What it prepares is needed: without it the result is another one.
    const Texts nothing = with_stores(site, [&](const Store& store, const std::string&) {
      return store.cell + " = " +
             (site.sources[0].text.find("uint links[]") != std::string::npos ? "0u;" : "0.0;");
    });
    CHECK_FALSE(job.is_all_right(job.run_with(nothing, device)));
  }
  std::vector<Groups> groups;
  for (const KernelSite& site : longest->view.sites) groups.push_back(site.groups);
  CHECK(dispatched() == groups);
}

}  // namespace

TEST_CASE("kernel view: the claimed invocation of the claimed group writes the cell") {
  if (!compute_ready()) return;
  std::size_t turn = 0;
  const auto check = [&](Job& job, const KernelDevice& device) { check_job(job, device, turn++); };
  // Rows longer than a group, several tiles; then smaller groups and tiles, and more of them.
  for_all_jobs({1, 2, 67, 5, 300, 70}, this_device(), check);
  const auto some = [&](Job& job, const KernelDevice& device) {
    const Op op = job.single.call().op;
    for (const Op shape : {Op::kAdd, Op::kLayerNorm, Op::kSoftmax, Op::kProject, Op::kScores}) {
      if (op == shape) check(job, device);
    }
  };
  for_all_jobs({2, 2, 17, 133, 33, 29}, small_device(), some);
  CHECK(turn > 50);
  check_no_messages();
}

// ---- lines ----

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
  std::size_t back = code.find("return ");
  if (back != code.npos) {
    const bool plain = back == first || code.find("{ return ") + 2 == back;
    if (!plain || type_around(lines, at) != "float") return "";
    back += std::strlen("return ");
    return code.substr(0, back) + number + code.substr(end);
  }
  std::size_t sign = std::string::npos;
  for (const char* op : {" = ", " += ", " -= "}) {
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
  for_all_jobs({2, 3, 5, 7, 6, 4}, small_device(), [&](Job& job, const KernelDevice& device) {
    for (const KernelSite& site : job.view(job.cells() - 1, device).sites) {
      if (site.file() == "shaders/embed_links.comp") continue;  // computes no fractions
      for (const KernelSource& source : site.sources) check(job, device, source);
    }
  });
  CHECK(tried.size() > 100);
}

TEST_CASE("kernel view: lines are lines of code, and none that computes is left out") {
  const KernelDevice device = KernelDevice::usual();
  std::map<std::string, std::set<int>> claimed;
  std::map<std::string, std::string> texts;
  for_all_jobs({2, 3, 5, 7, 6, 4}, device, [&](Job& job, const KernelDevice&) {
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
  });
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

}  // namespace headlight
