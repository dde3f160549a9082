// headlight render, screenshot and walk: pictures drawn by the window's own code, off screen.
#include <algorithm>
#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "app/cli/cli.h"
#include "app/platform/offscreen.h"
#include "app/ui/stage/stage_motion.h"
#include "core/base/error.h"
#include "core/explain/explain.h"
#include "core/io/atomic_file.h"
#include "core/io/file_steps.h"
#include "core/io/png.h"
#include "core/lab/lab.h"
#include "core/model/bundled.h"

namespace headlight {
namespace {

const std::vector<std::string> kVisions = {"full", "protanopia", "deuteranopia", "tritanopia",
                                           "grey"};

// What else a name may end in, a reader of that kind could not open.
const CLI::Validator kPngName(
    [](const std::string& path) {
      if (path.empty()) return std::string("it is empty; give the name of a PNG file");
      std::string end = std::filesystem::path(path).extension().string();
      std::ranges::transform(end, end.begin(), [](unsigned char c) { return std::tolower(c); });
      return end.empty() || end == ".png" ? std::string()
                                          : "pictures are PNG files: end it in .png, not " + end;
    },
    "");

struct PictureOptions {
  ModelOptions model;
  std::string out, size = "1280x720", theme = "light", lang = "en", step, at, head, compare, open,
                   at_time, lines, tab;
  bool nudge = false, backward = false;
  float scale = 1.0f;
  int zoom = 0;
  std::string lab;  // its page is shown
  std::vector<std::string> lab_set;
  int lab_answer = -1;  // to its first question
  bool lab_code = false;
  std::string train;       // a task, or OwnData: the Train panel is shown
  std::string train_file;  // the person's own data
  std::string train_from;  // the model that the run begins with
  int train_masked = 0;    // RunPlan's text_options.masked
  bool train_next_sentence = false;
  std::int64_t train_steps = 300;
  std::optional<std::int64_t> mark, pin;
  std::string vision = "full", range = "shared";

  void add_to(CLI::App& sub) {
    model.add_to(sub);
    model.add_model_to(sub);
    sub.add_option("--size", size, "Width x height in pixels")->capture_default_str();
    sub.add_option("--scale", scale, "Scale of everything, 1 is 100 %")
        ->capture_default_str()
        ->check(within(0.75, 4));
    sub.add_option("--theme", theme, "light or dark")
        ->capture_default_str()
        ->check(CLI::IsMember({"light", "dark"}));
    sub.add_option("--lang", lang, "Language of the interface, en or zh")
        ->capture_default_str()
        ->check(CLI::IsMember({"en", "zh"}));
  }
  void set_look(Shell& shell) const {
    shell.set_look(theme == "dark", scale);
    shell.push(ChooseLanguage{language_from_word(lang).value_or(Language::kEnglish)});
    shell.apply();
  }
};

ShellOptions shell_options(const ModelOptions& model) {
  ShellOptions options;
  options.limits = model.limits();
  options.threads = model.threads;
  options.backend = model.window_backend();
  options.compute = model.window_compute();
  options.background = false;
  return options;
}

void save_png(const std::string& path, int width, int height,
              const std::vector<std::uint8_t>& rgba) {
  write_file_atomic(path, encode_png(width, height, rgba));
}

int head_number(const std::string& text, const Trace& trace) {
  const std::vector<std::int64_t> index = parse_index(text);
  const int heads = trace.config().head_count();
  if (index.size() != 1 || index[0] >= heads) {
    throw UsageError("--head must be from 0 to " + std::to_string(heads - 1) + "; got '" + text +
                     "'");
  }
  return static_cast<int>(index[0]);
}

// "2.5": seconds of the step's own time; "40%": a part of it.
void scrub_to(Shell& shell, const std::string& text) {
  const std::optional<MotionSize> size = shown_motion_size(shell.state());
  char* end = nullptr;
  const double number = std::strtod(text.c_str(), &end);
  const bool part = end && std::string_view(end) == "%";
  if (!size || end == text.c_str() || (*end != '\0' && !part) || !(number >= 0)) {
    throw UsageError(
        "--at-time must be seconds, as 2.5, or a part of the step's time, as 40%; got '" + text +
        "'");
  }
  shell.push(ScrubTo{part ? number / 100 : number / motion_length(*size)});
  shell.apply();
}

// Puts the shell where the options say: step, head, cell.
void look_at(Shell& shell, const PictureOptions& o, bool any_head) {
  auto trace = shell.state().derived.trace;
  if (!trace) {
    // The window shows its empty state; only what asks for a step needs a run.
    if (!o.step.empty() || !o.at.empty() || !o.head.empty())
      throw UsageError(shell.state().derived.message);
    return;
  }
  if (!o.step.empty()) {
    if (o.step.starts_with("d.")) {
      shell.push(ShowBackward{true});
      shell.apply();
      shell.wait();
      trace = shell.state().derived.trace;
    }
    trace->program().require(o.step);
    shell.push(GoToStep{o.step});
  }
  if (!o.head.empty() && !(any_head && o.head == "all"))
    shell.push(ChooseHead{head_number(o.head, *trace)});
  if (!o.compare.empty()) shell.push(CompareHead{head_number(o.compare, *trace)});
  shell.apply();
  if (!o.at_time.empty()) scrub_to(shell, o.at_time);
  if (!o.lines.empty()) {
    shell.push(ChooseHeadsView{HeadsView::kLines});
    const int chosen = shell.state().session.head;
    std::vector<int> heads;
    for (const std::int64_t head : parse_index(o.lines))
      heads.push_back(head_number(std::to_string(head), *trace));
    for (const int head : heads) {
      if (head != chosen) shell.push(ToggleLineHead{head});
    }
    if (std::find(heads.begin(), heads.end(), chosen) == heads.end())
      shell.push(ToggleLineHead{chosen});
    shell.apply();
  }
  if (!o.at.empty()) {
    const std::string name = o.step.empty() ? shell.state().session.step : o.step;
    const TensorId id = trace->program().require(name);
    shell.push(PickCell{{name, full_index(*trace, id, parse_index(o.at))}});
  }
  if (o.nudge) shell.push(NudgeCell{});
  shell.apply();
  shell.wait();
}

// Trains so far, then marks a step.
void train(Shell& shell, const PictureOptions& o) {
  const auto ask = [&](Action action) {
    shell.push(std::move(action));
    shell.apply();
    shell.wait();
  };
  const std::optional<OwnData> own = from_word<OwnData>(o.train);
  RunPlan plan = own ? default_plan("", *own) : default_plan(o.train);
  if (own && o.train_file.empty()) throw UsageError("--train " + o.train + " needs --train-file");
  plan.text.path = o.train_file;
  const bool pairs = own == OwnData::kText && o.train_next_sentence;
  if (own) plan = with_objective(std::move(plan), {o.train_masked, pairs});
  ask(DoCommand{Command::kTrain});
  ask(PlanRun{plan});
  if (!o.train_from.empty()) {
    ask(StartFrom{model_ref(o.train_from)});
    ask(StartRun{});
  }
  ask(PlayRun{true, o.train_steps});
  const RunView& run = shell.state().train.run;
  if (!run.status.start_problem.empty()) throw Error(run.status.start_problem);
  if (run.status.phase == TrainPhase::kFailed && !own) throw Error(run.status.problem);
  if (o.pin) ask(PinStep{RunPoint{run.status.run, *o.pin}});
  if (o.mark) ask(MarkStep{*o.mark});
}

void show_lab(Shell& shell, const PictureOptions& o) {
  shell.push(ShowLab{std::string(find_lab(o.lab).id)});
  shell.apply();
  for (const std::string& one : o.lab_set) {
    const std::size_t equals = std::min(one.find('='), one.size());
    shell.push(SetLabControl{one.substr(0, equals), one.substr(std::min(equals + 1, one.size()))});
    shell.apply();
  }
  if (o.lab_code) shell.push(ShowLabCode{true});
  const auto& result = shell.state().labs.result;
  if (o.lab_answer >= 0 && result && !result->questions.empty()) {
    const auto answers = std::ssize(result->questions[0].answers);
    if (o.lab_answer >= answers)
      throw UsageError("--lab-answer must be from 0 to " + std::to_string(answers - 1) + "; got " +
                       std::to_string(o.lab_answer));
    shell.push(AnswerLab{result->questions[0].id, o.lab_answer});
    shell.push(SeeLab{result->questions[0].id});
  }
  shell.apply();
}

int run_screenshot(const PictureOptions& o) {
  const auto [width, height] = parse_size(o.size);
  Shell shell(o.model.document(), shell_options(o.model));
  o.set_look(shell);
  if (!o.train.empty()) train(shell, o);
  look_at(shell, o, false);
  if (!o.lab.empty()) show_lab(shell, o);
  if (o.open == "model") shell.push(DoCommand{Command::kToggleModel});
  if (o.open == "keys") shell.push(DoCommand{Command::kKeys});
  for (int i = 0; i < o.zoom; ++i) shell.push(DoCommand{Command::kZoomIn});
  const auto vision = std::find(kVisions.begin(), kVisions.end(), o.vision);
  shell.push(ChooseVision{static_cast<Vision>(vision - kVisions.begin())});
  shell.push(ChooseRange{o.range == "own" ? RangeMode::kPicture : RangeMode::kShared});
  if (o.tab == "code") shell.push(ChooseTab{InspectorTab::kCode});
  if (o.tab == "kernel") shell.push(DoCommand{Command::kKernel});
  if (o.open == "compute") shell.push(DoCommand{Command::kCompareBackends});
  if (o.open == "sizes") {
    shell.push(DoCommand{Command::kCompareBackends});
    shell.push(ShowSizes{true});
    shell.push(MeasureSizes{true});
  }
  if (o.open == "cost" || o.open == "presets") {
    shell.push(DoCommand{o.open == "cost" ? Command::kCost : Command::kPresets});
    shell.push(CountCost{});
  }
  if (o.tab == "words") shell.push(ChooseTab{InspectorTab::kWords});
  if (o.open == "forced") shell.push(DoCommand{Command::kForced});
  if (o.open == "palette") shell.push(DoCommand{Command::kPalette});
  if (o.open == "data") shell.push(AskText{});
  if (o.open == "path") shell.push(DoCommand{Command::kOpen});
  if (o.open == "question") {
    shell.push(DoEdit{SetSentence{o.model.document().sentence + " 2"}, ""});
    shell.push(DoCommand{Command::kQuit});
  }
  shell.apply();
  Offscreen screen(shell, width, height);
  save_png(o.out, width, height, screen.picture());
  return 0;
}

int run_render(const PictureOptions& o) {
  const auto [width, height] = parse_size(o.size);
  run_or_throw(o.model, o.model.document());  // every problem is said before anything is drawn
  Shell shell(o.model.document(), shell_options(o.model));
  o.set_look(shell);
  look_at(shell, o, true);
  Offscreen screen(shell, width, height);
  screen.frontend().show_only_stage(o.head == "all");
  save_png(o.out, width, height, screen.picture());
  return 0;
}

int run_walk(const PictureOptions& o) {
  if (o.out.empty()) throw UsageError("--out is empty; give the name of a folder");
  const auto [width, height] = parse_size(o.size);
  std::error_code error;
  std::filesystem::create_directories(o.out, error);
  if (error) fail_to_save(o.out, error.value(), false);
  Shell shell(o.model.document(), shell_options(o.model));
  o.set_look(shell);
  if (o.backward) shell.push(ShowBackward{true});
  shell.apply();
  shell.wait();
  const auto trace = shell.state().derived.trace;
  if (!trace) throw UsageError(shell.state().derived.message);
  Offscreen screen(shell, width, height);
  int drawn = 0;
  for (const Step& step : trace->program().steps) {
    if (step.backward != o.backward) continue;
    const std::string& name = trace->program().tensors[place(step.tensor)].name;
    shell.push(GoToStep{name});
    shell.apply();
    char number[32];
    std::snprintf(number, sizeof number, "%03d_", ++drawn);
    const std::string path = (std::filesystem::path(o.out) / (number + name + ".png")).string();
    save_png(path, width, height, screen.picture());
    std::printf("%s\n", path.c_str());
  }
  return 0;
}

}  // namespace

void add_render_command(CLI::App& app, Run& run) {
  auto o = std::make_shared<PictureOptions>();
  CLI::App* sub = app.add_subcommand("render", "Draws one step as a picture");
  o->add_to(*sub);
  sub->add_option("--step", o->step, "Name of the tensor, as blocks.0.attn.pattern")->required();
  sub->add_option("--head", o->head, "Number of the head, or all");
  sub->add_option("--at", o->at, "A cell to light up, as 0,3,1");
  sub->add_option("--out", o->out, "FILE.png")->required()->check(kPngName);
  sub->callback([o, &run] { run = [o] { return run_render(*o); }; });
}

void add_screenshot_command(CLI::App& app, Run& run) {
  auto o = std::make_shared<PictureOptions>();
  CLI::App* sub = app.add_subcommand("screenshot", "Draws the whole window as a picture");
  o->add_to(*sub);
  sub->add_option("--step", o->step, "Name of the tensor whose step is shown");
  sub->add_option("--head", o->head, "Number of the head");
  sub->add_option("--compare", o->compare, "Number of a second head, to compare with");
  sub->add_option("--lines", o->lines, "Heads whose weights are drawn as lines, as 0,2");
  sub->add_option("--at", o->at, "The chosen cell, as 0,3,1");
  sub->add_flag("--nudge", o->nudge, "Checks the chosen gradient by a finite difference");
  sub->add_option("--at-time", o->at_time,
                  "The step in the making: seconds of its own time, or a part of it, as 40%");
  sub->add_option("--tab", o->tab, "The inspector's tab: numbers, code, words or kernel")
      ->check(CLI::IsMember({"numbers", "code", "words", "kernel"}));
  sub->add_option("--open", o->open,
                  "What to open: model, keys, palette, path, data, question, compute or sizes")
      ->check(CLI::IsMember({"model", "keys", "palette", "path", "data", "question", "compute",
                             "sizes", "cost", "presets", "forced"}));
  sub->add_option("--zoom", o->zoom, "Steps to zoom in, about the chosen cell")
      ->check(CLI::Range(0, 40));
  sub->add_option("--vision", o->vision, "Colours as these eyes see them")
      ->capture_default_str()
      ->check(CLI::IsMember(kVisions));
  sub->add_option(
         "--range", o->range,
         "Range of the colours: shared by the heads of a layer and the terms of a sum, or own")
      ->capture_default_str()
      ->check(CLI::IsMember({"shared", "own"}));
  sub->add_option("--train", o->train,
                  "The Train panel, on this task, or on data of your own: text, labels, pairs");
  sub->add_option("--train-file", o->train_file, "--train: the file with data of your own");
  sub->add_option("--train-from", o->train_from,
                  "--train text or labels: begin with the weights of this model");
  sub->add_option(
         "--train-mask-tokens", o->train_masked,
         "--train text: percent of the tokens that are hidden (0: the next token is learned)")
      ->check(CLI::Range(0, kMostMasked));
  sub->add_flag("--train-next-sentence", o->train_next_sentence,
                "--train text: whether a sentence follows another is learned");
  sub->add_option("--train-steps", o->train_steps, "--train: after so many updates")
      ->capture_default_str()
      ->check(CLI::Range(0, 1000000));
  sub->add_option("--lab", o->lab, "A lab, as scale: its page");
  sub->add_option("--lab-set", o->lab_set, "--lab: CONTROL=VALUE, again for others");
  sub->add_option("--lab-answer", o->lab_answer, "--lab: which answer is given, from 0, and seen");
  sub->add_flag("--lab-code", o->lab_code, "--lab: the same as code");
  sub->add_option("--mark", o->mark, "--train: the marked step");
  sub->add_option("--pin", o->pin, "--train: the step that it is compared with");
  sub->add_option("--out", o->out, "FILE.png")->required()->check(kPngName);
  sub->callback([o, &run] { run = [o] { return run_screenshot(*o); }; });
}

void add_walk_command(CLI::App& app, Run& run) {
  auto o = std::make_shared<PictureOptions>();
  o->out = "out";
  CLI::App* sub = app.add_subcommand("walk", "Draws the window at every step, one picture each");
  o->add_to(*sub);
  sub->add_flag("--backward", o->backward, "The steps of the backward pass");
  sub->add_option("--out", o->out, "Folder for the pictures")->capture_default_str();
  sub->callback([o, &run] { run = [o] { return run_walk(*o); }; });
}

}  // namespace headlight
