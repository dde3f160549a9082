// What an exported run goes on learning from: data.safetensors and what pytorch.json says of it.
#pragma once

#include <string>

#include "core/graph/config_json.h"
#include "core/train/data/batches.h"

namespace headlight {

struct PytorchData {
  OrderedJson about;    // of pytorch.json: which kind of data they are, and how batches are drawn
  std::string numbers;  // data.safetensors, I32
};

/// Of a running text all its tokens, of rows of ids all rows: from them train.py draws the very
/// batches that would have come here, as many as it likes. Of anything else the next `batches` of
/// them, drawn here. `task`: null for rows of ids.
PytorchData pytorch_data(const Task* task, BatchSource&, std::int64_t batches);

}  // namespace headlight
