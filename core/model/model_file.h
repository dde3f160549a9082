// config.json of a saved model: which transformer its weights belong to.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/config.h"

namespace headlight {

inline constexpr int kModelVersion = 1;
inline constexpr std::int64_t kLargestVocab = 1 << 24, kLargestContext = 1 << 16;

struct ModelFile {
  Config config;
  std::int64_t vocab = 0;    // rows of W_E
  std::int64_t context = 0;  // positions that it was trained on
  std::string task, kind;    // words of whoever trained it; kept as they are
  bool operator==(const ModelFile&) const = default;
};

/// The text of config.json; the model itself in the words of a session file.
std::string model_text(const ModelFile&);

/// Reads it. Throws Error for anything that is not such a file of this version with values in range
/// that make a model (validate); the message names the key, what was expected and what came.
ModelFile parse_model(std::string_view text);

}  // namespace headlight
