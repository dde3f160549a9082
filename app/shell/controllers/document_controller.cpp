#include "app/shell/controllers/document_controller.h"

#include <algorithm>

#include "core/base/utf8.h"
#include "core/train/model_recipe.h"

namespace headlight {

DocumentController::DocumentController(const Shared& shared, History& history,
                                       std::optional<Document>& preview, DocumentSession& session)
    : Controller(shared), history_(history), preview_(preview), session_(session) {
  mask_before_causal_.kind = MaskKind::kNone;
}

void DocumentController::preview(std::optional<Document> document) {
  if (preview_ == document) return;
  preview_ = std::move(document);
  ++session_.text_revision;
}

// What is changed of it becomes the person's own; another model takes its place.
void DocumentController::take_preview(const Edit& edit) {
  if (!preview_) return;
  const Document shown = *std::exchange(preview_, std::nullopt);
  const bool replaced =
      std::holds_alternative<SetModel>(edit) || std::holds_alternative<SetDocument>(edit);
  if (!replaced) history_.edit(SetDocument{shown});
  ++session_.text_revision;
}

// A trained model's way to cut text goes with that model: the random one gets back its own.
Edit DocumentController::cut_as_before(Edit edit) {
  const Document& now = history_.now();
  if (now.model.empty()) random_tokenizer_ = now.tokenizer;
  if (auto* to = std::get_if<SetModel>(&edit); to && to->model.empty() && !now.model.empty())
    to->tokenizer = random_tokenizer_;
  return edit;
}

void DocumentController::edit(const Edit& edit, const std::string& group) {
  take_preview(edit);
  if (group.empty()) history_.end_group();
  history_.edit(cut_as_before(edit), group);
  ++session_.text_revision;
}

void DocumentController::replace(Document document) {
  preview_.reset();
  random_tokenizer_ = TokenizerKind::kWords;
  history_.reset(std::move(document));
  ++session_.text_revision;
}

// What was typed comes back by undo also where it is taken away before the field is left.
void DocumentController::begin_step_of_typing(const std::string& text) {
  const std::string& now = state_.document().sentence;
  const auto same = std::ranges::mismatch(now, text);
  const auto begin = static_cast<std::size_t>(same.in1 - now.begin());
  std::size_t end = 0;  // of what both end with
  while (end < std::min(now.size(), text.size()) - begin &&
         now[now.size() - 1 - end] == text[text.size() - 1 - end])
    ++end;
  const bool takes_away = now.size() > begin + end;
  if (takes_away && has_typed_) history_.end_group();
  has_typed_ = !takes_away;
}

void DocumentController::on(const EndEdit&) {
  history_.end_group();
  has_typed_ = false;
}

void DocumentController::on(const DoEdit& a) {
  if (const auto* typed = std::get_if<SetSentence>(&a.edit)) {
    if (!a.group.empty()) begin_step_of_typing(clean_utf8(typed->text).text);
    const int replaced = clean_utf8(typed->text).replaced;
    if (replaced > 0) {
      notify(NoticeKind::kWarning,
             Message{replaced == 1 ? "notice.not_utf8.one" : "notice.not_utf8",
                     {{"n", std::to_string(replaced)}}});
    }
  }
  take_preview(a.edit);
  const std::optional<Edit> moved = move_in_model(a.edit);
  // An encoder-decoder's tokens are of one side of the sentence or the other: only its model knows.
  const bool of_pair = shown_config(state_).form == ModelForm::kTranslate;
  if (!moved && of_pair && std::holds_alternative<MoveToken>(a.edit)) return;
  history_.edit(cut_as_before(moved ? *moved : a.edit), a.group);
}

// A model's tokens are not always the tokenizer's: "[SEP]" is one.
std::optional<Edit> DocumentController::move_in_model(const Edit& edit) const {
  const auto* move = std::get_if<MoveToken>(&edit);
  const auto& model = state_.derived.model;
  // With memory the trace is of the last segment.
  if (move && !model && state_.derived.segments > 1) {
    const auto before = static_cast<int>(state_.derived.skipped);
    return MoveToken{move->from + before, move->to + before, move->source};
  }
  if (!move || !model || state_.document().model != model->ref) return std::nullopt;
  const bool of_pair = model->file.config.form == ModelForm::kTranslate;
  if (!of_pair && model->vocabulary->cut() == TextCut::kBytes) return std::nullopt;
  // Places of the trace; of a long text it has the last tokens alone.
  MoveToken in_sentence = *move;
  const auto skipped = static_cast<int>(move->source ? 0 : state_.derived.skipped);
  in_sentence.from += skipped;
  in_sentence.to += skipped;
  return SetDocument{move_model_token(state_.document(), *model, in_sentence)};
}

// Not behind what is shown: what changes in a lab alone is shown there.
void DocumentController::go_through(const std::function<void()>& change) {
  if (preview_) return;
  const Document before = history_.now();
  change();
  ++session_.text_revision;
  if (same_run(before, history_.now()) && !(before.labs == history_.now().labs) &&
      state_.session.mode != Mode::kLabs)
    perform(ShowMode{Mode::kLabs});
}

void DocumentController::on(Is<kUndo>) {
  go_through([this] { history_.undo(); });
}

void DocumentController::on(Is<kRedo>) {
  go_through([this] { history_.redo(); });
}

// Off goes back to the mask that was there before.
void DocumentController::on(Is<kToggleCausal>) {
  MaskSpec mask = state_.document().config.mask;
  if (mask.kind == MaskKind::kCausal) {
    mask.kind = mask_before_causal_.kind;
    mask.causal = mask_before_causal_.causal;
  } else {
    mask_before_causal_ = mask;
    mask.kind = MaskKind::kCausal;
    mask.causal.reset();
  }
  on(DoEdit{SetMask{mask}, ""});
}

void DocumentController::on(const SwitchHead& a) {
  Config config = state_.document().config;
  std::vector<MaskedHead>& off = config.masked_heads;
  const auto at = std::ranges::lower_bound(off, a.head);
  if (at != off.end() && *at == a.head) {
    off.erase(at);
  } else {
    off.insert(at, a.head);
  }
  on(DoEdit{SetConfig{config}, ""});
}

void DocumentController::on(Is<kToggleScale>) {
  Config config = state_.document().config;
  config.scale = !config.scale;
  on(DoEdit{SetConfig{config}, ""});
}

}  // namespace headlight
