#include "core/train/data/masked_text.h"

#include <algorithm>

namespace headlight {
namespace {

constexpr int kHidden = 80, kReplaced = 10;  // percent of the chosen; the rest stays as it is

class MaskedTextTask final : public Task {
 public:
  MaskedTextTask(std::shared_ptr<const TextSource> source, int share)
      : Task({.id = "text",
              .kind = TaskKind::kMasked,
              .vocabulary = source->vocabulary(),
              .context = source->context(),
              .source_length = 0,
              .classes = {},
              .options = {{"context", source->context()}, {"share", share}}}),
        source_(std::move(source)),
        share_(share) {}

  bool has(Split split) const override { return size(split) >= width(); }
  std::size_t rows(Split split) const override { return size(split) / width(); }
  TaskExample row(std::size_t i, Split split) const override {
    Random fixed(hash_text("tokens hidden"), i);
    return hidden(source_->part(split).begin + i * width(), fixed);
  }
  std::vector<int> running_text(Split split) const override { return source_->ids(split); }

 private:
  std::size_t width() const { return static_cast<std::size_t>(context()); }
  std::size_t size(Split split) const {
    const TextSource::Part part = source_->part(split);
    return part.end - part.begin;
  }
  TaskExample make(Random& random, Split split) const override {
    const std::size_t starts = size(split) - width() + 1;
    return hidden(source_->part(split).begin + random.below(starts), random);
  }
  TaskExample hidden(std::size_t begin, Random& random) const {
    return hide_tokens(source_->window(begin, context()), share_, vocabulary(), random);
  }

  std::shared_ptr<const TextSource> source_;
  int share_;
};

}  // namespace

TaskExample hide_tokens(std::vector<int> tokens, int share, const Vocabulary& vocabulary,
                        Random& random, int ids) {
  const int last = (ids > 0 ? ids : vocabulary.size()) - 1;
  std::vector<std::size_t> places;
  for (std::size_t t = 0; t < tokens.size(); ++t) {
    if (!vocabulary.is_special(tokens[t])) places.push_back(t);
  }
  TaskExample example;
  example.targets.assign(tokens.size(), -1);
  const std::size_t rounded = (places.size() * static_cast<std::size_t>(share) + 50) / 100;
  const std::size_t chosen = std::min(std::max<std::size_t>(rounded, 1), places.size());
  for (std::size_t i = 0; i < chosen; ++i) {
    std::swap(places[i], places[i + random.below(places.size() - i)]);
    int& token = tokens[places[i]];
    example.targets[places[i]] = token;
    const auto drawn = static_cast<int>(random.below(100));
    if (drawn < kHidden) {
      token = *vocabulary.id_of(Special::kMask);
    } else if (drawn < kHidden + kReplaced) {
      // The vocabulary has a token that is no special: the one that stands here.
      do token = random.between(0, last);
      while (vocabulary.is_special(token));
    }
  }
  example.tokens = std::move(tokens);
  return example;
}

std::unique_ptr<Task> masked_text_task(std::shared_ptr<const TextSource> source, int share) {
  return std::make_unique<MaskedTextTask>(std::move(source), share);
}

}  // namespace headlight
