// memory_needed: how much a run takes, before anything is built.
#include "core/graph/program.h"

namespace headlight {
namespace {

// Cells of one attention, `rows` of queries that each meet `keys` of `from` rows.
double attention_cells(const Config& c, double rows, double keys, double from, bool masked,
                       bool crosses = false) {
  const double wide = static_cast<double>(c.head_count()) * c.head_width();
  const bool basic = c.attention == AttentionKind::kBasic;
  const bool single = c.attention == AttentionKind::kSingle;
  const double shared = static_cast<double>(c.kv_head_count()) / c.head_count();
  const double turned = crosses || !c.has_rotary() ? 0 : 1;  // of the queries, and of the keys
  const double own_rows = (basic ? 1 : single ? 2 : 4) + turned;
  const double from_rows = shared * ((basic ? 0 : single ? 2 : 4) + turned);
  const double score_maps = 2 + c.scale + masked;
  return (basic ? 0 : (2 + 2 * shared) * c.d_model * wide) + rows * own_rows * wide +
         from * from_rows * wide + rows * (!basic + c.residual) * c.d_model +
         score_maps * rows * keys * c.head_count();
}

double feed_forward_cells(const Config& c, double rows) {
  if (!c.has_feed_forward()) return 0;
  const double d = c.d_model, hidden = c.hidden_width();
  const double gate = c.is_gated() ? 1 : 0;  // a weight more, and two rows
  return (2 + gate) * d * hidden + 4 * d + rows * ((2 + 2 * gate) * hidden + (3 + c.residual) * d);
}

}  // namespace

double memory_needed(const Config& c, const RunShape& s) {
  // In doubles: a slip of the finger may well ask for more bytes than an integer holds.
  const double d = c.d_model, batch = static_cast<double>(s.batch);
  const double length = static_cast<double>(s.positions), rows = batch * length;
  const bool masked = c.mask.kind != MaskKind::kNone || s.padded;
  double layer = attention_cells(c, rows, length, rows, masked) + feed_forward_cells(c, rows);
  double ends = rows * 4 * d + rows * length;
  if (c.form == ModelForm::kTranslate) {
    const double source = static_cast<double>(s.source), from = batch * source;
    layer += attention_cells(c, from, source, from, s.padded) + feed_forward_cells(c, from);
    layer += attention_cells(c, rows, source, from, s.padded, true);
    ends += from * 4 * d + s.padded * from * (source + length);
  }
  const bool classes = c.form == ModelForm::kClasses;
  const double vocab = static_cast<double>(s.vocab);
  const double outcomes = classes ? static_cast<double>(s.classes) : vocab;
  ends += d * (vocab + outcomes) + 2 * (classes ? batch : rows) * outcomes;
  return sizeof(float) * (c.layers * layer + ends);
}

}  // namespace headlight
