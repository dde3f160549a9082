// Notices: what is said at the top of the window until it is sent away.
#pragma once

#include "app/ui/state/actions.h"

namespace headlight {

class Notices {
 public:
  Notices(const LookSession& look, std::vector<Notice>& shown) : look_(look), shown_(shown) {}

  /// At most three, the newest; what is said already is not said again.
  void add(NoticeKind, const Message&);
  /// It does not hold any more.
  void retract(const Message&);

  void on(const DismissNotice&);
  void on(const ChooseLanguage&);

 private:
  const LookSession& look_;
  std::vector<Notice>& shown_;
};

}  // namespace headlight
