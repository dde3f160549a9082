#include "core/runner.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "core/error.h"
#include "core/program_memory.h"
#include "core/text/utf8.h"

namespace headlight {
std::string bytes_text(double bytes) {
  constexpr const char* kUnits[] = {"B", "kB", "MB", "GB", "TB", "PB", "EB"};
  int unit = 0;
  while (bytes >= 1000 && unit < 6) {
    bytes /= 1000;
    ++unit;
  }
  char text[64];
  std::snprintf(text, sizeof text, unit == 0 || bytes >= 100 ? "%.0f %s" : "%.1f %s", bytes,
                kUnits[unit]);
  return text;
}

RunLimits machine_limits() {
  double available = 0;
  if (std::FILE* file = std::fopen("/proc/meminfo", "r")) {
    char line[256];
    long long kilobytes = 0;
    while (std::fgets(line, sizeof line, file)) {
      if (std::sscanf(line, "MemAvailable: %lld kB", &kilobytes) == 1) {
        available = static_cast<double>(kilobytes) * 1024;
      }
    }
    std::fclose(file);
  }
  if (available == 0) {
    available = 0.5 * static_cast<double>(sysconf(_SC_PHYS_PAGES)) *
                static_cast<double>(sysconf(_SC_PAGE_SIZE));
  }
  return {0.8 * available};  // the rest of the machine lives on the other fifth
}

Tokenizer& Runner::tokenizer(TokenizerKind kind) {
  if (!tokenizer_ || tokenizer_kind_ != kind) {
    tokenizer_ = std::make_unique<Tokenizer>(kind);
    tokenizer_kind_ = kind;
  }
  return *tokenizer_;
}

// The tokens of the sentence, as many as may be run; of a model all but the vocabulary, which is
// laid into the trace's own memory.
RunInput Runner::read_input(const Document& doc, RunResult& result) {
  result.limit = doc.max_tokens;
  if (!result.model) {
    Tokenizer& cutter = tokenizer(doc.tokenizer);
    const auto limit = static_cast<std::size_t>(result.limit);
    std::vector<Token> tokens = cutter.tokenize(doc.sentence, limit, &result.cut);
    result.tokens_in_sentence = result.cut ? cutter.count(doc.sentence) : tokens.size();
    std::vector<std::string> texts;
    texts.reserve(tokens.size());
    for (Token& token : tokens) texts.push_back(std::move(token.text));
    return sandbox_input(std::move(texts));
  }
  const Model& model = *result.model;
  if (model.file.config.positions == PositionKind::kLearned && model.file.context < result.limit) {
    result.limit = static_cast<int>(model.file.context);
    result.limit_of_model = true;
  }
  const auto limit = static_cast<std::size_t>(result.limit);
  RunInput input;
  input.ids =
      model.vocabulary->encode(doc.sentence, &tokenizer(model.vocabulary->tokenizer_kind()));
  result.tokens_in_sentence = input.ids.size();
  result.cut = input.ids.size() > limit;
  if (result.cut) input.ids.resize(limit);
  for (const int id : input.ids) input.tokens.push_back(model.vocabulary->token(id));
  return input;
}

std::shared_ptr<const Program> Runner::program_for(const Config& config, const RunShape& shape) {
  // The mask's details and the seed live outside the list of operations, but a trace shows its
  // config, so only an equal config may share a program.
  if (!program_ || program_->shape != shape || program_->config != config) {
    program_ = std::make_shared<const Program>(build_program(config, shape));
  }
  return program_;
}

// A trace nobody looks at any more gives its memory to the next run.
std::shared_ptr<Trace> Runner::blank_trace(const std::shared_ptr<const Program>& program) {
  const std::size_t cells = arena_cells(*program);
  std::shared_ptr<Trace> trace;
  for (auto& candidate : pool_) {
    if (candidate.use_count() == 1) trace = candidate;
  }
  if (!trace) {
    trace = std::make_shared<Trace>();
    pool_.push_back(trace);
    if (pool_.size() > 3) pool_.erase(pool_.begin());
  }
  if (trace->arena_.size() < cells || trace->arena_.size() > 4 * cells) {
    trace->arena_ = FloatBuffer();  // give the old memory back before asking for the new
    trace->arena_.resize(cells);
  }
  trace->program_ = program;
  trace->memory_.assign(program->tensors.size(), nullptr);
  trace->ranges_ = {};
  trace->censuses_.clear();
  trace->parameters_.assign(program->tensors.size(), nullptr);
  lay_out(*program, trace->arena_.data(), trace->memory_);
  return trace;
}

RunResult Runner::run(const Document& doc, Backend& backend, std::shared_ptr<const Model> model) {
  RunResult result;
  result.model = std::move(model);
  try {
    if (!result.model && !doc.model.empty()) result.model = models_.get(doc.model);
    try_run(doc, backend, result);
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

void Runner::try_run(const Document& doc, Backend& backend, RunResult& result) {
  const Model* model = result.model.get();
  const Config config = model ? run_config(doc.config, model->file.config) : doc.config;
  validate(config);
  RunInput input = read_input(doc, result);
  if (input.tokens.empty()) {
    result.is_usage = result.empty = true;
    result.message.id = doc.sentence.empty() ? "error.empty_sentence" : "error.only_spaces";
    return;
  }
  const auto positions = static_cast<std::int64_t>(input.tokens.size());
  const RunShape shape{1, positions,
                       model ? model->file.vocab : static_cast<std::int64_t>(input.vocab.size())};
  const double needed = memory_needed(config, shape);
  if (needed > limits_.memory_bytes) {
    throw Error(Message{"error.needs_memory",
                        {{"tokens", std::to_string(positions)},
                         {"needed", bytes_text(needed)},
                         {"available", bytes_text(limits_.memory_bytes)}}});
  }
  const auto program = program_for(config, shape);
  if (!model && (!sandbox_ || sandbox_->seed() != config.seed)) {
    sandbox_ = std::make_unique<SandboxModel>(config.seed);
  }
  if (model) parameters_.use(result.model);
  ParameterSource& source = model ? static_cast<ParameterSource&>(parameters_) : *sandbox_;
  auto trace = blank_trace(program);
  for (std::size_t id = 0; id < program->tensors.size(); ++id) {
    const TensorSpec& spec = program->tensors[id];
    if (spec.kind != TensorKind::kParameter) continue;
    trace->parameters_[id] = source.parameter(spec, input);
    // Backends only write the outputs of calls, and no call writes a parameter.
    trace->memory_[id] = const_cast<float*>(trace->parameters_[id]->data.data());
  }
  share_aliases(*program, trace->memory_);
  float* ids = trace->memory_[static_cast<std::size_t>(program->token_ids)];
  for (std::size_t t = 0; t < input.ids.size(); ++t) ids[t] = static_cast<float>(input.ids[t]);
  if (program->mask >= 0) {
    fill_mask(config.mask, static_cast<int>(positions),
              trace->memory_[static_cast<std::size_t>(program->mask)]);
  }
  backend.run(*program, program->calls, trace->memory_);
  if (model) {  // the vocabulary's texts reuse the memory of the last run's
    input.vocab = std::move(trace->input_.vocab);
    input.vocab = *model->vocabulary->tokens();
  }
  trace->input_ = std::move(input);
  trace->backend_ = backend.name();
  trace->serial_ = next_serial_++;
  result.trace = std::move(trace);
}

}  // namespace headlight
