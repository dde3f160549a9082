// A text that was changed on its way to a tokenizer's model, and where each byte came from.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace headlight {

/// Bytes [begin, end) of the original text; empty for what stands there no more.
struct BytePlace {
  std::uint32_t begin = 0, end = 0;
  bool operator==(const BytePlace&) const = default;
};

/// A longer text is refused: places are kept in 32 bits.
inline constexpr std::size_t kMaxAlignedBytes = std::size_t{1} << 30;

class AlignedText {
 public:
  /// An empty one, to be appended to.
  AlignedText() = default;
  /// A part of the original that begins at its byte `begin`.
  AlignedText(std::string_view text, std::size_t begin)
      : text_(text), begin_(static_cast<std::uint32_t>(begin)), as_it_was_(true) {}

  const std::string& text() const { return text_; }
  bool empty() const { return text_.empty(); }
  std::size_t size() const { return text_.size(); }

  BytePlace place(std::size_t byte) const {
    if (!as_it_was_) return places_[byte];
    const auto at = begin_ + static_cast<std::uint32_t>(byte);
    return {at, at + 1};
  }
  /// Of the bytes [begin, end), at least one.
  BytePlace place(std::size_t begin, std::size_t end) const {
    return {place(begin).begin, place(end - 1).end};
  }

  /// Bytes that all stand for this place. Only behind what was appended, not to the original.
  void append(std::string_view bytes, BytePlace from) {
    text_ += bytes;
    places_.insert(places_.end(), bytes.size(), from);
  }
  void append(char byte, BytePlace from) {
    text_ += byte;
    places_.push_back(from);
  }
  /// Bytes [begin, end) of another one, as they are there.
  void append(const AlignedText& other, std::size_t begin, std::size_t end);
  void reserve(std::size_t bytes) {
    text_.reserve(bytes);
    places_.reserve(bytes);
  }

 private:
  std::string text_;
  std::vector<BytePlace> places_;  // of each byte; none where the text is as it was
  std::uint32_t begin_ = 0;
  bool as_it_was_ = false;
};

}  // namespace headlight
