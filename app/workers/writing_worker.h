// WritingWorker: lets a model write on behind a sentence, on a thread of its own.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "core/base/mailbox.h"
#include "core/document/document.h"
#include "core/train/sentence_writer.h"

namespace headlight {

struct WritingRequest {
  std::shared_ptr<const Model> model;
  Document document;
  SamplingOptions sampling;
  std::uint64_t seed = 1;
  bool operator==(const WritingRequest&) const = default;
};

/// The sentence as far as it is written.
struct Writing {
  std::string sentence;
  bool done = false;  // there is no more to come
  Message problem;    // why; empty: the row is full, or the model has ended it
};

class WritingWorker {
 public:
  /// `background` false: a token at each poll, for pictures and tests.
  explicit WritingWorker(bool background);

  /// SentenceWriter::can_write() must hold. What was being written is dropped.
  void begin(WritingRequest);
  void stop();
  /// What has been added since last time.
  std::optional<Writing> poll();

 private:
  using Box = Mailbox<OneKey, WritingRequest, Writing>;
  Writing go_on(const WritingRequest&, std::uint64_t id);

  const bool background_;
  // Of the thread that writes: whose request it is, and how far it has come.
  std::uint64_t writes_ = 0;
  std::optional<SentenceWriter> writer_;
  std::string sentence_;
  std::optional<WritingRequest> request_;  // without a background
  Box mailbox_;
};

}  // namespace headlight
