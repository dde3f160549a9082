#include "core/explain/lookups.h"

#include <algorithm>
#include <cmath>

#include "core/base/number_text.h"
#include "core/base/utf8.h"
#include "core/explain/explain.h"
#include "core/run/targets.h"

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
bool of_encoder(const Subject& s) { return s.step.stack == Stack::kEncoder; }

std::int64_t keys(const Subject& s) {
  const bool sources = of_encoder(s) || s.step.section == Section::kCrossAttention;
  return sources ? s.trace.program().shape.source : s.trace.length();
}

std::int64_t tokens(const Subject& s) {
  return of_encoder(s) ? s.trace.program().shape.source : s.trace.length();
}

// The token that is looked at.
std::int64_t place(const Subject& s) { return std::min(s.query, tokens(s) - 1); }

Text token_id(const Subject& s) {
  const RunInput& input = s.trace.input();
  return std::to_string(
      (of_encoder(s) ? input.source_ids : input.ids)[static_cast<std::size_t>(place(s))]);
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
  const std::int64_t block = t.axes.size() == 4 ? s.head * t.axes[1].size / heads(s) : 0;
  const std::int64_t at = places.name == "batch" ? 0 : place(s);
  return {{t.data + (block * places.size + at) * width, static_cast<std::size_t>(width)},
          t.axes.back().name};
}

Row result(const Subject& s) { return row(s, s.step.tensor); }

Row input(const Subject& s, std::size_t i) {
  return row(s, s.trace.program().calls[static_cast<std::size_t>(s.step.calls[0])].in[i]);
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

// ---- targets ----

bool classifies(const Subject& s) { return config(s).form == ModelForm::kClasses; }

// Its cell in the targets and in the losses.
std::int64_t counted_place(const Subject& s) { return classifies(s) ? 0 : place(s); }

Text target(const Subject& s) {
  const float right = s.trace.tensor(s.trace.program().targets).data[counted_place(s)];
  if (right < 0) return std::nullopt;
  return label(s, classifies(s) ? "class" : "vocab", static_cast<std::int64_t>(right));
}

double loss(const Subject& s) {
  return s.trace.tensor(s.trace.program().loss).data[counted_place(s)];
}

// How many heads of queries share one of keys and values.
std::int64_t sharing(const Subject& s) { return heads(s) / config(s).kv_head_count(); }

struct Named {
  std::string_view name;
  Lookup find;
};

constexpr Named kLookups[] = {
    {"T", [](const Subject& s) { return Text(std::to_string(tokens(s))); }},
    {"keys", [](const Subject& s) { return Text(std::to_string(keys(s))); }},
    {"vocab", [](const Subject& s) { return Text(std::to_string(s.trace.input().vocab.size())); }},
    {"classes",
     [](const Subject& s) { return Text(std::to_string(s.trace.program().outcomes())); }},
    {"d_model", [](const Subject& s) { return Text(std::to_string(config(s).d_model)); }},
    {"d_head", [](const Subject& s) { return Text(std::to_string(config(s).head_width())); }},
    {"H", [](const Subject& s) { return Text(std::to_string(config(s).head_count())); }},
    {"wide",
     [](const Subject& s) {
       return Text(std::to_string(config(s).head_count() * config(s).head_width()));
     }},
    {"kv_heads", [](const Subject& s) { return Text(std::to_string(config(s).kv_head_count())); }},
    {"kv_wide",
     [](const Subject& s) {
       return Text(std::to_string(config(s).kv_head_count() * config(s).head_width()));
     }},
    {"sharing", [](const Subject& s) { return Text(std::to_string(sharing(s))); }},
    {"kv_head", [](const Subject& s) { return Text(std::to_string(s.head / sharing(s))); }},
    {"hidden", [](const Subject& s) { return Text(std::to_string(config(s).hidden_width())); }},
    {"root",
     [](const Subject& s) {
       return Text(number_text(std::sqrt(static_cast<double>(config(s).head_width())), 4));
     }},
    {"tau", [](const Subject& s) { return Text(number_text(config(s).temperature, 3)); }},
    {"window", [](const Subject& s) { return Text(std::to_string(config(s).mask.window)); }},
    {"stride", [](const Subject& s) { return Text(std::to_string(config(s).mask.stride)); }},
    {"tokens",
     [](const Subject& s) { return Text(tr_count(s.language, "count.tokens", tokens(s))); }},
    {"heads",
     [](const Subject& s) {
       return Text(tr_count(s.language, "count.heads", config(s).head_count()));
     }},
    {"head", [](const Subject& s) { return Text(std::to_string(s.head)); }},
    {"query",
     [](const Subject& s) {
       return Text(label(s, of_encoder(s) ? "source" : "position", place(s)));
     }},
    {"place", [](const Subject& s) { return Text(std::to_string(place(s))); }},
    {"id", token_id},
    // Of the result's row: what the largest number belongs to, that number, the same where it is a
    // weight, how many are allowed by the mask.
    {"best", best},
    {"largest", largest},
    {"weight", [](const Subject& s) { return largest_weight(result(s)); }},
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
    {"mean_loss", [](const Subject& s) { return Text(number_text(mean_loss(s.trace), 4)); }},
};

}  // namespace

Lookup find_lookup(std::string_view name) {
  const auto found = std::ranges::find(kLookups, name, &Named::name);
  return found == std::end(kLookups) ? nullptr : found->find;
}

}  // namespace headlight
