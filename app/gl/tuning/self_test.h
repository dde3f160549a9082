// Does this driver compute what it should? Every operation, forward and backward, beside the
// reference backend, before the graphics card is chosen without being asked for.
#pragma once

#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "app/gl/compute/backend_gl.h"
#include "app/gl/training/gl_training_test.h"
#include "core/base/message.h"

namespace headlight {

/// The first shape at which an operation, or its gradient, is wrong.
struct GlSelfTestFailure {
  Op op{};
  bool backward = false;
  std::string shape;  // of the operation's result
  double error = 0;   // CellDifference::error; 0 where there is a message
  double limit = 0;
  Message message;  // why it could not be run at all: a shader that does not compile
};

struct GlSelfTest {
  bool passed = false;
  bool kept = false;  // it comes from a file; the messages of its failures are in English
  std::vector<GlSelfTestFailure> failures;
  std::vector<GlTrainingFailure> training;  // of known_self_test() alone
};

/// Tries every operation on small shapes: 1, primes, one more than a tile or a short row, one more
/// than a group of a long row; with rows that are forbidden wholly. Limits are trial_limit() of a
/// software renderer, 1e-7 of hardware. Results that an earlier run left on the device are lost.
/// `only`: these operations, all where there are none. Throws Error for a device that is lost or
/// has no memory left.
GlSelfTest self_test(GlBackend&, std::span<const Op> only = {});

/// "self_test" beside the folder of compiled programs; empty where there is none.
std::filesystem::path default_self_test_folder();

/// The same up to the first operation that is wrong, and where none is, training
/// (gl_training_test.h): the result that the folder has for this driver, version, and these shaders
/// and tables; else, and where its file cannot be read or with `again`, tests and keeps what came
/// out, passed or failed. Nothing is read or kept in an empty folder. It goes a trial at a time,
/// for who has other things to do in between with the same backend, which has to outlive this.
class GlSelfTestRun {
 public:
  GlSelfTestRun(GlBackend&, std::filesystem::path folder, bool again = false);
  ~GlSelfTestRun();
  GlSelfTestRun(const GlSelfTestRun&) = delete;
  GlSelfTestRun& operator=(const GlSelfTestRun&) = delete;

  bool is_done() const { return is_done_; }
  /// One trial more. Throws Error as self_test() does.
  void step();
  /// When it is done.
  const GlSelfTest& result() const { return result_; }

 private:
  GlBackend& gl_;
  std::filesystem::path folder_;
  GlSelfTest result_;
  std::unique_ptr<class GlOperationsTest> operations_;
  int training_ = 0;  // trials of it that have been made
  bool is_done_ = false;
};

/// The same without a pause.
GlSelfTest known_self_test(GlBackend&, const std::filesystem::path& folder, bool again = false);

/// Of a driver that has passed, and computes wrongly later: from now on the folder has it as
/// failed, with what a check found. Nothing is kept in an empty folder.
GlSelfTest keep_wrong(GlBackend&, const GlWrong&, const std::filesystem::path& folder);

}  // namespace headlight
