// Days of playing, typing and training: memory stays where it was. Time is simulated: the window
// counts what the frames and keep() tell it, so each frame here is some seconds long. Four hours
// run with the other tests, with few frames and short runs; HEADLIGHT_HARD=long: 24 hours.
#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <vector>

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

// What has been asked for and not freed, whatever the C library holds on to for it.
double used_mb() {
  const struct mallinfo2 heap = ::mallinfo2();
  return static_cast<double>(heap.uordblks + heap.hblkhd) / 1e6;
}

struct Memory {
  double resident = 0, used = 0;  // the most there was, MB
};

// MB, freed between what is kept. Where it is never given back to the system: 62 after the four
// hours, 96 after 23.
constexpr double kMostGaps = 50;

// How quickly the hours go by.
struct Pace {
  int hours;
  double seconds_of_a_frame;
  int frames_between_updates;  // which come six at a time
  std::int64_t updates_of_a_run;
};

// A person who looks at everything in turn, hour after hour.
class Day {
 public:
  explicit Day(const Pace& pace)
      : pace_(pace),
        gui_(small_document(2, 4, 8), {1440, 900}, 1, {},
             {folder_.path("settings.json"), folder_.path("autosave"), folder_.path("runs")}) {
    gui_.shell().start_keeping(1'000'000);
    gui_.push(DoCommand{Command::kTrain});
    settle();
  }

  // The most memory that it took at any of its frames.
  Memory hour() {
    Memory most;
    const double end = seconds_ + 3600;
    for (; seconds_ < end; ++frames_) {
      seconds_ += pace_.seconds_of_a_frame;
      look_elsewhere();
      if (frames_ % pace_.frames_between_updates == 0) train_on();
      gui_.push(Tick{static_cast<float>(pace_.seconds_of_a_frame)});
      gui_.shell().keep(seconds_);
      gui_.frame();
      most.resident = std::max(most.resident, resident_mb());
      most.used = std::max(most.used, used_mb());
    }
    return most;
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
    if (frames_ % 23 == 0) gui_.push(ShowMode{static_cast<Mode>(frames_ / 23 % 3)});
    if (frames_ % 41 == 0)
      gui_.push(ChooseLanguage{frames_ / 41 % 2 ? Language::kChinese : Language::kEnglish});
  }

  // Each run goes on for a while, then another begins; the chart keeps the last ones.
  void train_on() {
    const std::int64_t step = gui_.state().train.run.status.step;
    if (step >= pace_.updates_of_a_run) {
      gui_.push(StartRun{});
      ++runs_;
    } else {
      gui_.push(PlayRun{true, step + 6});
      steps_ += 6;
    }
    settle();
  }

  const Pace pace_;
  TemporaryFolder folder_;
  Gui gui_;
  double seconds_ = 0;
  int frames_ = 0, runs_ = 0;
  std::int64_t steps_ = 0;
};

}  // namespace

TEST_CASE("hard: hours of playing, typing and training take no more memory than the first ones") {
  const Pace pace = is_long() ? Pace{24, 5, 17, 60} : Pace{4, 30, 6, 18};
  Day day(pace);
  // The program itself, with its libraries and what the C library keeps at hand.
  const double program = resident_mb() - used_mb();
  // In the first quarter what is kept fills up to its bounds: the steps of undo, the histories of
  // the run and of the ones before it. From then on nothing grows.
  std::vector<Memory> quarters(4);
  std::printf("hour  resident       in use\n");
  for (int hour = 0; hour < pace.hours; ++hour) {
    const Memory most = day.hour();
    Memory& quarter = quarters[static_cast<std::size_t>(4 * hour / pace.hours)];
    quarter.resident = std::max(quarter.resident, most.resident);
    quarter.used = std::max(quarter.used, most.used);
    std::printf("%4d  %6.1f MB  %8.1f MB\n", hour + 1, most.resident, most.used);
    std::fflush(stdout);
  }
  std::printf("%d runs, %lld updates\n", day.runs(), static_cast<long long>(day.steps()));
  CHECK(quarters[3].used < 1.05 * quarters[1].used);
  // It is given back once a minute; the most between two such times varies by a twentieth.
  CHECK(quarters[3].resident < 1.1 * quarters[1].resident);
  INFO("the program ", program, " MB");
  CHECK(quarters[3].resident - quarters[3].used - program < kMostGaps);
}

}  // namespace headlight::test
