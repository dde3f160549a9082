// The clock of the step that is shown.
#include <algorithm>
#include <cmath>
#include <iterator>

#include "app/shell/controllers/steps_controller.h"
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

void StepsController::on(Is<kPlay>) {
  Playback& p = session_.playback;
  if (p.playing) {
    p.playing = false;
  } else if (shown_motion_size(state_)) {
    if (!p.shown) p.clock = 0;
    p.shown = p.playing = true;
  }
}

void StepsController::on(Is<kRestartStep>) {
  if (!shown_motion_size(state_)) return;
  session_.playback.clock = 0;
  session_.playback.shown = session_.playback.playing = true;
}

void StepsController::on(Is<kFaster>) {
  session_.playback.speed = next_speed(session_.playback.speed, 1);
}
void StepsController::on(Is<kSlower>) {
  session_.playback.speed = next_speed(session_.playback.speed, -1);
}

void StepsController::on(const Tick& a) {
  Playback& p = session_.playback;
  if (!p.playing) return;
  if (state_.session.mode != Mode::kSteps) return finish_motion();  // nobody sees it there
  const std::optional<MotionSize> size = shown_motion_size(state_);
  if (!size) return finish_motion();
  p.clock += std::clamp(a.seconds, 0.0, kLongestTick) * p.speed;
  if (p.clock < motion_length(*size) + kMotionHold) return;
  const std::string before = session_.step;
  step_by(1);
  if (session_.step == before) finish_motion();  // that was the last one
}

void StepsController::on(const ScrubTo& a) {
  Playback& p = session_.playback;
  const std::optional<MotionSize> size = shown_motion_size(state_);
  if (!size || !std::isfinite(a.fraction)) return;
  p.clock = std::clamp(a.fraction, 0.0, 1.0) * motion_length(*size);
  p.shown = p.playing || a.fraction < 1;
}

void StepsController::on(const SetSpeed& a) { session_.playback.speed = next_speed(a.speed, 0); }

void StepsController::finish_motion() {
  Playback& p = session_.playback;
  p.playing = p.shown = false;
  p.clock = 0;
}

void StepsController::start_step_motion() {
  Playback& p = session_.playback;
  p.shown = p.playing;
  p.clock = 0;
}

}  // namespace headlight
