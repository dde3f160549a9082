#include "app/ui/kit/fonts.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "app/ui/kit/field_text.h"
#include "app/ui/kit/font_astral.h"
#include "app/ui/kit/font_files.h"
#include "core/base/utf8.h"

namespace headlight {
namespace {

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

// What stands for control characters. Inter and DejaVu have none, and JetBrains Mono has tiny ones.
bool is_control_picture(ImWchar c) { return c >= 0x2400 && c <= 0x2420; }

ImFont* add_face(ImFontAtlas& atlas, const std::string& path, float size, const ImWchar* ranges,
                 bool merge, int face = 0) {
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
  if (!merge) begin_font(atlas, bytes, size, config);
  ImFont* font = atlas.AddFontFromMemoryTTF(bytes.data(), static_cast<int>(bytes.size()), size,
                                            &config, ranges);
  keep_file(atlas);  // said before, ImGui would have made a copy of it for every size
  return font;
}

// Every character that the table of texts needs beside the base ranges.
std::set<ImWchar> interface_characters(Language language) {
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
  return found;
}

void append(std::vector<ImWchar>& ranges, const std::set<ImWchar>& characters) {
  for (const ImWchar c : characters) ranges.insert(ranges.end(), {c, c});
}

// ---- what an atlas holds ----

// What a role has to show: formulas and numbers only, our own words too, or anything typed.
enum class Shows { kLatin, kInterface, kAnything };

// The characters of an atlas, as ImGui's ranges (pairs, then 0), and those that are drawn one by
// one: at lent places, and the pictures of controls.
struct Characters {
  std::vector<ImWchar> latin, interface, any;
  std::vector<ImWchar> single;

  void add(ImWchar c) {
    if (is_lent(c) || is_control_picture(c)) {
      single.push_back(c);
    } else {
      any.insert(any.end(), {c, c});
    }
  }
  void end() {
    for (std::vector<ImWchar>* ranges : {&latin, &interface, &any}) ranges->push_back(0);
  }
  const ImWchar* of(Shows shows) const {
    if (shows == Shows::kLatin) return latin.data();
    return (shows == Shows::kInterface ? interface : any).data();
  }
};

// Adds the fonts of all roles, each with its fallbacks, in one order.
class Roles {
 public:
  Roles(ImFontAtlas& atlas, const Characters& characters, float scale, Language language)
      : atlas_(atlas), characters_(characters), scale_(scale), language_(language) {
    begin_atlas(atlas);
  }

  FontSet add_all() {
    FontSet set;
    set.title = add(files_.bold, 24, Shows::kInterface);
    set.formula = add(files_.italic, 20, Shows::kLatin);
    set.sentence = add(files_.medium, 18, Shows::kAnything);
    set.body = add(files_.regular, 14.5f, Shows::kAnything);
    set.control = add(files_.medium, 13.5f, Shows::kAnything);
    set.strong = add(files_.bold, 13.5f, Shows::kAnything);
    set.note = add(files_.regular, 12, Shows::kAnything);
    set.mono = add(files_.mono, 13, Shows::kAnything, true);
    set.mono_small = add(files_.mono, 11, Shows::kAnything, true);
    // Not the mono font, whose barred zero looks like an 8 at this size.
    set.cell = add(files_.medium, 9.5f, Shows::kLatin);
    return set;
  }

  void draw() {
    headlight::build(atlas_);
    glyphs_.paint(atlas_);
    let_go_of_font_pages();
  }

  const Files& files() const { return files_; }

 private:
  ImFont* add(const std::string& path, float size, Shows shows, bool is_mono = false) {
    const float pixels = size * scale_;
    const ImWchar* ranges = characters_.of(shows);
    ImFont* font = nullptr;
    if (!path.empty()) font = add_face(atlas_, path, pixels, ranges, false);
    if (!font) {
      ImFontConfig config;
      config.SizePixels = pixels;
      font = atlas_.AddFontDefault(&config);
    }
    const std::string& fallback = is_mono ? files_.mono_fallback : files_.fallback;
    if (!fallback.empty() && fallback != path) add_face(atlas_, fallback, pixels, ranges, true);
    const bool any_text = shows == Shows::kAnything;
    if (shows != Shows::kLatin && !files_.cjk.empty()) {
      // Its lines are taller than Inter's: asked for the same height, its characters would be
      // small.
      const bool bold = path == files_.bold && language_ == Language::kChinese;
      add_face(atlas_, bold ? files_.cjk_bold : files_.cjk, pixels * 1.2f, ranges, true,
               kSimplifiedChinese);
    }
    for (const ImWchar c : characters_.single) {
      if (any_text) glyphs_.reserve(atlas_, font, pixels, c, is_lent(c) ? picture_at(c) : c);
    }
    return font;
  }

  ImFontAtlas& atlas_;
  const Characters& characters_;
  float scale_;
  Language language_;
  Files files_;
  AstralGlyphs glyphs_;
};

// ---- the room for what is typed later ----

constexpr int kRoomHeight = 192;  // rows at scale 1: some hundred Chinese characters in every size

int atlas_width(float scale) { return scale > 1.3f ? 4096 : 2048; }

AtlasPlace place_of(const ImFontAtlas& atlas, const ImFontGlyph& g) {
  const auto at = [](float share, int size) {
    return static_cast<int>(std::lround(share * static_cast<float>(size)));
  };
  const AtlasPixels all = pixels_in(atlas);
  const int x = at(g.U0, all.width), y = at(g.V0, all.height);
  return {x, y, at(g.U1, all.width) - x, at(g.V1, all.height) - y};
}

// Copies a glyph to this place of another atlas.
void copy_pixels(const AtlasPixels& from, const AtlasPlace& glyph, const AtlasPixels& to, int x,
                 int y) {
  for (int row = 0; row < glyph.height; ++row) {
    const unsigned char* source = from.bytes + (glyph.y + row) * from.width + glyph.x;
    std::copy_n(source, glyph.width, to.bytes + (y + row) * to.width + x);
  }
}

}  // namespace

bool Fonts::is_full() const { return std::ssize(extra_) > room_at(scale_); }

void Fonts::need(std::string_view text) {
  for (const char32_t c : to_code_points(text)) {
    const unsigned place = to_line_character(c);
    const bool is_base = place < 0x100;
    if (is_base || interface_.contains(static_cast<ImWchar>(place))) continue;
    if (extra_.insert(static_cast<ImWchar>(place)).second)
      lacking_.push_back(static_cast<ImWchar>(place));
  }
}

void Fonts::build(float scale, Language language) {
  ImFontAtlas& atlas = *ImGui::GetIO().Fonts;
  atlas.Clear();
  scale_ = scale;
  language_ = language;
  problem_ = {};
  lacking_.clear();
  interface_ = interface_characters(language);

  Characters wanted;
  wanted.latin.assign(kBaseRanges.begin(), kBaseRanges.end() - 1);
  for (const ImWchar c : kBaseSingles) wanted.latin.insert(wanted.latin.end(), {c, c});
  wanted.interface = wanted.latin;
  append(wanted.interface, interface_);
  wanted.any = wanted.interface;
  bool wants_cjk = language == Language::kChinese;
  int room = room_at(scale);
  for (const ImWchar c : extra_) {
    if (room-- == 0) {
      problem_ = "fonts.too_many";
      break;
    }
    wants_cjk |= c >= 0x2E80 && !is_lent(c);
    wanted.add(c);
  }
  wanted.end();

  set_width(atlas, atlas_width(scale));
  const auto rows = static_cast<int>(kRoomHeight * scale);
  Roles roles(atlas, wanted, scale, language);
  const int rect = add_place(atlas, atlas_width(scale) - 8, rows);
  set_ = roles.add_all();
  roles.draw();
  const AtlasPlace kept = place_in(atlas, rect);
  room_ = {kept.x, kept.y, kept.x + kept.width, kept.y + kept.height, kept.x, kept.y, 0};
  if (roles.files().regular.empty()) {
    problem_ = "fonts.none";
  } else if (wants_cjk && roles.files().cjk.empty()) {
    problem_ = "fonts.no_chinese";
  }
  ImGui::GetIO().FontDefault = set_.control;
}

// The new characters are drawn as all others were, into an atlas of their own, and moved.
bool Fonts::grow() {
  grown_ = {};
  if (lacking_.empty()) return true;
  Characters wanted;
  // Each font's first face sets its baseline, and does so for the sake of a glyph.
  wanted.latin = wanted.interface = wanted.any = {' ', ' '};
  for (const ImWchar c : std::exchange(lacking_, {})) wanted.add(c);
  wanted.end();
  ImFontAtlas fresh;
  fresh.Flags |= ImFontAtlasFlags_NoMouseCursors | ImFontAtlasFlags_NoBakedLines;
  Roles roles(fresh, wanted, scale_, language_);
  roles.add_all();
  roles.draw();
  ImFontAtlas& atlas = *ImGui::GetIO().Fonts;
  grown_ = {room_.y, room_.y};
  for (int f = 0; f < fresh.Fonts.Size; ++f) {
    ImFont& font = *atlas.Fonts[f];
    const int before = glyphs_of(&font).Size;
    for (const ImFontGlyph& glyph : glyphs_of(fresh.Fonts[f])) {
      const auto c = static_cast<ImWchar>(glyph.Codepoint);
      if (c < 0x100 || find_own_glyph(&font, c)) continue;
      if (!take_in(fresh, glyph, font)) return false;
    }
    if (glyphs_of(&font).Size != before) end_glyphs(font);
  }
  grown_.last = room_.y + room_.line;
  return true;
}

bool Fonts::take_in(const ImFontAtlas& fresh, const ImFontGlyph& glyph, ImFont& font) {
  constexpr int kGap = 1;  // between glyphs, so that none bleeds into its neighbour
  ImFontAtlas& atlas = *ImGui::GetIO().Fonts;
  const AtlasPlace size = place_of(fresh, glyph);
  if (room_.x + size.width > room_.right) {
    room_.x = room_.left;
    room_.y += room_.line;
    room_.line = 0;
  }
  if (room_.x + size.width > room_.right || room_.y + size.height > room_.bottom) return false;
  copy_pixels(pixels_in(fresh), size, pixels_in(atlas), room_.x, room_.y);
  const ImVec2 pixel = atlas.TexUvScale;
  const auto x = static_cast<float>(room_.x), y = static_cast<float>(room_.y);
  const auto width = static_cast<float>(size.width), height = static_cast<float>(size.height);
  ImFontGlyph here = glyph;
  here.U0 = x * pixel.x;
  here.V0 = y * pixel.y;
  here.U1 = (x + width) * pixel.x;
  here.V1 = (y + height) * pixel.y;
  add_glyph(atlas, font, here);
  room_.x += size.width + kGap;
  room_.line = std::max(room_.line, size.height + kGap);
  return true;
}

}  // namespace headlight
