#include "core/explain/reach_picture.h"

#include <algorithm>
#include <cmath>

#include "core/autodiff/backward.h"

namespace headlight {
namespace {

// The axis along which the cell's row belongs to a token; −1: there is none.
int token_axis(const TensorView& t) {
  for (const std::string_view word : {"query", "position"}) {
    const int dim = t.find_dim(word);
    if (dim >= 0) return dim;
  }
  return -1;
}

bool is_below(const Program& program, TensorId id, TensorId cell) {
  return program.resolve(id) < program.resolve(cell);
}

// The embeddings, and what each layer ends with, as far as they lie below the cell.
std::vector<std::pair<int, TensorId>> places_below(const Program& program, TensorId cell) {
  std::vector<std::pair<int, TensorId>> places;
  for (std::size_t i = 0; i < program.tensors.size(); ++i) {
    const TensorSpec& spec = program.tensors[i];
    const auto id = static_cast<TensorId>(i);
    if (spec.place.stack == Stack::kEncoder || !is_below(program, id, cell)) continue;
    if (spec.role == Role::kEmbedding && spec.kind != TensorKind::kAlias)
      places.push_back({-1, id});
    if (spec.role != Role::kResidual || spec.place.layer < 0) continue;
    // The last one of a layer stands for it: what comes behind replaces what came before.
    if (places.empty() || places.back().first != spec.place.layer)
      places.push_back({spec.place.layer, id});
    else
      places.back().second = id;
  }
  // Of the cell's own layer the stream is still on its way.
  const int own = program.tensors[static_cast<std::size_t>(cell)].place.layer;
  if (own >= 0) std::erase_if(places, [&](const auto& p) { return p.first >= own; });
  return places;
}

}  // namespace

std::optional<Reach> reach_of(const Trace& trace, TensorId tensor,
                              const std::vector<std::int64_t>& index) {
  const Program& shown = trace.program();
  if (tensor < 0 || shown.is_gradient(tensor)) return std::nullopt;
  // The run's own program without its backward pass, whose gradients are those of the loss.
  const auto program = std::make_shared<const Program>(build_program(shown.config, shown.shape));
  const TensorId id = program->find(shown.tensors[static_cast<std::size_t>(tensor)].name);
  if (id < 0 || program->producer(id) < 0) return std::nullopt;
  const TensorView view = trace.tensor(tensor);
  const int axis = token_axis(view);
  if (axis < 0 || index.size() != view.axes.size()) return std::nullopt;
  std::vector<float*> memory(program->tensors.size(), nullptr);
  for (std::size_t i = 0; i < memory.size(); ++i)
    memory[i] = const_cast<float*>(trace.find(program->tensors[i].name).data);  // only read
  Backward backward(program, {program->resolve(id)});
  const auto seed = backward.seed(program->resolve(id));
  std::fill(seed.begin(), seed.end(), 0.0f);
  seed[static_cast<std::size_t>(flat_index(view.axes, index))] = 1.0f;
  const auto backend = make_cpu_backend(1);
  backward.run(*backend, memory);
  Reach reach{trace.serial(), tensor, index, index[static_cast<std::size_t>(axis)], {}};
  for (const auto& [layer, below] : places_below(*program, id)) {
    const TensorView d = backward.gradient(below);
    const auto [rows, width] = as_rows(d.axes);
    ReachRow row{layer, {}};
    for (std::int64_t t = 0; t < rows; ++t) {
      double sum = 0;
      for (std::int64_t f = 0; f < width; ++f)
        sum += static_cast<double>(d.data[t * width + f]) * d.data[t * width + f];
      row.norms.push_back(static_cast<float>(std::sqrt(sum)));
    }
    reach.rows.push_back(std::move(row));
  }
  if (reach.rows.empty()) return std::nullopt;
  return reach;
}

}  // namespace headlight
