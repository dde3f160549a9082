#include "app/cli/cli.h"

#include <algorithm>
#include <charconv>
#include <cstdio>

#include "core/base/error.h"
#include "core/base/number_text.h"
#include "core/base/similar.h"
#include "core/base/utf8.h"
#include "core/document/session_file.h"
#include "core/io/atomic_file.h"
#include "core/model/bundled.h"
#include "core/train/model_recipe.h"

namespace headlight {

CLI::Validator within(double low, double high) {
  const auto text = [](double number) { return exact_number(static_cast<float>(number)); };
  const std::string range = text(low) + " to " + text(high);
  return CLI::Validator(
      [=](const std::string& given) {
        double value = 0;
        const char* end = given.data() + given.size();
        const auto read = std::from_chars(given.data(), end, value);
        const bool fits =
            read.ec == std::errc() && read.ptr == end && value >= low && value <= high;
        return fits ? std::string() : "must be a number from " + range + "; got '" + given + "'";
      },
      range);
}

std::string current_backend_name(std::string name) { return name == "eigen" ? "cpu" : name; }

void ModelOptions::add_to(CLI::App& app) {
  const auto text = [&](const char* name, std::optional<std::string>& value, const char* help) {
    app.add_option(name, value, help)->group(kModelOptions);
  };
  const auto number = [&](const char* name, std::optional<int>& value, const char* help) {
    app.add_option(name, value, help)->group(kModelOptions);
  };
  text("--sentence", sentence, "The sentence, UTF-8");
  text("--sentence-file", sentence_file, "A text file that holds the sentence");
  text("--session", session, "A .headlight.json file to start from");
  text("--tokenizer", tokenizer, "words, characters or bytes");
  number("--layers", layers, "Number of layers");
  number("--heads", heads, "Number of heads");
  number("--kv-heads", kv_heads,
         "Heads of keys and values, which divides --heads (1: multi-query; default: --heads)");
  number("--d-model", d_model, "Width of the model");
  number("--d-head", d_head, "Width of a head (0: from the kind of attention)");
  number("--d-hidden", d_hidden, "Width of the feed-forward network (0: 4 x d_model)");
  text("--attention", attention, "basic, single, narrow or wide");
  text("--scores", scores, "scaled, dot or additive");
  text("--attention-scale", attention_scale, "on or off: divide the scores by the root of d_head");
  app.add_option("--temperature", temperature,
                 "Attention's softmax divides the scores by it (0.05 to 10; default 1)")
      ->group(kModelOptions);
  text("--block", block, "attention, post-norm or pre-norm");
  text("--norm", norm, "layer or rms");
  text("--activation", activation, "relu, gelu, gelu-tanh or silu; gated: swiglu or geglu");
  text("--positions", positions, "none, sinusoidal, learned or rotary");
  text("--rotary", rotary, "Rotary positions: half (i, i + half) or interleaved (2i, 2i + 1)");
  app.add_option("--rotary-base", rotary_base,
                 "Rotary positions: base of the wavelengths (1 to 1e9; default 10000)")
      ->group(kModelOptions);
  number("--rotary-width", rotary_width,
         "Rotary positions: how many features of a head turn, an even number (0: all)");
  text("--form", form, "tokens or classes: says what comes next, or judges the whole sentence");
  text("--pool", pool,
       "Classes: mean, last, cls (the first token), concat, vector or foci: how all tokens' rows "
       "become one");
  number("--foci", foci, "--pool foci: how many");
  number("--pool-hidden", pool_hidden,
         "--pool foci: directions that the rows are projected into (0: d_model)");
  app.add_option("--foci-penalty", foci_penalty,
                 "--pool foci, in training: C of C x |A A' - I|^2, which keeps foci apart")
      ->group(kModelOptions);
  text("--mask", mask, "none, causal, padding, local, strided or free");
  text("--mask-causal", mask_causal, "on or off: also forbid the future (local, strided: on)");
  number("--window", window, "Local mask: |i - j| <= N");
  number("--stride", stride, "Strided mask: i - j < N or (i - j) mod N = 0");
  text("--pad", pad, "Padding mask: positions that are padding, as 5,6");
  text("--forbid", forbid, "Free mask: forbidden cells, as 0,1;2,3 (query,key)");
  text("--allow", allow, "Free mask: allow only these cells, as 0,0;1,0;1,1");
  text("--bias", bias, "on or off");
  text("--tied-head", tied_head, "on or off: the logits are made with W_E, transposed");
  text("--residual", residual, "on or off");
  app.add_option("--seed", seed, "Seed of the weights")->group(kModelOptions);
  number("--max-tokens", max_tokens, "Limit on tokens (default 1024)");
  app.add_option("--max-memory", memory_gb, "Limit on memory, in GB (default: what is free)")
      ->check(within(1e-6, 1e6));
  app.add_option("--backend", backend,
                 "reference, cpu or gl (the graphics card); of windows also both")
      ->capture_default_str()
      ->transform(current_backend_name);
  app.add_option("--threads", threads, "Threads of the cpu backend")
      ->capture_default_str()
      ->check(CLI::Range(1, 256));
}

void ModelOptions::add_model_to(CLI::App& app) {
  app.add_option("--model", model,
                 "A trained model: a folder that `headlight train` wrote, or a name of `headlight "
                 "models`")
      ->group(kModelOptions);
  app.add_option("--target", targets,
                 "Of what the gradients are: the class of a classifier, or the token behind [MASK] "
                 "(again for the next one). Default: what the model finds likeliest")
      ->allow_extra_args(false)
      ->group(kModelOptions);
}

namespace {

template <class T>
void set_choice(const char* option, const std::optional<std::string>& given, T& out) {
  if (!given) return;
  const std::optional<T> chosen = from_word<T>(*given);
  if (!chosen)
    throw UsageError(std::string(option) + " must be " + choice_list(T{}) + "; got '" + *given +
                     "'");
  out = *chosen;
}

bool parse_switch(const char* option, const std::string& given) {
  if (given == "on") return true;
  if (given == "off") return false;
  throw UsageError(std::string(option) + " must be on or off; got '" + given + "'");
}

void set_switch(const char* option, const std::optional<std::string>& given, bool& out) {
  if (given) out = parse_switch(option, *given);
}

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::size_t begin = 0;
  while (begin <= text.size()) {
    const std::size_t end = std::min(text.find(separator, begin), text.size());
    if (end > begin) parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

std::int64_t parse_number(const std::string& text, const std::string& whole) {
  std::int64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || at != end || value < 0) {
    throw UsageError("expected whole numbers from 0, separated by commas (as 0,3,1); got '" +
                     whole + "'");
  }
  return value;
}

CellSet parse_cells(const std::string& text) {
  CellSet cells;
  for (const std::string& part : split(text, ';')) {
    const std::vector<std::int64_t> pair = parse_index(part);
    if (pair.size() != 2 || pair[0] >= kLargestMaxTokens || pair[1] >= kLargestMaxTokens) {
      throw UsageError("expected cells as query,key;query,key (as 0,1;2,3); got '" + text + "'");
    }
    cells.insert(static_cast<int>(pair[0]), static_cast<int>(pair[1]));
  }
  return cells;
}

// "only these" is written as everything else forbidden, for as many tokens as the sentence has.
CellSet all_but(const CellSet& allowed, int tokens) {
  CellSet forbidden;
  for (int i = 0; i < tokens; ++i) {
    forbidden.set(i, {0, tokens - 1}, true);
    for (const Span& span : allowed.row(i)) forbidden.set(i, span, false);
  }
  return forbidden;
}

void set_scores(const ModelOptions& o, Config& c) {
  if (o.attention && c.attention == AttentionKind::kBasic && !o.scores) c.scale = false;
  if (o.scores) {
    if (*o.scores == "scaled") {
      c.scores = ScoreKind::kDot;
      c.scale = true;
    } else if (*o.scores == "dot" || *o.scores == "additive") {
      c.scores = *o.scores == "dot" ? ScoreKind::kDot : ScoreKind::kAdditive;
      c.scale = false;
    } else {
      throw UsageError("--scores must be one of scaled, dot, additive; got '" + *o.scores + "'");
    }
  }
  set_switch("--attention-scale", o.attention_scale, c.scale);
}

void set_mask(const ModelOptions& o, const Document& doc, MaskSpec& mask) {
  set_choice("--mask", o.mask, mask.kind);
  if (o.mask) mask.causal.reset();
  if (o.mask_causal) mask.causal = parse_switch("--mask-causal", *o.mask_causal);
  if (o.window) mask.window = *o.window;
  if (o.stride) mask.stride = *o.stride;
  if (o.pad) {
    mask.padding.clear();
    for (const std::int64_t p : parse_index(*o.pad))
      mask.padding.push_back(static_cast<int>(std::min<std::int64_t>(p, kLargestMaxTokens)));
  }
  if (o.forbid) mask.forbidden = parse_cells(*o.forbid);
  if (o.allow) {
    const std::size_t tokens = Tokenizer(doc.tokenizer).count(doc.sentence);
    if (tokens > 4096)
      throw UsageError(
          "--allow works for up to 4,096 tokens; this sentence has more. Use --forbid");
    mask.forbidden = all_but(parse_cells(*o.allow), static_cast<int>(tokens));
  }
}

void set_positions(const ModelOptions& o, Config& c) {
  set_choice("--positions", o.positions, c.positions);
  set_choice("--rotary", o.rotary, c.rotary);
  if (o.rotary_base) c.rotary_base = *o.rotary_base;
  if (o.rotary_width) c.rotary_width = *o.rotary_width;
  if ((o.rotary || o.rotary_base || o.rotary_width) && !c.has_rotary()) {
    tell("--rotary, --rotary-base and --rotary-width change nothing without --positions rotary");
  }
  const bool one = c.attention == AttentionKind::kBasic || c.attention == AttentionKind::kSingle;
  if (o.kv_heads && one) {
    tell(
        "--kv-heads changes nothing in attention with one head; choose --attention narrow or wide");
  }
}

// Through text: a stream would take −1 for a very large number.
std::uint64_t parse_seed(const std::string& text) {
  std::uint64_t value = 0;
  const auto [at, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || at != text.data() + text.size()) {
    throw UsageError("--seed must be a whole number from 0 to 2^64 - 1; got '" + text + "'");
  }
  return value;
}

void check_numbers(const ModelOptions& o) {
  const double t = o.temperature.value_or(1);
  if (!(t >= kLowestTemperature && t <= kHighestTemperature)) {
    throw UsageError("--temperature must be between 0.05 and 10; got " + number_text(t, 4));
  }
  if (o.kv_heads && *o.kv_heads < 1)
    throw UsageError("--kv-heads must be 1 or more, a number that divides --heads; got " +
                     std::to_string(*o.kv_heads));
  if (o.window && *o.window < 0)
    throw UsageError("--window must be 0 or more; got " + std::to_string(*o.window));
  if (o.stride && *o.stride < 1)
    throw UsageError("--stride must be 1 or more; got " + std::to_string(*o.stride));
  if (o.max_tokens && (*o.max_tokens < 1 || *o.max_tokens > kLargestMaxTokens)) {
    throw UsageError("--max-tokens must be between 1 and " + std::to_string(kLargestMaxTokens) +
                     "; got " + std::to_string(*o.max_tokens));
  }
}

void set_pooling(const ModelOptions& o, Config& c) {
  set_choice("--form", o.form, c.form);
  set_choice("--pool", o.pool, c.pool);
  if (o.foci) c.foci = *o.foci;
  if (o.pool_hidden) c.pool_hidden = *o.pool_hidden;
  if (o.foci_penalty) c.foci_penalty = *o.foci_penalty;
  const bool of_foci = o.foci || o.pool_hidden || o.foci_penalty;
  if (of_foci && c.pool != PoolKind::kFoci)
    tell("--foci, --pool-hidden and --foci-penalty change nothing without --pool foci");
}

}  // namespace

namespace {

// Where the text comes from, besides a session.
std::optional<std::string> given_text(const ModelOptions& o) {
  if (o.sentence && o.sentence_file)
    throw UsageError("give --sentence or --sentence-file, not both");
  return o.sentence_file ? read_file(*o.sentence_file, 256u << 20) : o.sentence;
}

// A trained model fits no other shape than its own.
void check_shape(const Document& doc, const Config& trained, const ModelOptions& o) {
  if (run_config(doc.config, trained) != doc.config || o.tokenizer || o.seed) {
    throw UsageError(
        "a trained model has a shape, a seed and tokens of its own: with --model only the mask, "
        "--attention-scale, --temperature, --residual and --positions (learned ones where the "
        "model "
        "has learned them) can be changed. Leave the others out");
  }
}

[[noreturn]] void fail_target(const std::string& name, std::span<const std::string> names,
                              bool classes) {
  constexpr std::size_t kFew = 12;
  const std::vector<std::string_view> views(names.begin(), names.end());
  std::string all;
  for (std::size_t i = 0; i < names.size() && names.size() <= kFew; ++i)
    all += (i == 0 ? ": " : ", ") + names[i];
  throw UsageError("--target must be one of the model's " + std::to_string(names.size()) +
                   (classes ? " classes" : " tokens") + all + "; got '" + name + "'. " +
                   did_you_mean(name, views));
}

// Only where the sentence does not tell what is right can it be said here.
void check_targets(const std::vector<std::string>& targets, const Document& doc) {
  if (targets.empty()) return;
  const auto model = doc.model.empty() ? nullptr : load_model(doc.model);
  const bool classes = model && model->file.config.form == ModelForm::kClasses;
  std::size_t places = classes ? 1 : 0;
  const bool row = model && model->file.config.form == ModelForm::kTokens;
  if (row && model->vocabulary->id_of(Special::kMask)) {
    const std::vector<int> ids = model->vocabulary->encode(doc.sentence);
    places = static_cast<std::size_t>(
        std::count(ids.begin(), ids.end(), *model->vocabulary->id_of(Special::kMask)));
  }
  if (places == 0) {
    throw UsageError(
        "--target says what is right where the sentence does not tell, for a classifier and at "
        "the [MASK]s of a masked model; here the sentence itself tells. Leave it out");
  }
  if (targets.size() > places) {
    throw UsageError("--target was given " + std::to_string(targets.size()) + " times, but " +
                     (classes ? std::string("a sentence has one class")
                              : "the sentence has " + std::to_string(places) + " [MASK]"));
  }
  const std::span<const std::string> names =
      classes ? std::span<const std::string>(model->file.classes)
              : std::span<const std::string>(*model->vocabulary->tokens());
  for (const std::string& name : targets) {
    if (std::find(names.begin(), names.end(), name) == names.end())
      fail_target(name, names, classes);
  }
}

}  // namespace

Document ModelOptions::document() const {
  Document doc;
  check_numbers(*this);
  std::optional<std::string> text = given_text(*this);
  if (base) doc.config = *base;
  if (session) {
    SessionFile file = read_session(*session);
    doc = std::move(file.document);
    for (const Message& said : file.notes) tell(say(Language::kEnglish, said));
  }
  std::shared_ptr<const Model> trained;
  if (model) {
    trained = load_model(model_ref(*model));
    SetModel choice = choose_model(doc, *trained);
    if (text || session) {
      choice.sentence.reset();  // what was given stays, known or not
    } else if (const std::string example = example_sentence(*trained); !example.empty()) {
      choice.sentence = example;  // what it has learned to read
    }
    doc = apply(doc, choice);
  }
  if (text) {
    const CleanText clean = clean_utf8(*text);
    if (clean.replaced > 0) {
      tell("the sentence had " + std::to_string(clean.replaced) +
           " invalid UTF-8 sequence(s); each became U+FFFD");
    }
    doc = apply(doc, SetSentence{clean.text});
  }
  if (tokenizer) {
    const auto kind = tokenizer_from_string(*tokenizer);
    if (!kind)
      throw UsageError("--tokenizer must be one of words, characters, bytes; got '" + *tokenizer +
                       "'");
    doc.tokenizer = *kind;
  }
  if (max_tokens) doc.max_tokens = *max_tokens;
  Config c = doc.config;
  if (layers) c.layers = *layers;
  if (heads) c.heads = *heads;
  if (kv_heads) c.kv_heads = *kv_heads;
  if (d_model) c.d_model = *d_model;
  if (d_head) c.d_head = *d_head;
  if (d_hidden) c.d_hidden = *d_hidden;
  if (seed) c.seed = parse_seed(*seed);
  set_choice("--attention", attention, c.attention);
  set_scores(*this, c);
  if (temperature) c.temperature = *temperature;
  set_choice("--block", block, c.block);
  set_choice("--norm", norm, c.norm);
  set_choice("--activation", activation, c.activation);
  set_positions(*this, c);
  set_pooling(*this, c);
  set_switch("--bias", bias, c.bias);
  set_switch("--tied-head", tied_head, c.tied_head);
  set_switch("--residual", residual, c.residual);
  set_mask(*this, doc, c.mask);
  validate(c);
  doc = apply(doc, SetConfig{c});
  if (trained) check_shape(doc, trained->file.config, *this);
  check_targets(targets, doc);
  for (std::size_t i = 0; i < targets.size(); ++i)
    doc = apply(doc, SetTarget{static_cast<int>(i), targets[i]});
  return doc;
}

std::string ModelOptions::window_backend() const {
  return backend == "gl" || backend == "both" ? "cpu" : backend;
}

ComputeMode ModelOptions::window_compute() const {
  return backend == "gl"     ? ComputeMode::kGpu
         : backend == "both" ? ComputeMode::kBoth
                             : ComputeMode::kCpu;
}

RunLimits ModelOptions::limits() const {
  RunLimits limits = machine_limits();
  if (memory_gb) limits.memory_bytes = *memory_gb * 1e9;
  return limits;
}

std::vector<std::int64_t> parse_index(const std::string& text) {
  std::vector<std::int64_t> index;
  for (const std::string& part : split(text, ',')) index.push_back(parse_number(part, text));
  if (index.empty())
    throw UsageError("expected whole numbers separated by commas (as 0,3,1); got '" + text + "'");
  return index;
}

}  // namespace headlight
