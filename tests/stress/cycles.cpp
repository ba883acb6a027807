// Actors and managers that begin and end while messages are on their way.
//
//   test_stress_cycles ACTORS MANAGERS
//
// actors    ACTORS actors of one manager, spawned and stopped by handlers and by threads, while others tell them
//           things, and ask them.
// managers  MANAGERS managers, each with a ring of actors that pass messages round until it ends, and a thread that
//           sends to them meanwhile. They end in turn by stop(), by an actor that leaves the ring, and by the
//           destructor alone.
//
// It ends, and each message has been handled or counted as dead; exit status 1 if it is not so.
#include <array>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include <shunt/actor.hpp>

#include <support/expect.hpp>

namespace {

shunt::testing::expectations all_of_them;

/// What became of the messages `work`.
struct ledger {
  std::atomic<std::uint64_t> sent{0};
  std::atomic<std::uint64_t> handled{0};
  std::atomic<std::uint64_t> dead{0};

  [[nodiscard]] shunt::manager_options watched(int workers) {
    return {.runtime = {.workers = workers, .stuck_after = {}},
            .on_dead_letter = [this](const shunt::dead_letter& l) { dead += l.method.ends_with("::work") ? 1 : 0; }};
  }
  void check(const char* what) const {
    all_of_them.expect(handled + dead == sent, std::string(what) + ": " + std::to_string(sent) + " sent, " +
                                                   std::to_string(handled) + " handled, " + std::to_string(dead) +
                                                   " dead");
  }
};

template <typename Actor>
void give_work(ledger* book, const shunt::ref<Actor>& target) {
  ++book->sent;
  target.template tell<&Actor::work>();
}

// --- actors ---

struct mayfly {
  explicit mayfly(ledger* b) : book(b) {}
  void work() { ++book->handled; }
  void leave() { shunt::this_actor::stop(); }
  std::uint64_t look() const { return book->handled; }
  ledger* book;
};

/// Gives work to those that it has heard of, which may have ended, or be about to.
struct gossip {
  explicit gossip(ledger* b) : book(b) {}
  void hear(shunt::ref<mayfly> of) {
    known[next++ % known.size()] = of;
    for (const auto& target : known) {
      if (target) give_work(book, target);
    }
  }
  ledger* book;
  std::array<shunt::ref<mayfly>, 8> known{};
  std::size_t next = 0;
};

struct nursery {
  nursery(shunt::manager* a, ledger* b, std::vector<shunt::ref<gossip>> g) : all(a), book(b), gossips(std::move(g)) {}
  void raise(long count) {
    for (long i = 0; i != count; ++i) {
      const auto child = all->spawn<mayfly>({.name = i % 2 != 0 ? "youngest" : ""}, book);
      give_work(book, child);
      for (const auto& g : gossips) g.tell<&gossip::hear>(child);
      const auto answer = child.ask<&mayfly::look>();
      if (i % 3 == 0) {
        child.tell<&mayfly::leave>();
      } else {
        all->stop(child);
      }
      if (const auto other = all->find<mayfly>("youngest")) give_work(book, other);
      try {
        static_cast<void>(shunt::manager::await(answer));
      } catch (const shunt::unanswered&) {  // it had ended before
      }
    }
  }
  shunt::manager* all;
  ledger* book;
  std::vector<shunt::ref<gossip>> gossips;
};

void actors(long count) {
  ledger book;
  shunt::manager all(book.watched(2));
  std::vector<shunt::ref<gossip>> gossips;
  for (int worker = 0; worker != 2; ++worker) gossips.push_back(all.spawn<gossip>({.worker = worker}, &book));
  for (int worker = 0; worker != 2; ++worker) {
    all.spawn<nursery>({.worker = worker}, &all, &book, gossips).tell<&nursery::raise>(count / 4);
  }
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i != 2; ++i) threads.emplace_back([&] { nursery(&all, &book, gossips).raise(count / 4); });
  }
  all.drain();
  book.check("actors");
  all_of_them.expect(all.actors() == 4, "actors: 4 live; there are " + std::to_string(all.actors()));
  std::printf("actors: %ld begun and ended; %llu messages, %llu dead\n", count / 4 * 4,
              static_cast<unsigned long long>(book.sent), static_cast<unsigned long long>(book.dead));
}

// --- managers ---

struct link {
  explicit link(ledger* b) : book(b) {}
  void meet(shunt::ref<link> after) { next = after; }
  void work() {
    ++book->handled;
    give_work(book, next);
  }
  ledger* book;
  shunt::ref<link> next;
};

void managers(long count) {
  std::uint64_t sent = 0, dead = 0;
  for (long i = 0; i != count; ++i) {
    ledger book;
    {
      shunt::manager all(book.watched(1 + static_cast<int>(i % 2)));
      std::vector<shunt::ref<link>> ring;
      for (int k = 0; k != 4; ++k) ring.push_back(all.spawn<link>({}, &book));
      for (std::size_t k = 0; k != 4; ++k) ring[k].tell<&link::meet>(ring[(k + 1) % 4]);
      std::jthread sender([&] {
        for (std::size_t k = 0; k != 16; ++k) give_work(&book, ring[k % 4]);
      });
      switch (i % 3) {
        case 0: all.stop(); break;  // while the thread sends
        case 1:
          all.stop(ring[static_cast<std::size_t>(i) % 4]);  // all that comes there is dead: so it becomes quiet
          sender.join();
          all.drain();
          break;
        default: break;  // the thread ends, and the manager with messages in all places
      }
    }
    book.check("managers");
    sent += book.sent;
    dead += book.dead;
  }
  std::printf("managers: %ld begun and ended; %llu messages, %llu dead\n", count, static_cast<unsigned long long>(sent),
              static_cast<unsigned long long>(dead));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: test_stress_cycles ACTORS MANAGERS\n");
    return 2;
  }
  actors(std::atol(argv[1]));
  managers(std::atol(argv[2]));
  return all_of_them.unmet_count() == 0 ? 0 : 1;
}
