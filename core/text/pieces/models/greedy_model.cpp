// WordPiece, which takes the longest piece that fits, again and again, and WordLevel, whose pieces
// are whole words.
#include "core/base/error.h"
#include "core/base/utf8.h"
#include "core/text/pieces/models/piece_models.h"
#include "core/text/pieces/piece_unicode.h"

namespace headlight {
namespace {

constexpr int kBertLongestWord = 100;  // characters

class GreedyModel final : public PieceModel {
 public:
  GreedyModel(std::shared_ptr<const PieceTable> pieces, std::string prefix, int unknown,
              std::size_t longest_word, bool whole_words)
      : pieces_(std::move(pieces)),
        prefix_(std::move(prefix)),
        unknown_(unknown),
        longest_word_(longest_word),
        whole_words_(whole_words) {}

  std::optional<int> unknown() const override {
    return unknown_ < 0 ? std::nullopt : std::optional(unknown_);
  }

  void cut(std::string_view word, std::vector<WordPieceId>& out) const override {
    const std::size_t before = out.size();
    if (whole_words_ ? cut_whole(word, out) : cut_greedily(word, out)) return;
    out.resize(before);
    if (unknown_ < 0) {
      throw Error(Message{"pieces.unknown_word",
                          {{"word", visible_label(shortened(clean_utf8(word).text, 40))}}});
    }
    out.push_back({unknown_, 0, static_cast<std::uint32_t>(word.size())});
  }

 private:
  bool cut_whole(std::string_view word, std::vector<WordPieceId>& out) const {
    const int id = pieces_->find(word);
    if (id >= 0) out.push_back({id, 0, static_cast<std::uint32_t>(word.size())});
    return id >= 0;
  }

  bool cut_greedily(std::string_view word, std::vector<WordPieceId>& out) const {
    if (word.size() > longest_word_ && count_points(word) > longest_word_) return false;
    std::string piece;
    for (std::size_t at = 0; at < word.size();) {
      piece = at > 0 ? prefix_ : std::string();
      const std::size_t mark = piece.size();
      const std::size_t most = pieces_->longest() > mark ? pieces_->longest() - mark : 0;
      std::size_t length = std::min(word.size() - at, most);
      piece += word.substr(at, length);
      int id = -1;
      for (; length > 0 && (id = pieces_->find(piece)) < 0; piece.resize(mark + length)) --length;
      if (id < 0) return false;
      out.push_back({id, static_cast<std::uint32_t>(at), static_cast<std::uint32_t>(at + length)});
      at += length;
    }
    return true;
  }

  std::shared_ptr<const PieceTable> pieces_;
  std::string prefix_;
  int unknown_;
  std::size_t longest_word_;
  bool whole_words_;
};

}  // namespace

void read_greedy_model(const PieceJson& json, ReadModel& read) {
  const bool whole = read.type == "WordLevel";
  if (whole) {
    json.only({"vocab", "unk_token"});
  } else {
    json.only({"vocab", "unk_token", "continuing_subword_prefix", "max_input_chars_per_word"});
    read.prefix = json.text("continuing_subword_prefix", "##");
  }
  const int longest = json.has("max_input_chars_per_word")
                          ? json.at("max_input_chars_per_word").integer(0, 1 << 30)
                          : kBertLongestWord;
  const int unknown = json.has("unk_token") ? read.pieces->find(json.at("unk_token").text()) : -1;
  read.model = std::make_shared<GreedyModel>(read.pieces, read.prefix, unknown,
                                             static_cast<std::size_t>(longest), whole);
}

}  // namespace headlight
