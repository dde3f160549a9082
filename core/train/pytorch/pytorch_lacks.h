// What the PyTorch of an exported folder does not have.
#pragma once

#include <string>

#include "core/graph/config.h"
#include "core/train/run_settings.h"

namespace headlight {

/// The options that such a model has and assets/export/model.py lacks: "--memory, --masked-heads";
/// empty where it can be exported.
std::string pytorch_lacks(const Config&);
/// The same of a run and train.py.
std::string pytorch_lacks(const RunSettings&);

}  // namespace headlight
