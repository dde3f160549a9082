// SentencePiece's precompiled table of replacements: 4 bytes, the length of a trie; the trie, a
// double array of 32-bit units with the label in 8 bits, "has a value" in bit 8 and the offset in
// the upper 22; then the replacements, each ended by a zero byte. All numbers are little-endian.
#include <optional>

#include "core/base/error.h"
#include "core/text/pieces/base64.h"
#include "core/text/pieces/piece_unicode.h"
#include "core/text/pieces/steps/normalizers.h"
#include "core/text/tokenizer.h"

namespace headlight {
namespace {

constexpr std::size_t kLongestCluster = 6;  // bytes; a longer cluster is looked up by code points

class Charsmap {
 public:
  Charsmap(const PieceJson& json, bool longest) : longest_(longest) {
    const std::optional<std::string> read = from_base64(json.text());
    if (!read) json.fail(Message{"pieces.expected.charsmap"});
    const std::string& bytes = *read;
    const std::uint32_t size = bytes.size() < 4 ? 0 : number_at(bytes, 0);
    if (bytes.size() < 4 || size % 4 != 0 || size > bytes.size() - 4)
      json.fail(Message{"pieces.expected.charsmap"});
    for (std::size_t at = 4; at < 4 + std::size_t{size}; at += 4)
      units_.push_back(number_at(bytes, at));
    texts_ = bytes.substr(4 + std::size_t{size});
    // What is put in has to be text.
    if (clean_utf8(texts_).replaced > 0) json.fail(Message{"pieces.expected.charsmap"});
  }

  // A beginning of a text that is in the table, and what stands for it.
  struct Found {
    std::size_t size = 0;
    std::string_view by;
  };

  // The shortest one, or the longest.
  std::optional<Found> find(std::string_view text) const {
    std::optional<Found> found;
    std::size_t node = 0;
    if (units_.empty()) return found;
    node ^= offset(units_[0]);
    for (std::size_t i = 0; i < text.size(); ++i) {
      const auto byte = static_cast<unsigned char>(text[i]);
      node ^= byte;
      if (byte == 0 || node >= units_.size()) return found;
      const std::uint32_t unit = units_[node];
      if ((unit & 0x800000FFu) != byte) return found;
      node ^= offset(unit);
      if (((unit >> 8) & 1u) == 0) continue;
      const std::size_t at = node < units_.size() ? units_[node] & 0x7FFFFFFFu : texts_.size();
      if (at >= texts_.size()) return found;
      const std::string_view by = std::string_view(texts_).substr(at);
      found = Found{i + 1, by.substr(0, by.find('\0'))};
      if (!longest_) return found;
    }
    return found;
  }

  void operator()(AlignedText& text) const {
    AlignedText changed;
    changed.reserve(text.size());
    longest_ ? replace_longest(text, changed) : replace_clusters(text, changed);
    text = std::move(changed);
  }

 private:
  // As SentencePiece itself does it: at every place the longest of the table.
  void replace_longest(const AlignedText& text, AlignedText& changed) const {
    const std::string_view all = text.text();
    for (std::size_t at = 0; at < all.size();) {
      const std::optional<Found> found = find(all.substr(at));
      const std::size_t end = at + (found ? found->size : point_at(all, at).size);
      if (found)
        changed.append(found->by, text.place(at, end));
      else
        changed.append(text, at, end);
      at = end;
    }
  }

  // As the library of tokenizer.json does it: what a person calls a character, else its parts.
  void replace_clusters(const AlignedText& text, AlignedText& changed) const {
    const auto add = [&](std::size_t begin, std::size_t end) {
      const std::string_view part = std::string_view(text.text()).substr(begin, end - begin);
      const auto found = find(part);
      if (found) {
        changed.append(found->by, text.place(begin, end));
      } else {
        changed.append(text, begin, end);
      }
      return found.has_value();
    };
    for_each_cluster(text.text(), [&](std::size_t begin, std::size_t end) {
      if (end - begin < kLongestCluster) {
        const std::string_view part = std::string_view(text.text()).substr(begin, end - begin);
        if (find(part)) return void(add(begin, end));
      }
      for (std::size_t at = begin; at < end;) {
        const std::size_t next = at + point_at(text.text(), at).size;
        add(at, next);
        at = next;
      }
    });
  }

  static std::uint32_t number_at(const std::string& bytes, std::size_t at) {
    std::uint32_t number = 0;
    for (std::size_t i = 4; i-- > 0;)
      number = (number << 8) | static_cast<unsigned char>(bytes[at + i]);
    return number;
  }
  static std::size_t offset(std::uint32_t unit) {
    return (unit >> 10) << ((unit & (1u << 9)) >> 6);
  }

  // What a person calls a character. In ASCII each is one, but for the two of a line end.
  template <class Visit>
  static void for_each_cluster(const std::string& text, Visit visit) {
    std::optional<Tokenizer> clusters;
    for (std::size_t at = 0; at < text.size();) {
      std::size_t end = at;
      while (end < text.size() && static_cast<unsigned char>(text[end]) < 0x80) ++end;
      // The last one may belong to what stands behind it.
      const std::size_t safe = end == text.size() || end == at ? end : end - 1;
      for (; at < safe; ++at) {
        const bool line = text[at] == '\r' && at + 1 < safe && text[at + 1] == '\n';
        visit(at, at + (line ? 2 : 1));
        if (line) ++at;
      }
      if (at == text.size()) return;
      end = at + 1;  // to the next two bytes of ASCII, between which no cluster goes on
      while (end < text.size() && !(static_cast<unsigned char>(text[end]) < 0x80 &&
                                    static_cast<unsigned char>(text[end - 1]) < 0x80))
        ++end;
      if (!clusters) clusters.emplace(TokenizerKind::kCharacters);
      const std::string_view part = std::string_view(text).substr(at, end - at);
      clusters->for_each(part, [&](std::size_t from, std::size_t to) {
        visit(at + from, at + to);
        return true;
      });
      at = end;
    }
  }

  bool longest_;
  std::vector<std::uint32_t> units_;
  std::string texts_;
};

}  // namespace

Normalizer read_charsmap(const PieceJson& json) {
  json.only({"precompiled_charsmap", "match"});
  // None: some files have the component without a table.
  if (!json.has("precompiled_charsmap")) return [](AlignedText&) {};
  const PieceJson table = json.at("precompiled_charsmap");
  if (table.text().empty()) return [](AlignedText&) {};
  const std::string match = json.text("match", "cluster");
  if (match != "cluster" && match != "longest")
    json.at("match").fail_unknown(match, "cluster, longest");
  const bool longest = match == "longest";
  return [shared = std::make_shared<const Charsmap>(table, longest)](AlignedText& text) {
    (*shared)(text);
  };
}

}  // namespace headlight
