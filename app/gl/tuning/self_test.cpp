#include "app/gl/tuning/self_test.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>

#include "app/gl/context/cache.h"
#include "core/base/error.h"
#include "core/base/random.h"
#include "core/check/compare.h"
#include "core/check/op_trials.h"
#include "core/io/atomic_file.h"
#include "core/io/plain_file.h"

namespace headlight {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

// Change it when the trials change: results of others do not count any more.
constexpr std::string_view kFormat = "headlight self-test 5";
constexpr std::string_view kEnding = ".json";
constexpr CacheRoom kRoom = {64, std::uint64_t{1} << 20};
// Gradients that come in are of size 1. Well below that is what rounding leaves of larger numbers.
constexpr double kMinGradient = 0.03;

// Memory for a program's tensors.
struct Cells {
  explicit Cells(const Program& program) {
    for (const TensorSpec& spec : program.tensors) {
      tensors.emplace_back(static_cast<std::size_t>(cell_count(spec.axes)), 0.0f);
      pointers.push_back(tensors.back().data());
    }
  }
  Cells(const Cells&) = delete;
  Cells& operator=(const Cells&) = delete;
  void copy(const Cells& other) {
    for (std::size_t i = 0; i < tensors.size(); ++i)
      std::copy(other.tensors[i].begin(), other.tensors[i].end(), tensors[i].begin());
  }
  FloatBuffer& operator[](TensorId id) { return tensors[static_cast<std::size_t>(id)]; }
  std::vector<FloatBuffer> tensors;
  std::vector<float*> pointers;
};

// "2 × 3 × 5": what the axes of a trial are called says nothing.
std::string sizes_text(std::span<const Axis> axes) {
  std::string text;
  for (const Axis& axis : axes) text += (text.empty() ? "" : " × ") + std::to_string(axis.size);
  return text;
}

// While this lives results are spoilt, so that what a kernel leaves out shows, and the test alone
// says what is wrong.
class Tested {
 public:
  explicit Tested(GlBackend& gl) : gl_(gl), share_(gl.spot_checks().share()) {
    gl_.set_spoiling(true);
    gl_.spot_checks().set_share(0);
  }
  ~Tested() {
    gl_.set_spoiling(false);
    gl_.spot_checks().set_share(share_);
  }
  Tested(const Tested&) = delete;
  Tested& operator=(const Tested&) = delete;

 private:
  GlBackend& gl_;
  double share_;
};

void fill_with(FloatBuffer& cells, std::uint64_t key) {
  for (std::size_t i = 0; i < cells.size(); ++i) cells[i] = bell(key, i);
}

}  // namespace

/// The trials of the operations, one after the other.
class GlOperationsTest {
 public:
  GlOperationsTest(GlBackend& gl, std::span<const Op> only)
      : gl_(gl),
        is_hardware_(!is_software_renderer(gl.device().renderer)),
        reference_(make_reference_backend()) {
    const KernelTable& table = gl_.kernel_table();
    const std::int64_t tile = std::max(table.product.rows, table.product.columns) + 1;
    const std::int64_t longer = std::max<std::int64_t>(tile, table.short_row + 1);
    const std::int64_t group = table.row_group + 1;
    const std::int64_t few = std::clamp(table.few_rows, 1, 64);
    const TrialSizes sizes[] = {{1, 1, 1, 1, 1, 1},
                                {2, 3, 5, 37, 41, 13},
                                {1, 2, tile, longer, longer, tile},
                                {1, 1, few, 7, table.few.columns + 1, 9},
                                {1, 1, 3, group, group, 5}};
    for (const OpTrial& trial : op_trials()) {
      if (!only.empty() && std::find(only.begin(), only.end(), trial.op) == only.end()) continue;
      for (const TrialSizes& z : sizes) left_.push_back({&trial, z, &z == &sizes[2]});
    }
    std::reverse(left_.begin(), left_.end());
  }

  bool is_done() const { return left_.empty(); }
  void step() {
    const Trial next = left_.back();
    left_.pop_back();
    try_one(*next.trial, next.sizes, next.adds);
  }
  GlSelfTest result() const { return {failures_.empty(), false, failures_, {}}; }

 private:
  struct Trial {
    const OpTrial* trial = nullptr;
    TrialSizes sizes{};
    bool adds = false;
  };

  // `adds`: gradients are added to what is there.
  void try_one(const OpTrial& trial, const TrialSizes& z, bool adds) {
    // The backend tells programs apart by their place: each stays where it is.
    const Program& program = programs_.emplace_back(trial_program(trial.op, trial.inputs(z), z.n));
    if (!gl_.supports(program, program.calls[0])) return;  // the processor runs it
    Cells memory(program);
    fill_trial(program, memory.pointers, hash_text(op_info(trial.op).id), 1.0f);
    reference_->run(program, program.calls, memory.pointers);
    attempt(program, false, [&] { return forward_error(program, memory); });
    const Program& back = programs_.emplace_back(program);
    attempt(back, true, [&] { return backward_error(back, memory, adds); });
  }

  template <class Work>
  void attempt(const Program& program, bool backward, const Work& work) {
    const Op op = program.calls[0].op;
    for (const GlSelfTestFailure& failure : failures_) {
      if (failure.op == op && failure.backward == backward) return;  // one of each is enough
    }
    GlSelfTestFailure failure{op,
                              backward,
                              sizes_text(program.tensors.back().axes),
                              0,
                              is_hardware_ ? ErrorLimits::of_hardware().of(op) : trial_limit(op),
                              {}};
    try {
      failure.error = work();
      if (failure.error <= failure.limit) return;
    } catch (const Error& error) {
      const std::string& id = error.message().id;
      if (id == "gpu.lost" || id == "gpu.memory") throw;
      failure.message = error.message();
    }
    failures_.push_back(std::move(failure));
  }

  double forward_error(const Program& program, Cells& expected) {
    Cells got(program);
    const OpCall& call = program.calls[0];
    got.copy(expected);
    std::fill(got[call.out].begin(), got[call.out].end(), 0.0f);
    gl_.run(program, program.calls, got.pointers);
    gl_.fetch(program, call.out, got.pointers);
    return difference(got[call.out], expected[call.out]).error;
  }

  // The largest of its gradients' errors.
  double backward_error(const Program& program, Cells& memory, bool adds) {
    const OpCall& call = program.calls[0];
    Cells got(program), expected(program);
    fill_with(expected[call.out], 99);
    BackwardCall step{0, {}};
    for (const TensorId in : call.in) {
      if (op_info(call.op).is_fixed(place(in))) continue;
      step.uses[static_cast<std::size_t>(in)] = adds ? GradientUse::kAdded : GradientUse::kWritten;
      fill_with(expected[in], 7);
    }
    got.copy(expected);
    gl_.run_backward(program, {&step, 1}, memory.pointers, got.pointers);
    reference_->run_backward(program, {&step, 1}, memory.pointers, expected.pointers);
    double worst = 0;
    for (const TensorId in : call.in) {
      if (step.uses[static_cast<std::size_t>(in)] == GradientUse::kNone) continue;
      gl_.fetch_gradient(in, got.pointers);
      worst = std::max(worst, difference(got[in], expected[in], kMinGradient).error);
    }
    return worst;
  }

  GlBackend& gl_;
  const bool is_hardware_;
  std::unique_ptr<Backend> reference_;
  std::vector<Trial> left_;  // the next one last
  std::deque<Program> programs_;
  std::vector<GlSelfTestFailure> failures_;
};

namespace {

// ---- what is kept ----

std::uint64_t identity_of(const GlBackend& gl) {
  const GlDevice& device = gl.device();
  return scatter(hash_text(std::string(kFormat) + '\n' + device.vendor + '\n' + device.renderer +
                           '\n' + device.version) ^
                 gl.programs().texts_hash());
}

// How large an error is, or what was said instead: of both kinds of failures.
template <class Failure>
Json error_json(const Failure& failure) {
  return {{"error", std::isfinite(failure.error) ? Json(failure.error) : Json()},
          {"limit", failure.limit},
          {"message", say(Language::kEnglish, failure.message)}};
}

template <class Failure>
void read_error(const Json& json, Failure& failure) {
  const Json& error = json.at("error");
  const auto message = json.at("message").get<std::string>();
  failure.error = error.is_null() ? std::numeric_limits<double>::infinity() : error.get<double>();
  failure.limit = json.at("limit").get<double>();
  failure.message = message.empty() ? Message() : Message::of(message);
}

Json as_json(const GlBackend& gl, const GlSelfTest& test) {
  Json failures = Json::array(), training = Json::array();
  for (const GlSelfTestFailure& failure : test.failures) {
    Json& one = failures.emplace_back(error_json(failure));
    one["operation"] = op_info(failure.op).id;
    one["backward"] = failure.backward;
    one["shape"] = failure.shape;
  }
  for (const GlTrainingFailure& failure : test.training) {
    Json& one = training.emplace_back(error_json(failure));
    one["optimizer"] = word(failure.optimizer);
  }
  return {{"identity", cache_name(identity_of(gl), "")},
          {"renderer", gl.device().renderer},  // these two for people to read
          {"version", gl.device().version},
          {"passed", test.passed},
          {"failures", failures},
          {"training", training}};
}

// Throws for anything that is not as as_json() writes it.
GlSelfTest from_json(const Json& json) {
  GlSelfTest test{json.at("passed").get<bool>(), true, {}, {}};
  for (const Json& one : json.at("failures")) {
    const std::string name = one.at("operation").get<std::string>();
    const auto all = all_ops();
    const auto info = std::find_if(all.begin(), all.end(),
                                   [&](const OpInfo& candidate) { return candidate.id == name; });
    if (info == all.end()) throw Error("an unknown operation");
    GlSelfTestFailure& failure = test.failures.emplace_back();
    failure.op = info->op;
    failure.backward = one.at("backward").get<bool>();
    failure.shape = one.at("shape").get<std::string>();
    read_error(one, failure);
  }
  for (const Json& one : json.at("training")) {
    GlTrainingFailure& failure = test.training.emplace_back();
    const auto optimizer = from_word<OptimizerKind>(one.at("optimizer").get<std::string>());
    if (!optimizer) throw Error("an unknown optimizer");
    failure.optimizer = *optimizer;
    read_error(one, failure);
  }
  if (test.passed != (test.failures.empty() && test.training.empty()))
    throw Error("passed, with failures");
  return test;
}

std::optional<GlSelfTest> read_kept(const fs::path& path, std::uint64_t identity) {
  try {
    const Json json = Json::parse(PlainFile(path, 1 << 20).all());
    if (json.at("identity") != cache_name(identity, "")) return std::nullopt;
    return from_json(json);
  } catch (const Error&) {
  } catch (const Json::exception&) {
  }
  return std::nullopt;
}

// Where it cannot be kept the next start tests again.
void keep(const fs::path& path, const Json& json) {
  std::error_code none;
  fs::create_directories(path.parent_path(), none);
  try {
    write_file_atomic(path, json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n");
    prune_cache(path.parent_path(), kEnding, kRoom);
  } catch (const Error&) {
  }
}

}  // namespace

GlSelfTest self_test(GlBackend& gl, std::span<const Op> only) {
  const Tested tested(gl);
  GlOperationsTest test(gl, only);
  while (!test.is_done()) test.step();
  return test.result();
}

fs::path default_self_test_folder() { return cache_folder("self_test"); }

GlSelfTestRun::GlSelfTestRun(GlBackend& gl, fs::path folder, bool again)
    : gl_(gl), folder_(std::move(folder)) {
  const std::uint64_t identity = identity_of(gl);
  if (!folder_.empty() && !again) {
    if (auto known = read_kept(folder_ / cache_name(identity, kEnding), identity)) {
      result_ = *known;
      is_done_ = true;
      return;
    }
  }
  operations_ = std::make_unique<GlOperationsTest>(gl, std::span<const Op>());
}

GlSelfTestRun::~GlSelfTestRun() = default;

void GlSelfTestRun::step() {
  if (is_done_) return;
  const Tested tested(gl_);
  gl_.use(nullptr);  // not over what others have on the device
  // A card that is wrong once is refused. What it would do next is not known: where the end of a
  // loop is wrong, one more trial has been seen to take minutes.
  const GlSelfTest operations = operations_->result();
  if (operations.passed) {
    if (!operations_->is_done()) return operations_->step();
    if (training_ < training_trials()) return try_training(gl_, training_++, result_.training);
  }
  const std::vector<GlTrainingFailure> training = std::move(result_.training);
  result_ = operations;
  result_.training = training;
  result_.passed &= training.empty();
  is_done_ = true;
  if (!folder_.empty())
    keep(folder_ / cache_name(identity_of(gl_), kEnding), as_json(gl_, result_));
}

GlSelfTest known_self_test(GlBackend& gl, const fs::path& folder, bool again) {
  GlSelfTestRun run(gl, folder, again);
  while (!run.is_done()) run.step();
  return run.result();
}

GlSelfTest keep_wrong(GlBackend& gl, const GlWrong& wrong, const fs::path& folder) {
  GlSelfTest test;
  const auto all = all_ops();
  const auto info =
      std::find_if(all.begin(), all.end(), [&](const OpInfo& op) { return op.id == wrong.name; });
  if (info != all.end()) {
    const bool backward = wrong.kind == GlWrong::Kind::kBackward;
    test.failures.push_back({info->op, backward, wrong.shape, wrong.error, wrong.limit, {}});
  } else if (const auto optimizer = from_word<OptimizerKind>(wrong.name)) {
    test.training.push_back({*optimizer, wrong.error, wrong.limit, {}});
  }
  if (!folder.empty()) keep(folder / cache_name(identity_of(gl), kEnding), as_json(gl, test));
  return test;
}

}  // namespace headlight
