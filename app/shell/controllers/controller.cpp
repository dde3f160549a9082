#include "app/shell/controllers/controller.h"

namespace headlight {

void Notices::add(NoticeKind kind, const Message& message) {
  for (const Notice& notice : shown_) {
    if (notice.message == message) return;
  }
  shown_.push_back({kind, say(look_.language, message), message});
  if (shown_.size() > 3) shown_.erase(shown_.begin());
}

void Notices::retract(const Message& message) {
  std::erase_if(shown_, [&](const Notice& n) { return n.message == message; });
}

void Notices::on(const DismissNotice& a) {
  if (a.index >= shown_.size()) return;
  shown_.erase(shown_.begin() + static_cast<std::ptrdiff_t>(a.index));
}

void Notices::on(const ChooseLanguage& a) {
  for (Notice& notice : shown_) notice.text = say(a.language, notice.message);
}

}  // namespace headlight
