#include "app/gl/tuning/measure.h"

#include <algorithm>
#include <array>
#include <functional>

#include "app/gl/context/embedded.h"
#include "app/gl/training/gl_trainer.h"
#include "core/base/random.h"
#include "core/model/init.h"

namespace headlight {
namespace {

constexpr int kMinRuns = 3, kMaxRuns = 15;

double median(std::vector<double> times) {
  const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
  std::nth_element(times.begin(), middle, times.end());
  return *middle;
}

// Runs once, then until there is enough to take the median of. `queue` times what runs, and `take`
// says how much of that counts, in nanoseconds.
void repeat(GlQueue& queue, double seconds, const std::function<void()>& run,
            const std::function<double(const std::vector<GlTiming>&)>& take) {
  run();
  queue.set_timing(true);
  double sum = 0;
  const double enough = seconds * 1e9;
  for (int runs = 0;
       runs == 0 || (runs < kMinRuns && sum < 4 * enough) || (runs < kMaxRuns && sum < enough);
       ++runs) {
    run();
    sum += take(queue.take_timings());
  }
  queue.set_timing(false);
}

GlTime time_of(std::string_view file, const std::vector<double>& times) {
  return {file, median(times), *std::min_element(times.begin(), times.end()),
          static_cast<int>(times.size())};
}

// All kernels of a run together.
GlTime time_runs(GlQueue& queue, double seconds, const std::function<void()>& run) {
  std::string_view file;
  std::vector<double> times;
  repeat(queue, seconds, run, [&](const std::vector<GlTiming>& kernels) {
    double taken = 0;
    for (const GlTiming& kernel : kernels) taken += kernel.nanoseconds;
    if (!kernels.empty()) file = kernels.front().file;
    times.push_back(taken);
    return taken;
  });
  return time_of(file, times);
}

// Buffers that live as long as this.
class Buffers {
 public:
  Buffers(const GlCalls& gl, std::int64_t cells) : gl_(gl) {
    gl_.gen_buffers(2, ids_.data());
    const std::vector<float> numbers(static_cast<std::size_t>(cells), 1.0f);
    for (const unsigned id : ids_) {
      gl_.bind_buffer(GL_SHADER_STORAGE_BUFFER, id);
      gl_.buffer_data(GL_SHADER_STORAGE_BUFFER, static_cast<GLsizeiptr>(4 * cells), numbers.data(),
                      GL_DYNAMIC_COPY);
      check_gl(gl_, "glBufferData");
    }
  }
  ~Buffers() { gl_.delete_buffers(2, ids_.data()); }
  Buffers(const Buffers&) = delete;
  Buffers& operator=(const Buffers&) = delete;
  unsigned operator[](std::size_t i) const { return ids_[i]; }

 private:
  const GlCalls& gl_;
  std::array<unsigned, 2> ids_{};
};

// Memory for a program's tensors.
struct Cells {
  explicit Cells(const Program& program) {
    for (const TensorSpec& spec : program.tensors) {
      tensors.emplace_back(static_cast<std::size_t>(cell_count(spec.axes)), 0.0f);
      pointers.push_back(tensors.back().data());
    }
  }
  std::vector<FloatBuffer> tensors;
  std::vector<float*> pointers;
};

}  // namespace

GlRates measure_rates(const GlBackendOptions& options) {
  const GlCalls gl = options.calls ? *options.calls : real_gl();
  const GlDevice device = GlDevice::ask(gl);
  const KernelTable table = KernelTable::of(device);
  GlPrograms programs(gl, device, table, embedded_file, options.program_folder);
  GlQueue queue(gl, device);
  const bool hardware = !is_software_renderer(device.renderer);
  const std::int64_t most = device.limits.block_bytes / 4;
  const std::int64_t cells = std::min(most, std::int64_t{1} << (hardware ? 26 : 22)) / 4 * 4;
  const Buffers buffers(gl, cells);
  GlRates rates;
  const auto groups = [&](std::int64_t n) {
    return spread_groups((n + table.cells_group - 1) / table.cells_group, device.limits);
  };
  const GlTime copy = time_runs(queue, 0.5, [&] {
    queue.dispatch(programs.get(Kernel::kCopy, 0), {buffers[0], buffers[1]}, {{"cells", cells}},
                   groups(cells / 4));
  });
  rates.copies = 8.0 * static_cast<double>(cells) / copy.nanoseconds;
  // Enough rounds for the work to be long beside its start.
  const std::int64_t invocations = std::min(cells, std::int64_t{1} << (hardware ? 20 : 12));
  const double enough = hardware ? 1e7 : 1e8;
  double taken = 0;
  std::int64_t rounds = 16;
  for (; taken < enough && rounds < (1 << 20); rounds *= taken < enough / 8 ? 8 : 2) {
    const std::int64_t now = rounds;
    taken = time_runs(queue, 0.2, [&] {
              queue.dispatch(
                  programs.get(Kernel::kMultiplyAdd, 0), {buffers[1]},
                  {{"cells", invocations}, {"rounds", now}, {"factor", 0.5f}, {"step_size", 0.5f}},
                  groups(invocations));
            }).nanoseconds;
    const double operations = 2.0 * 16 * 8 * static_cast<double>(now * invocations);
    rates.multiply_adds = std::max(rates.multiply_adds, operations / taken);
  }
  gl.use_program(0);
  check_device(gl, "shaders/multiply_add.comp");
  return rates;
}

GlTime time_call(GlBackend& gl, const GlTimedCall& call, double seconds) {
  const std::int64_t width = call.inputs[0].back();
  const Program program = trial_program(call.op, call.inputs, width);
  Cells memory(program), gradients(program);
  fill_trial(program, memory.pointers, hash_text(op_info(call.op).id), 1.0f);
  for (FloatBuffer& cells : gradients.tensors) {
    for (std::size_t i = 0; i < cells.size(); ++i) cells[i] = bell(1, i);
  }
  gl.set_fetching(false);
  const auto forward = [&] { gl.run(program, program.calls, memory.pointers); };
  BackwardCall step{0, {}};
  if (call.gradient >= 0) {
    step.uses[static_cast<std::size_t>(call.gradient)] = GradientUse::kWritten;
    forward();  // some gradients are made of the result
  }
  const GlTime time = time_runs(gl.queue(), seconds, [&] {
    if (call.gradient < 0) return forward();
    gl.run_backward(program, {&step, 1}, memory.pointers, gradients.pointers);
  });
  gl.set_fetching(true);
  return time;
}

std::vector<GlTime> time_attention(GlBackend& gl, const GlTimedAttention& a, double seconds) {
  constexpr std::int64_t kVocab = 3;
  Config config;
  config.layers = 1;
  config.heads = static_cast<int>(a.heads);
  config.d_model = static_cast<int>(a.heads * a.width);
  config.block = BlockKind::kAttention;
  config.mask.kind = MaskKind::kNone;
  const RunShape shape{.batch = 1, .positions = a.tokens, .vocab = kVocab};
  // The caller keeps the backend.
  GlTrainer trainer(config, shape,
                    initial_parameters(build_program(config, shape), Init::kGlorot, 1), {},
                    {std::shared_ptr<void>(), &gl});
  TokenBatch batch{a.batch, a.tokens, {}, {}};
  for (std::int64_t i = 0; i < a.batch * a.tokens; ++i) {
    batch.tokens.push_back(static_cast<int>(i % kVocab));
    batch.targets.push_back(static_cast<int>((i + 1) % kVocab));
  }
  std::vector<std::pair<std::string_view, std::vector<double>>> times;
  repeat(
      gl.queue(), seconds, [&] { trainer.step(batch); },
      [&](const std::vector<GlTiming>& kernels) {
        double sum = 0;
        for (const GlTiming& kernel : kernels) {
          if (!kernel.file.starts_with("shaders/attention")) continue;
          const auto known = std::find_if(times.begin(), times.end(),
                                          [&](const auto& t) { return t.first == kernel.file; });
          auto& one = known == times.end() ? times.emplace_back(kernel.file, 0) : *known;
          one.second.push_back(kernel.nanoseconds);
          sum += kernel.nanoseconds;
        }
        return sum;
      });
  std::vector<GlTime> result;
  for (const auto& [file, each] : times) result.push_back(time_of(file, each));
  return result;
}

}  // namespace headlight
