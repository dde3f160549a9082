// headlight tokenize: what a model's tokenizer makes of a text, and what ids stand for.
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "app/cli/cli.h"
#include "core/base/error.h"
#include "core/base/printable.h"
#include "core/base/utf8.h"
#include "core/io/plain_file.h"
#include "core/io/text_file.h"
#include "core/model/bundled.h"
#include "core/model/model.h"
#include "core/text/pieces/piece_tokenizer.h"
#include "core/text/vocabulary.h"

namespace headlight {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kMostTokenizerBytes = std::uint64_t{1} << 28;

struct TokenizeOptions {
  std::string model;
  std::optional<std::string> text, file, pair, decode;
  bool json = false;
};

// Of a folder or a bundled model, without its weights.
Vocabulary open_tokens(const std::string& name) {
  const fs::path folder = name;
  if (PieceTokenizer::is_in(folder)) {
    return Vocabulary::of_pieces(
        std::make_shared<const PieceTokenizer>(PieceTokenizer::open(folder)));
  }
  const std::string ref = model_ref(name);
  if (ref.starts_with(kBundledRef)) {
    return Vocabulary::from_json(
        bundled_model(std::string_view(ref).substr(kBundledRef.size())).tokenizer);
  }
  const fs::path own = folder / "tokenizer.json";
  std::error_code ignored;
  if (!fs::exists(own, ignored)) (void)PieceTokenizer::open(folder);  // says what it looked for
  const std::string text = PlainFile(own, kMostTokenizerBytes).all();
  try {
    return Vocabulary::from_json(text);
  } catch (const Error& error) {
    throw Error(Message{"pieces.file", {{"file", own.string()}}}.with(error.message()));
  }
}

// Of the project's own vocabularies: the second text behind [SEP].
SegmentedTokens own_pair(const Vocabulary& tokens, const std::string& first,
                         const std::string& second) {
  const std::optional<int> separator = tokens.id_of(Special::kSeparator);
  if (!separator)
    throw UsageError(
        "--pair needs a model with a token [SEP]; this one has none. Leave --pair out");
  SegmentedTokens row;
  row.tokens = tokens.encode_placed(first);
  row.tokens.push_back({*separator, 0, 0});
  row.segments.assign(row.tokens.size(), 0);
  for (const PlacedToken& token : tokens.encode_placed(second)) row.tokens.push_back(token);
  row.segments.resize(row.tokens.size(), 1);
  return row;
}

SegmentedTokens row_of(const Vocabulary& tokens, const std::string& text,
                       const std::optional<std::string>& pair) {
  const PieceTokenizer* pieces = tokens.pieces();
  if (pair) return pieces ? pieces->encode_pair(text, *pair) : own_pair(tokens, text, *pair);
  SegmentedTokens row;
  row.tokens = pieces ? pieces->encode(text) : tokens.encode_placed(text);
  row.segments.assign(row.tokens.size(), 0);
  return row;
}

std::string cleaned(std::string_view text) { return clean_utf8(text).text; }

void print_row(const Vocabulary& tokens, const SegmentedTokens& row, bool json, bool pair) {
  auto ids = nlohmann::ordered_json::array(), names = ids, segments = ids;
  for (std::size_t i = 0; i < row.tokens.size(); ++i) {
    const int id = row.tokens[i].id;
    if (json) {
      ids.push_back(id);
      names.push_back(cleaned(tokens.token(id)));
      segments.push_back(row.segments[i]);
      continue;
    }
    std::printf("%7d  %s", id, visible_label(tokens.token(id)).c_str());
    std::printf(pair ? "  segment %d\n" : "\n", row.segments[i]);
  }
  if (!json) return;
  const nlohmann::ordered_json all = {{"ids", ids}, {"pieces", names}, {"segments", segments}};
  std::printf("%s\n", all.dump().c_str());
}

// "1,2,3"
std::vector<int> parse_ids(const std::string& list) {
  std::vector<int> ids;
  for (std::size_t at = 0; at <= list.size();) {
    const std::size_t end = std::min(list.find(',', at), list.size());
    std::string number = list.substr(at, end - at);
    number.erase(0, number.find_first_not_of(' '));
    number.erase(number.find_last_not_of(' ') + 1);
    if (number.empty() || number.size() > 9 ||
        number.find_first_not_of("0123456789") != number.npos)
      throw UsageError("--decode takes ids with commas between them, as 1,2,3; got '" + number +
                       "'");
    ids.push_back(std::stoi(number));
    at = end + 1;
  }
  return ids;
}

void print_text(const Vocabulary& tokens, const TokenizeOptions& o) {
  const std::vector<int> ids = parse_ids(*o.decode);
  for (const int id : ids) {
    if (id >= tokens.size())
      throw UsageError("there is no token " + std::to_string(id) + "; this model has 0 to " +
                       std::to_string(tokens.size() - 1));
  }
  const std::string text = tokens.decode(ids);
  if (o.json) {
    std::printf("%s\n", nlohmann::ordered_json{{"text", cleaned(text)}}.dump().c_str());
  } else {
    std::fwrite(text.data(), 1, text.size(), stdout);
    std::printf("\n");
  }
}

int tokenize(const TokenizeOptions& o) {
  const int given = int(o.text.has_value()) + int(o.file.has_value()) + int(o.decode.has_value());
  if (given != 1) throw UsageError("give one of --text, --file and --decode");
  if (o.decode && o.pair) throw UsageError("--pair goes with --text or --file, not with --decode");
  const Vocabulary tokens = open_tokens(o.model);
  if (o.decode) {
    print_text(tokens, o);
    return 0;
  }
  // As a model reads them.
  const std::string text = cleaned(o.text ? *o.text : read_text_file(*o.file).text());
  const auto pair = o.pair ? std::optional(cleaned(*o.pair)) : std::nullopt;
  print_row(tokens, row_of(tokens, text, pair), o.json, o.pair.has_value());
  return 0;
}

}  // namespace

void add_tokenize_command(CLI::App& app, Run& run) {
  auto o = std::make_shared<TokenizeOptions>();
  CLI::App* sub = app.add_subcommand("tokenize", "Shows what a model's tokenizer makes of a text");
  sub->add_option("--model", o->model,
                  "A folder with tokenizer files, a model of yours, or a bundled one")
      ->required();
  sub->add_option("--text", o->text, "The text");
  sub->add_option("--file", o->file, "A text file");
  sub->add_option("--pair", o->pair, "A second text, for models that read two");
  sub->add_option("--decode", o->decode, "Ids to be read as text, as 1,2,3");
  sub->add_flag("--json", o->json, "Prints JSON");
  sub->callback([o, &run] { run = [o] { return tokenize(*o); }; });
}

}  // namespace headlight
