// What a kernel computes must not depend on the order in which a device takes its invocations and
// its groups. A software renderer takes them one after the other, always in the same order, so that
// a barrier that is missing does no harm there: here they come in others.
#include <doctest/doctest.h>

#include <map>
#include <memory>

#include "app/gl/context/embedded.h"
#include "app/gl/tuning/self_test.h"
#include "tests/gl/test_gl_backend_support.h"

namespace headlight {
namespace {

using test::check_no_messages;
using test::compute_ready;

struct Change {
  std::string_view from, to;
};
using Changes = std::vector<Change>;

// Each invocation is the one that stands as far from the other end.
const Changes kInvocations = {
    {"gl_LocalInvocationIndex",
     "(gl_WorkGroupSize.x * gl_WorkGroupSize.y - 1u - gl_LocalInvocationIndex)"},
    {"gl_LocalInvocationID.x", "(gl_WorkGroupSize.x - 1u - gl_LocalInvocationID.x)"},
    {"gl_LocalInvocationID.y", "(gl_WorkGroupSize.y - 1u - gl_LocalInvocationID.y)"}};
const Changes kGroups = {{"gl_WorkGroupID.x", "(gl_NumWorkGroups.x - 1u - gl_WorkGroupID.x)"},
                         {"gl_WorkGroupID.y", "(gl_NumWorkGroups.y - 1u - gl_WorkGroupID.y)"},
                         {"gl_WorkGroupID.z", "(gl_NumWorkGroups.z - 1u - gl_WorkGroupID.z)"}};

std::string changed(std::string text, const Changes& changes) {
  for (const Change& change : changes) {
    std::size_t at = 0;
    while ((at = text.find(change.from, at)) != text.npos) {
      text.replace(at, change.from.size(), change.to);
      at += change.to.size();
    }
  }
  return text;
}

GlTexts texts_in_order(const Changes& changes) {
  auto texts = std::make_shared<std::map<std::string, std::string, std::less<>>>();
  return [texts, changes](std::string_view file) -> std::string_view {
    const auto [known, is_new] = texts->try_emplace(std::string(file));
    if (is_new) known->second = changed(std::string(embedded_file(file)), changes);
    return known->second;
  };
}

// The operations and optimizers that are wrong in this order, and where.
std::string wrong_in_order(const Changes& changes, std::span<const Op> only = {}) {
  GlBackendOptions options = test::counting_options();
  options.table = KernelTable::of(GlDevice::ask(real_gl()).limits);
  options.texts = texts_in_order(changes);
  GlBackend gl(options);
  std::string wrong;
  for (const GlSelfTestFailure& failure : self_test(gl, only).failures) {
    wrong += std::string(op_info(failure.op).id) + (failure.backward ? " backward " : " ") +
             failure.shape + ' ' + say(Language::kEnglish, failure.message) + '\n';
  }
  if (!only.empty()) return wrong;
  for (const GlTrainingFailure& failure : test_training(gl)) {
    wrong += std::string(word(failure.optimizer)) + ' ' + std::to_string(failure.error) + ' ' +
             say(Language::kEnglish, failure.message) + '\n';
  }
  return wrong;
}

}  // namespace

TEST_CASE("order: kernels are right with invocations and groups from the last to the first") {
  if (!compute_ready()) return;
  Changes both = kInvocations;
  both.insert(both.end(), kGroups.begin(), kGroups.end());
  CHECK(wrong_in_order(both) == "");
  check_no_messages();
}

TEST_CASE("order: a barrier that is missing is found in one order or the other") {
  if (!compute_ready()) return;
  const Change without[] = {
      {"partial[me] = x;  // cell\n  sync_group();\n", "partial[me] = x;  // cell\n"},
      {"sync_group();\n  partial[me] = x;", "partial[me] = x;"}};
  constexpr Op kOnly[] = {Op::kSoftmax, Op::kLayerNorm};
  for (const Change& one : without) {
    CAPTURE(one.from);
    Changes changes = {one};
    std::string wrong = wrong_in_order(changes, kOnly);
    changes.insert(changes.end(), kInvocations.begin(), kInvocations.end());
    wrong += wrong_in_order(changes, kOnly);
    CHECK(wrong != "");
  }
}

}  // namespace headlight
