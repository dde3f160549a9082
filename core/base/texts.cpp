#include "core/base/texts.h"

#include <mutex>
#include <nlohmann/json.hpp>
#include <span>
#include <unordered_map>

#include "core/base/number_text.h"

namespace headlight {

// Made by cmake/embed.cmake from assets/i18n.
std::string_view embedded_text(std::string_view file);
std::span<const std::string_view> embedded_text_names();

namespace {

struct Table {
  std::vector<TextEntry> entries;
  std::unordered_map<std::string_view, std::size_t> by_id;
};

// An ill-made table is a mistake in the repository, so it may throw: the tests read it first.
Table read_table() {
  Table table;
  for (const std::string_view file : embedded_text_names()) {
    const auto json = nlohmann::ordered_json::parse(embedded_text(file));
    for (const auto& [id, texts] : json.items()) {
      table.entries.push_back({id, texts.at("en"), texts.value("zh", "")});
    }
  }
  for (std::size_t i = 0; i < table.entries.size(); ++i) {
    table.by_id.emplace(table.entries[i].id, i);
  }
  return table;
}

const Table& table() {
  static const Table kTable = read_table();
  return kTable;
}

std::mutex missing_mutex;
std::string missing_texts;

}  // namespace

std::string_view word(Language language) { return language == Language::kChinese ? "zh" : "en"; }

std::optional<Language> language_from_word(std::string_view text) {
  if (text == "en") return Language::kEnglish;
  if (text == "zh") return Language::kChinese;
  return std::nullopt;
}

std::string_view tr(Language language, std::string_view id) {
  const std::string_view text = tr_or(language, id, {});
  if (text.data()) return text;
  const std::lock_guard lock(missing_mutex);
  missing_texts = id;
  return id;
}

std::string missing_text() {
  const std::lock_guard lock(missing_mutex);
  return missing_texts;
}

std::string_view tr_or(Language language, std::string_view id, std::string_view otherwise) {
  const auto at = table().by_id.find(id);
  if (at == table().by_id.end()) return otherwise;
  const TextEntry& entry = table().entries[at->second];
  return language == Language::kChinese && !entry.chinese.empty() ? entry.chinese : entry.english;
}

std::string tr(Language language, std::string_view id, std::initializer_list<Slot> slots) {
  return fill(tr(language, id), std::span(slots.begin(), slots.size()));
}

std::string tr_count(Language language, std::string_view id, long long n) {
  if (n == 1) return tr(language, std::string(id) + ".one", {{"n", "1"}});
  return tr(language, id, {{"n", count_text(n)}});
}

namespace {

// The full stop that a text begins with, or nothing: not the point in a file's name.
std::string_view full_stop(std::string_view text) {
  if (text.starts_with("。")) return text.substr(0, std::string_view("。").size());
  if (text == "." || text.starts_with(". ")) return text.substr(0, 1);
  return {};
}

bool ends_sentence(std::string_view text) { return text.ends_with('.') || text.ends_with("。"); }

}  // namespace

// A sentence that fills a place brings its own full stop: no second one follows.
std::string fill(std::string_view text, std::span<const Slot> slots) {
  std::string result;
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t open = text.find('{', at);
    const std::size_t close = open == text.npos ? text.npos : text.find('}', open);
    if (close == text.npos) break;
    result += text.substr(at, open - at);
    const std::string_view name = text.substr(open + 1, close - open - 1);
    const Slot* found = nullptr;
    for (const Slot& slot : slots) {
      if (slot.name == name) found = &slot;
    }
    at = close + 1;
    if (found) {
      result += found->value;
      if (ends_sentence(found->value)) at += full_stop(text.substr(at)).size();
    } else {
      result += text.substr(open, close - open + 1);
    }
  }
  result += text.substr(std::min(at, text.size()));
  return result;
}

const std::vector<TextEntry>& all_texts() { return table().entries; }

}  // namespace headlight
