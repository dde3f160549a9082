// The mailbox that lies under every worker.
#include "core/base/mailbox.h"

#include <doctest/doctest.h>

#include <atomic>
#include <new>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "tests/support/gate.h"

namespace headlight::test_mailbox {

using test::Gate;

TEST_CASE("mailbox: the latest request of a key wins, and is answered once") {
  Gate gate;
  Mailbox<OneKey, int, int> box([&](const auto& job) {
    gate.pass();
    return job.request * 10;
  });
  gate.close();
  box.post({}, 1);
  gate.wait_for(1);  // 1 is under way
  box.post({}, 2);
  const auto last = box.post({}, 3);
  CHECK(box.awaits({}));
  gate.open();
  box.wait();
  const auto reply = box.take({});
  REQUIRE(reply);
  CHECK(reply->answer == 30);
  CHECK(reply->id == last);
  CHECK(gate.passed() == 2);  // 2 never began
  CHECK_FALSE(box.take({}));
  CHECK_FALSE(box.awaits({}));
}

TEST_CASE("mailbox: an answer to what is not wanted any more never comes") {
  Gate gate;
  std::atomic<bool> asked_to_stop = false;
  Mailbox<int, int, int> box([&](const auto& job) {
    gate.pass();
    asked_to_stop = job.stop.stop_requested();
    return job.request;
  });
  gate.close();
  box.post(1, 1);
  gate.wait_for(1);
  SUBCASE("dropped while it is under way") { box.drop(1); }
  SUBCASE("asked again while it is under way") {
    box.post(1, 2);
    gate.let_through(1);
    gate.wait_for(2);  // 1 is done, 2 under way
    CHECK_FALSE(box.take(1));
    box.drop(1);
  }
  SUBCASE("asked again once it was answered") {
    gate.let_through(1);
    REQUIRE(box.wait_for(1, 100));
    box.post(1, 2);
    CHECK_FALSE(box.take(1));
    gate.wait_for(2);
    box.drop(1);
  }
  CHECK_FALSE(box.awaits(1));
  box.post(2, 7);  // another key has nothing to do with it
  const int arrived = gate.arrived();
  gate.let_through(1);
  gate.wait_for(arrived + 1);
  CHECK(asked_to_stop);
  gate.open();
  box.wait();
  CHECK_FALSE(box.take(1));
  const auto other = box.take_any();
  REQUIRE(other);
  CHECK(other->answer == 7);
  CHECK_FALSE(asked_to_stop);
}

TEST_CASE("mailbox: whatever is thrown becomes a problem, and the thread goes on") {
  Mailbox<int, int, int> box([](auto& job) -> int {
    job.again = true;  // not after this
    if (job.request == 0) throw Error("a file is missing");
    if (job.request == 1) throw std::bad_alloc();
    if (job.request == 2) throw std::logic_error("a bug");
    if (job.request == 3) throw 42;
    job.again = false;
    return job.request;
  });
  const auto said = [&](int request, Language language) {
    box.post(0, request);
    box.wait();
    const auto reply = box.take(0);
    return reply ? say(language, reply->problem) : "no reply";
  };
  CHECK(said(0, Language::kEnglish) == "a file is missing");
  CHECK(said(1, Language::kEnglish).find("more memory than could be had") != std::string::npos);
  CHECK(said(1, Language::kChinese).find("内存") != std::string::npos);
  CHECK(said(2, Language::kEnglish) == "something went wrong inside the program: a bug");
  CHECK(said(2, Language::kChinese) == "程序内部出错：a bug");
  CHECK(said(3, Language::kEnglish).find("inside the program") != std::string::npos);
  CHECK(said(4, Language::kEnglish) == "");
}

TEST_CASE("mailbox: stopped while it is busy it waits for the end, and takes nothing more") {
  for (int round = 0; round < 200; ++round) {
    std::atomic<int> begun = 0, ended = 0, closed = 0;
    {
      Mailbox<int, int, void> box(
          [&](const auto& job) {
            ++begun;
            while (!job.stop.stop_requested()) std::this_thread::yield();
            ++ended;
          },
          {.end = [&] { ++closed; }});
      for (int i = 0; i < 5; ++i) box.post(i, i);
      if (round % 2 == 0)
        while (begun == 0) std::this_thread::yield();
      box.stop();
      CHECK(box.post(9, 9) == 0);
      box.wait();
      CHECK_FALSE(box.busy());
    }
    CHECK(begun <= 1);
    CHECK(begun == ended);
    CHECK(closed == 1);
  }
  const Mailbox<int, int, void> never_used([](const auto&) {});
}

TEST_CASE("mailbox: no request is forgotten, however the threads take turns") {
  Mailbox<int, int, int> box([](const auto& job) { return job.request + 1; });
  for (int round = 0; round < 20000; ++round) {
    const int key = round % 3;
    const auto id = box.post(key, round);
    if (round % 5 == 0) box.post((round + 1) % 3, -1);
    REQUIRE(box.wait_for(key, 100));
    const auto reply = box.take(key);
    REQUIRE(reply);
    REQUIRE(reply->id == id);
    REQUIRE(reply->answer == round + 1);
  }
}

TEST_CASE("mailbox: requests from several threads, of which the last of each key is answered") {
  Mailbox<int, int, int> box([](const auto& job) { return job.request; });
  std::vector<std::thread> threads;
  for (int key = 0; key < 4; ++key) {
    threads.emplace_back([&box, key] {
      for (int i = 0; i <= 2000; ++i) {
        box.post(key, i);
        if (i % 7 == 0) box.take(key);
        if (i % 11 == 0) box.drop(key);
        if (i % 13 == 0) box.wait(key);
      }
      box.post(key, key);
    });
  }
  for (std::thread& thread : threads) thread.join();
  box.wait();
  for (int key = 0; key < 4; ++key) CHECK(box.take(key)->answer == key);
}

TEST_CASE("mailbox: rising keys are a queue, in which nothing is lost") {
  std::vector<int> done;
  Mailbox<std::uint64_t, int, void> box([&](const auto& job) { done.push_back(job.request); });
  for (int i = 0; i < 1000; ++i) box.post(static_cast<std::uint64_t>(i), i);
  box.wait();
  REQUIRE(done.size() == 1000);
  for (int i = 0; i < 1000; ++i) CHECK(done[static_cast<std::size_t>(i)] == i);
  CHECK_FALSE(box.take_any());  // there is nothing to say of them
}

TEST_CASE("mailbox: what goes on lets others pass, until it is dropped or done") {
  Gate gate;
  std::vector<std::string> order;
  Mailbox<int, std::string, int> box([&](auto& job) {
    gate.pass();
    order.push_back(job.request);
    job.again = job.key == 9 && order.size() < 5;
    return static_cast<int>(order.size());
  });
  gate.close();
  box.post(9, "long");
  gate.wait_for(1);
  box.post(1, "short");
  gate.open();
  box.wait();
  CHECK(order == std::vector<std::string>{"long", "short", "long", "long", "long"});
  CHECK(box.take(9)->answer == 5);
  order.clear();
  gate.close();
  box.post(9, "long");
  gate.wait_for(6);
  box.drop(9);
  gate.open();
  box.wait();
  CHECK(order.size() == 1);
  CHECK_FALSE(box.take(9));
}

TEST_CASE("mailbox: what must not be left half done is answered although a newer one waits") {
  Gate gate;
  Mailbox<int, int, int> box(
      [&](const auto& job) {
        gate.pass();
        return job.stop.stop_requested() ? -1 : job.request;
      },
      {.finishes = true});
  gate.close();
  box.post(0, 1);
  gate.wait_for(1);
  box.post(0, 2);
  gate.let_through(1);
  gate.wait_for(2);
  REQUIRE(box.awaits(0));
  CHECK(box.take(0)->answer == 1);
  gate.open();
  box.wait();
  CHECK(box.take(0)->answer == 2);
}

TEST_CASE("mailbox: it rests between requests that are in no hurry") {
  constexpr auto kRest = std::chrono::milliseconds(30);
  Mailbox<OneKey, int, int> box([](const auto& job) { return job.request; }, {.rest = kRest});
  const auto now = [] { return std::chrono::steady_clock::now(); };
  box.post({}, 1, false);
  box.wait();
  const auto began = now();
  box.post({}, 2, false);
  REQUIRE(box.wait_for({}, 100));
  box.take({});
  box.post({}, 3, false);
  REQUIRE(box.wait_for({}, 100));
  CHECK(now() - began >= kRest);  // at least before the last one
}

}  // namespace headlight::test_mailbox
