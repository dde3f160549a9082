#include "core/train/tasks/class_token.h"

namespace headlight {
namespace {

class ClassTokenTask final : public Task {
 public:
  explicit ClassTokenTask(std::shared_ptr<const Task> own)
      : Task({.id = own->id(),
              .kind = own->kind(),
              .vocabulary = with_class_token(own->shared_vocabulary()),
              .context = own->context() + 1,
              .source_length = own->source_length(),
              .classes = own->classes(),
              .options = own->options(),
              .hides = own->hides_tokens()}),
        own_(std::move(own)) {}

  bool has(Split split) const override { return own_->has(split); }
  std::size_t rows(Split split) const override { return own_->rows(split); }
  TaskExample row(std::size_t i, Split split) const override { return begun(own_->row(i, split)); }
  double bytes_per_token(Split split) const override { return own_->bytes_per_token(split); }

 private:
  TaskExample make(Random& random, Split split) const override {
    return begun(own_->draw(random, split));
  }
  TaskExample begun(TaskExample example) const {
    example.tokens.insert(example.tokens.begin(), *vocabulary().id_of(Special::kClass));
    example.targets.insert(example.targets.begin(), -1);
    if (!example.scored.empty()) example.scored.insert(example.scored.begin(), 0);
    return example;
  }

  std::shared_ptr<const Task> own_;
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

std::shared_ptr<const Task> as_read_by(const Config& config, std::shared_ptr<const Task> task) {
  // Whatever form the config has: a run takes that of what it learns.
  const bool begins = task->kind() == TaskKind::kClassify && config.pool == PoolKind::kFirst;
  return begins ? std::make_shared<const ClassTokenTask>(std::move(task)) : task;
}

std::span<const int> as_written(const Task& task, const std::vector<int>& tokens) {
  const auto begin = task.kind() == TaskKind::kClassify ? task.vocabulary().id_of(Special::kClass)
                                                        : std::optional<int>();
  const bool has = begin && !tokens.empty() && tokens[0] == *begin;
  return std::span(tokens).subspan(has ? 1 : 0);
}

}  // namespace headlight
