// What the tests of the kernel view share: shaders with a change in them, and an operation to run
// with them.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <set>

#include "app/gl/compute/kernel_view.h"
#include "app/gl/context/embedded.h"
#include "tests/gl/test_gl_backend_support.h"
#include "tests/support/gradient_cases.h"

namespace headlight::test {

using Groups = std::array<std::int64_t, 3>;

inline std::vector<Groups>& dispatched() {
  static std::vector<Groups> groups;
  return groups;
}

// The driver's calls, with a note of every dispatch.
inline const GlCalls& noting_calls() {
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

inline GlTexts texts_with(const Texts& changed) {
  return [&changed](std::string_view file) {
    const auto at = changed.find(file);
    return at == changed.end() ? embedded_file(file) : std::string_view(at->second);
  };
}

inline std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> lines;
  for (std::size_t start = 0; start < text.size();) {
    const std::size_t end = std::min(text.find('\n', start), text.size());
    lines.emplace_back(text.substr(start, end - start));
    start = end + 1;
  }
  return lines;
}

inline std::string joined(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

inline std::string without_comment(const std::string& line) {
  const std::string code = line.substr(0, line.find("//"));
  const std::size_t last = code.find_last_not_of(' ');
  return last == code.npos ? "" : code.substr(0, last + 1);
}

// The array of the buffer with the highest binding, which is the one that a kernel writes.
inline std::string written_array(const std::vector<std::string>& lines) {
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

inline Store store_in(const std::string& code, const std::string& array) {
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
    options.table = device.table;
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

// Every operation, forward (-1) and each of its gradients; the same kernels with the same numbers
// once.
template <class F>
void for_all_jobs(const Sizes& z, const KernelDevice& device, const F& f) {
  std::set<std::pair<Op, std::vector<std::string>>> seen;
  for (const GradCase& c : kGradientTable) {
    const auto inputs = static_cast<int>(c.inputs(z).size());
    for (int input = -1; input < inputs; ++input) {
      const bool feels = input < 0 || !op_info(c.op).is_fixed(place(input));
      if (!feels) continue;
      Job job(c, z, input);
      if (op_info(c.op).is_sequential) {
        CHECK(job.view(0, device).none.id == "kernel.sequential");
        CHECK(job.view(0, device).sites.empty());
        continue;
      }
      std::vector<std::string> kernels;
      for (const KernelSite& site : job.view(0, device).sites) {
        kernels.push_back(site.file() + site.defines);
        for (const auto& [name, number] : site.uniforms) kernels.back() += name + number;
      }
      if (!seen.insert({c.op, kernels}).second) continue;
      CAPTURE(op_info(c.op).id);
      CAPTURE(input);
      f(job, device);
    }
  }
}

inline KernelDevice this_device() {
  KernelDevice device;
  device.limits = GlDevice::ask(real_gl()).limits;
  device.table = KernelTable::of(device.limits);
  device.texts = embedded_file;
  return device;
}

// Smaller tiles, and groups that have to lie in two dimensions.
inline KernelDevice small_device() {
  KernelDevice device = this_device();
  device.limits.group_invocations = 128;
  device.limits.shared_bytes = 8192;
  device.limits.group_count = {7, 300, 6};
  device.table = KernelTable::of(device.limits);
  device.table.attention.side = 2;  // several tiles of few rows
  return device;
}

// Products of few rows have the tiles of others, in shared memory.
inline KernelDevice sharing_device(KernelDevice device) {
  device.table.few_rows = 0;
  return device;
}

}  // namespace headlight::test
