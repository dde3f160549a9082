// Mailbox: a thread of its own that carries out requests one at a time, under every worker.
#pragma once

#include <chrono>
#include <compare>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <stop_token>
#include <thread>
#include <type_traits>
#include <utility>
#include <variant>

#include "core/base/message.h"

namespace headlight {

/// Inside a catch block: what was thrown, whatever it is, to say to a person.
Message caught_problem();

/// The key of a mailbox whose requests all take each other's place.
struct OneKey {
  auto operator<=>(const OneKey&) const = default;
};

struct MailboxOptions {
  /// Run on the mailbox's thread before its first request and after its last.
  std::function<void()> begin = {}, end = {};
  /// What is under way is still wanted when another request takes the place behind it, and is
  /// answered: for work that must not be left half done, and answers that say what they belong to.
  bool finishes = false;
  /// After each request the thread rests for so long, unless the next one is in a hurry.
  std::chrono::milliseconds rest{0};
};

/// Requests go in under a key, answers are taken out under it. Of the requests with one key the
/// latest wins: what was asked for before it is dropped, whether it waits, is under way, or was
/// answered and not taken yet, so that take() never gives what is not wanted any more. The smallest
/// key comes first; rising keys make a queue. Work that throws, whatever it throws, is answered by
/// a problem. The thread starts with the first request. Any thread may call; the answers of one key
/// are taken by one. Of an Answer of void only problems are kept, until the next
/// request of that key has gone well.
template <class Key, class Request, class Answer>
class Mailbox {
 public:
  using Id = std::uint64_t;  // of a request, never 0
  using Value = std::conditional_t<std::is_void_v<Answer>, std::monostate, Answer>;

  /// A request that is being carried out.
  struct Job {
    const Key& key;
    const Request& request;
    const Id id;
    const std::stop_token stop;  // asked to stop once the answer is not wanted any more
    bool again = false;          // set: there is more to do, after what has come meanwhile
  };
  struct Reply {
    Id id = 0;
    Value answer{};
    Message problem;  // empty: there is an answer
  };
  using Work = std::function<Answer(Job&)>;

  explicit Mailbox(Work work, MailboxOptions options = {})
      : work_(std::move(work)), options_(std::move(options)) {}
  ~Mailbox() { stop(); }
  Mailbox(const Mailbox&) = delete;
  Mailbox& operator=(const Mailbox&) = delete;

  /// Asks for something. 0: nothing will come of it, because stop() was called, or because the
  /// system gives no thread, which is the answer then; the next request tries again.
  Id post(const Key& key, Request request, bool hurry = true) {
    const std::lock_guard lock(mutex_);
    if (stopping_) return 0;
    if (!options_.finishes) forget(key);
    waiting_.insert_or_assign(key, Waiting{++last_id_, std::move(request)});
    hurry_ = hurry;
    if (!has_thread(key)) return 0;
    changed_.notify_all();
    return last_id_;
  }

  /// It is not wanted any more, nor is an answer to it.
  void drop(const Key& key) {
    const std::lock_guard lock(mutex_);
    forget(key);
    waiting_.erase(key);
    changed_.notify_all();
  }

  /// The answer to the latest request with this key, once.
  std::optional<Reply> take(const Key& key) {
    const std::lock_guard lock(mutex_);
    auto node = replies_.extract(key);
    return node ? std::optional<Reply>(std::move(node.mapped())) : std::nullopt;
  }
  /// The same of any key, the smallest first.
  std::optional<Reply> take_any() {
    const std::lock_guard lock(mutex_);
    if (replies_.empty()) return std::nullopt;
    return std::move(replies_.extract(replies_.begin()).mapped());
  }

  /// Was something asked for that has not been taken, and not been dropped?
  bool awaits(const Key& key) const {
    const std::lock_guard lock(mutex_);
    return replies_.contains(key) || waiting_.contains(key) || (running_ == key && wanted_);
  }
  /// Is something waiting or under way?
  bool busy() const {
    const std::lock_guard lock(mutex_);
    return is_busy();
  }

  /// Blocks until nothing waits and nothing is under way.
  void wait() {
    std::unique_lock lock(mutex_);
    hurry_ = true;
    changed_.notify_all();
    changed_.wait(lock, [this] { return !is_busy(); });
  }
  /// The same for one key.
  void wait(const Key& key) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return !is_open(key); });
  }
  /// Blocks until there is an answer to take, but no longer than this; is there one?
  bool wait_for(const Key& key, double seconds) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::duration<double>(seconds),
                             [&] { return replies_.contains(key); });
  }

  /// For good: drops what waits, asks what is under way to stop, and waits for its end.
  void stop() {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
      waiting_.clear();
      cancel();
    }
    changed_.notify_all();
    if (thread_.joinable()) thread_.join();
  }

 private:
  struct Waiting {
    Id id;
    Request request;
  };

  bool has_thread(const Key& key) {
    try {
      if (!thread_.joinable()) thread_ = std::thread([this] { loop(); });
      return true;
    } catch (...) {
      waiting_.erase(key);
      replies_.insert_or_assign(key, Reply{last_id_, {}, caught_problem()});
      return false;
    }
  }
  bool is_busy() const { return !waiting_.empty() || running_; }
  bool is_open(const Key& key) const { return waiting_.contains(key) || running_ == key; }
  void cancel() {
    wanted_ = false;
    stop_.request_stop();
  }
  void forget(const Key& key) {
    replies_.erase(key);
    if (running_ == key) cancel();
  }

  void loop() {
    if (options_.begin) options_.begin();
    std::unique_lock lock(mutex_);
    while (true) {
      changed_.wait(lock, [this] { return stopping_ || !waiting_.empty(); });
      changed_.wait_until(lock, rested_at_, [this] { return stopping_ || hurry_; });
      if (stopping_) break;
      if (!waiting_.empty()) carry_out(waiting_.extract(waiting_.begin()), lock);
    }
    lock.unlock();
    if (options_.end) options_.end();
  }

  // With the lock open meanwhile.
  void carry_out(typename std::map<Key, Waiting>::node_type node,
                 std::unique_lock<std::mutex>& lock) {
    running_ = node.key();
    wanted_ = true;
    stop_ = std::stop_source();
    Job job{node.key(), node.mapped().request, node.mapped().id, stop_.get_token()};
    lock.unlock();
    Reply reply = answer(job);
    lock.lock();
    if (wanted_) {
      replies_.erase(job.key);
      if (!std::is_void_v<Answer> || !reply.problem.empty())
        replies_.emplace(job.key, std::move(reply));
      if (job.again) waiting_.insert(std::move(node));  // a newer one that waits stays
    }
    running_.reset();
    rested_at_ = std::chrono::steady_clock::now() + options_.rest;
    changed_.notify_all();
    // Large memory may go with the request: not while others wait for the lock.
    lock.unlock();
    node = {};
    reply = {};
    lock.lock();
  }

  Reply answer(Job& job) {
    Reply reply{job.id, {}, {}};
    try {
      if constexpr (std::is_void_v<Answer>) {
        work_(job);
      } else {
        reply.answer = work_(job);
      }
    } catch (...) {
      reply.problem = caught_problem();
      job.again = false;
    }
    return reply;
  }

  const Work work_;
  const MailboxOptions options_;
  mutable std::mutex mutex_;  // guards the rest
  std::condition_variable changed_;
  std::map<Key, Waiting> waiting_;
  std::map<Key, Reply> replies_;
  std::optional<Key> running_;  // and whether its answer is wanted, and how it is told if not
  bool wanted_ = false;
  std::stop_source stop_;
  bool hurry_ = true, stopping_ = false;
  std::chrono::steady_clock::time_point rested_at_{};
  Id last_id_ = 0;
  std::thread thread_;
};

}  // namespace headlight
