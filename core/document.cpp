#include "core/document.h"

#include <algorithm>

#include "core/text/utf8.h"

namespace headlight {
namespace {

MaskSpec tidy(MaskSpec mask) {
  mask.window = std::clamp(mask.window, 0, 1 << 20);
  mask.stride = std::clamp(mask.stride, 1, 1 << 20);
  std::sort(mask.padding.begin(), mask.padding.end());
  mask.padding.erase(std::unique(mask.padding.begin(), mask.padding.end()), mask.padding.end());
  std::sort(mask.forbidden.begin(), mask.forbidden.end());
  mask.forbidden.erase(std::unique(mask.forbidden.begin(), mask.forbidden.end()),
                       mask.forbidden.end());
  return mask;
}

struct Apply {
  Document doc;
  Document operator()(const SetSentence& e) {
    doc.sentence = clean_utf8(e.text).text;
    return std::move(doc);
  }
  Document operator()(const SetTokenizer& e) {
    doc.tokenizer = e.kind;
    return std::move(doc);
  }
  Document operator()(const SetConfig& e) {
    doc.config = e.config;
    doc.config.mask = tidy(std::move(doc.config.mask));
    return std::move(doc);
  }
  Document operator()(const SetMask& e) {
    doc.config.mask = tidy(e.mask);
    return std::move(doc);
  }
  Document operator()(const SetMaxTokens& e) {
    doc.max_tokens = std::clamp(e.count, 1, kLargestMaxTokens);
    return std::move(doc);
  }
};

}  // namespace

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
