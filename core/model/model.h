// Model: a trained transformer, ready to be run. Immutable once made, so that threads share it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/model/model_file.h"
#include "core/tensor.h"
#include "core/text/vocabulary.h"

namespace headlight {

struct Model {
  std::string ref, name;
  ModelFile file;
  std::shared_ptr<const Vocabulary> vocabulary;
  std::vector<Tensor> weights;
};

}  // namespace headlight
