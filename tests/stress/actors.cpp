// Typed actors under load.
//
//   test_stress_actors MESSAGES
//
// failures  MESSAGES messages, by actors and by threads, to 1,000 actors on two workers, each of which fails at random,
//           some twelve times in all. A fifth of them has supervisors that give up. Whatever becomes of the actors,
//           each message has been handled once, or was told of as a dead letter.
// flood     one slow actor with the default mailbox, and senders that would send MESSAGES messages at once: they are
//           held back, resident memory stays below a bound, and what is exempt from the mailbox's bound comes through.
//
// Prints what was counted; exit status 1 if it is not so.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <shunt/actor.hpp>
#include <shunt/base/random.hpp>

#include <support/expect.hpp>

using namespace std::chrono_literals;

namespace {

shunt::testing::expectations all_of_them;

double resident_mb() {
  std::ifstream statm("/proc/self/statm");
  long whole = 0, resident = 0;
  statm >> whole >> resident;
  return static_cast<double>(resident) * 4096 / 1e6;
}

/// Which messages were handled.
class ledger {
 public:
  explicit ledger(std::size_t messages) : seen_(messages) {}
  void handled(std::size_t message) {
    if (seen_[message].exchange(true, std::memory_order_relaxed)) ++twice;
    ++once;
  }
  std::atomic<std::uint64_t> once{0};
  std::atomic<std::uint64_t> twice{0};

 private:
  std::vector<std::atomic<bool>> seen_;
};

struct frail {
  frail(ledger* l, std::size_t once_in) : book(l), fails_once_in(once_in) {}
  void work(std::size_t message) {
    book->handled(message);
    if (shunt::counter_random(1).below(message, fails_once_in) == 0) throw std::runtime_error("at random");
  }
  ledger* book;
  std::size_t fails_once_in;
};

struct sender {
  sender(std::vector<shunt::ref<frail>> t, std::size_t f, std::size_t e) : to(std::move(t)), first(f), end(e) {}
  void begin() {
    for (auto message = first; message != end; ++message) {
      to[shunt::counter_random(2).below(message, to.size())].tell<&frail::work>(message);
    }
  }
  std::vector<shunt::ref<frail>> to;
  std::size_t first, end;
};

void failures(std::size_t messages) {
  ledger book(messages);
  std::atomic<std::uint64_t> reports{0};
  shunt::manager all({.runtime = {.workers = 2, .stuck_after = {}}, .report = [&](std::string_view) { ++reports; }});
  const auto patient = all.supervise({.restarts = 1'000'000'000});
  std::vector<shunt::ref<frail>> victims;
  for (int i = 0; i != 1'000; ++i) {
    const auto above =
        i % 5 != 0 ? patient
                   : all.supervise({.how = i % 2 != 0 ? shunt::strategy::one_for_one : shunt::strategy::all_for_one,
                                    .restarts = 3,
                                    .within = 1h});
    victims.push_back(all.spawn<frail>({.under = above}, &book, std::max<std::size_t>(messages / 12'000, 2)));
  }
  const double before = resident_mb();
  const auto piece = messages / 10;
  for (std::size_t i = 0; i != 8; ++i)
    all.spawn<sender>({}, victims, i * piece, (i + 1) * piece).tell<&sender::begin>();
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 8; i != 10; ++i) {
      threads.emplace_back([&, i] { sender(victims, i * piece, (i + 1) * piece).begin(); });
    }
  }
  all.drain();
  const double grown = resident_mb() - before;
  const auto sent = 10 * piece;
  std::printf(
      "failures: %zu sent, %llu handled, %llu dead, %llu twice; %llu restarts, %llu of 1000 actors left; %.0f MB\n",
      sent, static_cast<unsigned long long>(book.once), static_cast<unsigned long long>(all.dead_letters()),
      static_cast<unsigned long long>(book.twice), static_cast<unsigned long long>(all.restarts()),
      static_cast<unsigned long long>(all.actors() - 8), grown);
  all_of_them.expect(book.twice == 0, "no message is handled twice");
  all_of_them.expect(book.once + all.dead_letters() == sent, "each message is handled or dead");
  all_of_them.expect(all.restarts() > 0, "actors are made anew");
  all_of_them.expect(all.actors() - 8 < 1'000, "supervisors give up");
  // 1,000 mailboxes of 1,024 slots of 64 bytes, and what is on its way; sanitizers keep a multiple of it.
  all_of_them.expect(grown < 4 * (1'000 * 1'024 * 64 + 2 * 8'192 * 64) / 1e6, "memory is bounded by the mailboxes");
}

struct slow {
  void work(long) {
    const auto until = std::chrono::steady_clock::now() + 5us;
    while (std::chrono::steady_clock::now() < until) {
    }
    ++handled;
  }
  void look(std::chrono::steady_clock::time_point asked) {
    longest = std::max(longest, std::chrono::steady_clock::now() - asked);
  }
  std::pair<long, long> get() const { return {handled, std::chrono::ceil<std::chrono::microseconds>(longest).count()}; }
  long handled = 0;
  std::chrono::steady_clock::duration longest{0};
};

struct flooder {
  void begin(shunt::ref<slow> to, long messages) {
    for (long i = 0; i != messages; ++i) to.tell<&slow::work>(i);
  }
};

void flood(std::size_t messages) {
  shunt::manager all(shunt::sched::options{.workers = 2, .stuck_after = {}});
  const auto victim = all.spawn<slow>({.worker = 0});
  const double before = resident_mb();
  const auto each = static_cast<long>(messages / 8);
  for (int i = 0; i != 8; ++i) all.spawn<flooder>().tell<&flooder::begin>(victim, each);
  double most = 0;
  int asked = 0;
  std::pair<long, long> seen{0, 0};
  do {
    victim.tell_after<&slow::look>(0ns, std::chrono::steady_clock::now());  // exempt from the mailbox's bound
    ++asked;
    std::this_thread::sleep_for(10ms);
    most = std::max(most, resident_mb() - before);
    seen = all.await(victim.ask<&slow::get>());
  } while (seen.first < 8 * each);
  all.drain();
  seen = all.await(victim.ask<&slow::get>());
  std::printf("flood: %ld of %ld handled; %.1f MB; %d exempt messages, the longest under way for %.1f ms\n", seen.first,
              8 * each, most, asked, static_cast<double>(seen.second) / 1e3);
  all_of_them.expect(seen.first == 8 * each, "all are handled");
  all_of_them.expect(most < 50, "memory is bounded by the mailbox, and by what is under way");
  all_of_them.expect(seen.second > 0, "exempt messages come through");
}

}  // namespace

int main(int argc, char** argv) {
  const auto messages = argc == 2 ? std::strtoull(argv[1], nullptr, 10) : 0;
  if (messages < 24'000) {
    std::fprintf(stderr, "usage: test_stress_actors MESSAGES, at least 24000\n");
    return 2;
  }
  failures(messages);
  flood(messages / 10);
  return all_of_them.unmet_count() == 0 ? 0 : 1;
}
