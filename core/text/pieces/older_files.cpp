#include "core/text/pieces/older_files.h"

#include <algorithm>
#include <set>

#include "core/base/error.h"
#include "core/base/utf8.h"
#include "core/text/pieces/patterns.h"
#include "core/text/pieces/piece_json.h"
#include "core/text/pieces/piece_unicode.h"
#include "core/text/pieces/usual_specials.h"

namespace headlight {
namespace {

using Json = nlohmann::json;

std::string& name_of(SpecialNames& names, Special special) {
  return names[static_cast<std::size_t>(special)];
}

// Is there such a piece?
auto in(const Json& vocab) {
  return [&vocab](const std::string& piece) { return vocab.contains(piece); };
}

// Visits the lines of a file of text, without their ends.
template <class Visit>
void for_each_line(std::string_view text, const char* file, Visit visit) {
  int number = 1;
  for (std::size_t at = 0; at < text.size(); ++number) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    std::string_view line = text.substr(at, end - at);
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (clean_utf8(line).replaced > 0) {
      throw Error(
          Message{"pieces.line_not_utf8", {{"file", file}, {"line", std::to_string(number)}}});
    }
    visit(line, number);
    at = end + 1;
  }
}

bool flag(const Json& json, const char* key, bool otherwise) {
  const PieceJson read(json, "tokenizer_config.json");
  return read.boolean(key, otherwise);
}

std::string word(const Json& json, const char* key) {
  if (!json.is_object() || !json.contains(key) || !json[key].is_string()) return "";
  return json[key].get<std::string>();
}

// The settings' added_tokens_decoder, each with its id.
std::vector<Json> detailed_tokens(const OlderFiles& files) {
  std::vector<Json> tokens;
  if (!files.settings.is_object() || !files.settings.contains("added_tokens_decoder"))
    return tokens;
  const Json& details = files.settings["added_tokens_decoder"];
  for (auto entry = details.begin(); details.is_object() && entry != details.end(); ++entry) {
    const bool number = !entry.key().empty() && entry.key().size() < 9 &&
                        entry.key().find_first_not_of("0123456789") == std::string::npos;
    if (!number || !entry->is_object())
      PieceJson(*entry, "added_tokens_decoder." + visible_label(entry.key()))
          .fail(Message{"pieces.expected.object"});
    tokens.push_back(*entry);
    tokens.back()["id"] = std::stoi(entry.key());
  }
  return tokens;
}

// The special tokens that the vocabulary has, what added_tokens.json says, and what the settings'
// added_tokens_decoder says in more detail.
Json added_tokens(const Json& vocab, const OlderFiles& files, const SpecialNames& names,
                  bool mask_takes_blank) {
  std::map<int, Json> by_id;
  std::vector<std::string> specials(names.begin(), names.end());
  specials.insert(specials.end(), files.more_special.begin(), files.more_special.end());
  for (const std::string& name : specials) {
    if (name.empty() || !vocab.contains(name)) continue;
    const int id = PieceJson(vocab[name], "vocab." + name).integer(0, kMaxVocabulary - 1);
    by_id[id] = added_token_json(id, name, true, mask_takes_blank && name == "<mask>");
  }
  if (files.added.is_object()) {
    for (auto entry = files.added.begin(); entry != files.added.end(); ++entry) {
      const PieceJson value(*entry, "added_tokens.json: " + visible_label(entry.key()));
      const int id = value.integer(0, kMaxVocabulary - 1);
      const bool special = std::ranges::find(specials, entry.key()) != specials.end();
      by_id[id] = added_token_json(id, entry.key(), special);
      by_id[id]["normalized"] = !special;
    }
  }
  for (const Json& token : detailed_tokens(files)) by_id[token["id"].get<int>()] = token;
  Json list = Json::array();
  for (auto& [id, token] : by_id) list.push_back(std::move(token));
  return list;
}

Json byte_level(bool add_prefix_space, bool use_regex) {
  return {{"type", "ByteLevel"},
          {"add_prefix_space", add_prefix_space},
          {"trim_offsets", true},
          {"use_regex", use_regex}};
}

Json two_ids(const Json& vocab, const std::string& name) {
  return Json::array({name, PieceJson(vocab, "vocab").at(name.c_str()).json()});
}

// The beginning stands in front of a first text alone; a second one is another segment.
Json begin_row(const Json& vocab, const std::string& begin) {
  Json row = special_row_json(
      {{begin}, {}}, [&](const std::string& token) { return two_ids(vocab, token)[1].get<int>(); });
  row["pair"].back()["Sequence"]["type_id"] = 1;
  return row;
}

// "<s> A </s>" and "<s> A </s></s> B </s>".
Json roberta_rows(const Json& vocab, bool add_prefix_space) {
  return {{"type", "RobertaProcessing"},
          {"sep", two_ids(vocab, "</s>")},
          {"cls", two_ids(vocab, "<s>")},
          {"trim_offsets", true},
          {"add_prefix_space", add_prefix_space}};
}

}  // namespace

std::string kind_of_files(const OlderFiles& files) {
  std::string name = word(files.settings, "tokenizer_class");
  if (name.empty()) name = word(files.config, "tokenizer_class");
  if (name.ends_with("Fast")) name.resize(name.size() - 4);
  return name.empty() ? word(files.config, "model_type") : name;
}

Json added_token_json(int id, const std::string& content, bool special, bool left_blanks) {
  return {{"id", id},        {"content", content},  {"single_word", false}, {"lstrip", left_blanks},
          {"rstrip", false}, {"normalized", false}, {"special", special}};
}

void append_merges(const std::string& piece, const Json& ids, Json& merges) {
  std::vector<std::tuple<int, int, Json>> ways;
  for (std::size_t at = 1; at < piece.size(); ++at) {
    if ((static_cast<unsigned char>(piece[at]) & 0xC0) == 0x80) continue;
    const std::string left = piece.substr(0, at), right = piece.substr(at);
    const auto l = ids.find(left), r = ids.find(right);
    if (l == ids.end() || r == ids.end()) continue;
    ways.emplace_back(l->get<int>(), r->get<int>(), Json::array({left, right}));
  }
  std::sort(ways.begin(), ways.end());
  for (auto& [l, r, merge] : ways) merges.push_back(std::move(merge));
}

std::optional<int> id_of_token(const Json& tokenizer, const std::string& text) {
  if (const auto added = tokenizer.find("added_tokens");
      added != tokenizer.end() && added->is_array()) {
    for (const Json& token : *added) {
      if (token.is_object() && token.value("content", Json()) == text)
        return PieceJson(token, "added_tokens").at("id").integer(0, kMaxVocabulary - 1);
    }
  }
  const auto model = tokenizer.find("model");
  if (model == tokenizer.end() || !model->is_object() || !model->contains("vocab"))
    return std::nullopt;
  const Json& vocab = (*model)["vocab"];
  if (vocab.is_object() && vocab.contains(text))
    return PieceJson(vocab[text], "model.vocab").integer(0, kMaxVocabulary - 1);
  for (std::size_t id = 0; vocab.is_array() && id < vocab.size(); ++id) {
    if (vocab[id].is_array() && !vocab[id].empty() && vocab[id][0] == text)
      return static_cast<int>(id);
  }
  return std::nullopt;
}

void add_missing_tokens(const OlderFiles& files, const SpecialNames& names, Json& tokenizer) {
  if (!tokenizer.is_object()) return;
  Json list = tokenizer.contains("added_tokens") ? tokenizer["added_tokens"] : Json();
  if (list.is_null()) list = Json::array();
  if (!list.is_array()) return;  // said where it is read
  std::set<std::string> known;
  for (const Json& token : list) known.insert(word(token, "content"));
  const auto add = [&](Json token) {
    const std::string content = word(token, "content");
    const std::optional<int> id = id_of_token(tokenizer, content);
    const bool there = !content.empty() && id && token["id"] == *id;
    if (there && known.insert(content).second) list.push_back(std::move(token));
  };
  for (Json& token : detailed_tokens(files)) add(std::move(token));
  std::vector<std::string> specials(names.begin(), names.end());
  specials.insert(specials.end(), files.more_special.begin(), files.more_special.end());
  for (const std::string& name : specials) {
    if (name.empty() || known.contains(name)) continue;
    if (const std::optional<int> id = id_of_token(tokenizer, name))
      add(added_token_json(*id, name, true, name == "<mask>"));
  }
  tokenizer["added_tokens"] = std::move(list);
}

Json read_merge_lines(std::string_view text) {
  Json merges = Json::array();
  for_each_line(text, "merges.txt", [&](std::string_view line, int number) {
    if (line.empty() || (number == 1 && line.starts_with("#version"))) return;
    const std::size_t blank = line.find(' ');
    if (blank == line.npos || blank == 0 || blank + 1 == line.size() ||
        line.find(' ', blank + 1) != line.npos) {
      throw Error(
          Message{"pieces.merge_line",
                  {{"line", std::to_string(number)}, {"got", visible_label(shortened(line, 40))}}});
    }
    merges.push_back(std::string(line));
  });
  return merges;
}

Json of_vocab_and_merges(std::string_view vocab_text, Json merges, const OlderFiles& files,
                         SpecialNames& names) {
  const Json vocab = parse_piece_json(vocab_text);
  if (!vocab.is_object()) PieceJson(vocab, "vocab").fail(Message{"pieces.expected.vocab"});
  const std::string kind = kind_of_files(files);
  const auto is = [&](std::initializer_list<const char*> words) {
    return std::find(words.begin(), words.end(), kind) != words.end();
  };
  const bool qwen = is({"Qwen2Tokenizer", "qwen2"});
  const bool roberta = is({"RobertaTokenizer", "BartTokenizer", "roberta", "bart"}) ||
                       (kind.empty() && vocab.contains("<s>") && vocab.contains("</s>"));
  const bool gpt2 = is({"", "GPT2Tokenizer", "gpt2", "gpt_neo"});
  if (!qwen && !roberta && !gpt2) {
    throw Error(
        Message{"pieces.unknown_type",
                {{"key", "tokenizer_class"},
                 {"got", visible_label(shortened(kind, 60))},
                 {"known", "BartTokenizer, GPT2Tokenizer, Qwen2Tokenizer, RobertaTokenizer"}}});
  }
  const bool prefix = flag(files.settings, "add_prefix_space", false);
  fill_usual_names(names, qwen ? kQwen2Files : roberta ? kRobertaFiles : kGpt2Files, in(vocab));
  Json split = byte_level(prefix, true);
  if (qwen) {
    const Json pattern = {{"type", "Split"},
                          {"pattern", Json::object({{"Regex", std::string(kQwen2Pattern)}})},
                          {"behavior", "Isolated"},
                          {"invert", false}};
    split = {{"type", "Sequence"},
             {"pretokenizers", Json::array({pattern, byte_level(prefix, false)})}};
  }
  Json made = {{"version", "1.0"}, {"truncation", nullptr}, {"padding", nullptr}};
  made["added_tokens"] = added_tokens(vocab, files, names, roberta);
  made["normalizer"] = qwen ? Json{{"type", "NFC"}} : Json();
  made["pre_tokenizer"] = std::move(split);
  made["post_processor"] = roberta ? roberta_rows(vocab, prefix) : byte_level(true, true);
  const std::string& begin = name_of(names, Special::kBegin);
  if (gpt2 && !roberta && flag(files.settings, "add_bos_token", false) && vocab.contains(begin))
    made["post_processor"] = begin_row(vocab, begin);
  made["decoder"] = byte_level(true, true);
  made["model"] = {{"type", "BPE"}, {"dropout", nullptr}, {"unk_token", nullptr}};
  made["model"]["continuing_subword_prefix"] = made["model"]["end_of_word_suffix"] = nullptr;
  made["model"]["fuse_unk"] = made["model"]["byte_fallback"] = false;
  made["model"]["vocab"] = vocab;
  made["model"]["merges"] = std::move(merges);
  return made;
}

Json of_vocab_txt(std::string_view text, const OlderFiles& files, SpecialNames& names) {
  Json vocab = Json::object();
  int id = 0;
  for_each_line(text, "vocab.txt", [&](std::string_view line, int) {
    if (id >= kMaxVocabulary) {
      throw Error(
          Message{"vocabulary.too_large",
                  {{"limit", std::to_string(kMaxVocabulary)}, {"got", "> " + std::to_string(id)}}});
    }
    if (!line.empty()) vocab[std::string(line)] = id;
    ++id;
  });
  fill_usual_names(names, kBertFiles, in(vocab));
  const Json& settings = files.settings;
  if (!flag(settings, "do_basic_tokenize", true)) {
    PieceJson(settings["do_basic_tokenize"], "do_basic_tokenize").fail_unknown("false", "true");
  }
  const bool lower = flag(settings, "do_lower_case", true);
  Json made = {{"version", "1.0"}, {"truncation", nullptr}, {"padding", nullptr}};
  made["added_tokens"] = added_tokens(vocab, files, names, false);
  const Json strip = settings.is_object() && settings.contains("strip_accents")
                         ? settings["strip_accents"]
                         : Json();
  made["normalizer"] = {{"type", "BertNormalizer"},
                        {"clean_text", true},
                        {"handle_chinese_chars", flag(settings, "tokenize_chinese_chars", true)},
                        {"strip_accents", strip},
                        {"lowercase", lower}};
  made["pre_tokenizer"] = {{"type", "BertPreTokenizer"}};
  const std::string& sep = name_of(names, Special::kSeparator);
  const std::string& cls = name_of(names, Special::kClass);
  if (vocab.contains(sep) && vocab.contains(cls)) {
    made["post_processor"] = {
        {"type", "BertProcessing"}, {"sep", two_ids(vocab, sep)}, {"cls", two_ids(vocab, cls)}};
  }
  made["decoder"] = {{"type", "WordPiece"}, {"prefix", "##"}, {"cleanup", true}};
  made["model"] = {{"type", "WordPiece"},
                   {"unk_token", name_of(names, Special::kUnknown)},
                   {"continuing_subword_prefix", "##"},
                   {"max_input_chars_per_word", 100}};
  made["model"]["vocab"] = std::move(vocab);
  return made;
}

namespace {

// In the order in which the pieces were learned.
Json merges_of_pieces(const std::vector<std::string>& pieces, const Json& vocab,
                      const SpecialNames& names) {
  Json merges = Json::array();
  for (const std::string& piece : pieces) {
    const bool special = std::find(names.begin(), names.end(), piece) != names.end();
    if (byte_of_piece(piece) < 0 && !special) append_merges(piece, vocab, merges);
  }
  return merges;
}

}  // namespace

Json of_pieces_list(std::string_view text, SpecialNames& names) {
  const Json list = parse_piece_json(text);
  std::vector<std::string> pieces;
  Json vocab = Json::object();
  for (const PieceJson& item : PieceJson(list, "pieces").items()) {
    if (pieces.size() >= static_cast<std::size_t>(kMaxVocabulary)) {
      throw Error(Message{
          "vocabulary.too_large",
          {{"limit", std::to_string(kMaxVocabulary)}, {"got", std::to_string(list.size())}}});
    }
    pieces.push_back(item.text());
    if (!vocab.contains(pieces.back())) vocab[pieces.back()] = pieces.size() - 1;
  }
  bool all_bytes = true;
  for (int byte = 0; byte < 256; ++byte)
    all_bytes = all_bytes && vocab.contains(byte_piece(static_cast<unsigned char>(byte)));
  fill_usual_names(names, kSentencePieceFiles, in(vocab));
  const std::string mark = "\xE2\x96\x81";
  Json made = {{"version", "1.0"}, {"truncation", nullptr}, {"padding", nullptr}};
  made["added_tokens"] = added_tokens(vocab, {}, names, false);
  const Json to_mark = {
      {"type", "Replace"}, {"pattern", Json::object({{"String", " "}})}, {"content", mark}};
  made["normalizer"] = {
      {"type", "Sequence"},
      {"normalizers", Json::array({Json{{"type", "Prepend"}, {"prepend", mark}}, to_mark})}};
  made["pre_tokenizer"] = nullptr;
  if (const std::string& begin = name_of(names, Special::kBegin); vocab.contains(begin)) {
    made["post_processor"] = special_row_json(
        {{begin}, {}, true}, [&](const std::string& t) { return vocab[t].get<int>(); });
  }
  const Json to_blank = {
      {"type", "Replace"}, {"pattern", Json::object({{"String", mark}})}, {"content", " "}};
  made["decoder"] = {
      {"type", "Sequence"},
      {"decoders",
       Json::array({to_blank, Json{{"type", "ByteFallback"}}, Json{{"type", "Fuse"}},
                    Json{{"type", "Strip"}, {"content", " "}, {"start", 1}, {"stop", 0}}})}};
  made["model"] = {{"type", "BPE"}, {"fuse_unk", true}, {"byte_fallback", all_bytes}};
  if (const std::string& unknown = name_of(names, Special::kUnknown); vocab.contains(unknown))
    made["model"]["unk_token"] = unknown;
  made["model"]["merges"] = merges_of_pieces(pieces, vocab, names);
  made["model"]["vocab"] = std::move(vocab);
  return made;
}

}  // namespace headlight
