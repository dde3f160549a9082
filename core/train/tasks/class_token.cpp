#include "core/train/tasks/class_token.h"

#include <algorithm>

namespace headlight {
namespace {

class FramedTask final : public Task {
 public:
  FramedTask(std::shared_ptr<const Task> own, std::shared_ptr<const Vocabulary> vocabulary,
             RowFrame frame)
      : Task({.id = own->id(),
              .kind = own->kind(),
              .vocabulary = std::move(vocabulary),
              .context = own->context() + frame.size(),
              .source_length = own->source_length(),
              .classes = own->classes(),
              .options = own->options(),
              .hides = own->hides_tokens(),
              .closed = own->closes_rows()}),
        own_(std::move(own)),
        frame_(std::move(frame)) {}

  bool has(Split split) const override { return own_->has(split); }
  std::size_t rows(Split split) const override { return own_->rows(split); }
  TaskExample row(std::size_t i, Split split) const override { return framed(own_->row(i, split)); }
  double bytes_per_token(Split split) const override { return own_->bytes_per_token(split); }

 private:
  TaskExample make(Random& random, Split split) const override {
    return framed(own_->draw(random, split));
  }
  TaskExample framed(TaskExample example) const {
    const std::size_t before = frame_.before.size(), behind = frame_.behind.size();
    put_around(frame_, example.tokens);
    example.targets.insert(example.targets.begin(), before, -1);
    example.targets.insert(example.targets.end(), behind, -1);
    if (example.scored.empty()) return example;
    example.scored.insert(example.scored.begin(), before, 0);
    example.scored.insert(example.scored.end(), behind, 0);
    return example;
  }

  const std::shared_ptr<const Task> own_;
  const RowFrame frame_;
};

}  // namespace

std::shared_ptr<const Vocabulary> with_class_token(std::shared_ptr<const Vocabulary> own) {
  return with_special(std::move(own), Special::kClass);
}

std::shared_ptr<const Vocabulary> with_special(std::shared_ptr<const Vocabulary> own,
                                               Special special) {
  if (own->id_of(special)) return own;
  if (!own->bpe()) {
    std::vector<std::string> tokens = *own->tokens();
    tokens.emplace_back(to_string(special));
    return std::make_shared<const Vocabulary>(own->cut(), std::move(tokens));
  }
  // Behind the bytes and the merges stand the specials.
  std::vector<Special> specials;
  for (int id = own->bpe()->size(); id < own->size(); ++id) {
    for (std::size_t s = 0; s < kSpecials; ++s) {
      if (own->id_of(static_cast<Special>(s)) == id) specials.push_back(static_cast<Special>(s));
    }
  }
  specials.push_back(special);
  return std::make_shared<const Vocabulary>(own->cut() == TextCut::kBytes
                                                ? Vocabulary::of_bytes(specials)
                                                : Vocabulary::of_bpe(*own->bpe(), specials));
}

RowFrame classifier_frame(const Config& config, const Vocabulary& vocabulary, bool closed) {
  RowFrame frame = frame_of(vocabulary);
  // Whatever form the config has: a run takes that of what it learns.
  if (frame.size() == 0 && config.pool == PoolKind::kFirst)
    frame.before = {vocabulary.id_of(Special::kClass).value_or(vocabulary.size())};
  const auto separator = vocabulary.id_of(Special::kSeparator);
  if (closed && !frame.behind.empty() && frame.behind.front() == separator)
    frame.behind.erase(frame.behind.begin());
  return frame;
}

std::shared_ptr<const Task> as_read_by(const Config& config, std::shared_ptr<const Task> task) {
  if (task->kind() != TaskKind::kClassify) return task;
  std::shared_ptr<const Vocabulary> vocabulary = task->shared_vocabulary();
  RowFrame frame = classifier_frame(config, *vocabulary, task->closes_rows());
  if (frame.size() == 0) return task;
  if (frame.before == std::vector{vocabulary->size()})
    vocabulary = with_class_token(std::move(vocabulary));
  return std::make_shared<const FramedTask>(std::move(task), std::move(vocabulary),
                                            std::move(frame));
}

std::span<const int> as_written(const Task& task, const std::vector<int>& tokens) {
  std::span<const int> own = tokens;
  if (task.kind() != TaskKind::kClassify) return own;
  RowFrame frame = frame_of(task.vocabulary());
  const auto begin = task.vocabulary().id_of(Special::kClass);
  if (frame.size() == 0 && begin) frame.before = {*begin};
  const std::size_t before = frame.before.size(), behind = frame.behind.size();
  if (own.size() > before && std::ranges::equal(own.first(before), frame.before))
    own = own.subspan(before);
  if (own.size() > behind && std::ranges::equal(own.last(behind), frame.behind))
    own = own.first(own.size() - behind);
  return own;
}

}  // namespace headlight
