// The document: edits, and the way back.
#pragma once

#include "app/shell/controllers/controller.h"

namespace headlight {

class DocumentController : public Controller {
 public:
  DocumentController(const Shared&, History&, std::optional<Document>& preview, DocumentSession&);

  /// Other than by typing: fields show at once what has become of their text.
  void edit(const Edit&, const std::string& group = "");
  /// Another document, which has no past.
  void replace(Document);
  void mark_saved(Document document) { history_.mark_saved(std::move(document)); }
  /// Shows another document without changing the person's (AppState::preview); unset: no longer.
  void preview(std::optional<Document>);

  void on(const DoEdit&);
  void on(const EndEdit&);
  void on(const SwitchHead&);
  void on(Is<kUndo>);
  void on(Is<kRedo>);
  void on(Is<kToggleCausal>);
  void on(Is<kToggleScale>);

 private:
  void take_preview(const Edit&);
  void go_through(const std::function<void()>& change);
  void begin_step_of_typing(const std::string& text);
  std::optional<Edit> move_in_model(const Edit&) const;
  Edit cut_as_before(Edit);

  History& history_;
  std::optional<Document>& preview_;
  DocumentSession& session_;
  MaskSpec mask_before_causal_;
  // How the random model cut text when it was shown last.
  TokenizerKind random_tokenizer_ = TokenizerKind::kWords;
  bool has_typed_ = false;  // since the step of undo began that typing goes on with
};

}  // namespace headlight
