#include "core/text/pieces/usual_specials.h"

namespace headlight {
namespace {

using Json = nlohmann::json;

struct UsualName {
  Special special;
  const char* name;
  unsigned in;  // UsualIn
};

// Of each special token the likeliest first.
constexpr UsualName kUsualNames[] = {
    {Special::kPad, "[PAD]", kBertFiles | kAnyTokenizerJson},
    {Special::kPad, "<pad>", kRobertaFiles | kSentencePieceFiles | kAnyTokenizerJson},
    {Special::kPad, "<|pad|>", kAnyTokenizerJson},
    {Special::kUnknown, "[UNK]", kBertFiles | kAnyTokenizerJson},
    {Special::kUnknown, "<unk>", kRobertaFiles | kSentencePieceFiles | kAnyTokenizerJson},
    {Special::kUnknown, "<|endoftext|>", kGpt2Files},
    {Special::kBegin, "[BOS]", kAnyTokenizerJson},
    {Special::kBegin, "<s>", kRobertaFiles | kSentencePieceFiles | kAnyTokenizerJson},
    {Special::kBegin, "<bos>", kAnyTokenizerJson},
    {Special::kBegin, "<|begin_of_text|>", kAnyTokenizerJson},
    {Special::kBegin, "<|startoftext|>", kAnyTokenizerJson},
    {Special::kBegin, "<|endoftext|>", kGpt2Files | kAnyTokenizerJson},
    {Special::kEnd, "[EOS]", kAnyTokenizerJson},
    {Special::kEnd, "</s>", kRobertaFiles | kSentencePieceFiles | kAnyTokenizerJson},
    {Special::kEnd, "<eos>", kAnyTokenizerJson},
    {Special::kEnd, "<|end_of_text|>", kAnyTokenizerJson},
    {Special::kEnd, "<|endoftext|>", kGpt2Files | kQwen2Files | kAnyTokenizerJson},
    {Special::kClass, "[CLS]", kBertFiles | kAnyTokenizerJson},
    {Special::kClass, "<cls>", kAnyTokenizerJson},
    {Special::kClass, "<s>", kRobertaFiles},
    {Special::kMask, "[MASK]", kBertFiles | kAnyTokenizerJson},
    {Special::kMask, "<mask>", kRobertaFiles | kAnyTokenizerJson},
    {Special::kSeparator, "[SEP]", kBertFiles | kAnyTokenizerJson},
    {Special::kSeparator, "<sep>", kAnyTokenizerJson},
    {Special::kSeparator, "</s>", kRobertaFiles},
};

}  // namespace

std::vector<std::string> usual_names(Special special, UsualIn in) {
  std::vector<std::string> names;
  for (const UsualName& usual : kUsualNames)
    if (usual.special == special && (usual.in & in)) names.emplace_back(usual.name);
  return names;
}

void fill_usual_names(SpecialNames& names, UsualIn in,
                      const std::function<bool(const std::string&)>& has) {
  for (const UsualName& usual : kUsualNames) {
    std::string& name = names[static_cast<std::size_t>(usual.special)];
    if (name.empty() && (usual.in & in) && has(usual.name)) name = usual.name;
  }
}

Json special_row_json(const SpecialRow& row, const std::function<int(const std::string&)>& id_of) {
  Json single = Json::array(), pair = Json::array(), known = Json::object();
  const auto add = [&](Json& to, const std::vector<std::string>& tokens, int segment) {
    for (const std::string& token : tokens) {
      to.push_back({{"SpecialToken", {{"id", token}, {"type_id", segment}}}});
      known[token] = {
          {"id", token}, {"ids", Json::array({id_of(token)})}, {"tokens", Json::array({token})}};
    }
  };
  const auto text = [](const char* id, int segment) {
    return Json{{"Sequence", {{"id", id}, {"type_id", segment}}}};
  };
  const int second = row.each ? 1 : 0;
  add(single, row.before, 0);
  add(pair, row.before, 0);
  single.push_back(text("A", 0));
  pair.push_back(text("A", 0));
  if (row.each) add(pair, row.behind, 0);
  if (row.each) add(pair, row.before, 1);
  pair.push_back(text("B", second));
  add(single, row.behind, 0);
  add(pair, row.behind, second);
  return {{"type", "TemplateProcessing"},
          {"single", std::move(single)},
          {"pair", std::move(pair)},
          {"special_tokens", std::move(known)}};
}

}  // namespace headlight
