#include "core/text/pieces/classes/class_settings.h"

#include <algorithm>
#include <optional>

#include "core/text/pieces/piece_json.h"
#include "core/text/pieces/usual_specials.h"

namespace headlight {
namespace {

using Json = nlohmann::json;

class ClassSettings {
 public:
  ClassSettings(const OlderFiles& files, const SpecialNames& names, Json& tokenizer)
      : settings_(files.settings, "tokenizer_config.json"),
        names_(names),
        tokenizer_(tokenizer),
        kind_(kind_of_files(files)) {}

  void apply() {
    if (is({"NllbTokenizer"})) put_languages();
    if (is({"LlamaTokenizer", "CodeLlamaTokenizer", "llama", "mistral"}))
      put_ends("<s>", "</s>", true);
    if (is({"GPTNeoXTokenizer", "gpt_neox"})) put_ends("<|endoftext|>", "<|endoftext|>", false);
    if (is({"BertTokenizer", "DistilBertTokenizer", "bert", "distilbert"})) change_letters();
    if (is({"GPT2Tokenizer", "RobertaTokenizer", "BartTokenizer", "GPTNeoXTokenizer", "gpt2",
            "gpt_neo", "gpt_neox", "roberta", "bart"}))
      change_blank();
  }

 private:
  bool is(std::initializer_list<const char*> kinds) const {
    return std::find(kinds.begin(), kinds.end(), kind_) != kinds.end();
  }
  std::string name(Special special, const char* usual) const {
    const std::string& said = names_[static_cast<std::size_t>(special)];
    return said.empty() ? usual : said;
  }
  void put_row(const SpecialRow& row) {
    tokenizer_["post_processor"] = special_row_json(
        row, [&](const std::string& token) { return *id_of_token(tokenizer_, token); });
  }

  // The language of the source stands in front, or behind the end in models' older rows. What the
  // vocabulary lacks is unknown.
  void put_languages() {
    std::string language = settings_.text("src_lang", "eng_Latn");
    if (!id_of_token(tokenizer_, language)) language = name(Special::kUnknown, "<unk>");
    const std::string end = name(Special::kEnd, "</s>");
    if (!id_of_token(tokenizer_, language) || !id_of_token(tokenizer_, end)) return;
    if (settings_.boolean("legacy_behaviour", false)) {
      put_row({{}, {end, language}});
    } else {
      put_row({{language}, {end}});
    }
  }

  // One of the two settings is enough: the other one has what the class takes then.
  void put_ends(const char* usual_begin, const char* usual_end, bool begins) {
    if (!settings_.has("add_bos_token") && !settings_.has("add_eos_token")) return;
    const std::string begin = name(Special::kBegin, usual_begin);
    const std::string end = name(Special::kEnd, usual_end);
    SpecialRow row{{}, {}, true};
    if (settings_.boolean("add_bos_token", begins) && id_of_token(tokenizer_, begin))
      row.before.push_back(begin);
    if (settings_.boolean("add_eos_token", false) && id_of_token(tokenizer_, end))
      row.behind.push_back(end);
    put_row(row);
  }

  // A part of this type; null for another one, which the settings do not reach.
  Json* part(const char* key, const char* type) {
    if (!tokenizer_.contains(key)) return nullptr;
    Json& found = tokenizer_[key];
    const bool fits = found.is_object() && found.value("type", Json()) == type;
    return fits ? &found : nullptr;
  }

  void change_letters() {
    const bool said = settings_.has("do_lower_case") || settings_.has("strip_accents") ||
                      settings_.has("tokenize_chinese_chars");
    Json* const normalizer = part("normalizer", "BertNormalizer");
    if (!said || !normalizer) return;
    (*normalizer)["lowercase"] = settings_.boolean("do_lower_case", true);
    (*normalizer)["handle_chinese_chars"] = settings_.boolean("tokenize_chinese_chars", true);
    (*normalizer)["strip_accents"] = nullptr;  // as the letters' case
    if (settings_.has("strip_accents"))
      (*normalizer)["strip_accents"] = settings_.at("strip_accents").boolean();
  }

  void change_blank() {
    Json* const cut = part("pre_tokenizer", "ByteLevel");
    if (!cut || !settings_.has("add_prefix_space")) return;
    (*cut)["add_prefix_space"] = settings_.at("add_prefix_space").boolean();
  }

  PieceJson settings_;
  const SpecialNames& names_;
  Json& tokenizer_;
  std::string kind_;
};

}  // namespace

void apply_class_settings(const OlderFiles& files, const SpecialNames& names, Json& tokenizer) {
  if (files.settings.is_object() && tokenizer.is_object())
    ClassSettings(files, names, tokenizer).apply();
}

}  // namespace headlight
