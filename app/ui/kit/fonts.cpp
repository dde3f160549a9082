#include "app/ui/kit/fonts.h"

#include <algorithm>
#include <array>
#include <unordered_map>

#include "app/ui/kit/font_astral.h"
#include "app/ui/kit/font_files.h"
#include "app/ui/kit/line_text.h"
#include "core/base/utf8.h"

namespace headlight {
namespace {

// ---- characters that ImGui's fields cannot hold ----

// The places lent to them: a block of rare Chinese characters (extension A), whose own members are
// lent other places of it. ImGui drops the private use area from what is typed.
constexpr unsigned kLentFirst = 0x3400, kLentLast = 0x4DBF;

bool needs_place(unsigned c) {
  const bool lent = c >= kLentFirst && c <= kLentLast, dropped = c >= 0xE000 && c <= 0xF8FF;
  return c > 0xFFFF || lent || dropped;
}

struct AstralTable {
  std::unordered_map<unsigned, unsigned> to_private;
  std::vector<unsigned> from_private;
};

AstralTable& astral() {
  static AstralTable table;
  return table;
}

bool is_control(unsigned c) { return c < 0x20; }

// The place that this character is lent, the same one each time.
unsigned lend(unsigned c) {
  AstralTable& table = astral();
  const auto found = table.to_private.find(c);
  if (found != table.to_private.end()) return found->second;
  const auto place = kLentFirst + static_cast<unsigned>(table.from_private.size());
  if (place > kLentLast) return 0xFFFD;  // over 6,500 different emoji in one session
  table.from_private.push_back(c);
  table.to_private.emplace(c, place);
  return place;
}

// What is drawn at a lent place.
unsigned picture_of(unsigned c) {
  if (c == '\n') return 0x21B5;
  if (c == '\t') return 0x21E5;
  return is_control(c) ? 0x2400 + c : c;
}

}  // namespace

unsigned to_field_character(unsigned c) { return needs_place(c) ? lend(c) : c; }

std::string to_line_text(std::string_view utf8) {
  const bool any =
      std::any_of(utf8.begin(), utf8.end(), [](char c) { return c >= 0 && is_control(c); });
  if (!any) return to_field_text(utf8);
  std::string text;
  for (const char32_t c : to_code_points(utf8)) {
    text += to_utf8(is_control(c) ? lend(c) : to_field_character(c));
  }
  return text;
}

std::string pasted_text(std::string_view clipboard) {
  std::string text;
  text.reserve(clipboard.size());
  for (std::size_t i = 0; i < clipboard.size(); ++i) {
    if (clipboard[i] != '\r') {
      text += clipboard[i];
    } else if (i + 1 == clipboard.size() || clipboard[i + 1] != '\n') {
      text += '\n';
    }
  }
  while (text.ends_with('\n')) text.pop_back();
  return to_line_text(text);
}

std::string to_field_text(std::string_view utf8) {
  // U+3400 and up starts with E3 or more; without one there is nothing to do.
  const bool may_need = std::any_of(utf8.begin(), utf8.end(),
                                    [](char c) { return static_cast<unsigned char>(c) >= 0xE3; });
  if (!may_need) return std::string(utf8);
  std::string text;
  for (const char32_t c : to_code_points(utf8)) text += to_utf8(to_field_character(c));
  return text;
}

std::string from_field_text(std::string_view field) {
  const AstralTable& table = astral();
  if (table.from_private.empty()) return std::string(field);
  std::string text;
  for (const char32_t c : to_code_points(field)) {
    const bool mapped = c >= kLentFirst && c - kLentFirst < table.from_private.size();
    text += to_utf8(mapped ? table.from_private[c - kLentFirst] : c);
  }
  return text;
}

namespace {

// ---- files ----

struct Files {
  std::string regular = first_font_file({"Inter-Regular.otf", "DejaVuSans.ttf"});
  std::string medium = first_font_file({"Inter-Medium.otf", "Inter-Regular.otf", "DejaVuSans.ttf"});
  std::string bold = first_font_file({"Inter-Bold.otf", "DejaVuSans-Bold.ttf", "DejaVuSans.ttf"});
  std::string italic = first_font_file({"Inter-SemiBoldItalic.otf", "Inter-BoldItalic.otf",
                                        "DejaVuSans-Bold.ttf", "DejaVuSans.ttf"});
  std::string mono = first_font_file(
      {"JetBrainsMono-Regular.ttf", "DejaVuSansMono.ttf", "LiberationMono-Regular.ttf"});
  std::string fallback = first_font_file({"DejaVuSans.ttf"});
  std::string mono_fallback = first_font_file({"DejaVuSansMono.ttf"});
  std::string cjk = first_font_file({"NotoSansCJK-Regular.ttc"});
  std::string cjk_bold = first_font_file({"NotoSansCJK-Bold.ttc", "NotoSansCJK-Regular.ttc"});
};

constexpr float kMaxExtra = 4000;  // characters at scale 1
// The atlas has to fit one texture: fewer different characters the larger they are drawn.
int room_at(float scale) { return static_cast<int>(kMaxExtra / (scale * scale)); }

constexpr int kSimplifiedChinese = 2;  // face number inside NotoSansCJK-Regular.ttc

// Latin with accents, marks above a letter, Greek, punctuation, arrows, mathematics: everything
// that our own texts and the code use.
constexpr std::array<ImWchar, 23> kBaseRanges = {
    0x0020, 0x007E, 0x00A0, 0x00FF, 0x0302, 0x0304, 0x0391, 0x03C9, 0x2010, 0x203A, 0x2070, 0x209C,
    0x2190, 0x2193, 0x2202, 0x2203, 0x2211, 0x2212, 0x221A, 0x221E, 0x2421, 0x2423, 0};
// These are beside them one by one.
constexpr std::array<ImWchar, 13> kBaseSingles = {0x1D40, 0x21B5, 0x21E5, 0x21E7, 0x2205,
                                                  0x2248, 0x2260, 0x2264, 0x2265, 0x25B2,
                                                  0x25BE, 0x2713, 0xFFFD};

// What stands for control characters; Inter and DejaVu have none.
constexpr std::array<ImWchar, 3> kControlPictures = {0x2400, 0x2420, 0};

ImFont* add_face(const std::string& path, float size, const ImWchar* ranges, bool merge,
                 int face = 0) {
  ImFontConfig config;
  config.MergeMode = merge;
  config.FontNo = face;
  // Letters stand at fractions of a pixel, so words keep their rhythm. Large Chinese characters
  // look the same without, and there are many of them.
  config.OversampleH = face == kSimplifiedChinese && size > 30 ? 1 : 2;
  config.OversampleV = 1;
  config.PixelSnapH = false;
  const std::span<unsigned char> bytes = font_bytes(path);
  if (bytes.empty()) return nullptr;
  ImFontAtlas& atlas = *ImGui::GetIO().Fonts;
  ImFont* font = atlas.AddFontFromMemoryTTF(bytes.data(), static_cast<int>(bytes.size()), size,
                                            &config, ranges);
  // Had we said so before, ImGui would have made a copy of the file for every size.
  atlas.ConfigData.back().FontDataOwnedByAtlas = false;
  return font;
}

}  // namespace

bool Fonts::is_full(float scale) const { return std::ssize(extra_) > room_at(scale); }

bool Fonts::need(std::string_view text) {
  bool grown = false;
  for (const char32_t c : to_code_points(text)) {
    if (is_control(c)) grown |= extra_.insert(static_cast<ImWchar>(lend(c))).second;
    if (c < 0x100) continue;
    grown |= extra_.insert(static_cast<ImWchar>(to_field_character(c))).second;
  }
  return grown;
}

namespace {

// Every character that the table of texts needs beside the base ranges, as ranges of one.
std::vector<ImWchar> interface_characters(Language language) {
  std::set<ImWchar> found = {0x4E2D};  // 中, the language switch's own label
  const auto add = [&](const std::string& text) {
    for (const char32_t c : to_code_points(text)) {
      if (c > 0xFF && c <= 0xFFFF) found.insert(static_cast<ImWchar>(c));
    }
  };
  for (const TextEntry& entry : all_texts()) {
    add(entry.english);
    if (language == Language::kChinese) add(entry.chinese);
  }
  std::vector<ImWchar> ranges;
  for (const ImWchar c : found) ranges.insert(ranges.end(), {c, c});
  return ranges;
}

}  // namespace

void Fonts::build(float scale, Language language) {
  ImFontAtlas& atlas = *ImGui::GetIO().Fonts;
  atlas.Clear();
  // Not FreeType: through ImGui 1.86 it rounds every letter's width up, which pulls words apart.
  atlas.FontBuilderIO = ImFontAtlasGetBuilderForStbTruetype();
  atlas.Flags |= ImFontAtlasFlags_NoPowerOfTwoHeight;
  problem_ = {};
  latin_ranges_.assign(kBaseRanges.begin(), kBaseRanges.end() - 1);
  for (const ImWchar c : kBaseSingles) latin_ranges_.insert(latin_ranges_.end(), {c, c});
  interface_ranges_ = latin_ranges_;
  const std::vector<ImWchar> own = interface_characters(language);
  interface_ranges_.insert(interface_ranges_.end(), own.begin(), own.end());
  all_ranges_ = interface_ranges_;
  bool wants_cjk = language == Language::kChinese, wants_controls = false;
  auto room = room_at(scale);
  for (const ImWchar c : extra_) {
    if (room-- == 0) {
      problem_ = "fonts.too_many";
      break;
    }
    if (c >= kLentFirst && c <= kLentLast) continue;  // drawn one by one below
    all_ranges_.insert(all_ranges_.end(), {c, c});
    wants_cjk |= c >= 0x2E80;
    wants_controls |= c >= kControlPictures[0] && c <= kControlPictures[1];
  }
  latin_ranges_.push_back(0);
  interface_ranges_.push_back(0);
  all_ranges_.push_back(0);

  const Files files;
  std::vector<std::pair<ImFont*, float>> with_astral;
  // What a role has to show: formulas and numbers only, our own words too, or anything typed.
  enum class Shows { kLatin, kInterface, kAnything };
  const auto add = [&](const std::string& path, float size, Shows shows, bool is_mono = false) {
    const float pixels = size * scale;
    const bool any_text = shows == Shows::kAnything;
    const std::vector<ImWchar>& wanted = any_text                     ? all_ranges_
                                         : shows == Shows::kInterface ? interface_ranges_
                                                                      : latin_ranges_;
    const ImWchar* ranges = wanted.data();
    ImFont* font = nullptr;
    if (!path.empty()) font = add_face(path, pixels, ranges, false);
    if (!font) {
      ImFontConfig config;
      config.SizePixels = pixels;
      font = atlas.AddFontDefault(&config);
    }
    const std::string& fallback = is_mono ? files.mono_fallback : files.fallback;
    if (!fallback.empty() && fallback != path) add_face(fallback, pixels, ranges, true);
    if (any_text && wants_controls && !files.mono.empty() && !is_mono)
      add_face(files.mono, pixels, kControlPictures.data(), true);
    if (shows != Shows::kLatin && !files.cjk.empty()) {
      // Its lines are taller than Inter's: asked for the same height, its characters would be
      // small.
      const bool bold = path == files.bold && language == Language::kChinese;
      add_face(bold ? files.cjk_bold : files.cjk, pixels * 1.2f, ranges, true, kSimplifiedChinese);
    }
    if (any_text) with_astral.emplace_back(font, pixels);
    return font;
  };
  set_.title = add(files.bold, 24, Shows::kInterface);
  set_.formula = add(files.italic, 20, Shows::kLatin);
  set_.sentence = add(files.medium, 18, Shows::kAnything);
  set_.body = add(files.regular, 14.5f, Shows::kAnything);
  set_.control = add(files.medium, 13.5f, Shows::kAnything);
  set_.strong = add(files.bold, 13.5f, Shows::kAnything);
  set_.note = add(files.regular, 12, Shows::kAnything);
  set_.mono = add(files.mono, 13, Shows::kAnything, true);
  set_.mono_small = add(files.mono, 11, Shows::kAnything, true);
  // Not the mono font, whose barred zero looks like an 8 at this size.
  set_.cell = add(files.medium, 9.5f, Shows::kLatin);
  if (files.regular.empty()) {
    problem_ = "fonts.none";
  } else if (wants_cjk && files.cjk.empty()) {
    problem_ = "fonts.no_chinese";
  }
  AstralGlyphs glyphs;
  for (const ImWchar c : extra_) {
    if (c < kLentFirst || c > kLentLast) continue;
    const std::size_t slot = c - kLentFirst;
    if (slot >= astral().from_private.size()) continue;
    for (const auto& [font, pixels] : with_astral) {
      glyphs.reserve(font, pixels, c, picture_of(astral().from_private[slot]));
    }
  }
  atlas.Build();
  glyphs.paint(atlas);
  ImGui::GetIO().FontDefault = set_.control;
}

}  // namespace headlight
