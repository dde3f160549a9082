// Which kernel, group and invocation made a cell: what is claimed is put to the test by shaders
// that are changed so that it shows.
#include "tests/gl/test_gl_kernel_support.h"

namespace headlight::test_gl_kernel_view {
namespace {

using namespace test;

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

}  // namespace headlight::test_gl_kernel_view
