// Labs: arguments, each an experiment on the person's own sentence. A lab is data and one function:
// its id, its controls, and what it makes of a sentence and a model: numbers, series, pictures, a
// question that this very run answers, and sentences that this very run supports. Its texts are in
// assets/i18n/labs.json under "lab.<id>."; panel, command line, files and tests read what stands
// here.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/message.h"
#include "core/base/progress.h"
#include "core/base/tensor.h"
#include "core/document/document.h"
#include "core/graph/roles.h"
#include "core/run/runner.h"

namespace headlight {

/// What a person may set: one of some words, or a number.
struct LabControl {
  std::string_view id;
  std::vector<std::string_view> words{};  // in their order on the screen; empty: a number
  double low = 0, high = 0, first = 0;
  bool whole = false;
  bool by_factors = false;     // a slider goes from low to high by factors; low > 0
  std::size_t first_word = 0;  // the place of the word that it begins with
};

/// By control. What is not there is as it begins.
using LabSettings = std::map<std::string, std::string, std::less<>>;

struct LabValue {
  std::string name;
  double value = 0;
};

/// A line of a chart; where there is a band, from `low` to `high`.
struct LabSeries {
  std::string name;  // "<chart>.<line>", or "<chart>" where the chart has one line
  std::vector<double> x, y, low{}, high{};
  std::vector<std::string> names{};  // of its points or bars: words, or ids of texts (lab_name)
};

enum class LabChartForm { kLines, kPoints, kBars };

/// How series are drawn: "lab.<lab>.chart.<id>" is its title, with ".x" and ".y" what its axes are.
struct LabChart {
  std::string_view id;
  // The series "<id>.<line>", whose name is "lab.<lab>.line.<line>"; empty: the series "<id>".
  std::vector<std::string_view> lines{};
  bool log_x = false, log_y = false;
  std::string_view at{};  // the control whose number is marked on the x axis
  LabChartForm form = LabChartForm::kLines;
};

enum class LabColours { kWeights, kSigned };

/// A matrix that is shown, with what stands around it. Those of one name stand side by side:
/// "lab.<lab>.picture.<name>" is their title, with ".axes" what rows and columns are.
struct LabPicture {
  std::string name;
  std::vector<std::string> rows, columns;  // words, or ids of texts, as `over` (lab_name)
  std::vector<float> cells;                // (rows, columns)
  LabColours colours = LabColours::kWeights;
  double at = 0;                // its place on the axis of the series
  std::string under{}, over{};  // over: its own title beside others of its name
};

/// Predict, then see: "lab.<lab>.ask.<id>", its answers "lab.<lab>.ask.<id>.<answer>".
struct LabQuestion {
  std::string id;
  std::vector<MessageSlot> slots;  // of its text
  std::vector<std::string> answers;
  std::size_t right = 0;  // judged by this run
  Message because;        // its numbers
};

/// A piece of a tree of continuations; `parent`: its place in the list, −1 of the first ones.
struct LabBranch {
  int parent = -1;
  std::string text;
  double probability = 0;  // of this token behind its parents
};

struct LabResult {
  LabSettings settings;  // of all controls
  std::vector<LabValue> values;
  std::vector<LabSeries> series;
  std::vector<LabPicture> pictures;
  std::vector<LabBranch> tree{};
  std::vector<Message> notice;  // what this run shows
  std::vector<LabQuestion> questions;
  /// What went in: anyone can compute the rest from these again. Row-major.
  std::vector<Tensor> tensors;
  std::vector<Tensor> trained{};  // LabRun::trained()
  /// The sentence and the settings with which Steps shows the same.
  Document in_steps;
  /// What was left out or taken in another's place: "only the first 32 tokens".
  std::vector<Message> notes;

  double value(std::string_view name) const;  // throws UsageError where there is none
};

/// What a lab is given.
struct LabInput {
  const Document& document;
  Runner& runner;
  Backend& backend;
  ProgressFunction progress{};
  /// Given what is there so far, by a lab that takes more than a moment.
  std::function<void(const LabResult&)> show{};
  /// Of a document whose model is a run that is being trained.
  std::shared_ptr<const Model> run_model{};
  /// Where there are any: read in the place of the kept run that comes with the program.
  std::span<const Tensor> kept_run{};
};

class LabRun;
struct Lab {
  std::string_view id;
  std::string_view group;   // "lab.group.<group>"
  std::string_view source;  // where it comes from, the same in every language
  std::vector<LabControl> controls;
  void (*run)(LabRun&);
  std::vector<LabChart> charts{};
  /// The model that its refusals lead to: "random", or a bundled one's name. Empty: none.
  std::string_view takes{};
  /// What the pages of Steps that offer it make.
  std::vector<Role> fits{};
  std::string_view formula{};             // plain text, or the id of one that has words (lab_name)
  std::vector<std::string_view> tasks{};  // of Train, whose settings offer it
};

/// What a control says before anybody has set it.
std::string first_setting(const LabControl&);

/// The control of every lab that trains: "kept" shows the run that comes with the program, "live"
/// trains now.
inline LabControl training_control() { return {"run", {"kept", "live"}}; }

/// In the order in which they are offered.
std::span<const Lab> all_labs();
/// Throws UsageError with the nearest ids.
const Lab& find_lab(std::string_view id);

/// Throws UsageError for a setting that the lab has not or cannot have, Error for a sentence or a
/// model that it cannot take (it says which it takes instead), Cancelled when it was stopped.
LabResult run_lab(const Lab&, const LabInput&, const LabSettings& = {});

}  // namespace headlight
