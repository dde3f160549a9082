#include "app/gl/training/gl_training_program.h"

#include "core/graph/program_memory.h"
#include "core/train/data/batch_inputs.h"

namespace headlight {
namespace {

constexpr std::size_t kLine = kTensorAlignment / sizeof(float);

std::size_t padded(std::int64_t cells) {
  return (static_cast<std::size_t>(cells) + kLine - 1) / kLine * kLine;
}

bool is_here(const TensorSpec& spec) {
  return spec.kind != TensorKind::kParameter && spec.kind != TensorKind::kAlias;
}

}  // namespace

GlTrainingProgram::GlTrainingProgram(Program p, std::shared_ptr<const Fusion> fusion,
                                     const GlCalls& gl, std::int64_t guard_cells,
                                     std::span<Tensor> parameters)
    : program(std::make_shared<const Program>(std::move(p))),
      calls(calls_for(*program, program->loss)),
      backward(program, KeptGradients::kParameters, fusion),
      storage(gl, guard_cells),
      drawn(gl, guard_cells) {
  drawn.begin(program->tensors.size(), 1);
  storage.fusion = std::move(fusion);
  lay_out();
  for (std::size_t id = 0; id < program->tensors.size(); ++id) {
    if (program->tensors[id].kind != TensorKind::kParameter) continue;
    // A run fetches a parameter only where the processor needs it, and then it is the newest.
    memory[id] = parameters[parameter_slots.size()].data.data();
    parameter_slots.push_back(id);
  }
  share_aliases(*program, memory);
  fill_own_mask(*program, memory);
}

void GlTrainingProgram::lay_out() {
  std::size_t cells = 0;
  for (const TensorSpec& spec : program->tensors)
    cells += is_here(spec) ? padded(cell_count(spec.axes)) : 0;
  arena_ = std::make_unique_for_overwrite<float[]>(cells + kLine);
  void* begin = arena_.get();
  std::size_t room = (cells + kLine) * sizeof(float);
  auto* next =
      static_cast<float*>(std::align(kTensorAlignment, cells * sizeof(float), begin, room));
  for (const TensorSpec& spec : program->tensors) {
    memory.push_back(is_here(spec) ? next : nullptr);
    if (is_here(spec)) next += padded(cell_count(spec.axes));
  }
}

GlCells GlTrainingProgram::look(TensorId id) {
  const auto slot = static_cast<std::size_t>(program->resolve(id));
  const std::int64_t cells = cell_count(program->look(id).axes);
  return {storage.tensors.to_read(slot, memory[slot], cells), cells};
}

}  // namespace headlight
