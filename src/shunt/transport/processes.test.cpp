// The transport `processes`, with ranks that are threads of this process: they map the same memory, so that a race
// detector sees all of them. tests/ranks has the same between real processes.
#include <pthread.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>

#include <shunt/base/error.hpp>
#include <shunt/base/futex.hpp>
#include <shunt/rail.hpp>
#include <shunt/transport/detail/job_memory.hpp>
#include <shunt/transport/detail/processes.hpp>
#include <shunt/transport/detail/shared_trains.hpp>
#include <shunt/transport/processes.hpp>
#include <shunt/transport/transport.hpp>
#include <support/expect.hpp>

using namespace shunt;
using namespace std::chrono_literals;
using transport::detail::job_memory;
using transport::detail::memory_file;
using transport::detail::shared_trains;

namespace {

/// Runs f(rank) on as many threads. Assertions only afterwards: Catch2's are of one thread.
void on_ranks(int ranks, const std::function<void(int)>& f) {
  std::vector<std::thread> all;
  for (int r = 0; r < ranks; ++r) all.emplace_back([&f, r] { f(r); });
  for (auto& t : all) t.join();
}

/// A job's descriptors, and each rank's end.
class job_of_threads {
 public:
  explicit job_of_threads(int ranks)
      : ranks_(ranks), trains_(memory_file("test")), meeting_(job_memory::make(ranks, trains_.get())) {}
  [[nodiscard]] std::unique_ptr<transport::carrier> open(int rank, transport::limits limits = {.gather = 10min}) const {
    return transport::detail::open_processes({rank, ranks_, meeting_.get(), trains_.get()}, limits);
  }

 private:
  int ranks_;
  owned_descriptor trains_;
  owned_descriptor meeting_;
};

transport::service service_of(std::vector<int> rank_of, std::size_t trains) {
  return {.capacity = 1024,
          .deadline = 30s,
          .rank_of = std::move(rank_of),
          .yard = rail::train_pool::bytes_for(trains, 1024)};
}

/// Sets variables for a scope.
class variables {
 public:
  variables(const char* rank, const char* job) {
    set("SHUNT_RANK", rank);
    set("SHUNT_JOB", job);
  }
  ~variables() {
    ::unsetenv("SHUNT_RANK");
    ::unsetenv("SHUNT_JOB");
  }

 private:
  static void set(const char* name, const char* value) {
    if (value != nullptr) ::setenv(name, value, 1);
  }
};

}  // namespace

TEST_CASE("processes: every rank gets every text, of any length, as often as it is asked") {
  constexpr int ranks = 4;
  const job_of_threads job(ranks);
  std::atomic<int> wrong{0};
  on_ranks(ranks, [&](int rank) {
    const auto end = job.open(rank);
    for (const std::size_t factor : {0u, 1u, 1'333u, 4'000u, 9'000u, 0u, 3u}) {
      const auto text_of = [factor](int r) {
        return std::string(factor * static_cast<std::size_t>(r % 3), static_cast<char>('a' + r));
      };
      const auto all = end->exchange(text_of(rank));
      for (int r = 0; r < ranks; ++r) wrong += all[static_cast<std::size_t>(r)] == text_of(r) ? 0 : 1;
    }
  });
  CHECK(wrong == 0);
}

TEST_CASE("processes: trains go through inboxes, and wake the ranks that sleep") {
  constexpr int ranks = 3, rounds = 2'000;
  const job_of_threads job(ranks);
  std::array<std::uint64_t, ranks> sums{};
  on_ranks(ranks, [&](int rank) {
    const auto end = job.open(rank);
    for (int service = 0; service < 3; ++service) {  // each one finds its memory as new
      end->start(service_of({0, 1, 2}, 4));
      const auto mine = end->place_of(rank);
      const auto next = end->place_of((rank + 1) % ranks);
      rail::train_pool pool(*mine.inbox, 1024, 2, 4, 4, mine.yard);
      std::uint64_t arrived = 0;
      int home = 0;
      const auto take = [&](int wanted_home, std::uint64_t wanted) {
        while (home < wanted_home || arrived < wanted) {
          rail::train* t = mine.inbox->arrivals();
          if (t == nullptr) {
            if (!mine.inbox->arm()) continue;
            if (mine.token->exchange(0, std::memory_order_acquire) == 0) {
              futex_wait(*mine.token, 0, 10s, futex_scope::machine);
              mine.token->exchange(0, std::memory_order_acquire);
            }
            mine.inbox->disarm();
          }
          while (t != nullptr) {
            rail::train& now = *t;
            t = t->next;
            if (now.head.empty != 0) {
              pool.put(now);
              ++home;
            } else {
              std::uint64_t number = 0;
              std::memcpy(&number, now.goods(), sizeof number);
              sums[static_cast<std::size_t>(rank)] += number;
              ++arrived;
              rail::send_home(now);
            }
          }
        }
      };
      for (int i = 0; i < rounds; ++i) {
        rail::train* const t = pool.take(0);
        const auto number = static_cast<std::uint64_t>(i);
        std::memcpy(t->goods(), &number, sizeof number);
        t->head.bytes = sizeof number;
        next.inbox->deliver(*t);
        take(i, static_cast<std::uint64_t>(i));  // so that two are under way at most
      }
      take(rounds, rounds);
      end->stop();
    }
  });
  for (const auto s : sums) CHECK(s == 3ull * rounds * (rounds - 1) / 2);
}

TEST_CASE("processes: a rank that does not come is given up where the caller wants that") {
  const auto trains = memory_file("test");
  const auto file = job_memory::make(2, trains.get());
  job_memory memory(file.get(), 0, 2);
  memory.say_opened();
  CHECK(memory.has_opened(0));
  CHECK_FALSE(memory.has_opened(1));
  int looks = 0;
  CHECK_FALSE(memory.meet([&looks](std::chrono::nanoseconds) { return ++looks < 2; }));
  CHECK(looks == 2);
  CHECK_THROWS_WITH(memory.exchange("text", [](std::chrono::nanoseconds) { return false; }),
                    Catch::Contains("did not come to an exchange"));
}

TEST_CASE("processes: a rank that gets signals while it waits looks for the others all the same") {
  const auto trains = memory_file("test");
  const auto file = job_memory::make(2, trains.get());
  job_memory memory(file.get(), 0, 2);
  struct sigaction nothing{};
  nothing.sa_handler = [](int) {};
  struct sigaction before{};
  ::sigaction(SIGUSR1, &nothing, &before);
  std::atomic<bool> over{false};
  bool in_time = false;
  std::thread signals([&over, &in_time, to = ::pthread_self()] {
    for (int i = 0; i != 4'000 && !in_time; ++i) {
      ::pthread_kill(to, SIGUSR1);
      std::this_thread::sleep_for(5ms);
      in_time = over;
    }
    while (!over) std::this_thread::sleep_for(5ms);
  });
  int looks = 0;
  CHECK_FALSE(memory.meet([&looks](std::chrono::nanoseconds) { return ++looks < 2; }));
  over = true;
  signals.join();
  ::sigaction(SIGUSR1, &before, nullptr);
  CHECK(in_time);
  CHECK(looks == 2);
}

TEST_CASE("processes: memory that is not a job's is refused") {
  const auto other = memory_file("test");
  CHECK_THROWS_AS(job_memory(other.get(), 0, 2), usage_error);
  const auto file = job_memory::make(2, other.get());
  CHECK_THROWS_AS(job_memory(file.get(), 0, 3), usage_error);
  CHECK_THROWS_AS(job_memory(-1, 0, 2), usage_error);

  // The number of the trains' descriptor, which a program has taken for a file of its own.
  const auto of_user = memory_file("a user's file");
  CHECK_THROWS_WITH(transport::detail::open_processes({0, 2, file.get(), of_user.get()}, {}),
                    Catch::Contains("a file of its own"));
  CHECK(::lseek(of_user.get(), 0, SEEK_END) == 0);
}

TEST_CASE("processes: what a launcher notes is seen by the ranks") {
  const auto trains = memory_file("test");
  const auto file = job_memory::make(3, trains.get());
  job_memory launcher(file.get(), job_memory::launcher, 3), rank(file.get(), 1, 3);
  CHECK(rank.launchers_process() == ::getpid());
  CHECK(rank.is_file_of_trains(trains.get()));
  CHECK_FALSE(rank.is_file_of_trains(file.get()));
  launcher.note_start(2, 4711);
  CHECK(rank.started_process(2) == 4711);
  CHECK_FALSE(rank.has_ended(2));
  launcher.note_end(2);
  CHECK(rank.has_ended(2));
  CHECK_FALSE(rank.has_ended(0));
  CHECK_FALSE(rank.is_over());
  launcher.note_over();
  CHECK(rank.is_over());

  job_memory other(file.get(), 2, 3);
  CHECK(rank.find_left() == -1);
  other.say_left();
  CHECK(rank.find_left() == 2);
  CHECK(other.find_left() == -1);
  other.say_opened();  // it is back
  CHECK(rank.find_left() == -1);
}

TEST_CASE("processes: a rank that leaves a service by an exception is lost, and its memory stays") {
  const job_of_threads job(2);
  std::atomic<bool> both_have_begun{false};
  std::atomic<int> stage{0};
  std::string why;
  int value = 0;
  on_ranks(2, [&](int rank) {
    auto end = job.open(rank);
    end->start(service_of({0, 1}, 4));
    if (rank == 0) {
      // A rank that still waits to begin would end the job, which is this process.
      while (!both_have_begun) std::this_thread::sleep_for(1ms);
      *end->place_of(1).yard = std::byte{7};
      end.reset();  // amid the service, as an exception would
      stage = 1;
      while (stage != 2) std::this_thread::sleep_for(1ms);
      return;
    }
    both_have_begun = true;
    while (stage != 1) std::this_thread::sleep_for(1ms);
    if (const auto lost = end->beat()) why = std::to_string(lost->rank) + " " + lost->why;
    value = static_cast<int>(*end->place_of(1).yard);
    end.reset();
    stage = 2;
  });
  CHECK(why == "0 left the job by an exception");
  CHECK(value == 7);
}

TEST_CASE("processes: what the launcher tells is read, and what it cannot have told is refused") {
  using transport::detail::find_process_of_job;
  CHECK_FALSE(find_process_of_job());
  {
    const variables two("1", "2,7,9");
    const auto self = find_process_of_job();
    REQUIRE(self);
    CHECK(self->rank == 1);
    CHECK(self->ranks == 2);
    CHECK(self->meeting == 7);
    CHECK(self->trains == 9);
  }
  for (const auto& [rank, job] : std::vector<std::pair<const char*, const char*>>{{"1", nullptr},
                                                                                  {nullptr, "2,7,9"},
                                                                                  {"2", "2,7,9"},
                                                                                  {"-1", "2,7,9"},
                                                                                  {"1", "2,7"},
                                                                                  {"1", "2,7,9,1"},
                                                                                  {"1", "2;7;9"},
                                                                                  {"one", "2,7,9"},
                                                                                  {"0", "0,7,9"},
                                                                                  {"0", "100000,7,9"}}) {
    const variables wrong(rank, job);
    CHECK_THROWS_WITH(find_process_of_job(), Catch::Contains("leave both to the launcher"));
  }
}

TEST_CASE("processes: a process that no launcher started is told so") {
  CHECK_THROWS_WITH(transport::open("processes"), Catch::Contains("shunt start"));
  CHECK_THROWS_AS(static_cast<void>(transport::run_processes(0, {"true"})), usage_error);
  CHECK_THROWS_AS(static_cast<void>(transport::run_processes(1025, {"true"})), usage_error);
}

TEST_CASE("shared trains: ranks agree on an address that is free in all of them, or say why there is none") {
  const auto wanted = service_of({0}, 4);
  const auto open = [&](shared_trains& memory) {
    memory.open({true, true}, 0, wanted, [](const std::string& mine) {
      return std::vector<std::string>{mine, "+"};  // the other rank could do it
    });
  };
  shared_trains first;
  open(first);
  REQUIRE(first.is_open());
  shared_trains second;  // in the same process: the first one's address is taken
  open(second);
  REQUIRE(second.is_open());
  CHECK(first.place_of(0).inbox != second.place_of(0).inbox);
  const auto* const address = first.place_of(0).inbox;
  first.close();
  CHECK(first.place_of(0).inbox == nullptr);
  shared_trains third;
  open(third);
  CHECK(third.place_of(0).inbox == address);  // the first one has made room

  shared_trains refused;
  refused.open({true, true}, 0, wanted,
               [](const std::string& mine) { return std::vector<std::string>{mine, "-its address is taken"}; });
  CHECK_FALSE(refused.is_open());
  CHECK(refused.why_not() == "rank 1: its address is taken");
  refused.open({true, true}, 0, wanted, [](const std::string& mine) {
    return std::vector<std::string>{mine, "!/proc/1/fd/3: Permission denied"};
  });
  CHECK(refused.why_not() == "rank 1: /proc/1/fd/3: Permission denied");
  refused.open({true, false}, 0, wanted, [](const std::string& mine) { return std::vector<std::string>{mine, "+"}; });
  CHECK_FALSE(refused.is_open());
  CHECK(refused.why_not().empty());  // it is alone on its machine
}

TEST_CASE("shared trains: memory that was closed stays mapped, and reads as 0") {
  shared_trains memory;
  memory.open({true, true}, 0, service_of({0}, 4),
              [](const std::string& mine) { return std::vector<std::string>{mine, "+"}; });
  const auto place = memory.place_of(0);
  place.token->store(5);
  *place.yard = std::byte{7};
  memory.close();
  CHECK(place.token->load() == 0);
  CHECK(*place.yard == std::byte{0});
}
