// What a model whose tokens are numbers says of every number: the curves that it has learned, and
// which expert has which part of the axis. All of it is read from a run over the whole grid.
#pragma once

#include <memory>
#include <vector>

#include "core/backends/backend.h"
#include "core/model/model.h"
#include "core/run/trace.h"

namespace headlight {

/// Has a model like this one a curve: are its tokens numbers, and is each of them by itself? Where
/// tokens are mixed or have places, what is said of one depends on the others.
bool has_curve(const Config&);

/// Whose numbers stand at the numbers of the grid, in its order.
struct NumberCurve {
  std::vector<double> x;
  std::vector<double> y;  // of a model that says one number; empty of one with components
  struct Component {
    std::vector<double> mean, spread, weight;
  };
  std::vector<Component> components;
  // Of the last layer's experts: the gate's weight, as it is heard; and what the model would say if
  // this expert's output alone joined what the head reads. Empty where more than the head's matrix
  // stands behind the experts, as a norm or another layer, or where there are components: then
  // their shares do not add up.
  struct Expert {
    std::vector<double> y, weight;
  };
  std::vector<Expert> experts;
};

/// A run of has_curve()'s model with the grid of `numbers` as its sentence.
std::shared_ptr<const Trace> grid_trace(const Config&, int numbers, ParameterSource&, Backend&);

/// What it says. Where the weights add up to 1 and experts have a y, Σ weight · y is the model's y.
NumberCurve number_curve(const Trace& over_the_grid);

/// The curve of the model that made this trace; `model` as RunResult has it. Null where it has
/// none, or where a run over the whole grid would take long.
std::shared_ptr<const NumberCurve> curve_of(const Trace&,
                                            const std::shared_ptr<const Model>& model);

}  // namespace headlight
