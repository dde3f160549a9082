#include "core/text/pieces/steps/piece_decoders.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/text/pieces/patterns.h"
#include "core/text/pieces/piece_unicode.h"
#include "core/text/pieces/steps/metaspace.h"

namespace headlight {
namespace {

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  if (from.empty()) return;
  for (std::size_t at = text.find(from); at != text.npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
}

// Of each piece by itself.
PieceDecoder each_piece(OneDecoder change) {
  PieceDecoder decoder;
  decoder.row = [change](std::vector<std::string>& pieces) {
    for (std::string& piece : pieces) change(piece);
  };
  decoder.one = std::move(change);
  return decoder;
}

PieceDecoder only_rows(RowDecoder row) {
  return {std::move(row), [](std::string&) {}};
}

// A token that was added may hold characters that stand for no byte: then it is what it is.
void byte_level_piece(std::string& piece) {
  for (std::size_t at = 0; at < piece.size();) {
    const CodePoint c = point_at(piece, at);
    if (!c.valid || byte_of_character(c.value) < 0) return;
    at += c.size;
  }
  piece = from_byte_characters(piece);
}

PieceDecoder read_metaspace_decoder(const PieceJson& json) {
  const MetaspaceOptions o = read_metaspace(json);
  PieceDecoder decoder;
  decoder.one = [o](std::string& piece) { replace_all(piece, o.mark, " "); };
  decoder.row = [o](std::vector<std::string>& pieces) {
    for (std::size_t i = 0; i < pieces.size(); ++i) {
      const bool drop = i == 0 && o.prepend != Prepend::kNever;
      replace_all(pieces[i], o.mark, drop ? "" : " ");
    }
  };
  return decoder;
}

// English as it is written: no blank before a full stop, "don't" for "do n't".
void clean_up(std::string& text) {
  static constexpr std::pair<std::string_view, std::string_view> kChanges[] = {
      {" .", "."},   {" ?", "?"},     {" !", "!"},    {" ,", ","},
      {" ' ", "'"},  {" n't", "n't"}, {" 'm", "'m"},  {" do not", " don't"},
      {" 's", "'s"}, {" 've", "'ve"}, {" 're", "'re"}};
  for (const auto& [from, to] : kChanges) replace_all(text, from, to);
}

PieceDecoder read_word_piece(const PieceJson& json) {
  json.only({"prefix", "cleanup"});
  const std::string prefix = json.text("prefix", "##");
  const bool clean = json.boolean("cleanup", true);
  const auto goes_on = [prefix](std::string_view piece) {
    return !prefix.empty() && piece.starts_with(prefix);
  };
  PieceDecoder decoder;
  decoder.one = [prefix, goes_on](std::string& piece) {
    if (goes_on(piece) && piece.size() > prefix.size()) piece.erase(0, prefix.size());
  };
  decoder.row = [prefix, clean, goes_on](std::vector<std::string>& pieces) {
    for (std::size_t i = 0; i < pieces.size(); ++i) {
      std::string& piece = pieces[i];
      if (i > 0 && goes_on(piece)) {
        piece.erase(0, prefix.size());
      } else if (i > 0) {
        piece.insert(0, 1, ' ');
      }
      if (clean) clean_up(piece);
    }
  };
  return decoder;
}

PieceDecoder read_bpe_decoder(const PieceJson& json) {
  json.only({"suffix"});
  const std::string suffix = json.text("suffix", "</w>");
  PieceDecoder decoder;
  decoder.one = [suffix](std::string& piece) { replace_all(piece, suffix, ""); };
  decoder.row = [suffix](std::vector<std::string>& pieces) {
    for (std::size_t i = 0; i < pieces.size(); ++i)
      replace_all(pieces[i], suffix, i + 1 == pieces.size() ? "" : " ");
  };
  return decoder;
}

void byte_fallback_piece(std::string& piece) {
  const int byte = byte_of_piece(piece);
  if (byte >= 0) piece.assign(1, static_cast<char>(byte));
}

PieceDecoder read_strip(const PieceJson& json) {
  json.only({"content", "start", "stop"});
  const std::string content = json.at("content").text();
  if (count_points(content) != 1) json.at("content").fail(Message{"pieces.expected.character"});
  const int start = json.at("start").integer(0, 1 << 20),
            stop = json.at("stop").integer(0, 1 << 20);
  return only_rows([content, start, stop](std::vector<std::string>& pieces) {
    for (std::string& piece : pieces) {
      std::size_t begin = 0, end = piece.size();
      const std::string_view all = piece;
      for (int i = 0; i < start && all.substr(begin).starts_with(content); ++i)
        begin += content.size();
      for (int i = 0; i < stop && all.substr(begin, end - begin).ends_with(content); ++i)
        end -= content.size();
      piece = piece.substr(begin, end - begin);
    }
  });
}

PieceDecoder read_replace(const PieceJson& json) {
  json.only({"pattern", "content"});
  return each_piece([find = read_pattern(json.at("pattern")),
                     content = json.at("content").text()](std::string& piece) {
    std::vector<ByteSpan> matches;
    find(piece, matches);
    for (auto match = matches.rbegin(); match != matches.rend(); ++match)
      piece.replace(match->begin, match->size(), content);
  });
}

PieceDecoder read_decoders(const PieceJson& json) {
  json.only({"decoders"});
  std::vector<PieceDecoder> all;
  for (const PieceJson& each : json.at("decoders").items()) all.push_back(read_piece_decoder(each));
  PieceDecoder decoder;
  decoder.row = [all](std::vector<std::string>& pieces) {
    for (const PieceDecoder& each : all) each.row(pieces);
  };
  decoder.one = [all](std::string& piece) {
    for (const PieceDecoder& each : all) each.one(piece);
  };
  return decoder;
}

void fuse(std::vector<std::string>& pieces) {
  std::string all;
  for (const std::string& piece : pieces) all += piece;
  pieces = {std::move(all)};
}

constexpr char kKnownDecoders[] =
    "BPEDecoder, ByteFallback, ByteLevel, Fuse, Metaspace, Replace, Sequence, Strip, WordPiece";

}  // namespace

PieceDecoder read_piece_decoder(const PieceJson& json) {
  const std::string type = json.type();
  if (type == "Sequence") return read_decoders(json);
  if (type == "Metaspace") return read_metaspace_decoder(json);
  if (type == "WordPiece") return read_word_piece(json);
  if (type == "BPEDecoder") return read_bpe_decoder(json);
  if (type == "Strip") return read_strip(json);
  if (type == "Replace") return read_replace(json);
  if (type == "Fuse") return json.only({}), only_rows(fuse);
  if (type == "ByteFallback") return json.only({}), each_piece(byte_fallback_piece);
  if (type == "ByteLevel") {
    json.only({"add_prefix_space", "trim_offsets", "use_regex"});
    return each_piece(byte_level_piece);
  }
  json.fail_unknown(type, kKnownDecoders);
}

PieceDecoder plain_piece_decoder() {
  return only_rows([](std::vector<std::string>& pieces) {
    for (std::size_t i = 1; i < pieces.size(); ++i) pieces[i].insert(0, 1, ' ');
  });
}

}  // namespace headlight
