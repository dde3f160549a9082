// Drawn: what the last frame drew. Where each control stood in the last frame, by its stable id.
// Tests click by id, and check that nothing is cut off or overlaps.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "app/ui/kit/imgui_compat.h"

namespace headlight {

struct DrawnControl {
  ImVec2 min, max;
  bool enabled = true;
  ImVec2 center() const { return {(min.x + max.x) / 2, (min.y + max.y) / 2}; }
};

/// A text that was drawn, and the room it had.
struct CutText {
  std::string text;
  float width = 0, room = 0;
};

/// A text that was shortened with "…", and where it stands.
struct ShortenedText {
  std::string whole, shown;
  ImVec2 min, max;
};

/// A label over a column: what it says, and the point over the column that it begins or (slanted)
/// is turned about.
struct DrawnLabel {
  std::string text;
  ImVec2 anchor;
};

/// What a frame around a row, a column or a cell of a picture marks; an arrow goes from `min` to
/// `max`.
struct DrawnMark {
  enum class Kind { kRow, kColumn, kCell, kArrow } kind;
  ImVec2 min, max;
};

class Drawn {
 public:
  void begin_frame() {
    rects_.clear();
    labels_.clear();
    cut_.clear();
    shortened_.clear();
    marks_.clear();
    beyond_ascii_.clear();
  }
  /// A text that is drawn: what it has beside ASCII is kept.
  void note(std::string_view text) {
    const auto is_ascii = [](char c) { return static_cast<unsigned char>(c) < 0x80; };
    if (!std::all_of(text.begin(), text.end(), is_ascii)) beyond_ascii_ += text;
  }
  /// All texts with characters that the fonts may lack.
  const std::string& beyond_ascii() const { return beyond_ascii_; }
  void add_mark(DrawnMark::Kind kind, ImVec2 min, ImVec2 max) {
    marks_.push_back({kind, min, max});
  }
  const std::vector<DrawnMark>& marks() const { return marks_; }
  void add(std::string_view id, ImVec2 min, ImVec2 max, bool enabled = true) {
    rects_[std::string(id)] = {min, max, enabled};
  }
  void add_cut_text(std::string text, float width, float room) {
    cut_.push_back({std::move(text), width, room});
  }
  void add_shortened(ShortenedText text) { shortened_.push_back(std::move(text)); }
  /// Under the mouse each of them says all of itself.
  const std::vector<ShortenedText>& shortened() const { return shortened_; }
  void add_label(std::string text, ImVec2 anchor) { labels_.push_back({std::move(text), anchor}); }
  const std::vector<DrawnLabel>& labels() const { return labels_; }
  const DrawnControl* find(std::string_view id) const {
    const auto at = rects_.find(std::string(id));
    return at == rects_.end() ? nullptr : &at->second;
  }
  const std::unordered_map<std::string, DrawnControl>& all() const { return rects_; }
  /// Texts of ours (not the person's) that did not fit their room.
  const std::vector<CutText>& cut_texts() const { return cut_; }

 private:
  std::unordered_map<std::string, DrawnControl> rects_;
  std::vector<CutText> cut_;
  std::string beyond_ascii_;
  std::vector<ShortenedText> shortened_;
  std::vector<DrawnLabel> labels_;
  std::vector<DrawnMark> marks_;
};

}  // namespace headlight
