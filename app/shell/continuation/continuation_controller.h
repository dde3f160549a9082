// How the sentence goes on: a token that was chosen, one that is drawn, or one after the other.
#pragma once

#include "app/shell/computing/computing_controller.h"
#include "app/shell/controllers/document_controller.h"
#include "app/workers/as_trained_worker.h"
#include "app/workers/writing_worker.h"

namespace headlight {

class ContinuationController : public Controller {
 public:
  ContinuationController(const Shared&, DocumentController&, ComputingController&,
                         ContinuationDerived&, const ShellOptions&);

  /// A trace has come: where its tokens stand in the sentence.
  void take_trace();
  /// While the model writes: what has been added.
  void update();
  /// Takes in what was found in the background; true when something changed.
  bool poll();
  bool is_working() const { return as_trained_.busy(); }

  void on(const AddToken&);
  void on(const GenerateToken&);
  void on(const Write&);
  void on(Is<kForced>) { requests_.open = Sheet::kForced; }

 private:
  // An id from the shown outcome by the person's sampling; nothing after what is no text.
  std::optional<std::string> drawn() const;
  void stop();
  std::optional<WritingRequest> request() const;
  void begin();
  void take_written();
  void add_drawn();
  void write(const std::string& sentence);
  void keep_as_trained();

  DocumentController& document_;
  ComputingController& computing_;
  ContinuationDerived& derived_;
  std::optional<Tokenizer> kept_;
  std::string written_;  // the sentence as the last token left it
  WritingWorker writer_;
  AsTrainedWorker as_trained_;
  std::optional<WritingRequest> asked_;  // of it; otherwise each token waits for the last one's run
};

}  // namespace headlight
