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
#include "core/model/presets.h"
#include "core/run/model_input.h"
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
  text("--ids", ids, "With --model: token ids in the sentence's place, 1,2,3");
  text("--target-ids", target_ids, "With --ids: the ids of an encoder-decoder's own row");
  add_parts(app);
  text("--session", session, "A .headlight.json file to start from");
  text("--tokenizer", tokenizer, "words, characters or bytes");
  number("--layers", layers, "Number of layers");
  number("--heads", heads, "Number of heads");
  number("--kv-heads", kv_heads,
         "Heads of keys and values, which divides --heads (1: multi-query; default: --heads)");
  number("--d-model", d_model, "Width of the model");
  number("--d-head", d_head, "Width of a head (0: from the kind of attention)");
  number("--d-value", d_value, "Width of the values of a head (0: that of its keys)");
  number("--d-hidden", d_hidden, "Width of the feed-forward network (0: 4 x d_model)");
  text("--attention", attention, "basic, single, narrow or wide");
  text("--scores", scores, "scaled, dot or additive");
  text("--attention-scale", attention_scale, "on or off: divide the scores by the root of d_head");
  app.add_option("--temperature", temperature,
                 "Attention's softmax divides the scores by it (0.05 to 10; default 1)")
      ->group(kModelOptions);
  add_recipe_options(app);
  text("--block", block, "attention, attention-norm, post-norm, pre-norm or parallel");
  text("--norm", norm, "layer, rms or none");
  text("--activation", activation, "relu, gelu, gelu-tanh or silu; gated: swiglu or geglu");
  text("--positions", positions,
       "none, sinusoidal, learned or rotary; by distance: relative, t5, alibi or transformer-xl");
  text("--rotary", rotary, "Rotary positions: half (i, i + half) or interleaved (2i, 2i + 1)");
  app.add_option("--rotary-base", rotary_base,
                 "Rotary positions: base of the wavelengths (1 to 1e12; default 10000)")
      ->group(kModelOptions);
  number("--rotary-width", rotary_width,
         "Rotary positions: how many features of a head turn, an even number (0: all)");
  text("--form", form,
       "tokens, classes or translate: says what comes next, judges the whole sentence, or reads it "
       "and writes another row (behind ->)");
  text("--pool", pool,
       "Classes: mean, last, cls ([CLS], put before the sentence), concat, vector or foci: how all "
       "tokens' rows become one");
  number("--relative-reach", relative_reach,
         "--positions relative: distances beyond it count as it (default 16)");
  number("--t5-buckets", t5_buckets, "--positions t5: how many buckets of distances (default 32)");
  number("--t5-reach", t5_reach,
         "--positions t5: distance from which on all share the last bucket (default 128)");
  text("--mixer", mixer,
       "attention, recurrent, gru or convolution: what carries numbers from token to token; none: "
       "each token by itself");
  number("--kernel", kernel, "--mixer convolution: places of the window (default 3)");
  number("--dilation", dilation,
         "--mixer convolution: in layer l the window's places lie N^l apart (default 1)");
  number("--experts", experts,
         "Feed-forward networks that a gate weighs for each token (0: one, without a gate)");
  number("--top-experts", top_experts, "So many best experts are heard (0: all)");
  app.add_option("--balance", balance,
                 "Experts, in training: C of the loss that spreads the tokens over the experts")
      ->group(kModelOptions);
  text("--numbers", numbers,
       "on or off: tokens are numbers from -1 to 1, and for each another one is predicted");
  number("--components", components,
         "Numbers: components of a mixture density (0: one number for each)");
  number("--memory", memory,
         "So many rows of the segment before are kept as further keys and values");
  text("--segments", segments,
       "on or off: each token's embedding has a learned row added, by the sentence that it stands "
       "in; "
       "[SEP] ends the first one");
  text("--token-head", token_head,
       "--form classes: on or off: each token's row says which token stands there, too");
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
  text("--mask-file", mask_file,
       "Numbers added to the scores, (T, T) or (heads, T, T): .npy or text with -inf for what is "
       "forbidden, or true where forbidden; none: without");
  app.add_option("--forbid-head", forbid_head,
                 "Cells that only this head may not look at, as 1:0,0;2,1 (again for other heads); "
                 "none: without")
      ->allow_extra_args(false)
      ->group(kModelOptions);
  text("--head-mask", head_mask,
       "Heads that are switched off, as layer.head: 0.2,1.0 (encoder.0.2, cross.0.2); none: "
       "without");
  text("--bias-kv", bias_kv, "on or off: a learned key and value behind those of the tokens");
  text("--zero-attention", zero_attention, "on or off: a key and a value of zeros behind them");
  text("--average-weights", average_weights,
       "on or off: the mean of the heads' weights beside them");
  text("--fused-attention", fused_attention,
       "on or off: scores, softmax and weighted sum as one operation that keeps no weights");
  text("--bias", bias, "on or off");
  text("--tied-head", tied_head, "on or off: the logits are made with W_E, transposed");
  text("--output-projection", output_projection, "on or off: without W_O, the heads side by side");
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

// Options of single parts, which models of other programs have.
void ModelOptions::add_parts(CLI::App& app) {
  const auto text = [&](const char* name, std::optional<std::string>& value, const char* help) {
    app.add_option(name, value, help)->group(kModelOptions);
  };
  const auto number = [&](const char* name, std::optional<int>& value, const char* help) {
    app.add_option(name, value, help)->group(kModelOptions);
  };
  app.add_option("--norm-epsilon", norm_epsilon,
                 "Norms: what is added to the variance (1e-12 to 1; default 1e-5)")
      ->group(kModelOptions);
  text("--qkv-bias", qkv_bias, "on or off: biases of queries, keys and values (default: --bias)");
  text("--output-bias", output_bias, "on or off: the bias of W_O (default: --bias)");
  text("--mlp-bias", mlp_bias, "on or off: biases of the feed-forward network (default: --bias)");
  text("--head-bias", head_bias,
       "on or off: the bias of the logits (default: --bias; of --tied-head on: off)");
  text("--embed-scale", embed_scale, "on or off: embeddings times the root of d_model");
  text("--embed-norm", embed_norm, "on or off: a norm behind the sum of the embeddings");
  text("--sinusoid", sinusoid,
       "--positions sinusoidal: interleaved (sines and cosines in turn), halves or halves-to-end "
       "(all sines first)");
  number("--position-offset", position_offset,
         "--positions sinusoidal, learned: the position of the first token (default 0)");
  number("--segment-rows", segment_rows,
         "--segments on: 2, or 1 that every token has added, whatever its sentence");
  text("--head-transform", head_transform,
       "--form tokens: on or off: a layer and a norm before the logits, as BERT's");
  text("--pooler", pooler,
       "--form classes: none, tanh or relu: a layer between the pooled row and the classes");
  number("--encoder-layers", encoder_layers,
         "--form translate: layers of the encoder (0: --layers)");
}

void ModelOptions::add_model_to(CLI::App& app) {
  app.add_option("--model", model,
                 "A trained model: a folder that `headlight train` wrote, or a name of `headlight "
                 "models`")
      ->group(kModelOptions);
  app.add_option("--preset", preset,
                 "A model from a paper with random weights, small: a name of `headlight presets`")
      ->group(kModelOptions);
  app.add_flag("--full-size", full_size, "--preset: in the paper's own sizes")
      ->group(kModelOptions);
  app.add_option("--target", targets,
                 "Of what the gradients are: the class of a classifier, or the token behind [MASK] "
                 "(again for the next one). Default: what the model finds likeliest")
      ->allow_extra_args(false)
      ->group(kModelOptions);
}

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
        "--attention-scale, --temperature, --residual, --head-mask, --average-weights, "
        "--fused-attention, --memory and "
        "--positions (learned, relative, t5 and transformer-xl where the model has learned them) "
        "can be changed. Leave the others "
        "out");
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
                   say(Language::kEnglish, did_you_mean(name, views)));
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
        "the hidden tokens of a masked model; here the sentence itself tells. Leave it out");
  }
  if (targets.size() > places) {
    throw UsageError("--target was given " + std::to_string(targets.size()) + " times, but " +
                     (classes ? std::string("a sentence has one class")
                              : "the sentence has " + std::to_string(places) + " " +
                                    std::string(mask_name(model.get()))));
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

std::vector<int> id_list(const std::string& text) {
  std::vector<int> ids;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t comma = std::min(text.find(',', at), text.size());
    std::string_view word = std::string_view(text).substr(at, comma - at);
    while (word.starts_with(' ')) word.remove_prefix(1);
    while (word.ends_with(' ')) word.remove_suffix(1);
    int id = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), id);
    if (error != std::errc() || end != word.data() + word.size() || id < 0)
      throw UsageError("ids are whole numbers from 0 on with commas between them, 1,2,3; got '" +
                       std::string(word) + "'");
    ids.push_back(id);
    at = comma + 1;
  }
  return ids;
}

namespace {

// The field shows what is run: the ids as the text that they are, behind the arrow those of an
// encoder-decoder's own row.
std::string text_of_ids(const Model& model, const Document& doc) {
  check_pair_ids(model, doc.ids, doc.target_ids);
  std::string text = model.vocabulary->decode(doc.ids);
  if (!doc.target_ids.empty()) text += " → " + target_vocabulary(model).decode(doc.target_ids);
  return text;
}

}  // namespace

Document ModelOptions::document() const {
  Document doc;
  std::optional<std::string> text = given_text(*this);
  if (base) doc.config = *base;
  if (full_size && !preset) throw UsageError("--full-size needs --preset: which model");
  if (preset) {
    if (model || session) throw UsageError("give --preset without --model and --session");
    const Preset& chosen = headlight::preset(*preset);
    doc.config = full_size ? chosen.config : miniature(chosen);
  }
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
  if (ids || target_ids) {
    if (!ids || text)
      throw UsageError("give --ids without --sentence, and --target-ids with --ids");
    if (!trained) throw UsageError("--ids needs --model: ids are rows of a trained model's table");
    if (target_ids && trained->file.config.form != ModelForm::kTranslate) {
      throw UsageError("--target-ids are the own row of an encoder-decoder, and " + trained->name +
                       " reads one row alone, that of --ids. Leave --target-ids out");
    }
    doc = apply(doc, SetIds{id_list(*ids), target_ids ? id_list(*target_ids) : std::vector<int>{}});
    doc.sentence = text_of_ids(*trained, doc);
  }
  if (tokenizer) {
    const auto kind = tokenizer_from_string(*tokenizer);
    if (!kind)
      throw UsageError("--tokenizer must be one of words, characters, bytes; got '" + *tokenizer +
                       "'");
    doc.tokenizer = *kind;
  }
  if (max_tokens) doc.max_tokens = *max_tokens;
  const Config c = config(doc);
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

}  // namespace headlight
