// The shell's part for motion: the clock of the step that is shown.
#include <algorithm>
#include <cmath>
#include <iterator>

#include "app/shell/shell.h"
#include "app/ui/stage/stage_motion.h"

namespace headlight {
namespace {

// A frame that came late (the window was moved, a run took its time) does not skip what there is to
// see.
constexpr double kLongestTick = 0.1;

// The next speed of the list in this direction.
float next_speed(float now, int direction) {
  const auto begin = std::begin(kSpeeds), end = std::end(kSpeeds);
  const auto at = std::min_element(
      begin, end, [&](float a, float b) { return std::fabs(a - now) < std::fabs(b - now); });
  const auto last = std::distance(begin, end) - 1;
  return begin[std::clamp<std::ptrdiff_t>(std::distance(begin, at) + direction, 0, last)];
}

}  // namespace

bool Shell::perform_motion(Command command) {
  Playback& p = state_.session.playback;
  switch (command) {
    case Command::kPlay:
      if (p.playing) {
        p.playing = false;
      } else if (shown_motion_size(state_)) {
        if (!p.shown) p.clock = 0;
        p.shown = p.playing = true;
      }
      return true;
    case Command::kRestartStep:
      if (!shown_motion_size(state_)) return true;
      p.clock = 0;
      p.shown = p.playing = true;
      return true;
    case Command::kSkipStep:
      on(ScrubTo{1});
      return true;
    case Command::kFaster:
      p.speed = next_speed(p.speed, 1);
      return true;
    case Command::kSlower:
      p.speed = next_speed(p.speed, -1);
      return true;
    default:
      return false;
  }
}

void Shell::on(const Tick& a) {
  move_film(a.seconds);
  Playback& p = state_.session.playback;
  if (!p.playing) return;
  const std::optional<MotionSize> size = shown_motion_size(state_);
  if (!size) return finish_motion();
  p.clock += std::clamp(a.seconds, 0.0, kLongestTick) * p.speed;
  if (p.clock < motion_length(*size) + kMotionHold) return;
  const std::string before = state_.session.step;
  step_by(1);
  if (state_.session.step == before) finish_motion();  // that was the last one
}

void Shell::on(const ScrubTo& a) {
  Playback& p = state_.session.playback;
  const std::optional<MotionSize> size = shown_motion_size(state_);
  if (!size || !std::isfinite(a.fraction)) return;
  p.clock = std::clamp(a.fraction, 0.0, 1.0) * motion_length(*size);
  p.shown = p.playing || a.fraction < 1;
}

void Shell::on(const SetSpeed& a) { state_.session.playback.speed = next_speed(a.speed, 0); }

void Shell::finish_motion() {
  Playback& p = state_.session.playback;
  p.playing = p.shown = false;
  p.clock = 0;
}

void Shell::start_step_motion() {
  Playback& p = state_.session.playback;
  p.shown = p.playing;
  p.clock = 0;
}

}  // namespace headlight
