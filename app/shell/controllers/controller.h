// Controller: each area of the window has one. It alone changes its part of AppState, handed to it
// when it is made, and reads all of it. Its actions and commands are its overloads of on(); whoever
// wants something of another area performs an action of it, or asks by one of the few functions it
// offers.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "app/ui/state/actions.h"

namespace headlight {

/// How long a notice is there: for as long as it takes to read it, or until another sentence or
/// model is shown; the former alone, for what has nothing to do with the sentence; until it is
/// answered or holds no more.
enum class NoticeLife { kPasses, kOutlives, kStays };

/// A button of a notice, and what it does.
struct WayOn {
  std::string id;
  Message label;
  Action action;
};

/// What is said at the top of the window, one notice at a time. A moment is what happens until the
/// next frame has been carried out: what is told in one waits for its turn, what a later one tells
/// takes its place; what outlives the moment comes back after it.
class Notices {
 public:
  Notices(const LookSession& look, std::vector<Notice>& shown, std::vector<Action>& queue)
      : look_(look), shown_(shown), queue_(queue) {}

  /// What is said already is not said again.
  void add(NoticeKind, const Message&, std::vector<WayOn> ways = {},
           NoticeLife = NoticeLife::kPasses);
  /// It does not hold any more.
  void retract(const Message&);
  /// With seconds of any steady clock: what has been there long enough to be read goes. True when
  /// something did.
  bool pass(double seconds);
  /// Ends a moment: what was said of another sentence or model goes.
  void end_moment(const Document&);

  void on(const DismissNotice&);
  void on(const PressNotice&);
  void on(const HoldNotice&);
  void on(const ChooseLanguage&);

 private:
  // What nobody sees of a notice, in the same order.
  struct Told {
    std::uint64_t moment = 0;
    NoticeLife life{};
    std::optional<double> since;  // shown
    std::vector<Action> actions;  // of its buttons
  };
  template <class Goes>
  void erase(Goes goes);

  const LookSession& look_;
  std::vector<Notice>& shown_;
  std::vector<Action>& queue_;
  std::vector<Told> told_;
  std::uint64_t moment_ = 0;
  std::optional<std::pair<std::string, std::string>> seen_;  // sentence and model
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
  void notify(NoticeKind kind, const Message& message, std::vector<WayOn> ways = {},
              NoticeLife life = NoticeLife::kPasses) const {
    shared_.notices.add(kind, message, std::move(ways), life);
  }
  void retract(const Message& message) const { shared_.notices.retract(message); }

  const AppState& state_;
  Requests& requests_;

 private:
  const Shared shared_;
};

}  // namespace headlight
