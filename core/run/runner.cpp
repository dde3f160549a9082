#include "core/run/runner.h"

#include <algorithm>
#include <cmath>

#include "core/base/error.h"
#include "core/base/number_text.h"
#include "core/base/utf8.h"
#include "core/graph/program_memory.h"
#include "core/model/ids_text.h"
#include "core/model/lacks_head.h"
#include "core/run/large/grown_run.h"
#include "core/run/large/layers_again.h"
#include "core/run/model_input.h"
#include "core/run/written_row.h"
#include "core/text/unknown_words.h"

namespace headlight {
namespace {

void name_tokens(const Vocabulary& vocabulary, const std::vector<int>& ids,
                 std::vector<std::string>& out) {
  out.clear();
  for (const int id : ids) out.push_back(vocabulary.token(id));
}

// Of an encoder-decoder: the most ids of the decoder's row, [BOS] among them.
std::size_t longest_target(const Model& model, const Document& doc) {
  return static_cast<std::size_t>(std::min<std::int64_t>(model.file.context, doc.max_tokens));
}

// The ids of a text, and what the model does not know of it.
std::vector<int> read_words(const Vocabulary& vocabulary, std::string_view words, Tokenizer* cutter,
                            RunResult& result) {
  const std::string text = as_ids(vocabulary, words);
  const auto find_unknown = [&] {
    for (std::string& token : unknown_tokens(vocabulary, text, cutter))
      result.unknown.push_back(std::move(token));
  };
  try {
    std::vector<int> ids = vocabulary.encode(text, cutter);
    const std::optional<int> unknown = vocabulary.id_of(Special::kUnknown);
    if (unknown && std::find(ids.begin(), ids.end(), *unknown) != ids.end()) find_unknown();
    return ids;
  } catch (const Error&) {
    find_unknown();
    throw;
  }
}

// A classifier needs a token to judge the sentence by.
void check_padding(const Config& config, std::size_t tokens) {
  const MaskSpec& mask = config.mask;
  if (config.form != ModelForm::kClasses || mask.kind != MaskKind::kPadding) return;
  const auto is_padding = [&](std::size_t t) {
    return std::ranges::binary_search(mask.padding, static_cast<int>(t));
  };
  if (begins_with_class(config) && is_padding(0))
    throw UsageError(Message{"error.class_is_padding"});
  for (std::size_t t = 0; t < tokens; ++t) {
    if (!is_padding(t)) return;
  }
  throw UsageError(Message{"error.all_is_padding"});
}

// Of the work for a row that the model itself writes: the rest is one run over all of it.
constexpr double kWritingShare = 0.9;

// Are the logits of the last row finite?
bool ends_in_numbers(const Trace& trace) {
  const TensorView logits = trace.tensor(trace.program().logits);
  const auto row = static_cast<std::size_t>(logits.axes.back().size);
  return std::ranges::all_of(logits.cells().last(row), [](float x) { return std::isfinite(x); });
}

// While it lives the backend's runs are of a program of which only `kept` (null: all) stays.
class Passing {
 public:
  Passing(Backend& backend, const KeptTensors* kept) : backend_(kept ? &backend : nullptr) {
    if (kept) backend.set_passing(kept->passing());
  }
  ~Passing() {
    if (backend_) backend_->set_passing({});
  }
  Passing(const Passing&) = delete;
  Passing& operator=(const Passing&) = delete;

 private:
  Backend* backend_;
};

// Of a run whose shape has everything but the positions: `row` tokens.
RunShape shape_for(const Model* model, const RunInput& input, std::size_t row,
                   const Config& config) {
  RunShape shape;
  if (model) {
    shape = shape_of(model->file);
    shape.in_place = answers_in_place(*model);
  }
  if (!model) {
    shape.vocab = static_cast<std::int64_t>(input.vocab.size());
    shape.classes = static_cast<std::int64_t>(input.classes.size());
    shape.in_place = config.numbers;
  }
  if (model) {
    // The whole table of positions, of which a row may use a part.
    shape.context = model->file.context;
    shape.context_source = model->file.source;
  }
  shape.separator = separator_of(model, config, input);
  shape.padded = pads_source(config);
  shape.positions = static_cast<std::int64_t>(row);
  shape.source = static_cast<std::int64_t>(input.source_ids.size());
  return shape;
}

// Of a model without a head, whose last step is no prediction.
std::shared_ptr<const Program> without_head(const Program& program) {
  auto changed = std::make_shared<Program>(program);
  for (Step& step : changed->steps) {
    if (step.tensor != program.probabilities || step.backward) continue;
    step.row.title = "step.probabilities.no_head";
    step.row.forward.sentence = "step.probabilities.words.no_head";
    step.row.paragraphs = {"words.probabilities.no_head", "words.probabilities.row.no_head"};
  }
  return changed;
}

// The most tokens that are run at once: a segment of a model with memory, else all.
std::size_t longest_row(const Document& doc, const Config& config, const Model* model,
                        const RunInput& input) {
  if (config.memory == 0) return input.ids.size();
  const std::int64_t length =
      model ? std::min<std::int64_t>(doc.max_tokens, model->file.context) : doc.max_tokens;
  return std::min(input.ids.size(), static_cast<std::size_t>(length));
}

// A row may be longer than those that the model is made for, where its positions go on.
Message beyond_learned(const Model& model, const Config& config, const RunInput& input) {
  if (config.ends_at_context() || config.memory > 0) return {};
  for (const auto& [row, learned] : {std::pair(input.source_ids.size(), model.file.source),
                                     {input.ids.size(), model.file.context}}) {
    if (learned > 0 && row > static_cast<std::size_t>(learned))
      return Message{"notice.beyond_learned", {{"limit", count_text(learned)}}};
  }
  return {};
}

}  // namespace

Tokenizer& Runner::tokenizer(TokenizerKind kind) {
  if (!tokenizer_ || tokenizer_kind_ != kind) {
    tokenizer_ = std::make_unique<Tokenizer>(kind);
    tokenizer_kind_ = kind;
  }
  return *tokenizer_;
}

// The tokens of the sentence, as many as may be run; of a model all but the vocabulary, which is
// laid into the trace's own memory.
RunInput Runner::read_input(const Document& doc, const Config& config, RunResult& result) {
  const RowFrame frame = row_frame(result.model.get(), doc);
  // Segments have their own limit.
  result.limit = config.memory > 0 ? kLargestMaxTokens : doc.max_tokens - frame.size();
  if (!result.model && doc.config.numbers) return read_numbers(doc, result);
  if (!result.model && doc.config.form == ModelForm::kTranslate)
    return read_sandbox_pair(doc, result);
  if (!result.model) {
    Tokenizer& cutter = tokenizer(doc.tokenizer);
    cutter.keep_whole(whole_token(config));
    const auto limit = static_cast<std::size_t>(result.limit);
    std::vector<Token> tokens = cutter.tokenize(doc.sentence, limit, &result.cut);
    result.tokens_in_sentence = result.cut ? cutter.count(doc.sentence) : tokens.size();
    std::vector<std::string> texts;
    texts.reserve(tokens.size());
    if (!frame.before.empty() && !tokens.empty()) texts.emplace_back(to_string(Special::kClass));
    for (Token& token : tokens) texts.push_back(std::move(token.text));
    return sandbox_input(std::move(texts), doc.config.form);
  }
  const Model& model = *result.model;
  const bool pair = model.file.config.form == ModelForm::kTranslate;
  const std::int64_t learned = pair ? model.file.source : model.file.context;
  if (model.file.config.ends_at_context() && learned - frame.size() < result.limit) {
    result.limit = static_cast<int>(learned) - frame.size();
    result.limit_of_model = true;
  }
  RunInput input;
  input.classes = model.file.classes;
  if (pair) {
    read_pair(doc, result, input);
    return input;
  }
  const auto limit = static_cast<std::size_t>(result.limit);
  check_ids(model, doc.ids);
  input.ids = !doc.ids.empty() ? doc.ids
                               : read_words(*model.vocabulary, doc.sentence,
                                            &tokenizer(model.vocabulary->tokenizer_kind()), result);
  result.tokens_in_sentence = input.ids.size();
  result.cut = input.ids.size() > limit;
  if (result.cut && goes_on(model)) {
    result.skipped = input.ids.size() - limit;
    input.ids.erase(input.ids.begin(),
                    input.ids.begin() + static_cast<std::ptrdiff_t>(result.skipped));
  } else if (result.cut) {
    input.ids.resize(limit);
  }
  if (std::ranges::count(frame.before, -1) > 0) (void)class_of(model);  // says that there is none
  if (!input.ids.empty()) put_around(frame, input.ids);
  check_placed(model, input.ids, *model.vocabulary);
  name_tokens(*model.vocabulary, input.ids, input.tokens);
  const bool fills = fills_masks(model) || model.file.config.token_head;
  for (std::size_t t = 0; fills && t < input.ids.size(); ++t) {
    if (input.ids[t] == model.vocabulary->id_of(Special::kMask))
      input.masked.push_back(static_cast<int>(t));
  }
  return input;
}

// Of the sandbox, whose vocabulary is then a grid.
RunInput Runner::read_numbers(const Document& doc, RunResult& result) {
  const Vocabulary& vocabulary = sandbox_numbers();
  RunInput input;
  input.ids = read_words(vocabulary, doc.sentence, nullptr, result);
  result.tokens_in_sentence = input.ids.size();
  result.cut = input.ids.size() > static_cast<std::size_t>(result.limit);
  if (result.cut) input.ids.resize(static_cast<std::size_t>(result.limit));
  name_tokens(vocabulary, input.ids, input.tokens);
  input.vocab = *vocabulary.tokens();
  return input;
}

// Of the sandbox: what the encoder reads, and behind [BOS] the row of the decoder. Where the
// sentence has no row of its own it is the source once more, for random weights have nothing to
// say.
RunInput Runner::read_sandbox_pair(const Document& doc, RunResult& result) {
  Tokenizer& cutter = tokenizer(doc.tokenizer);
  const SourceAndTarget pair = split_pair(doc.sentence);
  const auto limit = static_cast<std::size_t>(result.limit);
  std::vector<std::string> texts;
  const auto read = [&](std::string_view text, std::size_t most) {
    bool cut = false;
    for (Token& token : cutter.tokenize(text, most, &cut)) texts.push_back(std::move(token.text));
    if (cut && !result.cut) result.tokens_in_sentence = cutter.count(text);
    result.cut |= cut;
  };
  read(pair.source, limit);
  const std::size_t sources = texts.size();
  if (!result.cut) result.tokens_in_sentence = sources;
  RunInput input;
  if (sources == 0) return input;
  texts.emplace_back(to_string(Special::kBegin));
  if (limit > 1) read(pair.target.value_or(pair.source), limit - 1);
  input = sandbox_input(std::move(texts), doc.config.form);
  const auto row = static_cast<std::ptrdiff_t>(sources);
  input.source_tokens.assign(input.tokens.begin(), input.tokens.begin() + row);
  input.source_ids.assign(input.ids.begin(), input.ids.begin() + row);
  input.tokens.erase(input.tokens.begin(), input.tokens.begin() + row);
  input.ids.erase(input.ids.begin(), input.ids.begin() + row);
  return input;
}

// The source and, where the sentence has one, the target behind [BOS]. The source is what counts as
// the sentence, but where the target alone is too long.
void Runner::read_pair(const Document& doc, RunResult& result, RunInput& input) {
  const Model& model = *result.model;
  Tokenizer* cutter = &tokenizer(model.vocabulary->tokenizer_kind());
  const SourceAndTarget pair = split_pair(doc.sentence);
  check_pair_ids(model, doc.ids, doc.target_ids);
  input.source_ids =
      doc.ids.empty() ? read_words(*model.vocabulary, pair.source, cutter, result) : doc.ids;
  result.tokens_in_sentence = input.source_ids.size();
  result.cut = input.source_ids.size() > static_cast<std::size_t>(result.limit);
  if (result.cut) input.source_ids.resize(static_cast<std::size_t>(result.limit));
  if (!input.source_ids.empty()) put_around(row_frame(&model, doc), input.source_ids);
  check_placed(model, input.source_ids, *model.vocabulary);
  name_tokens(*model.vocabulary, input.source_ids, input.source_tokens);
  if (doc.target_ids.empty() && (!pair.target || !doc.ids.empty())) return;
  if (!doc.target_ids.empty()) {
    input.ids = doc.target_ids;
  } else {
    input.ids = read_words(target_vocabulary(model), *pair.target, cutter, result);
    const std::vector<int> opening = opening_of(model);
    input.ids.insert(input.ids.begin(), opening.begin(), opening.end());
  }
  const std::size_t most = longest_target(model, doc);
  if (input.ids.size() > most) {
    if (!result.cut) {
      result.cut = true;
      result.tokens_in_sentence = input.ids.size();
      result.limit = static_cast<int>(most);
      result.limit_of_model = doc.max_tokens > result.limit;
    }
    input.ids.resize(most);
  }
  check_placed(model, input.ids, target_vocabulary(model));
  name_tokens(target_vocabulary(model), input.ids, input.tokens);
}

// Can a row that nobody asked for be written, besides the one that is read?
bool Runner::fits(const Config& config, const RunShape& shape) try {
  check_added_mask(config, shape.positions);
  return memory_for(config, shape) <= limits_.memory_bytes;
} catch (const Error&) {
  return false;
}

// What the model writes for this source, also where another row is read.
void Runner::write_own_row(const Config& config, const RunInput& input, std::size_t most,
                           RunResult& result, Backend& backend) {
  OwnRow& kept = own_row_;
  result.forced = !input.ids.empty();
  const bool known = kept.model == result.model && kept.config == config &&
                     kept.source == input.source_ids && kept.most == most &&
                     kept.backend == backend.name();
  if (!known) {
    if (result.forced && !fits(config, shape_for(result.model.get(), input, most, config))) return;
    RunInput source;
    source.source_ids = input.source_ids;
    const auto some = [&](const Progress& p) {
      return progress_({p.doing, kWritingShare * p.share});
    };
    std::vector<int> ids =
        greedy_row(*result.model, config, source, static_cast<std::int64_t>(most), parameters_,
                   backend, progress_ ? ProgressFunction(some) : ProgressFunction());
    done_share_ = kWritingShare;
    kept = {result.model,   config, input.source_ids,
            std::move(ids), most,   std::string(backend.name())};
  }
  result.own_row = kept.ids;
  result.own_row_ends = kept.ids.size() < most;
}

// Cuts the sentence into segments, reads all but the last, and leaves that one in `input`. What is
// remembered of them, null where nothing is.
const SegmentMemory* Runner::read_segments(const Document& doc, const Config& config,
                                           RunInput& input, RunResult& result, Backend& backend) {
  if (config.memory == 0) return nullptr;
  const Model* model = result.model.get();
  const std::size_t length = longest_row(doc, config, model, input);
  const std::size_t before = tokens_before(config, input.ids.size(), length);
  result.segments = before / length + 1;
  if (before == 0) return nullptr;
  ParameterSource& weights = model ? static_cast<ParameterSource&>(parameters_) : *sandbox_;
  const RunShape shape = shape_for(model, input, length, config);
  const SegmentMemory& memory =
      segments_.read(config, shape, input, before, weights, result.model, backend);
  const auto cut = static_cast<std::ptrdiff_t>(before);
  input.memory_ids.assign(input.ids.begin() + cut - memory.rows, input.ids.begin() + cut);
  input.ids.erase(input.ids.begin(), input.ids.begin() + cut);
  input.tokens.erase(input.tokens.begin(), input.tokens.begin() + cut);
  result.skipped += before;
  return &memory;
}

RunResult Runner::run(const Document& doc, Backend& backend, std::shared_ptr<const Model> model,
                      bool gradients) {
  RunResult result = run_once(doc, backend, model, gradients);
  if (result.rows_taken == 0 || !result.trace || ends_in_numbers(*result.trace)) return result;
  // What is no number reaches the rows before it, too: 0 times it is none either.
  last_ = nullptr;
  return run_once(doc, backend, std::move(model), gradients);
}

RunResult Runner::run_once(const Document& doc, Backend& backend,
                           std::shared_ptr<const Model> model, bool gradients) {
  RunResult result;
  result.model = std::move(model);
  try {
    if (!result.model && !doc.model.empty()) result.model = models_.get(doc.model, progress_);
    try_run(doc, backend, result, gradients);
  } catch (const UsageError& error) {
    result.message = error.message();
    result.is_usage = true;
  } catch (const std::bad_alloc&) {
    result.message = Message{"error.no_memory"};
  } catch (const Error& error) {
    result.message = error.message();
  }
  result.problem = say(Language::kEnglish, result.message);
  return result;
}

void Runner::try_run(const Document& doc, Backend& backend, RunResult& result, bool gradients) {
  done_share_ = 0;
  const Model* model = result.model.get();
  const Config config = model ? run_config(doc.config, model->file.config) : doc.config;
  validate(config);
  if (config.memory > 0 && model && fills_masks(*model))
    throw UsageError(Message{"error.memory_form", {{"form", "[MASK]"}}});
  RunInput input = read_input(doc, config, result);
  const auto most = static_cast<std::size_t>(result.limit + row_frame(model, doc).size());
  result.cut |= divide_row(config, separator_of(model, config, input), most, input);
  if (!result.unknown.empty())
    result.note = unknown_message("notice.read_as_unknown", *model->vocabulary, result.unknown);
  if (result.note.empty() && model) result.note = beyond_learned(*model, config, input);
  if (model && !model->not_finite.empty()) result.note = not_finite_note(*model);
  const bool pair = config.form == ModelForm::kTranslate;
  if (pair ? input.source_ids.empty() : input.tokens.empty()) {
    result.is_usage = result.empty = true;
    result.message.id = doc.sentence.empty() ? "error.empty_sentence"
                        : !input.ids.empty() ? "error.form_source"  // nothing before the arrow
                        : result.model       ? "error.only_spaces.model"
                                             : "error.only_spaces";
    return;
  }
  check_padding(config, input.tokens.size());
  const bool writes =
      model && pair && input.ids.empty();  // the model itself, up to its longest row
  const std::size_t own = model && pair ? longest_target(*model, doc) : 0;
  const std::size_t row = writes ? own : longest_row(doc, config, model, input);
  check_added_mask(config, static_cast<std::int64_t>(row));
  RunShape largest = shape_for(model, input, row, config);
  if (row < input.ids.size())
    largest.memory = std::min<std::int64_t>(config.memory, std::ssize(input.ids));
  check_memory(config, largest, backend, gradients, !model);
  if (model) parameters_.use(result.model);
  if (own > 0) write_own_row(config, input, own, result, backend);
  if (writes) {
    input.ids = result.own_row;
    name_tokens(target_vocabulary(*model), input.ids, input.tokens);
  }
  if (!model && (!sandbox_ || sandbox_->seed() != config.seed)) {
    sandbox_ = std::make_unique<SandboxModel>(config.seed);
  }
  const SegmentMemory* memory = read_segments(doc, config, input, result, backend);
  RunShape shape = shape_for(model, input, input.ids.size(), config);
  if (memory) shape.memory = memory->rows;
  auto program = program_for(config, shape, gradients);
  if (model && lacks_head(*model)) program = without_head(*program);
  ParameterSource& source = model ? static_cast<ParameterSource&>(parameters_) : *sandbox_;
  if (!gradients) result.rows_taken = rows_to_take(*program, input, model, backend);
  const bool drops = drops_layers(*program, backend, gradients);
  auto trace = blank_trace(program, result.rows_taken, drops ? &backend : nullptr);
  for (std::size_t id = 0; id < program->tensors.size(); ++id) {
    const TensorSpec& spec = program->tensors[id];
    if (spec.kind != TensorKind::kParameter) continue;
    trace->parameters_[id] = source.parameter(spec, input);
    // Backends only write the outputs of calls, and no call writes a parameter.
    trace->memory_[id] = const_cast<float*>(trace->parameters_[id]->data.data());
  }
  share_aliases(*program, trace->memory_);
  fill_inputs(*program, input.ids, input.source_ids, trace->memory_);
  if (memory) fill_memory(*program, *memory, 0, trace->memory_);
  backend.set_constants(trace->parameters_);
  const KeptTensors* kept = drops ? &trace->again_->kept() : nullptr;
  {
    const Passing passing(backend, kept);
    if (result.rows_taken > 0) {
      run_grown(*program, trace->memory_, *last_, result.rows_taken, backend, kept);
    } else {
      run_calls(*program, trace->memory_, backend);
    }
  }
  if (drops) {
    trace->again_->kept().drop(trace->memory_);
    trace->rows_->written = shape.positions;
  }
  if (gradients) backpropagate(*trace, model, input, doc, backend);
  if (model) {  // the vocabulary's texts reuse the memory of the last run's
    input.vocab = std::move(trace->input_.vocab);
    const Vocabulary& vocabulary = target_vocabulary(*model);
    input.vocab = *vocabulary.tokens();
    input.has_pieces = vocabulary.blanks_begin_words();
  }
  trace->input_ = std::move(input);
  trace->backend_ = backend.name();
  trace->serial_ = next_serial_++;
  result.trace = std::move(trace);
  // A small run's memory goes to the next one.
  last_ = model && !gradients && grows(*program) ? result.trace : nullptr;
  last_model_ = last_ ? result.model : nullptr;
}

}  // namespace headlight
