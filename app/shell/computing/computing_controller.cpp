#include "app/shell/computing/computing_controller.h"

#include <algorithm>
#include <filesystem>

#include "app/workers/gpu.h"
#include "core/base/error.h"
#include "core/base/number_text.h"
#include "core/run/row_around.h"
#include "core/text/number_words.h"
#include "core/text/unknown_words.h"
#include "core/train/model_recipe.h"

namespace headlight {
namespace {

// Runs that keep less than this are over within a frame.
constexpr double kRunAtOnceBytes = 24e6;
constexpr double kPatience = 0.008;  // seconds of a frame that a run may have

// "[CLS] and [SEP]"
Message named_around(const std::vector<std::string>& names) {
  if (names.size() == 1) return Message::of(names[0]);
  std::string first = names[0];
  for (std::size_t i = 1; i + 1 < names.size(); ++i) first += ", " + names[i];
  return Message{"notice.around.and", {{"first", first}, {"last", names.back()}}};
}

// Which tokens of a long text were read, and who set the limit.
Message cut_notice(const RunResult& result, const Document& doc) {
  std::string id = result.limit_of_model ? "notice.cut_by_model." : "notice.cut.";
  id += result.skipped > 0 ? "last" : "first";
  const CutRow row = cut_row(*result.trace, result.model.get(), doc, result.tokens_in_sentence);
  if (row.around.empty())
    return Message{id, {{"tokens", count_text(row.own)}, {"limit", count_text(result.limit)}}};
  return Message{id + ".around",
                 {{"tokens", count_text(row.all())},
                  {"own", count_text(row.own)},
                  {"limit", count_text(row.read())},
                  {"positions", count_text(row.positions)}}}
      .with(named_around(row.around));
}

// What cannot be built is refused before it takes anything.
double estimated_bytes(const Document& doc) try {
  validate(doc.config);
  const double bytes = static_cast<double>(doc.sentence.size());
  const double per_token = doc.tokenizer == TokenizerKind::kWords ? 2.5 : 1.0;
  const double tokens = std::min(static_cast<double>(doc.max_tokens), bytes / per_token);
  const auto count = static_cast<std::int64_t>(tokens);
  // With memory all segments are run.
  const double runs = doc.config.memory > 0 ? bytes / per_token / std::max(tokens, 1.0) : 1;
  return memory_needed(doc.config, {1, count, count}) * std::max(runs, 1.0) + bytes * 40;
} catch (const Error&) {
  return 0;
}

namespace fs = std::filesystem;

// The weights of a folder that are no larger are read within a frame.
constexpr std::uintmax_t kLoadAtOnceBytes = 8u << 20;

bool is_small(const std::string& ref) {
  if (ref.starts_with(kBundledRef)) return true;
  std::error_code error;
  std::uintmax_t size = 0;  // of all parts
  for (fs::directory_iterator at(ref, error), end; !error && at != end; at.increment(error)) {
    if (at->path().extension() != ".safetensors") continue;
    std::error_code unreadable;
    const std::uintmax_t part = at->file_size(unreadable);
    if (!unreadable) size += part;
  }
  return size <= kLoadAtOnceBytes;
}

// A session may be opened from another folder.
std::string absolute_ref(const std::string& ref) {
  if (ref.empty() || ref.starts_with(kBundledRef)) return ref;
  std::error_code error;
  const fs::path whole = fs::absolute(ref, error);
  return error ? ref : whole.lexically_normal().string();
}

// While a model is trained its trace is made many times a second, and nobody looks at its steps.
bool wants_gradients(const AppState& state) {
  return state.session.backward && state.session.mode != Mode::kTrain;
}

}  // namespace

ComputingController::ComputingController(const Shared& shared, const ShellOptions& options,
                                         TraceWorker& worker, DocumentController& document,
                                         ComputingSession& session, ComputingDerived& derived)
    : Controller(shared),
      options_(options),
      worker_(worker),
      document_(document),
      session_(session),
      derived_(derived),
      make_gpu_(options.make_gpu) {}

void ComputingController::restore(const Settings& stored) {
  session_.compute_request = stored.compute;
  session_.compute = options_.compute;
  if (options_.compute == ComputeMode::kGpu) session_.compute_request = ComputeRequest::kGpu;
  if (options_.compute == ComputeMode::kBoth) session_.compute_request = ComputeRequest::kBoth;
}

void ComputingController::update() {
  const bool new_weights = state_.document().model == kRunRef && derived_.run_model != ran_model_;
  const bool other_pass = wants_gradients(state_) != ran_backward_;
  const bool other_mode = session_.compute != ran_mode_;
  if (!is_current() || new_weights || other_pass || other_mode) run();
  forget_sizes();
}

// A backward pass is twice the work.
bool ComputingController::is_large(const Document& doc, bool gradients) {
  return (gradients ? 3 : 1) * estimated_bytes(doc) > kRunAtOnceBytes;
}

void ComputingController::run() {
  derived_.asked = state_.document();
  ran_model_ = derived_.asked.model == kRunRef ? derived_.run_model : nullptr;
  ran_backward_ = wants_gradients(state_);
  has_run_ = true;
  const bool on_gpu = session_.compute != ComputeMode::kCpu && start_gpu();
  ran_mode_ = session_.compute;
  const RunRequest request{derived_.asked, ran_model_, ran_backward_, ran_mode_,
                           state_.session.step};
  const bool large = is_large(derived_.asked, ran_backward_);
  if (!options_.background || !(on_gpu || large)) {
    if (std::optional<FinishedRun> done = worker_.run_now(request)) return take(std::move(*done));
  } else if (!large && !derived_.trace) {
    // At the start a graphics card compiles first: meanwhile the processor's numbers are shown.
    RunRequest at_once = request;
    at_once.mode = ComputeMode::kCpu;
    if (std::optional<FinishedRun> done = worker_.run_now(at_once)) take(std::move(*done));
  }
  worker_.request(request);
  derived_.computing = true;
  // While somebody types, a small run should not show in between.
  const bool soon = on_gpu && !large && derived_.gpu.phase == GpuPhase::kReady;
  if (soon && worker_.wait_for(kPatience)) take(*worker_.poll());
}

bool ComputingController::poll() {
  forget_layers();  // not before what was drawn of them is on the screen
  std::optional<LoadedModel> loaded = worker_.poll_model();
  if (loaded) take_model(std::move(*loaded), model_sentence_);
  std::optional<FinishedLayer> layer = worker_.poll_layer();
  if (layer) take_layer(*layer);
  std::optional<FinishedRun> run = worker_.poll();
  if (run) take(std::move(*run));
  const std::optional<GpuState> tested = worker_.poll_gpu();
  if (tested) take_gpu_test(*tested);
  std::optional<SizeChart> sizes = worker_.poll_sizes();
  if (sizes) derived_.sizes = std::move(*sizes);
  return loaded || layer || run || tested || sizes;
}

namespace {

std::string small_letters(std::string text) {
  for (char& c : text) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return text;
}

// What a person can do about words that a model does not know.
std::vector<WayOn> ways_with_unknown(const Document& document, const RunResult& result) {
  const Model& model = *result.model;
  std::vector<WayOn> ways;
  const auto known_small = [&](const std::string& token) {
    return model.vocabulary->find(small_letters(token)).has_value();
  };
  const std::vector<std::string>& unknown = result.unknown;
  if (unknown.size() < kMostUnknown && std::all_of(unknown.begin(), unknown.end(), known_small))
    ways.push_back(
        {"small", Message{"way.small"}, DoEdit{SetSentence{small_letters(document.sentence)}, ""}});
  const std::string example = example_sentence(model);
  const WayOn ids{"ids", Message{"way.ids"}, DoEdit{SetSentence{example}, ""}};
  if (has_ids_alone(model)) ways.push_back(ids);
  ways.push_back({"sandbox", Message{"way.sandbox"}, ChooseModel{}});
  if (!has_ids_alone(model) && !example.empty() && example != document.sentence)
    ways.push_back({"example", Message{"way.example"}, DoEdit{SetSentence{example}, ""}});
  return ways;
}

// Heads that the width divides into; the message names them.
void add_ways_with_heads(const Config& asked, const Message& problem, std::vector<WayOn>& ways) {
  constexpr std::string_view kHeads = "error.heads_do_not_divide";
  if (!problem.id.starts_with(kHeads)) return;
  for (const MessageSlot& slot : problem.slots) {
    const bool fits = slot.name == "below" || (slot.name == "above" && problem.id != kHeads);
    if (!fits) continue;
    Config config = asked;
    config.heads = std::stoi(slot.value);
    const Message label{config.heads == 1 ? "way.heads.one" : "way.heads", {{"n", slot.value}}};
    ways.push_back({"heads_" + slot.value, label, DoEdit{SetConfig{config}, ""}});
  }
}

// A mask that does not fit the sentence or the model can go, and fused attention what does not go
// with it.
void add_ways_with_masks(const Config& asked, std::string_view problem, std::vector<WayOn>& ways) {
  if (problem.starts_with("error.added_mask")) {
    MaskSpec mask = asked.mask;
    mask.added = {};
    ways.push_back({"remove_added", Message{"way.remove_added"}, DoEdit{SetMask{mask}, ""}});
  }
  if (problem.starts_with("error.fused.")) {
    Config config = asked;
    config.fused_attention = false;
    ways.push_back({"unfuse", Message{"way.unfuse"}, DoEdit{SetConfig{config}, ""}});
  }
  const bool heads = problem == "error.no_such_head" || problem == "error.head_stack" ||
                     problem == "error.head_of_mask";
  if (!heads) return;
  Config config = asked;
  config.masked_heads.clear();
  config.mask.by_head.clear();
  ways.push_back(
      {"remove_head_masks", Message{"way.remove_head_masks"}, DoEdit{SetConfig{config}, ""}});
}

// Another folder: what is wrong lies in this one.
WayOn other_folder() {
  return {"open_model", Message{"model.open"}, DoCommand{Command::kOpenModel}};
}

// A folder can be mended, or another one chosen.
std::vector<WayOn> ways_without_model(Action again) {
  return {{"again", Message{"way.again"}, std::move(again)}, other_folder()};
}

// The person's own limit is a setting. That a model's last tokens alone are read is how it reads.
std::vector<WayOn> ways_with_cut(const RunResult& result) {
  if (!result.limit_of_model)
    return {{"settings", Message{"way.settings"}, DoCommand{Command::kToggleModel}}};
  if (result.skipped > 0) return {};
  return {{"sandbox", Message{"way.sandbox"}, ChooseModel{}}, other_folder()};
}

}  // namespace

void ComputingController::take(FinishedRun run) {
  take_gpu(run);
  RunResult& result = run.result;
  ComputingDerived& d = derived_;
  d.computing = awaits_any();
  d.message = result.message;
  d.problem = say(state_.session.language, d.message);
  d.empty = result.empty;
  d.tokens_in_sentence = result.trace || result.cut ? result.tokens_in_sentence : 0;
  d.cut = result.cut && result.trace;
  if (result.trace) d.skipped = result.skipped;
  if (result.trace) d.segments = result.segments;
  d.opened = result.model;
  // Pictures are the same each time; a measured time would not be.
  d.run_ms = options_.background ? run.milliseconds : 0;
  retract(run_notice_);
  run_notice_ = {};
  std::vector<WayOn> ways;
  if (!result.unknown.empty() && result.model) ways = ways_with_unknown(derived_.asked, result);
  if (!result.unknown.empty() && !result.model)
    ways = {
        {"example", Message{"way.example"}, DoEdit{SetSentence{std::string(kNumberSentence)}, ""}}};
  const bool problem = !result.trace && !result.empty;
  const Message too_long = result.trace && result.cut ? cut_notice(result, d.asked) : Message();
  if (problem) add_ways_with_masks(derived_.asked.config, result.message.id, ways);
  if (problem) add_ways_with_heads(derived_.asked.config, result.message, ways);
  if (problem && !result.model && !derived_.asked.model.empty())
    ways = ways_without_model(StopWaiting{true});
  if (result.trace) {
    d.trace = std::move(result.trace);
    d.heads = std::move(run.heads);
    d.model = std::move(result.model);
    d.curve = curve_of(*d.trace, d.model);
    d.rows.reset();
    if (d.model)
      d.rows =
          forced_and_free(*d.trace, *d.model, result.own_row, result.own_row_ends, result.forced);
    run_notice_ = result.note;
    if (d.model && !d.model->not_finite.empty()) ways = {other_folder()};
    if (d.cut) {
      ways = ways_with_cut(result);
      run_notice_ = too_long;
    }
  } else if (!result.empty) {
    run_notice_.id = d.trace ? "notice.still_shown" : "notice.problem";
    run_notice_ = run_notice_.with(result.message);
    if (d.trace) {
      d.tokens_in_sentence = static_cast<std::size_t>(d.trace->length());
    }
  }
  if (!run_notice_.empty())
    notify(problem ? NoticeKind::kError : NoticeKind::kWarning, run_notice_, std::move(ways),
           problem ? NoticeLife::kStays : NoticeLife::kPasses);
  news_ = true;
}

void ComputingController::on(const ChooseLanguage& a) {
  derived_.problem = say(a.language, derived_.message);
}

// ---- trained models ----

void ComputingController::on(const ChooseModel& a) {
  perform(EndEdit{});
  worker_.drop(TraceTask::kModel);  // this one is wanted now
  derived_.computing = worker_.awaits(TraceTask::kShown);
  if (a.ref.empty()) {
    perform(DoEdit{choose_sandbox(state_.history.now()), ""});
    return;
  }
  if (a.ref == kRunRef) {
    if (derived_.run_model) take_model({a.ref, derived_.run_model, {}}, a.sentence);
    return;
  }
  const std::string ref = absolute_ref(a.ref);
  if (!options_.background || is_small(ref)) {
    if (std::optional<LoadedModel> loaded = worker_.load_now(ref))
      return take_model(*loaded, a.sentence);
  }
  worker_.request_model(ref);
  model_sentence_ = a.sentence;
  derived_.computing = true;
  derived_.opening = fs::path(ref).filename().string();
  waits_since_.reset();
}

void ComputingController::take_model(LoadedModel loaded, const std::string& sentence) {
  derived_.computing = awaits_any();
  if (!loaded.model) {
    notify(NoticeKind::kError, Message{"notice.problem"}.with(loaded.problem),
           ways_without_model(ChooseModel{loaded.ref, sentence}));
    return;
  }
  if (loaded.ref != kRunRef && !loaded.ref.starts_with(kBundledRef))
    perform(RememberModel{loaded.ref});
  const Document& own = state_.history.now();
  SetModel edit = choose_model(own, *loaded.model);
  if (!sentence.empty()) edit.sentence = sentence;
  const bool other = sentence.empty() && edit.sentence && *edit.sentence != own.sentence;
  if (other && !own.sentence.empty()) {
    const std::string words = unknown_names(unknown_to(*loaded.model, own.sentence));
    notify(NoticeKind::kInfo,
           Message{"notice.example_sentence", {{"name", loaded.model->name}, {"words", words}}},
           {{"undo", Message{"way.undo"}, DoCommand{Command::kUndo}}});
  }
  document_.edit(edit);
}

// ---- time against size ----

void ComputingController::on(const MeasureSizes& a) {
  ComputingDerived& d = derived_;
  if (!a.measure) {
    worker_.drop(TraceTask::kSizes);
    d.sizes.measuring = false;
    return;
  }
  if (!d.trace || !start_gpu()) return;
  d.sizes = {};
  d.sizes.measuring = true;
  sizes_config_ = state_.document().config;
  sizes_model_ = state_.document().model;
  worker_.request_sizes({state_.document(), d.model, false, ComputeMode::kBoth});
}

// They are of one model; another one has other times.
void ComputingController::forget_sizes() {
  SizeChart& sizes = derived_.sizes;
  const Document& doc = state_.document();
  if (sizes.points.empty() && !sizes.measuring) return;
  if (doc.config == sizes_config_ && doc.model == sizes_model_) return;
  worker_.drop(TraceTask::kSizes);
  sizes = {};
}

}  // namespace headlight
