// Runner: sentence and config in, trace out. Keeps what the next keystroke can use again.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/backends/backend.h"
#include "core/base/message.h"
#include "core/base/number_text.h"
#include "core/base/progress.h"
#include "core/document/document.h"
#include "core/model/model.h"
#include "core/model/sandbox.h"
#include "core/run/segment_reader.h"
#include "core/run/trace.h"

namespace headlight {

class KeptTensors;
class LayerRunner;

/// What this machine and this person allow.
struct RunLimits {
  double memory_bytes = 4e9;  // refuse runs that would need more
  // Operations of tokens' rows (row_work()) from which on rows of the run before are taken over:
  // smaller runs are made anew, and so have the same bits whatever was run before.
  double grow_from = 3e8;
  // Of a run whose inputs and activations take more bytes, or more than there are, a layer's own
  // tensors are not kept (large/kept_tensors.h): with gradients, or where a backend cannot run
  // parts of a program, all are.
  double keep_all_to = 64e6;
};

/// A run, or why there is none.
struct RunResult {
  std::shared_ptr<const Trace> trace;  // null when the document cannot be run
  std::string problem;                 // a sentence in English; empty when all went well
  Message message;                     // the same for any language
  std::size_t tokens_in_sentence = 0;  // counted up to a bound; more than the trace has when cut
  bool empty = false;                  // there is no token to run
  bool cut = false;                    // the sentence had more tokens than the limit
  std::size_t skipped = 0;             // so many first ones were left out; else the last ones were
  // Of a model with memory: into how many the sentence is cut. The trace is of the last one; the
  // tokens of those before, `skipped` of them, were read and are remembered.
  std::size_t segments = 0;
  // So many first rows were taken from the run before (core/run/large/grown_run.h).
  std::int64_t rows_taken = 0;
  int limit = 0;  // the limit: the person's, or of a model's learned positions
  bool limit_of_model = false;
  std::shared_ptr<const Model> model;  // that the document asked for; null: the sandbox
  bool is_usage = false;               // the problem is one of use (exit status 2)
  /// Tokens of the sentence that the model does not know, each once, the first kMostUnknown; where
  /// it reads them as [UNK], `note` says so.
  std::vector<std::string> unknown;
  Message note;
  /// Of a trained encoder-decoder: what it writes by itself, from [BOS] on, without the [EOS] that
  /// ends it (own_row_ends: before the row was full), empty where it would not fit; and is another
  /// row read, which stands behind "→"?
  std::vector<int> own_row;
  bool own_row_ends = false, forced = false;
};

class Runner {
 public:
  explicit Runner(RunLimits limits = {});
  /// Of an encoder-decoder the sentence is what the encoder reads (RunInput::source_tokens), and
  /// the trace's tokens are the row that the model writes for it by itself, or what stands behind
  /// "→". Never throws for anything that a document can hold. `model`: the one to run, whatever the
  /// document names; without it the document's own is loaded (and kept), or the sandbox run.
  /// With memory (Config::memory) the sentence is cut into segments of Document::max_tokens tokens,
  /// at most a trained model's context, and the trace is of the last of them.
  /// With `gradients` the trace goes on to a loss and from there backwards
  /// (core/autodiff/gradient_program.h).
  RunResult run(const Document&, Backend&, std::shared_ptr<const Model> model = nullptr,
                bool gradients = false);
  void set_limits(const RunLimits& limits) { limits_ = limits; }
  /// The tensor on the screen, whose layer the runs to come keep whatever else they do not.
  void set_shown(std::string tensor) { shown_ = std::move(tensor); }
  /// Of runs and loads to come; work that it stops gives a RunResult without a trace.
  void set_progress(ProgressFunction progress) { progress_ = std::move(progress); }
  /// The model with this ref, loaded unless it is kept. Throws as load_model() does.
  std::shared_ptr<const Model> load(const std::string& ref) { return models_.get(ref, progress_); }

 private:
  RunResult run_once(const Document&, Backend&, std::shared_ptr<const Model>, bool gradients);
  void try_run(const Document&, Backend&, RunResult&, bool gradients);
  RunInput read_input(const Document&, const Config&, RunResult&);
  const SegmentMemory* read_segments(const Document&, const Config&, RunInput&, RunResult&,
                                     Backend&);
  static RunInput read_numbers(const Document&, RunResult&);
  RunInput read_sandbox_pair(const Document&, RunResult&);
  void read_pair(const Document&, RunResult&, RunInput&);
  void write_own_row(const Config&, const RunInput&, std::size_t most, RunResult&, Backend&);
  Tokenizer& tokenizer(TokenizerKind);
  std::shared_ptr<const Program> program_for(const Config&, const RunShape&, bool gradients);
  double memory_for(const Config&, const RunShape&);
  bool fits(const Config&, const RunShape&);
  void backpropagate(Trace&, const Model*, const RunInput&, const Document&, Backend&);
  void run_calls(const Program&, std::span<float* const> memory, Backend&) const;
  std::shared_ptr<Trace> blank_trace(const std::shared_ptr<const Program>&, std::int64_t taken,
                                     Backend* drops);
  std::shared_ptr<GrowingRows> rows_for(const KeptTensors&, std::int64_t positions,
                                        std::int64_t taken);
  void check_memory(const Config&, const RunShape&, const Backend&, bool gradients,
                    bool is_sandbox);
  bool drops_layers(const Program&, const Backend&, bool gradients);
  bool grows(const Program&) const;
  std::int64_t rows_to_take(const Program&, const RunInput&, const Model*, const Backend&) const;

  RunLimits limits_;
  ProgressFunction progress_;
  double done_share_ = 0;  // of the work of this run, before its calls begin
  std::string shown_;
  std::shared_ptr<LayerRunner> layer_runner_;
  std::unique_ptr<Tokenizer> tokenizer_;
  TokenizerKind tokenizer_kind_{};
  std::unique_ptr<SandboxModel> sandbox_;
  ModelParameters parameters_;
  // What a model wrote last by itself, and for what: the row behind "→" is typed, the source stays.
  struct OwnRow {
    std::shared_ptr<const Model> model;
    Config config;
    std::vector<int> source, ids;
    std::size_t most = 0;
    std::string backend;
  } own_row_;
  ModelCache models_;
  SegmentReader segments_;
  std::shared_ptr<const Program> program_;
  std::shared_ptr<const Program> forward_;  // with gradients: what the backward pass is planned for
  Config memory_config_;  // what memory_for() was asked last; a run's shape is never empty
  RunShape memory_shape_;
  double memory_ = 0;
  // What the next run may begin with; its model is kept so that no other has its place in memory.
  std::shared_ptr<const Trace> last_;
  std::shared_ptr<const Model> last_model_;
  struct TracePool;
  std::shared_ptr<TracePool> pool_;
  std::uint64_t next_serial_ = 1;
};

/// What a run keeps at least: what has no layer, and of layers what others go by
/// (core/run/large/kept_tensors.h); all that it makes; and a gradient of each.
enum class RunKeeps { kLeast, kAll, kGradients };

/// Why a run of this shape is refused where so many bytes are there: what it needs, and with how
/// many layers (of a model whose layers can be chosen) or tokens it would fit. Empty: it fits.
Message memory_refusal(const Config&, const RunShape&, double bytes, RunKeeps = RunKeeps::kLeast,
                       bool layers_are_free = true);

/// Physical memory that a run may take on this machine: what is available now, less a reserve.
RunLimits machine_limits();

}  // namespace headlight
