// Options of the model that only some published models have: from the command line to a Config.
#include "app/cli/recipe_options.h"

#include "core/base/error.h"
#include "core/graph/masks/layer_list.h"

namespace headlight {

void ModelOptions::add_recipe_options(CLI::App& app) {
  const auto add = [&](const char* name, auto& value, const char* help) {
    app.add_option(name, value, help)->group(kModelOptions);
  };
  add("--score-scale", score_scale,
      "Scores times this in place of the division by the root of d_head (0: that division)");
  add("--softcap", softcap, "Scores become N x tanh(score / N), so none is above N (0: none)");
  add("--rotary-scaling", rotary_scaling,
      "Rotary positions, turned more slowly: none, linear (all pairs) or llama3 (slow pairs)");
  add("--rotary-factor", rotary_factor, "--rotary-scaling: how many times slower (1 to 1e6)");
  add("--rotary-low", rotary_low,
      "--rotary-scaling llama3: pairs that turn round so many times or fewer are slowed down in "
      "full (default 1)");
  add("--rotary-high", rotary_high,
      "--rotary-scaling llama3: pairs that turn round so many times or more stay (default 4)");
  add("--rotary-context", rotary_context,
      "--rotary-scaling llama3: in so many tokens, those of the texts that the model first learned "
      "from (default 8192)");
  add("--local-layers", local_layers,
      "Layers that look back only over --local-window keys, as 1,3,5; none: without");
  add("--local-window", local_window, "--local-layers: keys j of a query i with i - j < N");
}

void set_recipe_options(const ModelOptions& o, Config& c) {
  if (o.score_scale) c.score_scale = *o.score_scale;
  if (o.softcap) c.softcap = *o.softcap;
  if (o.rotary_scaling) {
    const auto chosen = from_word<RotaryScaling>(*o.rotary_scaling);
    if (!chosen)
      throw UsageError("--rotary-scaling must be " + choice_list(RotaryScaling{}) + "; got '" +
                       *o.rotary_scaling + "'");
    c.rotary_scaling = *chosen;
  }
  if (o.rotary_factor) c.rotary_factor = *o.rotary_factor;
  if (o.rotary_low) c.rotary_low = *o.rotary_low;
  if (o.rotary_high) c.rotary_high = *o.rotary_high;
  if (o.rotary_context) c.rotary_context = *o.rotary_context;
  const bool bounds = o.rotary_low || o.rotary_high || o.rotary_context;
  if (o.rotary_factor && c.rotary_scaling == RotaryScaling::kNone)
    throw UsageError(
        "--rotary-factor says how much --rotary-scaling slows down, and that is none. "
        "Choose --rotary-scaling linear or llama3, or leave the factor out");
  if (bounds && c.rotary_scaling != RotaryScaling::kLlama3)
    throw UsageError(
        "--rotary-low, --rotary-high and --rotary-context belong to --rotary-scaling "
        "llama3. Choose that, or leave them out");
  if (o.local_layers)
    c.local_layers = *o.local_layers == "none" ? std::vector<int>{} : read_layers(*o.local_layers);
  if (o.local_window) c.local_window = *o.local_window;
  // Without layers their window has nothing to say, if it was not asked for.
  if (o.local_layers && c.local_layers.empty() && !o.local_window) c.local_window = 0;
}

}  // namespace headlight
