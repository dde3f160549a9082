#include "app/workers/background_writer.h"

#include <filesystem>

#include "core/io/atomic_file.h"
#include "core/io/file_steps.h"

namespace headlight {
namespace {

void write_or_remove(const std::string& path, const std::function<std::string()>& text) {
  std::error_code ignored;
  if (!text) {
    std::filesystem::remove(path, ignored);
    return;
  }
  std::error_code error;
  std::filesystem::create_directories(std::filesystem::path(path).parent_path(), error);
  if (error) fail_to_save(path, error.value());
  write_file_atomic(path, text());
}

}  // namespace

BackgroundWriter::BackgroundWriter(bool background)
    : background_(background),
      mailbox_([](const auto& job) { job.request(); }, {.finishes = true}) {}

void BackgroundWriter::write(const std::string& path, Text text) {
  carry_out(path, [path, text = std::move(text)] { write_or_remove(path, text); });
}

void BackgroundWriter::carry_out(const std::string& path, std::function<void()> what) {
  if (background_) {
    mailbox_.post(path, std::move(what));
    return;
  }
  try {
    what();
  } catch (...) {
    problems_[path] = caught_problem();
  }
}

std::string BackgroundWriter::take_problem(const std::string& path) {
  auto at_once = problems_.extract(path);
  if (at_once) return say(Language::kEnglish, at_once.mapped());
  const auto reply = mailbox_.take(path);
  return reply ? say(Language::kEnglish, reply->problem) : "";
}

}  // namespace headlight
