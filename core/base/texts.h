// The words of the interface, from the one table in assets/i18n: each id has its English and its
// Chinese text. Whatever a person reads comes from here, so that the language can change live.
#pragma once

#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace headlight {

enum class Language { kEnglish, kChinese };

/// "en" and "zh": how a language is named in settings and on the command line.
std::string_view word(Language);
std::optional<Language> language_from_word(std::string_view);

/// What a place of a text becomes: fill("head {n}", {{"n", "2"}}) is "head 2".
struct Slot {
  std::string_view name;
  std::string value;
};

/// The text with this id. An id that the table lacks is its own text, in any language; tests find
/// such ids.
std::string_view tr(Language, std::string_view id);
/// The text with this id, or `otherwise` when the table has none.
std::string_view tr_or(Language, std::string_view id, std::string_view otherwise);
/// The text with its places filled.
std::string tr(Language, std::string_view id, std::initializer_list<Slot>);
/// How many of something: the text `id` with {n} filled, or `id`.one for exactly one.
std::string tr_count(Language, std::string_view id, long long n);
/// Every {name} that has a slot becomes its value.
std::string fill(std::string_view text, std::span<const Slot>);

/// The whole table, in the order of the files, for tests.
struct TextEntry {
  std::string id, english, chinese;
};
const std::vector<TextEntry>& all_texts();
/// An id that tr() was asked for and the table lacks, or ""; for tests. From any thread.
std::string missing_text();

}  // namespace headlight
