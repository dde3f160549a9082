// headlight train: what is said and logged while it runs.
#pragma once

#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <optional>
#include <string>

#include "app/cli/cli.h"
#include "core/base/error.h"
#include "core/base/number_text.h"
#include "core/io/file_steps.h"
#include "core/train/metrics/model_probe.h"
#include "core/train/metrics/rows_score.h"
#include "core/train/optim/early_stop.h"
#include "core/train/run_history.h"
#include "core/train/tasks/task.h"

namespace headlight {

/// A CSV file with a line for each step. A disk that fills up does not stop the training: it is
/// said at once, and once more at the end.
class TrainLog {
 public:
  /// No file where the path is empty. Throws Error where it cannot be written.
  /// `both`: of a model that learns hidden tokens beside classes, the parts of the losses too.
  TrainLog(const std::string& path, bool goes_on, bool both) : path_(path), both_(both) {
    if (path.empty()) return;
    file_ = std::fopen(path.c_str(), goes_on ? "ae" : "we");
    if (!file_) fail_to_save(path, errno, false);
    if (goes_on) return;
    std::fputs("step,loss,gradient_norm,learning_rate,tokens_per_second,validation_loss", file_);
    if (both_) {
      for (const char* of : {"", "validation_"})
        std::fprintf(file_, ",%sclass_loss,%shidden_loss", of, of);
      std::fputs(",validation_class_accuracy,validation_hidden_accuracy", file_);
    }
    std::fputs("\n", file_);
    if (std::fflush(file_) != 0) fail(errno);
  }
  ~TrainLog() {
    if (file_) std::fclose(file_);
  }
  TrainLog(const TrainLog&) = delete;
  TrainLog& operator=(const TrainLog&) = delete;

  /// `validation`: with the weights after the step; null where it was not measured.
  void add(const TrainStep& s, double speed, const Evaluation* validation) {
    if (!file_ || !problem_.empty()) return;
    const auto measured = [&](double value) { return validation ? digits(value) : std::string(); };
    const Evaluation v = validation ? *validation : Evaluation{};
    std::string parts;
    if (both_) {
      parts = "," + digits(s.loss - s.hidden_loss) + "," + digits(s.hidden_loss) + "," +
              measured(v.class_loss()) + "," + measured(v.hidden.loss) + "," +
              measured(v.accuracy()) + "," + measured(v.hidden.accuracy());
    }
    const int written = std::fprintf(
        file_, "%lld,%.9g,%.9g,%.9g,%.6g,%s%s\n", static_cast<long long>(s.step), s.loss,
        s.gradient_norm, s.learning_rate, speed, measured(v.loss).c_str(), parts.c_str());
    // Someone may be watching it.
    if (written >= 0 && std::fflush(file_) == 0) return;
    try {
      fail_to_save(path_, errno, false);
    } catch (const Error& error) {
      problem_ = error.what();
    }
    tell(problem_ + " The training goes on; its log ends here.");
  }
  /// What could not be written; empty: all was.
  const std::string& problem() const { return problem_; }

 private:
  [[noreturn]] void fail(int error) {
    std::fclose(file_);
    file_ = nullptr;
    fail_to_save(path_, error, false);
  }

  static std::string digits(double value) {
    char text[32];
    std::snprintf(text, sizeof text, "%.9g", value);
    return text;
  }

  std::string path_, problem_;
  bool both_ = false;
  std::FILE* file_ = nullptr;
};

/// "step 120/1,000  loss 2.310  validation 2.412  rate 1.0e-3  12,345 tokens/s  0:32 left" on
/// stderr: of a terminal one line, written anew; elsewhere a line every few seconds.
class TrainProgress {
 public:
  /// `validation`: as it was measured last, where it was; of classes with the share that is right.
  void tell_step(const TrainStep& s, std::int64_t steps,
                 const std::optional<Evaluation>& validation, const Config& config, double speed,
                 double left) {
    const auto now = Clock::now();
    const bool last = s.step + 1 == steps;
    if (!last && any_ && now - told_ < (terminal_ ? kTerminal : kElsewhere)) return;
    told_ = now;
    any_ = true;
    const auto seconds = static_cast<long long>(left);
    std::string measured;
    if (validation) measured = "  validation " + number_text(validation->loss, 4);
    if (validation && config.token_head) {
      measured += parts_text(validation->class_loss(), validation->hidden.loss) + ", right " +
                  number_text(100 * validation->accuracy(), 4) + " % and " +
                  number_text(100 * validation->hidden.accuracy(), 4) + " %";
    } else if (validation && config.form == ModelForm::kClasses) {
      measured += " (" + number_text(100 * validation->accuracy(), 4) + " % right)";
    }
    if (s.loss_scale > 0)
      measured += "  loss scale " + count_text(static_cast<long long>(s.loss_scale)) +
                  (s.skipped ? " (skipped)" : "");
    const std::string parts =
        config.token_head ? parts_text(s.loss - s.hidden_loss, s.hidden_loss) : std::string();
    std::fprintf(stderr, "%sstep %s/%s  loss %s%s%s  rate %s  %s tokens/s  %lld:%02lld left%s",
                 terminal_ ? "\r" : "", count_text(s.step + 1).c_str(), count_text(steps).c_str(),
                 number_text(s.loss, 4).c_str(), parts.c_str(), measured.c_str(),
                 rate_text(s.learning_rate).c_str(),
                 count_text(static_cast<long long>(speed)).c_str(), seconds / 60, seconds % 60,
                 terminal_ ? "   " : "\n");
  }
  /// Before anything else is said.
  void end_line() const {
    if (terminal_ && any_) std::fputc('\n', stderr);
  }

  /// " (class 0.6931, hidden tokens 6.214)"
  static std::string parts_text(double classes, double hidden) {
    return " (class " + number_text(classes, 4) + ", hidden tokens " + number_text(hidden, 4) + ")";
  }

  /// "1.0e-3": rates span many powers of ten.
  static std::string rate_text(double rate) {
    char text[32];
    std::snprintf(text, sizeof text, "%.1e", rate);
    const std::string whole = text;
    const std::size_t e = whole.find('e');
    if (e == whole.npos) return whole;
    const int power = std::atoi(text + e + 1);
    return whole.substr(0, e + 1) + std::to_string(power);
  }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::milliseconds kTerminal{250}, kElsewhere{5000};
  const bool terminal_ = ::isatty(STDERR_FILENO) == 1;
  bool any_ = false;
  Clock::time_point told_;
};

/// As it is kept with the run: what "Runs and models" lists.
inline std::optional<TrainState::Score> score_of(const Evaluation& found) {
  if (found.counted == 0) return std::nullopt;
  return TrainState::Score{found.loss, found.accuracy()};
}

inline std::string percent_text(std::int64_t part, std::int64_t of) {
  return number_text(100.0 * static_cast<double>(part) / static_cast<double>(of), 4) + " %";
}

/// On new examples; of a table of classes also which were taken for which.
inline void tell_score(const Evaluation& all, const Task* task,
                       std::span<const TokenBatch> batches) {
  std::fprintf(stderr, "new examples: %s of %s answers right, %s of %s rows wholly; loss %s\n",
               percent_text(all.correct, all.counted).c_str(), count_text(all.counted).c_str(),
               percent_text(all.rows_correct, all.rows).c_str(), count_text(all.rows).c_str(),
               number_text(all.loss, 4).c_str());
  if (all.hidden.counted > 0)
    std::fprintf(stderr, "hidden tokens: %s of %s right; loss %s of them, %s of the class\n",
                 percent_text(all.hidden.correct, all.hidden.counted).c_str(),
                 count_text(all.hidden.counted).c_str(), number_text(all.hidden.loss, 4).c_str(),
                 number_text(all.class_loss(), 4).c_str());
  if (!task || all.chosen.empty() || task->classes().size() > kMostConfusion) return;
  const auto counts = confusion_of(batches, all.chosen, task->classes().size());
  std::fputs(confusion_text(task->classes(), counts).c_str(), stderr);
}

/// Of tasks whose rows are written: the same where the model goes on with its own tokens.
inline void tell_written(const std::shared_ptr<const Task>& task, const Config& config,
                         const Learner& learner, const EarlyStop& early) {
  constexpr int kExamples = 64;
  if (!task || !writes_rows(*task)) return;
  ModelProbe probe(config, task, 1, kExamples);
  const ProbeResult found =
      probe.run(early.weights().empty() ? learner.parameters() : early.weights());
  const TaskScore &given = found.score, &alone = found.alone;
  if (alone.tokens == 0) return;
  std::fprintf(stderr,
               "of %d examples: tokens right %s when the right row so far is given, %s when the "
               "model goes on with what it wrote itself; rows wholly right %s\n",
               kExamples, percent_text(given.tokens_right, given.tokens).c_str(),
               percent_text(alone.tokens_right, alone.tokens).c_str(),
               percent_text(alone.sequences_right, alone.sequences).c_str());
}

/// How much of what was computed was padding, where rows differ in length.
/// `by_length`: nothing is left to be done about it.
inline void tell_padding(const PaddingCount& count, bool by_length) {
  if (count.padding == 0) return;
  std::fprintf(stderr, "padding: %s of the tokens in the batches%s\n",
               percent_text(count.padding, count.cells).c_str(),
               by_length ? "" : "; --by-length on puts rows of similar length together");
}

/// Why a run with --patience has ended, and whose weights are kept.
inline void tell_best(const EarlyStop& stop, std::int64_t step) {
  if (!stop.best()) return;
  const TrainState::Best& best = *stop.best();
  if (stop.over())
    std::fprintf(stderr,
                 "stopped after step %s: the validation loss was not better in %s measurements. "
                 "--resume with a larger --patience goes on\n",
                 count_text(step).c_str(), count_text(stop.patience()).c_str());
  std::fprintf(stderr, "the weights are those of step %s, validation loss %s\n",
               count_text(best.step).c_str(), number_text(best.score.loss, 4).c_str());
}

}  // namespace headlight
