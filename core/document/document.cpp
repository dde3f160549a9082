#include "core/document/document.h"

#include <algorithm>

#include "core/base/utf8.h"
#include "core/graph/options/attention_options.h"
#include "core/graph/program_memory.h"
#include "core/text/reorder.h"
#include "core/text/vocabulary.h"

namespace headlight {
namespace {

MaskSpec tidy(MaskSpec mask) {
  mask.window = std::clamp(mask.window, 0, 1 << 20);
  mask.stride = std::clamp(mask.stride, 1, 1 << 20);
  for (std::vector<int>* places : {&mask.padding, &mask.source_padding}) {
    std::sort(places->begin(), places->end());
    places->erase(std::unique(places->begin(), places->end()), places->end());
  }
  return mask;
}

void tidy(std::vector<std::string>& targets) {
  if (targets.size() > static_cast<std::size_t>(kMaxTargets)) targets.resize(kMaxTargets);
  for (std::string& target : targets) target = clean_utf8(target).text;
  while (!targets.empty() && targets.back().empty()) targets.pop_back();
}

// The word at `from` goes to place `to`; the marks of padding go with their words.
Document move_token(Document doc, int from, int to) {
  const int first = begins_with_class(doc.config) ? 1 : 0;  // [CLS] stays where it is
  if (from < first) return doc;
  const Reordered moved =
      move_token(doc.sentence, doc.tokenizer, std::int64_t{from} - first,
                 static_cast<std::int64_t>(std::max(to, first) - first), whole_token(doc.config));
  doc.sentence = clean_utf8(moved.text).text;
  std::vector<int>& padding = doc.config.mask.padding;
  for (int& place : padding) {
    const auto old = static_cast<std::size_t>(place - first);
    if (place >= first && old < moved.new_place.size())
      place = static_cast<int>(moved.new_place[old]) + first;
  }
  std::sort(padding.begin(), padding.end());
  return doc;
}

struct Apply {
  Document doc;
  Document operator()(const SetSentence& e) {
    doc.sentence = clean_utf8(e.text).text;
    doc.ids.clear();
    doc.target_ids.clear();
    return std::move(doc);
  }
  Document operator()(const SetTokenizer& e) {
    doc.tokenizer = e.kind;
    return std::move(doc);
  }
  Document operator()(const SetConfig& e) {
    doc.config = e.config;
    doc.config.mask = tidy(std::move(doc.config.mask));
    drop_unfit_options(doc.config);
    return std::move(doc);
  }
  Document operator()(const SetMask& e) {
    doc.config.mask = tidy(e.mask);
    return std::move(doc);
  }
  Document operator()(const MoveToken& e) { return move_token(std::move(doc), e.from, e.to); }
  Document operator()(const SetMaxTokens& e) {
    doc.max_tokens = std::clamp(e.count, 1, kLargestMaxTokens);
    return std::move(doc);
  }
  Document operator()(const SetTarget& e) {
    if (e.place < 0 || e.place >= kMaxTargets) return std::move(doc);
    const auto place = static_cast<std::size_t>(e.place);
    if (place >= doc.targets.size()) doc.targets.resize(place + 1);
    doc.targets[place] = e.name;
    tidy(doc.targets);
    return std::move(doc);
  }
  Document operator()(const SetModel& e) {
    doc.model = clean_utf8(e.model).text;
    doc.targets.clear();
    doc.ids.clear();  // of another table
    doc.target_ids.clear();
    if (e.config) {
      doc.config = *e.config;
      doc.config.mask = tidy(std::move(doc.config.mask));
    }
    if (e.tokenizer) doc.tokenizer = *e.tokenizer;
    if (e.sentence) doc = (*this)(SetSentence{*e.sentence});
    return std::move(doc);
  }
  Document operator()(const SetIds& e) {
    doc.ids = e.ids;
    doc.target_ids = e.target_ids;
    return std::move(doc);
  }
  Document operator()(const SetLab& e) {
    doc.labs = e.labs;
    return std::move(doc);
  }
  Document operator()(const SetDocument& e) {
    doc = e.document;
    doc.config.mask = tidy(std::move(doc.config.mask));
    doc.max_tokens = std::clamp(doc.max_tokens, 1, kLargestMaxTokens);
    doc.sentence = clean_utf8(doc.sentence).text;
    doc.model = clean_utf8(doc.model).text;
    tidy(doc.targets);
    return std::move(doc);
  }
};

}  // namespace

bool same_run(const Document& a, const Document& b) {
  // All members by name: another one does not compile until it is said here whether it counts.
  const auto& [sentence, tokenizer, config, max_tokens, model, targets, ids, target_ids, labs] = a;
  return sentence == b.sentence && tokenizer == b.tokenizer && config == b.config &&
         max_tokens == b.max_tokens && model == b.model && targets == b.targets && ids == b.ids &&
         target_ids == b.target_ids;
}

std::string_view whole_token(const Config& config) {
  if (config.tells_sentences()) return config.token_head ? "[SEP] [MASK]" : "[SEP]";
  return config.token_head ? "[MASK]" : "";
}

Document apply(Document doc, const Edit& edit) { return std::visit(Apply{std::move(doc)}, edit); }

void History::edit(const Edit& edit, const std::string& group) {
  Document next = apply(now_, edit);
  if (next == now_) return;
  const bool joins = !group.empty() && group == group_ && !past_.empty();
  if (!joins) past_.push_back(std::move(now_));
  if (past_.size() > kMaxUndoSteps) past_.erase(past_.begin());
  now_ = std::move(next);
  future_.clear();
  group_ = group;
}

void History::undo() {
  if (past_.empty()) return;
  future_.push_back(std::move(now_));
  now_ = std::move(past_.back());
  past_.pop_back();
  group_.clear();
}

void History::redo() {
  if (future_.empty()) return;
  past_.push_back(std::move(now_));
  now_ = std::move(future_.back());
  future_.pop_back();
  group_.clear();
}

void History::reset(Document document) {
  now_ = std::move(document);
  saved_ = now_;
  past_.clear();
  future_.clear();
  group_.clear();
}

}  // namespace headlight
