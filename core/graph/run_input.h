// RunInput: the tokens that one run of a program reads.
#pragma once

#include <string>
#include <vector>

namespace headlight {

/// What a run starts from besides its parameters.
struct RunInput {
  std::vector<std::string> tokens;              // as the sentence has them, in order
  std::vector<std::string> vocab;               // row -> token
  std::vector<int> ids;                         // position -> row of the vocabulary
  std::vector<std::string> source_tokens = {};  // of an encoder-decoder: what the encoder reads
  std::vector<int> source_ids = {};
  // Config::memory: the tokens before this segment whose rows are remembered, in order.
  std::vector<int> memory_ids = {};
  std::vector<int> segment_ids = {};  // Config::segments: of each token, segments_of()
  std::vector<int> masked = {};       // of a model that fills [MASK]: the positions that have it
  std::vector<std::string> classes = {};  // of a classifier: their names
  bool has_pieces = false;                // Vocabulary::blanks_begin_words
};

}  // namespace headlight
