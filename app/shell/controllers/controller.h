// Controller: each area of the window has one. It alone changes its part of AppState, handed to it
// when it is made, and reads all of it. Its actions and commands are its overloads of on(); whoever
// wants something of another area performs an action of it, or asks by one of the few functions it
// offers.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "app/ui/state/actions.h"

namespace headlight {

/// What is said at the top of the window until it is sent away.
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

/// What all controllers share; what it refers to outlives them.
struct Shared {
  const AppState& state;
  Requests& requests;  // of the next frame
  Notices& notices;
  std::vector<Action>& queue;                  // for the end of this frame
  std::function<void(const Action&)> perform;  // of any area, at once
};

class Controller {
 protected:
  using enum Command;

  explicit Controller(const Shared& shared)
      : state_(shared.state), requests_(shared.requests), shared_(shared) {}

  void push(Action action) const { shared_.queue.push_back(std::move(action)); }
  void perform(const Action& action) const { shared_.perform(action); }
  void notify(NoticeKind kind, const Message& message) const { shared_.notices.add(kind, message); }
  void retract(const Message& message) const { shared_.notices.retract(message); }

  const AppState& state_;
  Requests& requests_;

 private:
  const Shared shared_;
};

}  // namespace headlight
