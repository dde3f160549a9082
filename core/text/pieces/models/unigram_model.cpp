// Unigram (Kudo 2018, "Subword Regularization"): of all ways to cut a word the one whose pieces
// have the largest sum of logarithms of probabilities.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "core/base/error.h"
#include "core/base/number_text.h"
#include "core/base/utf8.h"
#include "core/text/pieces/models/piece_models.h"
#include "core/text/pieces/piece_unicode.h"
#include "core/text/special_tokens.h"

namespace headlight {
namespace {

constexpr double kUnknownPenalty = 10;

class UnigramModel final : public PieceModel {
 public:
  UnigramModel(std::shared_ptr<const PieceTable> pieces, std::vector<double> scores, int unknown,
               bool byte_fallback, bool in_float)
      : in_float_(in_float),
        pieces_(std::move(pieces)),
        scores_(std::move(scores)),
        unknown_(unknown),
        byte_fallback_(byte_fallback) {
    double least = std::numeric_limits<double>::infinity();
    for (int id = 0; id < pieces_->size(); ++id) {
      const std::string& piece = pieces_->piece(id);
      const double score = scores_[static_cast<std::size_t>(id)];
      if (piece.empty() || score <= kOnlyWhole) continue;
      least = std::min(least, score);
      if (pieces_->find(piece) == id) sorted_.push_back(id);
    }
    std::sort(sorted_.begin(), sorted_.end(), [&](int a, int b) {
      return std::string_view(pieces_->piece(a)) < std::string_view(pieces_->piece(b));
    });
    unknown_score_ = kept((sorted_.empty() ? 0 : least) - kUnknownPenalty);
    std::size_t at = 0;
    for (std::size_t byte = 0; byte <= 256; ++byte) {
      while (at < sorted_.size() && first_byte(sorted_[at]) < byte) ++at;
      first_[byte] = at;
    }
  }

  std::optional<int> unknown() const override {
    return unknown_ < 0 ? std::nullopt : std::optional(unknown_);
  }

  void cut(std::string_view word, std::vector<WordPieceId>& out) const override {
    std::vector<Step> best(word.size() + 1);
    best[0].reached = true;
    for (std::size_t at = 0; at < word.size();) {
      const std::size_t next = at + point_at(word, at).size;
      const double score = best[at].score;
      bool single = false;
      for_each_prefix(word, at, [&](std::size_t end, int id) {
        single = single || end == next;
        improve(best[end], score + scores_[static_cast<std::size_t>(id)], at, id);
      });
      if (!single) improve(best[next], kept(score + unknown_score_), at, -1);
      at = next;
    }
    add_path(word, best, out);
  }

 private:
  struct Step {
    double score = 0;
    std::size_t from = 0;
    int id = -1;  // -1: unknown
    bool reached = false;
  };

  // Where two ways are equally good, rounding says which one is taken. SentencePiece keeps sums in
  // float32, but compares a new one with a piece in it before it is rounded.
  double kept(double sum) const {
    return in_float_ ? static_cast<double>(static_cast<float>(sum)) : sum;
  }

  std::size_t first_byte(int id) const { return static_cast<unsigned char>(pieces_->piece(id)[0]); }

  void improve(Step& step, double score, std::size_t from, int id) const {
    if (step.reached && !(score > step.score)) return;
    step = {kept(score), from, id, true};
  }

  // visit(end, id) for every piece that the word has at `at`, the shortest first.
  template <class Visit>
  void for_each_prefix(std::string_view word, std::size_t at, Visit visit) const {
    const auto byte_at = [&](std::size_t i, std::size_t depth) {
      return static_cast<unsigned char>(pieces_->piece(sorted_[i])[depth]);
    };
    const std::size_t first = static_cast<unsigned char>(word[at]);
    std::size_t low = first_[first], high = first_[first + 1];
    for (std::size_t depth = 1; low < high; ++depth) {
      if (pieces_->piece(sorted_[low]).size() == depth) visit(at + depth, sorted_[low++]);
      if (at + depth >= word.size()) return;
      const auto byte = static_cast<unsigned char>(word[at + depth]);
      const auto place = [&](auto fits) {
        std::size_t from = low, to = high;
        while (from < to) {
          const std::size_t middle = (from + to) / 2;
          fits(byte_at(middle, depth)) ? to = middle : from = middle + 1;
        }
        return from;
      };
      const std::size_t begin = place([&](unsigned char b) { return b >= byte; });
      high = place([&](unsigned char b) { return b > byte; });
      low = begin;
    }
  }

  void add_path(std::string_view word, const std::vector<Step>& best,
                std::vector<WordPieceId>& out) const {
    std::vector<WordPieceId> path;  // from the end
    for (std::size_t end = word.size(); end > 0; end = best[end].from) {
      const auto from = static_cast<std::uint32_t>(best[end].from);
      const int id = best[end].id == unknown_ ? -1 : best[end].id;
      if (id < 0 && !path.empty() && path.back().id < 0) {
        path.back().begin = from;  // what is unknown goes together
      } else {
        path.push_back({id, from, static_cast<std::uint32_t>(end)});
      }
    }
    for (auto piece = path.rbegin(); piece != path.rend(); ++piece) {
      if (piece->id >= 0) {
        out.push_back(*piece);
      } else {
        add_unknown(word, *piece, out);
      }
    }
  }

  void add_unknown(std::string_view word, const WordPieceId& piece,
                   std::vector<WordPieceId>& out) const {
    const std::string_view text = word.substr(piece.begin, piece.end - piece.begin);
    const int known = pieces_->find(text);
    if (known >= 0) return out.push_back({known, piece.begin, piece.end});
    std::vector<WordPieceId> bytes;
    for (std::size_t i = 0; byte_fallback_ && i < text.size(); ++i) {
      const int id = pieces_->find(byte_piece(static_cast<unsigned char>(text[i])));
      if (id < 0) break;
      const auto from = piece.begin + static_cast<std::uint32_t>(i);
      bytes.push_back({id, from, from + 1});
    }
    if (bytes.size() == text.size()) {
      out.insert(out.end(), bytes.begin(), bytes.end());
      return;
    }
    if (unknown_ < 0) {
      throw Error(Message{"pieces.unknown_word",
                          {{"word", visible_label(shortened(clean_utf8(text).text, 40))}}});
    }
    out.push_back({unknown_, piece.begin, piece.end});
  }

  bool in_float_;
  std::shared_ptr<const PieceTable> pieces_;
  std::vector<double> scores_;
  int unknown_;
  bool byte_fallback_;
  double unknown_score_ = 0;
  std::vector<int> sorted_;               // ids by their pieces
  std::array<std::size_t, 257> first_{};  // where in them each first byte begins
};

}  // namespace

void read_unigram_model(const PieceJson& json, ReadModel& read) {
  // "sums": "float32" is our own: as SentencePiece itself adds the scores.
  json.only({"unk_id", "vocab", "byte_fallback", "sums"});
  const std::string sums = json.text("sums", "float64");
  if (sums != "float32" && sums != "float64")
    json.at("sums").fail_unknown(sums, "float32, float64");
  const PieceJson vocab = json.at("vocab");
  if (!vocab.json().is_array()) vocab.fail(Message{"pieces.expected.scored"});
  const std::size_t size = vocab.json().size();
  if (size == 0) throw Error(Message{"pieces.empty"});
  if (size > static_cast<std::size_t>(kMaxVocabulary)) {
    throw Error(Message{"vocabulary.too_large",
                        {{"limit", count_text(kMaxVocabulary)},
                         {"got", count_text(static_cast<long long>(size))}}});
  }
  PieceTable pieces;
  pieces.grow(static_cast<int>(size));
  std::vector<double> scores;
  for (const nlohmann::json& entry : vocab.json()) {
    const auto id = static_cast<int>(scores.size());
    const bool fits = entry.is_array() && entry.size() == 2 && entry[0].is_string() &&
                      entry[1].is_number() && std::isfinite(entry[1].get<double>()) &&
                      entry[0].get_ref<const std::string&>().size() <= kMaxTokenBytes;
    if (!fits) {
      PieceJson(entry, vocab.name() + "[" + std::to_string(id) + "]")
          .fail(Message{"pieces.expected.scored"});
    }
    pieces.set(id, entry[0].get<std::string>());
    scores.push_back(entry[1].get<double>());
  }
  pieces.index();
  const int unknown =
      json.has("unk_id") ? json.at("unk_id").integer(0, static_cast<int>(size) - 1) : -1;
  read.pieces = std::make_shared<PieceTable>(std::move(pieces));
  read.model =
      std::make_shared<UnigramModel>(read.pieces, std::move(scores), unknown,
                                     json.boolean("byte_fallback", false), sums == "float32");
}

}  // namespace headlight
