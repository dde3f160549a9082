// The tokenizer files of a model for other programs.
#pragma once

#include <string>

#include "core/model/model.h"

namespace headlight {

struct TokenizerFiles {
  std::string tokenizer;  // tokenizer.json
  std::string config;     // tokenizer_config.json
};

/// Throws Error with the reason where a tokenizer.json cannot say what the vocabulary does.
TokenizerFiles tokenizer_files(const Model&);

}  // namespace headlight
