// The kernels of the cells of whole models: those that a run dispatches, and, of a gradient, those
// of every call that has a part in it.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <limits>

#include "app/gl/compute/kernel_view.h"
#include "app/gl/context/embedded.h"
#include "core/autodiff/gradient_program.h"
#include "core/base/random.h"
#include "core/run/targets.h"
#include "tests/gl/test_gl_backend_support.h"

namespace headlight::test_gl_kernel_order {
namespace {

using test::check_no_messages;
using test::compute_ready;
using test::shared_backend;

/// A training program that has run once, with its backward pass.
struct Net {
  explicit Net(const Config& config)
      : plain(std::make_shared<const Program>(build_training_program(config, shape_of(config)))),
        pass(plain),
        program(with_gradients(pass)) {
    for (std::size_t id = 0; id < plain->tensors.size(); ++id) {
      const TensorSpec& spec = plain->tensors[id];
      cells.emplace_back(static_cast<std::size_t>(cell_count(spec.axes)));
      for (std::size_t i = 0; i < cells[id].size(); ++i) {
        cells[id][i] = spec.kind == TensorKind::kInput ? 0.0f : bell(hash_text(spec.name), i);
      }
    }
    for (std::size_t id = 0; id < cells.size(); ++id) {
      memory.push_back(cells[place(plain->resolve(static_cast<TensorId>(id)))].data());
    }
    for (const TensorId ids : {plain->token_ids, plain->source_ids, plain->targets}) {
      for (std::size_t i = 0; ids >= 0 && i < cells[place(ids)].size(); ++i) {
        cells[place(ids)][i] = static_cast<float>(1 + i % 2);
      }
    }
    if (plain->present >= 0)
      cells[place(plain->present)].assign(cells[place(plain->present)].size(), 1);
    const auto reference = make_reference_backend();
    reference->run(*plain, plain->calls, memory);
    pass.seed_loss(memory, counted_targets(*plain, memory));
  }

  static RunShape shape_of(const Config& c) {
    RunShape shape{2, 5, 9};
    if (c.form == ModelForm::kClasses) shape.classes = 3;
    if (c.form == ModelForm::kTranslate) shape.source = 4;
    return shape;
  }
  KernelCells look() const {
    return [this](TensorId id) {
      const auto& own = cells[place(plain->resolve(id))];
      return std::span<const float>(own.data(), own.size());
    };
  }
  // A cell that every call has a part in: of tables, row 1, which tokens pick.
  std::vector<std::int64_t> index(TensorId id) const {
    std::vector<std::int64_t> all(program.tensors[place(id)].axes.size(), 0);
    const bool table = program.tensors[place(id)].name.find("W_E") != std::string::npos;
    if (table) all[0] = 1;
    return all;
  }

  std::shared_ptr<const Program> plain;
  Backward pass;
  Program program;
  std::vector<FloatBuffer> cells;
  std::vector<float*> memory;
};

KernelDevice this_device() {
  const KernelTable& table = shared_backend().kernel_table();
  return {table, shared_backend().device().limits, embedded_file};
}

std::vector<Config> configs() {
  Config c;
  c.layers = 2;
  c.heads = 2;
  c.d_model = 6;
  c.d_hidden = 7;
  std::vector<Config> all(4, c);
  all[0].positions = PositionKind::kLearned;
  all[1].form = ModelForm::kTranslate;
  all[1].scores = ScoreKind::kAdditive;
  all[1].kv_heads = 1;
  all[1].block = BlockKind::kPostNorm;
  all[1].mask.kind = MaskKind::kCausal;
  all[2].form = ModelForm::kClasses;
  all[2].attention = AttentionKind::kBasic;
  all[2].block = BlockKind::kAttention;
  all[2].layers = 1;
  all[3].attention = AttentionKind::kWide;
  all[3].kv_heads = 1;
  all[3].activation = Activation::kGeluTanh;
  all[3].mask.kind = MaskKind::kCausal;
  return all;
}

using Files = std::vector<std::string>;

void add_files(Files& files, const KernelView& view) {
  CHECK(view.none.empty());
  for (const KernelSite& site : view.sites) files.push_back(site.file());
}

// What ran since the last call, by its tag.
std::vector<Files> files_that_ran(std::size_t tags) {
  std::vector<Files> all(tags);
  for (const GlTiming& timing : shared_backend().queue().take_timings()) {
    all[place(timing.tag)].emplace_back(timing.file);
  }
  return all;
}

}  // namespace

TEST_CASE(
    "kernel view: a run and a backward pass dispatch the kernels that are shown, in this order") {
  if (!compute_ready()) return;
  GlBackend& gl = shared_backend();
  gl.queue().set_timing(true);
  for (const Config& config : configs()) {
    Net net(config);
    const Program& p = *net.plain;
    const KernelDevice device = this_device();
    files_that_ran(p.calls.size());
    gl.run(p, p.calls, net.memory);
    const std::vector<Files> ran = files_that_ran(p.calls.size());
    for (std::size_t i = 0; i < p.calls.size(); ++i) {
      Files shown;
      add_files(shown, locate_kernel(p, static_cast<int>(i), -1, net.index(p.calls[i].out), device,
                                     net.look()));
      CHECK(shown == ran[i]);
    }
    const auto steps = net.pass.calls();
    gl.run_backward(p, steps, net.memory, net.pass.gradients());
    const std::vector<Files> backward = files_that_ran(steps.size());
    for (std::size_t s = 0; s < steps.size(); ++s) {
      const std::vector<TensorId>& in = p.calls[place(steps[s].call)].in;
      std::vector<TensorId> done;
      Files shown;
      for (std::size_t i = 0; i < in.size(); ++i) {
        const TensorId owner = p.resolve(in[i]);
        const bool again = std::find(done.begin(), done.end(), owner) != done.end();
        if (steps[s].uses[i] == GradientUse::kNone || again) continue;
        done.push_back(owner);
        add_files(shown,
                  locate_kernel(p, steps[s].call, in[i], net.index(in[i]), device, net.look()));
      }
      CHECK(shown == backward[s]);
    }
  }
  gl.queue().set_timing(false);
  check_no_messages();
}

TEST_CASE("kernel view: a gradient has the kernels of every call that changes it, in their order") {
  const auto reference = make_reference_backend();
  const KernelDevice device = KernelDevice::usual();
  std::size_t several = 0;
  for (const Config& config : configs()) {
    Net net(config);
    const Program& p = net.program;
    const auto gradients = net.pass.gradients();
    const std::size_t count = net.plain->tensors.size();
    const auto bytes = [&](std::size_t id) { return 4 * net.cells[id].size(); };
    for (std::size_t id = 0; id < count; ++id) {
      if (p.gradients[id] < 0 || static_cast<TensorId>(id) == p.loss) continue;
      std::fill_n(gradients[id], net.cells[id].size(), std::numeric_limits<float>::quiet_NaN());
    }
    std::vector<std::vector<int>> changed(count);
    for (const BackwardCall& step : net.pass.calls()) {
      std::vector<std::vector<float>> before;
      for (std::size_t id = 0; id < count; ++id) {
        const bool has = p.gradients[id] >= 0;
        before.emplace_back(gradients[id], gradients[id] + (has ? net.cells[id].size() : 0));
      }
      reference->run_backward(*net.plain, {&step, 1}, net.memory, gradients);
      for (std::size_t id = 0; id < count; ++id) {
        if (p.gradients[id] < 0) continue;
        if (std::memcmp(before[id].data(), gradients[id], bytes(id)) != 0) {
          changed[id].push_back(step.call);
        }
      }
    }
    for (std::size_t id = 0; id < count; ++id) {
      const TensorId gradient = p.gradients[id];
      if (gradient < 0) continue;
      CAPTURE(p.tensors[place(gradient)].name);
      const KernelView view = locate_cell(p, gradient, net.index(gradient), device, net.look());
      std::vector<int> shown;
      bool first = true;
      for (const KernelSite& site : view.sites) {
        if (shown.empty() || shown.back() != site.call) shown.push_back(site.call);
        if (site.help == KernelHelp::kAll) continue;
        CHECK(site.adds != first);
        first = false;
      }
      CHECK(shown == changed[id]);
      CHECK(view.none.empty() == !changed[id].empty());
      several += shown.size() > 1;
    }
  }
  CHECK(several > 10);
}

TEST_CASE("kernel view: what no kernel made says why") {
  const KernelDevice device = KernelDevice::usual();
  const Net net(configs()[0]);
  const Program& p = net.program;
  const auto why = [&](TensorId id) {
    return locate_cell(p, id, net.index(id), device, net.look());
  };
  for (const TensorId id : {p.token_ids, p.require("embed.W_E"), p.gradient(p.loss)}) {
    const KernelView view = why(id);
    CHECK(view.sites.empty());
    CHECK(view.none.id == "kernel.given");
    CHECK(say(Language::kEnglish, view.none).starts_with(p.tensors[place(id)].name + " is given"));
  }
  // A summand has the sum's gradient, and the kernels that made that.
  const TensorId sum = p.require("blocks.0.resid_mid"), summand = p.require("blocks.0.attn_out");
  const int call = p.producer(sum);
  const KernelView shared = locate_kernel(p, call, summand, net.index(summand), device, net.look());
  CHECK(shared.sites.empty());
  CHECK(shared.none.id == "kernel.shared");
  CHECK(why(p.gradient(summand)).sites.size() == why(p.gradient(sum)).sites.size());
  CHECK_FALSE(why(p.gradient(sum)).sites.empty());
  // A word that the sentence does not have: its row is set to 0, and no token adds to it.
  const std::vector<std::int64_t> row = {7, 0}, picked = {1, 0};
  const TensorId table = p.gradient(p.require("embed.W_E"));
  const KernelView unread = locate_cell(p, table, row, device, net.look());
  REQUIRE(unread.sites.size() == 1);
  CHECK(unread.sites[0].file() == "shaders/zero.comp");
  const KernelView read = locate_cell(p, table, picked, device, net.look());
  REQUIRE(read.sites.size() == 3);
  CHECK(read.sites[1].help == KernelHelp::kAll);
  CHECK(read.sites[1].buffers == std::vector<std::string>{p.tensors[place(p.token_ids)].name, ""});
  CHECK(read.sites[2].help == KernelHelp::kNone);
  // Without the tokens it cannot be told which of them adds up.
  const KernelView blind = locate_cell(p, table, picked, device);
  REQUIRE(blind.sites.size() == 3);
  CHECK(blind.sites[2].help == KernelHelp::kAll);
  // A device that takes nothing.
  KernelDevice tiny = device;
  tiny.limits.block_bytes = 8;
  const TensorId logits = p.require("logits");
  CHECK(locate_cell(p, logits, net.index(logits), tiny).none.id == "kernel.fallback");
  CHECK(locate_cell(p, p.gradient(logits), net.index(logits), tiny).none.id == "kernel.fallback");
  // Nothing of a loss reaches another tensor's gradient through this call.
  CHECK(locate_kernel(p, p.producer(logits), p.require("embed.W_E"), row, device).none.id ==
        "kernel.unreached");
}

TEST_CASE("kernel view: an alias has the kernels of the tensor that it is another name of") {
  const KernelDevice device = KernelDevice::usual();
  const Net net(configs()[2]);
  const Program& p = net.program;
  int aliases = 0;
  for (std::size_t id = 0; id < net.plain->tensors.size(); ++id) {
    if (p.tensors[id].kind != TensorKind::kAlias) continue;
    const TensorId source = p.resolve(static_cast<TensorId>(id));
    if (p.producer(source) < 0) continue;
    ++aliases;
    const std::int64_t last = cell_count(p.tensors[id].axes) - 1;
    for (const bool gradient : {false, true}) {
      const TensorId alias =
          gradient ? p.gradient(static_cast<TensorId>(id)) : static_cast<TensorId>(id);
      const TensorId owner = gradient ? p.gradient(source) : source;
      if (owner < 0) continue;
      const KernelView a =
          locate_cell(p, alias, unravel(p.tensors[place(alias)].axes, last), device);
      const KernelView b =
          locate_cell(p, owner, unravel(p.tensors[place(owner)].axes, last), device);
      REQUIRE(a.sites.size() == b.sites.size());
      CHECK_FALSE(a.sites.empty());
      for (std::size_t i = 0; i < a.sites.size(); ++i) {
        CHECK(a.sites[i].file() == b.sites[i].file());
        CHECK(a.sites[i].group == b.sites[i].group);
        CHECK(a.sites[i].invocation == b.sites[i].invocation);
      }
    }
  }
  CHECK(aliases > 0);
}

}  // namespace headlight::test_gl_kernel_order
