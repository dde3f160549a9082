#include "core/lab/known_sentence.h"

#include <algorithm>

#include "core/base/error.h"

namespace headlight {

std::string written(const Task& task, std::span<const int> ids) {
  std::string text;
  for (const int id : ids) text += (text.empty() ? "" : " ") + task.vocabulary().token(id);
  return text;
}

std::string known_sentence(LabRun& run, const Task& task, std::size_t most, std::int64_t example,
                           const std::string& instead) {
  if (example > 0) {
    Random random(static_cast<std::uint64_t>(example));
    return written(task, task.draw(random).tokens);
  }
  const Vocabulary& words = task.vocabulary();
  std::string own = run.document().sentence;
  for (char& letter : own) {
    if (letter >= 'A' && letter <= 'Z') letter = static_cast<char>(letter - 'A' + 'a');
  }
  std::vector<int> ids;
  try {
    ids = words.encode(own);
  } catch (const Error&) {
    ids.clear();  // a word that the task does not know
  }
  const bool plain = std::ranges::none_of(ids, [&](int id) { return words.is_special(id); });
  if (ids.empty() || !plain) {
    run.result.notes.emplace_back("lab.note.example");
    return instead;
  }
  if (ids.size() > most) {
    run.result.notes.emplace_back("lab.note.first_tokens",
                                  std::vector<MessageSlot>{{"most", std::to_string(most)},
                                                           {"all", std::to_string(ids.size())}});
    ids.resize(most);
  }
  return written(task, ids);
}

}  // namespace headlight
