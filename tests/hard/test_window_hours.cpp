// Days of playing, typing and training: memory stays where it was. Time is simulated: the window
// counts what the frames and keep() tell it, so each frame here is some seconds long. A few hours
// run with the other tests; HEADLIGHT_HARD=long: 24 hours, with a table of the resident memory.
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <iostream>

#include "tests/gui/harness.h"
#include "tests/hard/hard.h"

namespace headlight::test {
namespace {

double resident_mb() {
  std::ifstream statm("/proc/self/statm");
  double pages = 0, resident = 0;
  statm >> pages >> resident;
  return resident * static_cast<double>(sysconf(_SC_PAGE_SIZE)) / 1e6;
}

// A person who looks at everything in turn, hour after hour.
class Day {
 public:
  Day()
      : gui_(small_document(2, 4, 8), {1440, 900}, 1, {},
             {folder_.path("settings.json"), folder_.path("autosave"), folder_.path("runs")}) {
    gui_.shell().start_keeping(1'000'000);
    gui_.push(DoCommand{Command::kTrain});
    settle();
  }

  void hour(double seconds_of_a_frame) {
    const double end = seconds_ + 3600;
    for (; seconds_ < end; ++frames_) {
      seconds_ += seconds_of_a_frame;
      look_elsewhere();
      gui_.push(Tick{static_cast<float>(seconds_of_a_frame)});
      gui_.shell().keep(seconds_);
      gui_.frame();
    }
  }

  int runs() const { return runs_; }
  std::int64_t steps() const { return steps_; }

 private:
  void settle() {
    gui_.shell().wait();
    gui_.frame(2);
  }

  void look_elsewhere() {
    constexpr Command kCommands[] = {
        Command::kNextStep,     Command::kNextHead, Command::kToggleTheme,  Command::kPlay,
        Command::kShowBackward, Command::kNextStep, Command::kToggleCausal, Command::kToggleLines};
    if (frames_ % 7 == 0) gui_.push(DoCommand{kCommands[frames_ / 7 % 8]});
    if (frames_ % 11 == 0)
      gui_.push(DoEdit{SetSentence{"the cat sat on mat " + std::to_string(frames_ % 100)}, ""});
    if (frames_ % 13 == 0) gui_.push(DoCommand{Command::kUndo});
    if (frames_ % 17 == 0) train_on();
    if (frames_ % 23 == 0) gui_.push(ShowMode{static_cast<Mode>(frames_ / 23 % 3)});
    if (frames_ % 41 == 0)
      gui_.push(ChooseLanguage{frames_ / 41 % 2 ? Language::kChinese : Language::kEnglish});
  }

  // Each run goes on for a while, then another begins; the chart keeps the last ones.
  void train_on() {
    const std::int64_t step = gui_.state().train.run.status.step;
    if (step >= 60) {
      gui_.push(StartRun{});
      ++runs_;
    } else {
      gui_.push(PlayRun{true, step + 6});
      steps_ += 6;
    }
    settle();
  }

  TemporaryFolder folder_;
  Gui gui_;
  double seconds_ = 0;
  int frames_ = 0, runs_ = 0;
  std::int64_t steps_ = 0;
};

}  // namespace

TEST_CASE("hard: hours of playing, typing and training take no more memory than the first one") {
  const int hours = is_long() ? 24 : 4;
  const double seconds_of_a_frame = is_long() ? 5 : 30;
  Day day;
  const double begin = resident_mb();
  double first = 0, last = 0;
  std::printf("hour  resident\n%4d  %6.1f MB\n", 0, begin);
  for (int hour = 1; hour <= hours; ++hour) {
    day.hour(seconds_of_a_frame);
    last = resident_mb();
    if (hour == 1) first = last;
    std::printf("%4d  %6.1f MB\n", hour, last);
  }
  std::printf("%d runs, %lld updates\n", day.runs(), static_cast<long long>(day.steps()));
  CHECK(last < 1.05 * first);
}

}  // namespace headlight::test
