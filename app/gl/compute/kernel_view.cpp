#include "app/gl/compute/kernel_view.h"

#include <array>
#include <charconv>
#include <string_view>

#include "app/gl/compute/kernel_lines.h"
#include "app/gl/compute/ops/gl_ops.h"
#include "app/gl/context/embedded.h"
#include "core/autodiff/backward_plan.h"
#include "core/graph/step_names.h"

namespace headlight {
namespace {

// What buffers are called by while nothing runs.
constexpr unsigned kIn = 1, kOut = 5, kDOut = 6, kDIn = 7, kScratch = 11, kTurns = 12,
                   kTableBuffer = 13;

struct Launch {
  Kernel kernel{};
  int variant = 0;
  std::int64_t rows = 0, columns = 0;
  GlGroups groups;
  std::vector<unsigned> buffers;
  std::vector<GlUniform> uniforms;

  std::int64_t uniform(std::string_view name) const {
    for (const GlUniform& u : uniforms) {
      if (u.name == name) return u.whole;
    }
    return 0;
  }
};

// Takes note of what would run.
class Notes final : public GlLauncher {
 public:
  void launch(const GlLaunch& l) override {
    launches.push_back({l.kernel, l.variant, l.rows, l.columns, l.groups, l.buffers, l.uniforms});
  }
  unsigned scratch(std::int64_t) override { return kScratch; }
  unsigned turns(std::int64_t, double, const RotaryStretch&) override { return kTurns; }
  unsigned table(std::vector<std::uint32_t>) override { return kTableBuffer; }

  std::vector<Launch> launches;
};

// ---- where a cell lies in a launch ----

using Place = std::array<std::int64_t, 3>;

// Groups that spread_groups() laid in two dimensions, by group_index() of common.glsl.
Place spread_place(std::int64_t group, const GlGroups& groups) {
  return {group % groups.x, group / groups.x, 0};
}

// Row and column of the tile's matrix that has this cell of the result. The heads' weights stand
// one head after the other, the kernel takes their columns side by side.
Place product_place(const Launch& l, std::int64_t cell) {
  if (l.kernel == Kernel::kProjectBackwardW) {
    const std::int64_t width = l.uniform("width"), head = cell / (l.rows * width);
    return {head * width + cell % width, cell / width % l.rows, 0};
  }
  return {cell % l.columns, cell / l.columns % l.rows, cell / (l.rows * l.columns)};
}

// `cell` counts the result's cells in row-major order, `cells` is how many there are.
void find_group(KernelSite& site, const Launch& l, const KernelTable& table, std::int64_t cell,
                std::int64_t cells) {
  const std::int64_t size = table.group(l.kernel, l.variant);
  switch (kernel_info(l.kernel).shape) {
    case KernelShape::kCells:
      site.group_size = {size, 1, 1};
      site.group = spread_place(cell / size, l.groups);
      site.invocation = {cell % size, 0, 0};
      return;
    case KernelShape::kRows: {
      const std::int64_t length = cells / l.rows;  // 1 where a row comes down to one number
      site.group_size = {size, 1, 1};
      site.group = spread_place(cell / length, l.groups);
      site.invocation = {cell % length % size, 0, 0};
      site.help = KernelHelp::kGroup;
      return;
    }
    case KernelShape::kColumns:
      site.group_size = {table.column_group, table.row_lanes, 1};
      site.group = {cell / table.column_group, 0, 0};
      site.invocation = {cell % table.column_group, 0, 0};
      site.help = KernelHelp::kColumn;
      return;
    case KernelShape::kProduct: {
      const auto [column, row, matrix] = product_place(l, cell);
      const ProductTiles& tiles = table.tiles(l.variant);
      site.group_size = {tiles.size_x(), tiles.size_y(), 1};
      site.group = {column / tiles.columns, row / tiles.rows, matrix};
      site.invocation = {column % tiles.columns % tiles.size_x(), row % tiles.rows % tiles.size_y(),
                         0};
      site.help = tiles.is_direct() ? KernelHelp::kNone : KernelHelp::kGroup;
      return;
    }
    case KernelShape::kAttention: {
      const AttentionTiles& tiles = table.attention;
      const std::int64_t column = cell % l.columns, row = cell / l.columns % l.rows;
      site.group_size = {tiles.side, tiles.side, 1};
      site.group = {row / tiles.tile(), 0, cell / (l.rows * l.columns)};
      site.invocation = {column % tiles.side, row % tiles.tile() % tiles.side, 0};
      site.help = KernelHelp::kGroup;
      return;
    }
  }
}

// ---- what a site shows ----

std::string number_text(const GlUniform& uniform) {
  if (!uniform.is_float) return std::to_string(uniform.whole);
  std::array<char, 32> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), uniform.fraction).ptr;
  return {text.data(), end};
}

std::string buffer_name(const Program& program, const OpCall& call, unsigned buffer) {
  const auto name = [&](TensorId id) { return program.tensors[place(id)].name; };
  if (buffer >= kIn && buffer < kOut) return name(call.in[buffer - kIn]);
  if (buffer == kOut) return name(call.out);
  if (buffer == kDOut) return gradient_name(name(call.out));
  if (buffer >= kDIn && buffer < kScratch) return gradient_name(name(call.in[buffer - kDIn]));
  return {};
}

// ---- one call, forward or backward ----

/// Looks up the sites of cells of one program.
class Locator {
 public:
  Locator(const Program& program, const KernelDevice& device, const KernelCells& cells)
      : program_(program), device_(device), cells_(cells) {}

  /// The cell of the call's result.
  void forward(int call, std::int64_t cell, KernelView& view) {
    Notes notes;
    GlOps ops(device_.limits, device_.table, notes);
    const GlOpCall c = call_of(call);
    if (!ops.fits(c)) return fall_back(c, view);
    ops.forward(c);
    for (const Launch& l : notes.launches) add_site(call, l, cell, c.cells(), kOut, view);
  }

  /// What the call passes on to the gradient of an input.
  void backward(int call, std::size_t input, bool adds, std::int64_t cell, KernelView& view) {
    Notes notes;
    GlOps ops(device_.limits, device_.table, notes);
    const GlOpCall c = call_of(call);
    if (!ops.fits(c)) return fall_back(c, view);
    GlOpGradients d;
    d.d_out = kDOut;
    d.d_in[input] = kDIn + static_cast<unsigned>(input);
    d.adds[input] = adds;
    ops.backward(c, d);
    const bool embeds = c.call.op == Op::kEmbed;
    const std::int64_t token = embeds ? token_of(c, cell / c.size(1, 1)) : 0;
    for (const Launch& l : notes.launches) {
      if (embeds && token == kNoToken && l.kernel != Kernel::kZero) continue;
      add_site(call, l, cell, cell_count(c.axes[input]), d.d_in[input], view);
      if (l.kernel == Kernel::kEmbedBackward) at_token(view.sites.back(), l, token, cell);
    }
  }

 private:
  static constexpr std::int64_t kNoToken = -1, kUnknownToken = -2;

  void fall_back(const GlOpCall& c, KernelView& view) const {
    view.none = Message{op_info(c.call.op).is_sequential ? "kernel.sequential" : "kernel.fallback",
                        {{"tensor", program_.tensors[place(c.call.out)].name}}};
  }

  GlOpCall call_of(int call) const {
    GlOpCall c(program_, program_.calls[place(call)]);
    for (std::size_t i = 0; i < c.inputs; ++i) c.in[i] = kIn + static_cast<unsigned>(i);
    c.out = kOut;
    return c;
  }

  // The first token that picks this row of an embedding: it adds up for all.
  std::int64_t token_of(const GlOpCall& c, std::int64_t row) const {
    const std::span<const float> ids =
        cells_ ? cells_(program_.resolve(c.call.in[0])) : std::span<const float>();
    if (ids.empty()) return kUnknownToken;
    for (std::size_t t = 0; t < ids.size(); ++t) {
      if (static_cast<std::int64_t>(ids[t]) == row) return static_cast<std::int64_t>(t);
    }
    return kNoToken;
  }

  // The kernel's cells are those of the tokens, not those of the table that it adds to.
  void at_token(KernelSite& site, const Launch& l, std::int64_t token, std::int64_t cell) const {
    const std::int64_t width = l.uniform("width"), tokens = l.uniform("tokens");
    site.adds = true;
    if (token == kUnknownToken) {
      site.help = KernelHelp::kAll;
      site.group = site.invocation = {};
    } else {
      find_group(site, l, device_.table, token * width + cell % width, tokens * width);
    }
  }

  void add_site(int call, const Launch& l, std::int64_t cell, std::int64_t cells, unsigned result,
                KernelView& view) const {
    const OpCall& c = program_.calls[place(call)];
    KernelSite site;
    site.call = call;
    site.defines = device_.table.defines(l.kernel, l.variant);
    site.sources = kernel_sources(kernel_info(l.kernel).file, site.defines, device_.texts);
    site.groups = {l.groups.x, l.groups.y, l.groups.z};
    site.adds = l.uniform("adds") != 0;
    for (const GlUniform& u : l.uniforms) site.uniforms.emplace_back(u.name, number_text(u));
    for (const unsigned b : l.buffers) site.buffers.push_back(buffer_name(program_, c, b));
    const bool writes_result = l.buffers.back() == result;
    find_group(site, l, device_.table, writes_result ? cell : 0, writes_result ? cells : l.rows);
    if (!writes_result) {
      site.help = KernelHelp::kAll;
      site.group = site.invocation = {};
    }
    view.sites.push_back(std::move(site));
  }

  const Program& program_;
  const KernelDevice& device_;
  const KernelCells& cells_;
};

// The one whose gradient this is; of others the tensor itself. Aliases go by their owners.
TensorId source_of(const Program& program, TensorId tensor) {
  const TensorSpec& owner = program.tensors[place(program.resolve(tensor))];
  return program.resolve(owner.kind == TensorKind::kGradient ? owner.source : tensor);
}

BackwardPlan backward_plan_of(const Program& program) {
  const TensorId seed = program.loss >= 0 ? program.loss : program.calls.back().out;
  return plan_backward(program, {&seed, 1});
}

std::int64_t cell_of(const Program& program, TensorId tensor, std::span<const std::int64_t> index) {
  return flat_index(program.tensors[place(tensor)].axes, index);
}

void explain_nothing(KernelView& view, const char* text, const std::string& tensor) {
  const bool nothing = view.sites.empty() && view.none.empty();
  if (nothing) view.none = Message{text, {{"tensor", tensor}}};
}

}  // namespace

KernelDevice KernelDevice::usual() {
  KernelDevice device;
  device.limits.version = 43;
  device.limits.group_invocations = 1024;
  device.limits.group_size = {1024, 1024, 64};
  device.limits.group_count = {65535, 65535, 65535};
  device.limits.shared_bytes = 32768;
  device.limits.block_bytes = (std::int64_t{1} << 31) - 1;
  device.limits.blocks = 8;
  device.table = KernelTable::of(device.limits);
  device.texts = embedded_file;
  return device;
}

KernelView locate_kernel(const Program& program, int call, TensorId gradient,
                         std::span<const std::int64_t> index, const KernelDevice& device,
                         const KernelCells& cells) {
  KernelView view;
  Locator locator(program, device, cells);
  const OpCall& c = program.calls[place(call)];
  if (gradient < 0) {
    locator.forward(call, cell_of(program, c.out, index), view);
    return view;
  }
  const TensorId source = source_of(program, gradient);
  const std::int64_t cell = cell_of(program, gradient, index);
  const BackwardPlan plan = backward_plan_of(program);
  for (const BackwardCall& step : plan.calls) {
    for (std::size_t i = 0; step.call == call && i < c.in.size(); ++i) {
      const GradientUse use = step.uses[i];
      if (use == GradientUse::kNone || program.resolve(c.in[i]) != source) continue;
      locator.backward(call, i, use == GradientUse::kAdded, cell, view);
    }
  }
  const bool shares = plan.owners[place(source)] != source;
  explain_nothing(view, shares ? "kernel.shared" : "kernel.unreached",
                  program.tensors[place(c.out)].name);
  return view;
}

KernelView locate_cell(const Program& program, TensorId tensor, std::span<const std::int64_t> index,
                       const KernelDevice& device, const KernelCells& cells) {
  KernelView view;
  Locator locator(program, device, cells);
  // An alias is the same cells under another shape.
  const std::int64_t cell = cell_of(program, tensor, index);
  const std::string& name = program.tensors[place(tensor)].name;
  if (!program.is_gradient(tensor)) {
    const int call = program.producer(tensor);
    if (call >= 0) locator.forward(call, cell, view);
    if (call < 0) explain_nothing(view, "kernel.given", name);
    return view;
  }
  const BackwardPlan plan = backward_plan_of(program);
  const TensorId owner = plan.owners[place(source_of(program, tensor))];
  for (const BackwardCall& step : plan.calls) {
    const std::vector<TensorId>& in = program.calls[place(step.call)].in;
    for (std::size_t i = 0; i < in.size(); ++i) {
      const GradientUse use = step.uses[i];
      if (use == GradientUse::kNone || plan.owners[place(in[i])] != owner) continue;
      locator.backward(step.call, i, use == GradientUse::kAdded, cell, view);
    }
  }
  explain_nothing(view, "kernel.given", name);
  return view;
}

}  // namespace headlight
