#include "app/shell/labs/labs_controller.h"

#include <algorithm>

#include "core/lab/lab_files.h"

namespace headlight {
namespace {

constexpr std::size_t kMostKept = 32;

LabChoice::Settings settings_of(const Document& document, std::string_view lab) {
  const auto found = document.labs.settings.find(lab);
  return found == document.labs.settings.end() ? LabChoice::Settings{} : found->second;
}

}  // namespace

LabsController::LabsController(const Shared& shared, const ShellOptions& options,
                               LabsSession& session, LabsData& data)
    : Controller(shared),
      session_(session),
      data_(data),
      worker_(options.background, options.limits, options.threads) {}

// ---- what is asked for ----

LabsController::Asked LabsController::asked() const {
  const Document& document = state_.document();
  Asked now{document, document.model == kRunRef ? state_.derived.run_model : nullptr};
  const std::string lab(shown_lab(document).id);
  now.document.labs = {lab, {}};
  if (LabChoice::Settings own = settings_of(document, lab); !own.empty())
    now.document.labs.settings[lab] = std::move(own);
  return now;
}

// Asked in every frame: compares in place.
bool LabsController::is_asked() const {
  const Document& document = state_.document();
  if (!asked_ || !same_run(document, asked_->document)) return false;
  const Lab& lab = shown_lab(document);
  if (lab.id != asked_->document.labs.lab) return false;
  if (document.model == kRunRef && state_.derived.run_model != asked_->run_model) return false;
  const auto own = document.labs.settings.find(lab.id),
             was = asked_->document.labs.settings.find(lab.id);
  const bool has = own != document.labs.settings.end() && !own->second.empty();
  const bool had = was != asked_->document.labs.settings.end();
  return has == had && (!has || own->second == was->second);
}

void LabsController::update() {
  if (state_.session.mode != Mode::kLabs) return;
  const Lab& lab = shown_lab(state_.document());
  if (session_.code && code_of_ != lab.id) {
    data_.code = lab_code(lab);
    code_of_ = lab.id;
  }
  if (is_asked()) return;
  asked_ = asked();
  data_.problem = {};
  data_.share = 0;
  const auto kept = std::ranges::find(kept_, *asked_, &Kept::of);
  if (kept != kept_.end()) {
    worker_.stop();
    return take(kept->result, true);
  }
  if (data_.lab != lab.id) data_.result.reset();  // another lab's numbers are not this one's
  data_.computing = true;
  worker_.request({asked_->document, asked_->run_model, std::string(lab.id),
                   settings_of(asked_->document, lab.id)});
  poll();
}

// ---- what came ----

void LabsController::take(std::shared_ptr<const LabResult> result, bool whole) {
  if (result != data_.result) ++data_.serial;
  data_.lab = asked_->document.labs.lab;
  if (data_.result != result) session_.answers.erase(data_.lab);
  data_.result = std::move(result);
  data_.computing = !whole;
}

bool LabsController::poll() {
  std::optional<LabNews> news = worker_.poll();
  if (!news || !asked_) return false;
  data_.share = std::max(data_.share, news->share);
  if (news->result) {
    take(news->result, news->done);
    if (news->done) {
      kept_.push_back({*asked_, news->result});
      if (kept_.size() > kMostKept) kept_.pop_front();
    }
  }
  if (!news->done) return true;
  data_.computing = false;
  if (news->result) return true;
  data_.problem = std::move(news->problem);
  data_.result.reset();
  return true;
}

// ---- what a person does ----

void LabsController::on(const ShowLab& a) {
  LabChoice labs = state_.document().labs;
  if (shown_lab(state_.document()).id != a.lab) {
    labs.lab = a.lab;
    perform(EndEdit{});
    perform(DoEdit{SetLab{std::move(labs)}, ""});
  }
  if (state_.session.mode != Mode::kLabs) perform(ShowMode{Mode::kLabs});
}

// A control that is as it begins is not written down.
void LabsController::on(const SetLabControl& a) {
  LabChoice labs = state_.document().labs;
  const Lab& lab = shown_lab(state_.document());
  const auto control = std::ranges::find(lab.controls, a.control, &LabControl::id);
  if (control == lab.controls.end()) return;
  LabChoice::Settings& own = labs.settings[std::string(lab.id)];
  if (a.value == first_setting(*control)) {
    own.erase(a.control);
  } else {
    own[a.control] = a.value;
  }
  if (own.empty()) labs.settings.erase(std::string(lab.id));
  perform(DoEdit{SetLab{std::move(labs)}, a.group});
}

void LabsController::on(const ResetLab&) {
  LabChoice labs = state_.document().labs;
  labs.settings.erase(std::string(shown_lab(state_.document()).id));
  perform(EndEdit{});
  perform(DoEdit{SetLab{std::move(labs)}, ""});
}

void LabsController::on(const AnswerLab& a) {
  LabAnswer& answer = session_.answers[data_.lab][a.question];
  if (!answer.seen) answer.chosen = a.answer;
}

void LabsController::on(const SeeLab& a) {
  session_.answers[data_.lab][a.question].seen = true;
  session_.answered[data_.lab] = true;
}

void LabsController::on(const StopLab& a) {
  if (a.again) return asked_.reset();
  worker_.stop();
  data_.computing = false;
  // What is there is half a result, or that of other settings.
  data_.result.reset();
  data_.problem = Message{"progress.cancelled"};
}

// What was set in labs stays.
void LabsController::on(const OpenLabInSteps&) {
  if (!data_.result) return;
  Document there = data_.result->in_steps;
  there.labs = state_.document().labs;
  perform(EndEdit{});
  if (!(there == state_.document())) perform(DoEdit{SetDocument{std::move(there)}, ""});
  perform(ShowMode{Mode::kSteps});
}

}  // namespace headlight
