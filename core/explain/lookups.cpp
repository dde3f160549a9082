#include "core/explain/lookups.h"

#include <algorithm>
#include <cmath>
#include <unordered_set>

#include "core/base/number_text.h"
#include "core/base/utf8.h"
#include "core/explain/config_lookups.h"
#include "core/explain/explain.h"
#include "core/explain/steps.h"
#include "core/graph/program_cost.h"
#include "core/graph/reach.h"
#include "core/ops/positions/distance.h"
#include "core/run/runner.h"
#include "core/run/targets.h"
#include "core/text/pieces/usual_specials.h"

namespace headlight {
namespace {

using Text = std::optional<std::string>;

std::string number(double value) { return number_text(value, 3); }

std::string label(const Subject& s, std::string_view axis, std::int64_t i) {
  return visible_label(shortened(s.trace.name(axis, i), 40));
}

// ---- the model and the sentence ----

const Config& config(const Subject& s) { return s.trace.config(); }
std::int64_t heads(const Subject& s) { return config(s).head_count(); }

std::int64_t keys(const Subject& s) {
  for (const Axis& axis : s.trace.tensor(s.step.tensor).axes) {
    if (axis.name == "key" || axis.name == "source_key") return axis.size;
  }
  const bool sources =
      s.step.stack == Stack::kEncoder || s.step.section == Section::kCrossAttention;
  const RunShape& shape = s.trace.program().shape;
  return sources ? shape.source : shape.memory + shape.positions;
}

// Whose rows the step's result has: the tokens', or the source tokens'.
std::string_view row_axis(const Subject& s) {
  const Axis* axis = find_row_axis(s.trace.tensor(s.step.tensor).axes);
  return axis ? std::string_view(axis->name) : "position";
}

bool of_source(const Subject& s) { return row_axis(s).starts_with("source"); }

// Has the step's result a row for each remembered place, and behind them those of the tokens?
bool of_keys(const Subject& s) {
  const auto axes = s.trace.tensor(s.step.tensor).axes;
  return s.trace.program().shape.memory > 0 && axes.size() > 2 &&
         axes[axes.size() - 2].name == "key";
}

std::int64_t tokens(const Subject& s) {
  if (of_keys(s)) return keys(s);
  return of_source(s) ? s.trace.program().shape.source : s.trace.length();
}

// The row of the token that is looked at.
std::int64_t place(const Subject& s) {
  const std::int64_t before = of_keys(s) ? s.trace.program().shape.memory : 0;
  return std::min(before + s.query, tokens(s) - 1);
}

// Where it stands, counted from the first remembered place where positions are.
std::int64_t position(const Subject& s) {
  const auto& calls = s.step.calls;
  const Program& program = s.trace.program();
  return place(s) +
         (calls.empty() ? 0 : program.calls[static_cast<std::size_t>(calls[0])].params.offset);
}

Text token_id(const Subject& s) {
  const RunInput& input = s.trace.input();
  return std::to_string(
      (of_source(s) ? input.source_ids : input.ids)[static_cast<std::size_t>(place(s))]);
}

// What hides a token from a model that fills in hidden ones: the sentence's own, else the usual
// name of it that the vocabulary has.
Text mask_of(const Subject& s) {
  const RunInput& input = s.trace.input();
  if (!input.masked.empty())
    return visible_label(input.tokens[static_cast<std::size_t>(input.masked.front())]);
  for (const std::string& name : usual_names(Special::kMask, kAnyTokenizerJson))
    if (std::ranges::find(input.vocab, name) != input.vocab.end()) return name;
  return std::string(to_string(Special::kMask));
}

// ---- rows ----

struct Row {
  std::span<const float> cells;
  std::string_view axis;  // along the row

  std::int64_t largest() const { return std::ranges::max_element(cells) - cells.begin(); }
  float operator[](std::int64_t i) const { return cells[static_cast<std::size_t>(i)]; }
};

// The row of the head and the token looked at; of a tensor without places its only row.
Row row(const Subject& s, TensorId id) {
  const TensorView t = s.trace.tensor(id);
  const std::int64_t width = t.axes.back().size;
  const Axis& places = t.axes[t.axes.size() - 2];
  const bool experts = t.axes.size() == 4 && t.axes[1].name == "expert";
  const std::int64_t block = experts              ? std::min(s.head, t.axes[1].size - 1)
                             : t.axes.size() == 4 ? s.head * t.axes[1].size / heads(s)
                                                  : 0;
  const std::int64_t at = places.name == "batch"   ? 0
                          : places.name == "focus" ? std::min(s.query, places.size - 1)
                                                   : place(s);
  return {{t.data + (block * places.size + at) * width, static_cast<std::size_t>(width)},
          t.axes.back().name};
}

Row result(const Subject& s) { return row(s, s.step.tensor); }

Row input(const Subject& s, std::size_t i) {
  return row(s, s.trace.program().calls[static_cast<std::size_t>(s.step.calls[0])].in[i]);
}

// The largest cell of the result's row.
struct Largest {
  std::int64_t place = 0;
  float value = 0;
};

// Of scores that a mask will act on: among those of the keys that it allows.
std::optional<Largest> largest_allowed(const Subject& s) {
  const Program& program = s.trace.program();
  const TensorId masked = program.find(Role::kMaskedScores, s.step.tensor);
  const Row r = result(s);
  if (masked < 0 || program.tensors[static_cast<std::size_t>(masked)].place !=
                        program.tensors[static_cast<std::size_t>(s.step.tensor)].place)
    return Largest{r.largest(), r[r.largest()]};
  const Row allowed = row(s, masked);
  std::optional<Largest> best;
  for (std::int64_t i = 0; i < static_cast<std::int64_t>(r.cells.size()); ++i) {
    if (allowed[i] == -INFINITY) continue;
    if (!best || r[i] > best->value) best = Largest{i, r[i]};
  }
  return best;
}

Text best(const Subject& s) {
  const Row r = result(s);
  return label(s, r.axis, r.largest());
}

Text largest(const Subject& s) {
  const Row r = result(s);
  return number(r[r.largest()]);
}

// The largest of a row's weights; a query that may look at no key has none.
Text largest_weight(const Row& r) {
  const float weight = r[r.largest()];
  return weight == 0 ? std::nullopt : Text(number(weight));
}

// How many numbers of the row are its largest, where it is not one alone.
Text alike(const Subject& s) {
  const Row r = result(s);
  const auto count = std::ranges::count(r.cells, r[r.largest()]);
  return count > 1 && r[r.largest()] != 0 ? Text(std::to_string(count)) : std::nullopt;
}

Text length(const Subject& s, std::size_t i) {
  double sum = 0;
  for (const float x : input(s, i).cells) sum += static_cast<double>(x) * x;
  return number(std::sqrt(sum));
}

// What the operation itself says of the row, at its first cell.
Text quantity(const Subject& s, std::string_view name) {
  std::vector<std::int64_t> cell = {0, place(s), 0};
  const TensorView t = s.trace.tensor(s.step.tensor);
  if (t.axes.size() == 4) cell.insert(cell.begin() + 1, s.head * t.axes[1].size / heads(s));
  const Explanation e = explain(s.trace, s.step.tensor, cell);
  const auto found = std::ranges::find(e.quantities, name, &Quantity::name);
  return found == e.quantities.end() ? std::nullopt : Text(number(found->value));
}

// The other steps that use a weight of this one: "Embedding (decoder)".
Text also_used_by(const Subject& s) {
  const Program& program = s.trace.program();
  const auto uses = [&](const Step& step, TensorId weight) {
    return std::ranges::any_of(step.calls, [&](int c) {
      const auto& in = program.calls[static_cast<std::size_t>(c)].in;
      return std::ranges::find(in, weight) != in.end();
    });
  };
  std::vector<TensorId> own;
  for (const int c : s.step.calls) {
    for (const TensorId id : program.calls[static_cast<std::size_t>(c)].in) {
      if (program.tensors[static_cast<std::size_t>(id)].kind == TensorKind::kParameter)
        own.push_back(id);
    }
  }
  std::string names;
  for (const Step& step : program.steps) {
    const bool other = !step.backward && step.calls != s.step.calls;
    if (!other || std::ranges::none_of(own, [&](TensorId id) { return uses(step, id); })) continue;
    const std::string where = step_place(s.language, step);
    if (!names.empty()) names += s.language == Language::kChinese ? "、" : ", ";
    names += step_title(s.language, step);
    if (!where.empty()) names += tr(s.language, "explain.in_brackets", {{"text", where}});
  }
  return names.empty() ? std::nullopt : Text(names);
}

// ---- targets ----

// Beside its class, is it hidden tokens that the page is about?
bool of_hidden(const Subject& s) {
  const Program& program = s.trace.program();
  return program.tensors[static_cast<std::size_t>(s.step.tensor)].role == Role::kTokenLoss;
}

bool classifies(const Subject& s) { return config(s).form == ModelForm::kClasses && !of_hidden(s); }

// Its cell in the targets and in the losses.
std::int64_t counted_place(const Subject& s) { return classifies(s) ? 0 : place(s); }

Text target(const Subject& s) {
  const Program& program = s.trace.program();
  const TensorId targets = of_hidden(s) ? program.token_targets : program.targets;
  const float right = s.trace.tensor(targets).data[counted_place(s)];
  if (right < 0) return std::nullopt;
  return label(s, classifies(s) ? "class" : "vocab", static_cast<std::int64_t>(right));
}

// Of the target alone: without what foci cost.
double loss(const Subject& s) {
  const Program& program = s.trace.program();
  TensorId own = of_hidden(s) ? program.token_loss : program.find(Role::kClassLoss, program.loss);
  if (own < 0) own = program.find(Role::kOwnLoss, program.loss);
  return s.trace.tensor(own < 0 ? program.loss : own).data[counted_place(s)];
}

// Of the row, a part of its loss.
Text loss_of(const Subject& s, Role part) {
  const Program& program = s.trace.program();
  return number_text(s.trace.tensor(program.find(part, program.loss)).data[0], 4);
}

Text expert_work(const Subject& s, std::int64_t experts) {
  const std::int64_t n = tokens(s), d = config(s).d_model, hidden = config(s).hidden_width();
  return std::to_string(n) + " · " + std::to_string(experts) + " · 2 · " + std::to_string(d) +
         " · " + std::to_string(hidden) + " = " + count_text(n * experts * 2 * d * hidden);
}

// How many tokens before the one that is looked at, or behind it, attention lets it see.
Text seen(const Subject& s, bool before) {
  if (!config(s).attends()) return std::nullopt;
  const TensorId id = s.trace.program().own_mask(s.step.layer);
  const std::int64_t n = s.trace.length(), row = place(s);
  const float* mask = id < 0 ? nullptr : s.trace.tensor(id).data + row * n;
  std::int64_t count = 0;
  for (std::int64_t key = before ? 0 : row + 1; key < (before ? row : n); ++key)
    count += !mask || mask[key] != -INFINITY;
  return count_text(count);
}

// How many tokens of the row stand in this sentence.
Text in_segment(const Subject& s, int segment) {
  return std::to_string(std::ranges::count(s.trace.input().segment_ids, segment));
}

// The keys that attention as one operation meets.
std::int64_t met_keys(const Subject& s) {
  const Program& program = s.trace.program();
  const OpCall& call = program.calls[static_cast<std::size_t>(s.step.calls.front())];
  return s.trace.tensor(call.in[1]).axes[2].size;
}

// How many of them its mask leaves the token that is looked at.
std::int64_t seen_keys(const Subject& s) {
  const Program& program = s.trace.program();
  const OpCall& call = program.calls[static_cast<std::size_t>(s.step.calls.front())];
  const std::int64_t keys = met_keys(s);
  const auto at = static_cast<std::size_t>(op_info(call.op).input_of(InputKind::kMask));
  if (call.in.size() <= at) return keys;
  const float* mask = s.trace.tensor(call.in[at]).data + place(s) * keys;
  return std::count(mask, mask + keys, 0.0f);
}

template <auto kFind>
Text whole(const Subject& s) {
  return std::to_string(kFind(s));
}

constexpr NamedLookup kLookups[] = {
    {"T", whole<tokens>},
    {"keys", whole<keys>},
    {"remembered",
     [](const Subject& s) { return Text(std::to_string(s.trace.program().shape.memory)); }},
    {"own", [](const Subject& s) { return Text(std::to_string(s.trace.length())); }},
    {"extended", whole<keys>},
    {"vocab", [](const Subject& s) { return Text(std::to_string(s.trace.input().vocab.size())); }},
    {"distinct",
     [](const Subject& s) {
       const RunInput& input = s.trace.input();
       const std::vector<int>& ids = of_source(s) ? input.source_ids : input.ids;
       return Text(std::to_string(std::unordered_set(ids.begin(), ids.end()).size()));
     }},
    // Whose tokens the probabilities are of.
    {"vocabulary",
     [](const Subject& s) {
       const RunInput& input = s.trace.input();
       const auto count = static_cast<long long>(input.vocab.size());
       return Text(tr_count(s.language,
                            has_own_words(input) ? "count.own_words" : "count.vocabulary", count));
     }},
    {"classes",
     [](const Subject& s) { return Text(std::to_string(s.trace.program().outcomes())); }},
    // The sentence that the token stands in, and how many stand in each.
    {"segment",
     [](const Subject& s) {
       const std::vector<int>& segments = s.trace.input().segment_ids;
       return Text(std::to_string(segments.at(static_cast<std::size_t>(place(s)))));
     }},
    {"first_segment", [](const Subject& s) { return in_segment(s, 0); }},
    {"second_segment", [](const Subject& s) { return in_segment(s, 1); }},
    {"focus",
     [](const Subject& s) {
       return Text(std::to_string(std::min<std::int64_t>(s.query, config(s).focus_count() - 1)));
     }},
    // The one whose page it is.
    {"expert",
     [](const Subject& s) {
       return Text(std::to_string(std::clamp<std::int64_t>(s.head, 0, config(s).experts - 1)));
     }},
    // Multiply-adds of a layer's experts, of all of them and of the best:
    // "12 · 2 · 4 · 64 · 256 = 1,572,864"
    {"expert_work", [](const Subject& s) { return expert_work(s, config(s).experts); }},
    {"best_work", [](const Subject& s) { return expert_work(s, config(s).top_experts); }},
    // "7 · 64 · 2 = 896"
    {"concat_parameters",
     [](const Subject& s) {
       const std::int64_t n = tokens(s), d = config(s).d_model;
       const std::int64_t classes = s.trace.program().outcomes();
       return Text(std::to_string(n) + " · " + std::to_string(d) + " · " + std::to_string(classes) +
                   " = " + count_text(n * d * classes));
     }},
    {"off",
     [](const Subject& s) {
       const Program& program = s.trace.program();
       const OpCall& call = program.calls[static_cast<std::size_t>(s.step.calls.front())];
       const auto mask = s.trace.tensor(call.in.back()).cells();
       return Text(std::to_string(std::ranges::count(mask, 0.0f)));
     }},
    {"kv_head",
     [](const Subject& s) {
       return Text(std::to_string(s.head * config(s).kv_head_count() / heads(s)));
     }},
    {"slope", [](const Subject& s) { return Text(number_text(alibi_slope(s.head, heads(s)), 4)); }},
    {"dilation",
     [](const Subject& s) {
       return Text(std::to_string(layer_dilation(config(s), s.step.layer)));
     }},
    {"receptive",
     [](const Subject& s) {
       const ReceptiveField field = receptive_field(config(s), s.step.layer + 1);
       const auto heard = std::min<std::int64_t>(field.width(), tokens(s));
       return Text(tr_count(s.language, "count.receptive", heard));
     }},
    {"tokens",
     [](const Subject& s) { return Text(tr_count(s.language, "count.tokens", tokens(s))); }},
    {"head", [](const Subject& s) { return Text(std::to_string(s.head)); }},
    {"query",
     [](const Subject& s) {
       const char* axis = of_source(s) ? "source" : of_keys(s) ? "key" : "position";
       return Text(label(s, axis, place(s)));
     }},
    {"place", whole<position>},
    {"seen_before", [](const Subject& s) { return seen(s, true); }},
    {"seen_behind", [](const Subject& s) { return seen(s, false); }},
    {"id", token_id},
    {"mask", mask_of},
    {"first_token",
     [](const Subject& s) { return Text(visible_label(s.trace.input().tokens[0])); }},
    // Of the result's row: what the largest number belongs to, that number, the same where it is a
    // weight, how many are allowed by the mask.
    {"best", best},
    {"largest", largest},
    {"alike", alike},
    // The same among the keys that the mask allows, if any.
    {"best_allowed",
     [](const Subject& s) {
       const std::optional<Largest> best = largest_allowed(s);
       return best ? Text(label(s, result(s).axis, best->place)) : std::nullopt;
     }},
    {"largest_allowed",
     [](const Subject& s) {
       const std::optional<Largest> best = largest_allowed(s);
       return best ? Text(number(best->value)) : std::nullopt;
     }},
    {"weight", [](const Subject& s) { return largest_weight(result(s)); }},
    {"also_used_by", also_used_by},
    {"allowed",
     [](const Subject& s) {
       const std::span<const float> cells = result(s).cells;
       return Text(
           std::to_string(std::ranges::count_if(cells, [](float x) { return x != -INFINITY; })));
     }},
    // Of the first input's row: the same, and what the largest number was and became; how many are
    // positive; how long the row is.
    {"chosen",
     [](const Subject& s) {
       const Row r = input(s, 0);
       return Text(label(s, r.axis, r.largest()));
     }},
    {"share", [](const Subject& s) { return largest_weight(input(s, 0)); }},
    {"before",
     [](const Subject& s) {
       const Row r = input(s, 0);
       return Text(number(r[r.largest()]));
     }},
    {"after", [](const Subject& s) { return Text(number(result(s)[input(s, 0).largest()])); }},
    {"positive",
     [](const Subject& s) {
       const std::span<const float> cells = input(s, 0).cells;
       return Text(std::to_string(std::ranges::count_if(cells, [](float x) { return x > 0; })));
     }},
    {"length", [](const Subject& s) { return length(s, 0); }},
    {"length_of_change", [](const Subject& s) { return length(s, 1); }},
    {"angle", [](const Subject& s) { return quantity(s, "angle"); }},
    {"mean", [](const Subject& s) { return quantity(s, "mean"); }},
    // Of attention as one operation; also "4 · 12 · 12 = 576", and what all layers together save.
    {"may_see", whole<seen_keys>},
    {"met", whole<met_keys>},
    {"row_max", [](const Subject& s) { return quantity(s, "row maximum"); }},
    {"row_sum", [](const Subject& s) { return quantity(s, "row sum"); }},
    {"unkept",
     [](const Subject& s) {
       const std::int64_t queries = tokens(s), keys = met_keys(s);
       return Text(std::to_string(heads(s)) + " · " + std::to_string(queries) + " · " +
                   std::to_string(keys) + " = " + count_text(heads(s) * queries * keys));
     }},
    {"unkept_bytes",
     [](const Subject& s) {
       return Text(bytes_text(fused_saving(config(s), s.trace.program().shape)));
     }},
    {"rms", [](const Subject& s) { return quantity(s, "sqrt(mean(x²) + ε)"); }},
    {"sigma", [](const Subject& s) { return quantity(s, "sqrt(variance + ε)"); }},
    // Of the loss.
    {"target", target},
    {"loss", [](const Subject& s) { return Text(number(loss(s))); }},
    {"probability", [](const Subject& s) { return Text(number(std::exp(-loss(s)))); }},
    {"counted",
     [](const Subject& s) {
       const std::int64_t counted = counted_targets(s.trace);
       return counted == 0 ? std::nullopt : Text(std::to_string(counted));
     }},
    // Of Config::token_head: how many tokens are asked for, and the two losses that are added.
    {"hidden_tokens",
     [](const Subject& s) {
       const auto chosen = s.trace.tensor(s.trace.program().chosen).cells();
       const auto count = std::ranges::count_if(chosen, [](float share) { return share > 0; });
       return count == 0 ? std::nullopt : Text(tr_count(s.language, "count.tokens", count));
     }},
    {"hidden_loss", [](const Subject& s) { return loss_of(s, Role::kHiddenLoss); }},
    {"class_loss", [](const Subject& s) { return loss_of(s, Role::kClassLoss); }},
    {"mean_loss", [](const Subject& s) { return Text(number_text(mean_loss(s.trace), 4)); }},
};

}  // namespace

Lookup find_lookup(std::string_view name) {
  for (const std::span<const NamedLookup> table :
       {std::span<const NamedLookup>(kLookups), config_lookups()}) {
    const auto found = std::ranges::find(table, name, &NamedLookup::name);
    if (found != table.end()) return found->find;
  }
  return nullptr;
}

}  // namespace headlight
