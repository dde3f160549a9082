// Options that several subcommands share: the sentence and the model.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "app/platform/size.h"
#include "app/shell/shell.h"
#include "app/ui/state/compute_state.h"
#include "core/run/runner.h"
#include "core/train/model_recipe.h"

namespace headlight {

/// The group of the options that say what a document holds.
inline constexpr const char* kModelOptions = "Model and sentence";

/// Token ids as they are typed: "1,2,3". Throws UsageError.
std::vector<int> id_list(const std::string&);

/// What the command line says about the document; what it does not say comes from --session or the
/// defaults.
struct ModelOptions {
  std::optional<std::string> sentence, sentence_file, session, ids, target_ids;
  std::optional<std::string> tokenizer, attention, scores, attention_scale, block, norm, activation,
      positions, rotary, rotary_scaling, local_layers, mixer, form, pool;
  std::optional<std::string> mask, mask_causal, bias, segments, token_head, numbers, tied_head,
      output_projection, residual, pad, forbid, allow, seed, bias_kv, zero_attention,
      average_weights, fused_attention, head_mask, mask_file;
  std::optional<std::string> qkv_bias, output_bias, mlp_bias, head_bias, embed_scale, embed_norm,
      sinusoid, head_transform, pooler;
  std::vector<std::string> forbid_head;
  std::optional<int> layers, heads, kv_heads, d_model, d_head, d_value, d_hidden, window, stride,
      max_tokens, rotary_width, relative_reach, t5_buckets, t5_reach, kernel, dilation, experts,
      top_experts, components, memory, foci, pool_hidden, rotary_context, local_window,
      position_offset, segment_rows, encoder_layers;
  std::optional<double> temperature, norm_epsilon, rotary_base, balance, foci_penalty, memory_gb,
      score_scale, softcap, rotary_factor, rotary_low, rotary_high;
  std::vector<std::string> targets;   // what the gradients' loss takes for right, by name
  std::optional<std::string> model;   // a folder or the name of a bundled model
  std::optional<std::string> preset;  // of core/model/presets.h
  bool full_size = false;             // of the preset
  std::optional<Config> base;         // to start from where there is no session
  std::string backend = "cpu";
  int threads = 2;

  void add_to(CLI::App&);
  void add_recipe_options(CLI::App&);  // what only some published models have
  void add_parts(CLI::App&);           // add_to() calls it
  void add_model_to(CLI::App&);
  /// The document. Throws UsageError, and what loading a model throws; notes (invalid UTF-8, …) go
  /// to stderr.
  Document document() const;
  /// What it makes of the document's config. Throws UsageError.
  Config config(const Document&) const;
  RunLimits limits() const;
  /// What the processor computes a window or its picture with, and whether the graphics card does
  /// so as well: --backend gl or both.
  std::string window_backend() const;
  ComputeMode window_compute() const;
};

/// The name by which a backend goes today: "cpu" was called "eigen". Others stay as they are.
std::string current_backend_name(std::string name);

/// A number from `low` to `high`, as an option's check. CLI::Range lets NaN through.
CLI::Validator within(double low, double high);

/// "0,3,1" -> {0, 3, 1}; throws UsageError.
std::vector<std::int64_t> parse_index(const std::string&);

/// Runs the document on the command line: every problem is an Error (a text over the token limit
/// too). `gradients`: as of Runner.
std::shared_ptr<const Trace> run_or_throw(const ModelOptions&, const Document&,
                                          bool gradients = false);
/// The same with a backend that is there already.
std::shared_ptr<const Trace> run_or_throw(Runner&, Backend&, const Document&, bool gradients);

}  // namespace headlight
