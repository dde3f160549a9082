// Special tokens as files that do not say them usually have them: their names, and the rows that
// they stand in.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/text/pieces/piece_tokenizer.h"

namespace headlight {

/// Whose files they are.
enum UsualIn : unsigned {
  kBertFiles = 1,
  kRobertaFiles = 2,
  kGpt2Files = 4,
  kQwen2Files = 8,
  kSentencePieceFiles = 16,
  kAnyTokenizerJson = 32,  // there what is no special token of the file is none of these
};

/// The usual names in such files, the likeliest first.
std::vector<std::string> usual_names(Special, UsualIn);

/// Fills the names that nothing said with usual ones, of those that `has` knows.
void fill_usual_names(SpecialNames&, UsualIn, const std::function<bool(const std::string&)>& has);

/// Special tokens around a text, as a tokenizer.json's post_processor.
struct SpecialRow {
  std::vector<std::string> before, behind;
  bool each = false;  // of a pair both texts have them, and the second is another segment
};
nlohmann::json special_row_json(const SpecialRow&,
                                const std::function<int(const std::string&)>& id_of);

}  // namespace headlight
