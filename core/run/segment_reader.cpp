#include "core/run/segment_reader.h"

#include <algorithm>

#include "core/graph/program_memory.h"

namespace headlight {

std::size_t tokens_before(const Config& config, std::size_t tokens, std::size_t length) {
  if (config.memory == 0 || tokens == 0) return 0;
  return (tokens - 1) / length * length;
}

bool SegmentReader::goes_on(const Config& config, const RunShape& shape, const RunInput& input,
                            std::size_t before, const std::shared_ptr<const void>& owner,
                            std::string_view backend) const {
  if (tokens_.size() > before || !(config == config_) || owner != owner_ || backend != backend_ ||
      shape.positions != shape_.positions)
    return false;
  return std::equal(tokens_.begin(), tokens_.end(), input.tokens.begin());
}

const SegmentMemory& SegmentReader::read(const Config& config, RunShape shape,
                                         const RunInput& input, std::size_t before,
                                         ParameterSource& weights,
                                         const std::shared_ptr<const void>& owner,
                                         Backend& backend) {
  if (!goes_on(config, shape, input, before, owner, backend.name())) {
    tokens_.clear();
    memory_ = {};
    config_ = config;
    shape_ = shape;
    owner_ = owner;
    backend_ = backend.name();
    program_.reset();
  }
  const auto length = static_cast<std::size_t>(shape.positions);
  while (tokens_.size() < before) {
    const auto begin = static_cast<std::ptrdiff_t>(tokens_.size());
    RunInput segment = input;
    segment.ids.assign(input.ids.begin() + begin,
                       input.ids.begin() + begin + static_cast<std::ptrdiff_t>(length));
    shape.memory = memory_.rows;
    run_segment(config, shape, segment, weights, backend);
    std::copy_n(input.tokens.begin() + begin, length, std::back_inserter(tokens_));
  }
  program_.reset();  // the memory is what is kept
  arena_ = {};
  return memory_;
}

// As far as the rows that come into the last layer.
void SegmentReader::run_segment(const Config& config, const RunShape& shape, const RunInput& input,
                                ParameterSource& weights, Backend& backend) {
  if (!program_ || !(program_->shape == shape)) {
    program_ = std::make_shared<const Program>(build_program(config, shape));
    calls_ = calls_for(*program_, program_->remembered.back());
    arena_.resize(arena_cells(*program_));
  }
  const Program& p = *program_;
  std::vector<float*> cells(p.tensors.size(), nullptr);
  std::vector<std::shared_ptr<const Tensor>> parameters(p.tensors.size());
  lay_out(p, arena_.data(), cells);
  for (std::size_t id = 0; id < p.tensors.size(); ++id) {
    if (p.tensors[id].kind != TensorKind::kParameter) continue;
    parameters[id] = weights.parameter(p.tensors[id], input);
    // Backends only write the outputs of calls, and no call writes a parameter.
    cells[id] = const_cast<float*>(parameters[id]->data.data());
  }
  share_aliases(p, cells);
  fill_inputs(p, input.ids, {}, cells);
  fill_memory(p, memory_, 0, cells);
  backend.set_constants(parameters);
  backend.run(p, calls_, cells);
  make_room(config, memory_, 1, shape.positions, next_);
  keep_memory(p, cells, 0, next_);
  std::swap(memory_, next_);
}

}  // namespace headlight
