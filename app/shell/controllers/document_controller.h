// The document: edits, and the way back.
#pragma once

#include "app/shell/controllers/controller.h"

namespace headlight {

class DocumentController : public Controller {
 public:
  DocumentController(const Shared&, History&, DocumentSession&);

  /// Other than by typing: fields show at once what has become of their text.
  void edit(const Edit&);
  /// Another document, which has no past.
  void replace(Document);
  void mark_saved() { history_.mark_saved(); }

  void on(const DoEdit&);
  void on(const EndEdit&) { history_.end_group(); }
  void on(Is<kUndo>);
  void on(Is<kRedo>);
  void on(Is<kToggleCausal>);
  void on(Is<kToggleScale>);

 private:
  std::optional<Edit> move_in_model(const Edit&) const;

  History& history_;
  DocumentSession& session_;
  MaskSpec mask_before_causal_;
};

}  // namespace headlight
