#include "app/workers/background_writer.h"

#include <filesystem>

#include "core/base/error.h"
#include "core/io/atomic_file.h"

namespace headlight {

BackgroundWriter::~BackgroundWriter() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();  // what waits is still written
}

void BackgroundWriter::write(const std::string& path, Text text) {
  if (!background_) return carry_out(path, text);
  {
    const std::lock_guard lock(mutex_);
    waiting_[path] = std::move(text);
    if (!thread_.joinable()) thread_ = std::thread([this] { loop(); });
  }
  changed_.notify_all();
}

void BackgroundWriter::wait() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return waiting_.empty() && !busy_; });
}

bool BackgroundWriter::idle() {
  const std::lock_guard lock(mutex_);
  return waiting_.empty() && !busy_;
}

std::string BackgroundWriter::take_problem(const std::string& path) {
  const std::lock_guard lock(mutex_);
  const auto at = problems_.find(path);
  if (at == problems_.end()) return "";
  std::string problem = std::move(at->second);
  problems_.erase(at);
  return problem;
}

void BackgroundWriter::carry_out(const std::string& path, const Text& text) {
  std::string problem;
  std::error_code ignored;
  try {
    if (text) {
      const std::filesystem::path folder = std::filesystem::path(path).parent_path();
      std::filesystem::create_directories(folder, ignored);
      write_file_atomic(path, text());
    } else {
      std::filesystem::remove(path, ignored);
    }
  } catch (const std::exception& error) {
    problem = error.what();
  }
  if (problem.empty()) return;
  const std::lock_guard lock(mutex_);
  problems_[path] = problem;
}

void BackgroundWriter::loop() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return stop_ || !waiting_.empty(); });
    if (waiting_.empty()) return;
    const auto [path, text] = *waiting_.begin();
    waiting_.erase(waiting_.begin());
    busy_ = true;
    lock.unlock();
    carry_out(path, text);
    lock.lock();
    busy_ = false;
    changed_.notify_all();
  }
}

}  // namespace headlight
