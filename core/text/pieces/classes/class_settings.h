// What the class of a tokenizer makes of its tokenizer.json: a program that opens the folder goes
// by some settings in tokenizer_config.json where the two say different things.
#pragma once

#include <nlohmann/json.hpp>

#include "core/text/pieces/older_files.h"

namespace headlight {

/// Changes a tokenizer.json as the folder's class does: NLLB's puts its own row around a text, and
/// settings that are said change rows (Llama, GPT-NeoX), letters (BERT) and the blank in front
/// (GPT-2, RoBERTa, BART, GPT-NeoX). Throws Error for a setting of another kind.
void apply_class_settings(const OlderFiles&, const SpecialNames&, nlohmann::json& tokenizer);

}  // namespace headlight
