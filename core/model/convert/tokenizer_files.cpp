#include "core/model/convert/tokenizer_files.h"

#include <nlohmann/json.hpp>

#include "core/graph/config_json.h"
#include "core/graph/program_memory.h"
#include "core/text/tokenizer_export.h"

namespace headlight {
namespace {

// As tokenizer_config.json calls them, by Special.
constexpr const char* kTokenKeys[kSpecials] = {"pad_token", "unk_token",  "bos_token", "eos_token",
                                               "cls_token", "mask_token", "sep_token"};

// What the program puts around a sentence by itself, others have to be told: [CLS] before it, and
// of a pair [SEP] between and behind.
OrderedJson post_processor(const Vocabulary& vocabulary) {
  const std::optional<int> first = vocabulary.id_of(Special::kClass),
                           separator = vocabulary.id_of(Special::kSeparator);
  if (!first) return nullptr;
  const auto special = [&](int id, int type) -> OrderedJson {
    return {{"SpecialToken", {{"id", vocabulary.token(id)}, {"type_id", type}}}};
  };
  const auto sequence = [](const char* which, int type) -> OrderedJson {
    return {{"Sequence", {{"id", which}, {"type_id", type}}}};
  };
  const auto named = [&](int id) -> OrderedJson {
    return {{"id", vocabulary.token(id)},
            {"ids", OrderedJson::array({id})},
            {"tokens", OrderedJson::array({vocabulary.token(id)})}};
  };
  OrderedJson single = OrderedJson::array({special(*first, 0), sequence("A", 0)}), pair = single;
  OrderedJson known = {{vocabulary.token(*first), named(*first)}};
  if (separator) {
    pair.push_back(special(*separator, 0));
    known[vocabulary.token(*separator)] = named(*separator);
  }
  pair.push_back(sequence("B", 1));
  if (separator) pair.push_back(special(*separator, 1));
  return {{"type", "TemplateProcessing"},
          {"single", std::move(single)},
          {"pair", std::move(pair)},
          {"special_tokens", std::move(known)}};
}

}  // namespace

TokenizerFiles tokenizer_files(const Model& model) {
  const Vocabulary& vocabulary = *model.vocabulary;
  TokenizerFiles files{tokenizer_json_of(vocabulary), {}};
  if (!vocabulary.pieces() && begins_with_class(model.file.config)) {
    OrderedJson json = OrderedJson::parse(files.tokenizer);
    json["post_processor"] = post_processor(vocabulary);
    files.tokenizer = json.dump();
  }
  OrderedJson config = {{"tokenizer_class", "PreTrainedTokenizerFast"},
                        {"model_max_length", model.file.context},
                        {"clean_up_tokenization_spaces", false}};
  for (std::size_t i = 0; i < kSpecials; ++i) {
    const auto id = vocabulary.id_of(static_cast<Special>(i));
    if (id) config[kTokenKeys[i]] = vocabulary.token(*id);
  }
  files.config = json_text(config);
  return files;
}

}  // namespace headlight
