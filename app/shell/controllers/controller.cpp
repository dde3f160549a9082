#include "app/shell/controllers/controller.h"

#include <algorithm>

namespace headlight {
namespace {

// Time to notice it, and to read it: a Chinese character is three bytes and takes as long as three
// letters.
double reading_seconds(const Notice& notice) {
  return 5 + 0.06 * static_cast<double>(notice.text.size());
}

}  // namespace

template <class Goes>
void Notices::erase(Goes goes) {
  for (std::size_t i = shown_.size(); i-- > 0;) {
    if (!goes(i)) continue;
    shown_.erase(shown_.begin() + static_cast<std::ptrdiff_t>(i));
    told_.erase(told_.begin() + static_cast<std::ptrdiff_t>(i));
  }
}

void Notices::add(NoticeKind kind, const Message& message, std::vector<WayOn> ways,
                  NoticeLife life) {
  const bool stays = life == NoticeLife::kStays;
  // What stays waits below for what goes by itself.
  erase([&](std::size_t i) {
    if (shown_[i].message == message) return true;
    if (told_[i].moment == moment_) return false;
    // What outlives the moment is told once: it comes back when this one has gone.
    if (told_[i].life == NoticeLife::kOutlives) return shown_[i].message.id == message.id;
    return stays || !shown_[i].stays;
  });
  Notice notice{kind, say(look_.language, message), message, {}, stays};
  Told told{moment_, life, std::nullopt, {}};
  for (WayOn& way : ways) {
    notice.buttons.push_back({std::move(way.id), say(look_.language, way.label), way.label});
    told.actions.push_back(std::move(way.action));
  }
  std::size_t place = 0;
  while (place < told_.size() &&
         (stays || (!shown_[place].stays && told_[place].moment == moment_)))
    ++place;
  if (place == 0 && !told_.empty()) told_.front().since.reset();
  const auto at = static_cast<std::ptrdiff_t>(place);
  shown_.insert(shown_.begin() + at, std::move(notice));
  told_.insert(told_.begin() + at, std::move(told));
}

void Notices::retract(const Message& message) {
  erase([&](std::size_t i) { return shown_[i].message == message; });
}

bool Notices::pass(double seconds) {
  if (shown_.empty()) return false;
  const Notice& notice = shown_.front();
  std::optional<double>& since = told_.front().since;
  if (notice.stays || notice.held) {
    since.reset();
  } else if (!since) {
    since = seconds;
  } else if (seconds - *since > reading_seconds(notice)) {
    erase([](std::size_t i) { return i == 0; });
    return true;
  }
  return false;
}

void Notices::end_moment(const Document& document) {
  std::pair<std::string, std::string> now{document.sentence, document.model};
  if (seen_ != now) {
    if (seen_) {
      erase([&](std::size_t i) {
        return told_[i].moment < moment_ && told_[i].life != NoticeLife::kOutlives;
      });
    }
    seen_ = std::move(now);
  }
  ++moment_;
}

void Notices::on(const DismissNotice& a) {
  erase([&](std::size_t i) { return i == a.index; });
}

void Notices::on(const PressNotice& a) {
  if (told_.empty() || a.button >= told_.front().actions.size()) return;
  queue_.push_back(told_.front().actions[a.button]);
  on(DismissNotice{0});
}

void Notices::on(const HoldNotice& a) {
  if (!shown_.empty()) shown_.front().held = a.hold;
}

void Notices::on(const ChooseLanguage& a) {
  for (Notice& notice : shown_) {
    notice.text = say(a.language, notice.message);
    for (NoticeButton& button : notice.buttons) button.text = say(a.language, button.label);
  }
}

}  // namespace headlight
