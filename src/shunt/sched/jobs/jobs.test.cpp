#include <array>
#include <atomic>
#include <catch2/catch.hpp>
#include <memory>
#include <shunt/base/clock.hpp>
#include <shunt/base/sanitizers.hpp>
#include <shunt/sched/jobs/detail/job_ring.hpp>
#include <shunt/sched/jobs/jobs.hpp>
#include <thread>
#include <vector>

using shunt::asymmetric_fence;
using shunt::sched::detail::after_push_job;
using shunt::sched::detail::fences;
using shunt::sched::detail::job_ring;
using shunt::sched::detail::whose;

namespace {

struct item {
  int number = 0;
  std::atomic<int> runs{0};
  std::atomic<bool> taken{false};
};
using small_ring = job_ring<item, 4>;

#if defined(SHUNT_TSAN)
constexpr int races = 20'000;  // each is looked at
#elif defined(SHUNT_ASAN) || !defined(__OPTIMIZE__)
constexpr int races = 300'000;  // slow code meets less often, and takes minutes for as many
#else
constexpr int races = 3'000'000;  // the windows are some nanoseconds wide
#endif

/// Waits for another thread: as one that runs, for a while; then as one that needs this CPU.
template <typename Predicate>
void await(Predicate&& come) {
  for (int i = 0; !come(); ++i) {
    i < 2000 ? shunt::relax() : std::this_thread::yield();
  }
}

/// Pushes as a worker does. \return false where the ring was full.
template <fences How>
bool put(small_ring& ring, item& i, small_ring::position& at) {
  at = ring.next();
  if (ring.push<How>(&i, at) == after_push_job::nothing || !ring.listen(at)) return true;
  if (ring.take<How>(at) == whose::mine) {
    at = small_ring::nowhere;
    return false;
  }
  return true;
}

template <fences How>
void race(int rounds) {
  // allowed    mine,   nothing stolen   no thief came, or too late
  // allowed    thiefs, stolen           the thief was first
  // forbidden  mine,   stolen           the job runs twice
  // forbidden  thiefs, nothing stolen   the job is lost
  small_ring ring;
  std::array<item, 2> jobs;
  std::atomic<int> stolen{0};
  std::atomic<bool> doubled{false};
  std::atomic<bool> over{false};
  std::thread thief([&] {
    while (!over.load()) {
      if (item* const got = ring.steal<How>()) {
        if (got->taken.exchange(true)) doubled = true;
        got->number += 1;  // plain: edge `pushed`
        got->runs.fetch_add(1);
        stolen.fetch_add(1);
      }
    }
  });
  int mine = 0;
  int thiefs = 0;
  bool right = true;
  for (int round = 0; (round < rounds || thiefs < 20) && right && !doubled; ++round) {
    std::array<small_ring::position, 2> at{};
    for (std::size_t i = 0; i < 2; ++i) {
      jobs[i].number = round;
      jobs[i].runs.store(0, std::memory_order_relaxed);
      jobs[i].taken.store(false, std::memory_order_relaxed);
      put<How>(ring, jobs[i], at[i]);
    }
    if (round % 8192 == 0) {  // forces `thiefs`: no other thread empties it
      await([&] { return ring.looks_empty() || doubled; });
    }
    for (std::size_t i = 2; i-- > 0;) {
      if (ring.take<How>(at[i]) == whose::mine) {
        ++mine;
        if (jobs[i].taken.exchange(true)) doubled = true;
        jobs[i].number += 1;
        jobs[i].runs.fetch_add(1);
      } else {
        ++thiefs;
        await([&] { return jobs[i].runs.load() != 0 || doubled; });
      }
      right = right && jobs[i].number == round + 1;
    }
    right = right && jobs[0].runs.load() == 1 && jobs[1].runs.load() == 1;
  }
  over.store(true);
  thief.join();
  CHECK(right);
  CHECK_FALSE(doubled);
  CHECK(stolen == thiefs);
  CHECK(mine + thiefs > 0);
}

}  // namespace

TEST_CASE("job_ring: the first push tells, later ones do not until a sleeper wants to hear") {
  small_ring ring;
  std::array<item, 3> jobs;
  CHECK_FALSE(ring.want());  // told anyway: no fence is owed
  auto at = ring.next();
  CHECK(ring.push<fences::symmetric>(jobs.data(), at) == after_push_job::tell);
  CHECK_FALSE(ring.listen(at));
  at = ring.next();
  CHECK(ring.push<fences::symmetric>(&jobs[1], at) == after_push_job::nothing);
  CHECK(ring.take<fences::symmetric>(at) == whose::mine);
  CHECK(ring.want());
  CHECK_FALSE(ring.want());
  CHECK(ring.push<fences::symmetric>(&jobs[1], at) == after_push_job::tell);
  CHECK_FALSE(ring.listen(at));
  ring.keep_listening();
  CHECK(ring.push<fences::symmetric>(&jobs[2], ring.next()) == after_push_job::tell);
}

TEST_CASE("job_ring: gives the oldest to thieves, and each job to one") {
  small_ring ring;
  std::array<item, 2> jobs;
  std::array<small_ring::position, 2> at{};
  CHECK(ring.steal<fences::symmetric>() == nullptr);
  for (int round = 0; round < 20; ++round) {  // round the ring
    CHECK(put<fences::symmetric>(ring, jobs[0], at[0]));
    CHECK(put<fences::symmetric>(ring, jobs[1], at[1]));
    CHECK(ring.steal<fences::symmetric>() == jobs.data());
    CHECK(ring.take<fences::symmetric>(at[1]) == whose::mine);
    CHECK(ring.take<fences::symmetric>(at[0]) == whose::thiefs);
    CHECK(ring.steal<fences::symmetric>() == nullptr);
    CHECK(ring.looks_empty());
  }
}

TEST_CASE("job_ring: full, it refuses, and holds what it has") {
  small_ring ring;
  std::array<item, 4> jobs;
  std::array<small_ring::position, 4> at{};
  std::size_t held = 0;
  while (held < 4 && put<fences::symmetric>(ring, jobs[held], at[held])) ++held;
  CHECK(held == 2);  // four slots, two spare (J3)
  CHECK(at[held] == small_ring::nowhere);
  CHECK(ring.take<fences::symmetric>(at[held]) == whose::mine);
  CHECK(ring.steal<fences::symmetric>() == jobs.data());
  CHECK(put<fences::symmetric>(ring, jobs[2], at[2]));  // a theft makes room
  CHECK(ring.take<fences::symmetric>(at[2]) == whose::mine);
  CHECK(ring.take<fences::symmetric>(at[1]) == whose::mine);
  CHECK(ring.take<fences::symmetric>(at[0]) == whose::thiefs);
}

TEST_CASE("job_ring: a job taken from under others leaves a gap that thieves step over") {
  small_ring ring;
  std::array<item, 2> jobs;
  std::array<small_ring::position, 2> at{};
  for (int round = 0; round < 20; ++round) {  // gaps do not pile up
    REQUIRE(put<fences::symmetric>(ring, jobs[0], at[0]));
    REQUIRE(put<fences::symmetric>(ring, jobs[1], at[1]));
    CHECK(ring.take<fences::symmetric>(at[0]) == whose::mine);
    if (round % 2 == 0) {
      CHECK(ring.steal<fences::symmetric>() == &jobs[1]);
      CHECK(ring.take<fences::symmetric>(at[1]) == whose::thiefs);
    } else {
      CHECK(ring.take<fences::symmetric>(at[1]) == whose::mine);
      CHECK(ring.steal<fences::symmetric>() == nullptr);
    }
  }
}

TEST_CASE("job_ring: owner and thief never both get a job, nor neither; symmetric fences") {
  race<fences::symmetric>(races);
}

TEST_CASE("job_ring: owner and thief never both get a job, nor neither; asymmetric fences") {
  if (!asymmetric_fence::usable()) {
    WARN("no membarrier here, or ThreadSanitizer: the symmetric fences serve");
    return;
  }
  race<fences::asymmetric>(races);
}

// A thief steps over many gaps to the job on top. Meanwhile the owner takes that one, and pushes it again and again.
// Only the thief's last look at tail_ orders it after the push of the one that it gets.
TEST_CASE("job_ring: a thief sees what its job's owner wrote, also of one pushed after the thief's first look") {
  constexpr int gaps = 1000;
  constexpr int pushes = 20'000;  // until the owner waits for the thief
  job_ring<int, 1024> ring;
  std::atomic<bool> go{false};  // says nothing to the thief but that it may begin
  std::atomic<bool> over{false};
  int stolen = 0;
  std::thread thief([&] {
    while (!over.load(std::memory_order_relaxed)) {
      const int* const got = go.load(std::memory_order_relaxed) ? ring.steal<fences::symmetric>() : nullptr;
      if (got == nullptr) {
        std::this_thread::yield();
        continue;
      }
      stolen = *got;
      go.store(false, std::memory_order_release);  // `stolen`
    }
  });
  const auto push = [&](int& job) {
    const auto at = ring.next();
    if (ring.push<fences::symmetric>(&job, at) == after_push_job::tell) static_cast<void>(ring.listen(at));
    return at;
  };
  bool right = true;
  int job = 0;  // plain: edge `pushed`
  int none = 0;
  for (int round = 0; round < 100; ++round) {
    const auto first = push(none);
    for (int i = 1; i < gaps; ++i) push(none);
    const auto top = push(none);
    for (auto at = first; at != top; ++at) right = ring.take<fences::symmetric>(at) == whose::mine && right;
    right = ring.take<fences::symmetric>(top) == whose::mine && right;
    go.store(true, std::memory_order_relaxed);
    for (bool mine = true; mine;) {
      const int before = job++;
      const auto at = push(job);
      if (before % pushes == pushes - 1) {
        while (!ring.looks_empty()) std::this_thread::yield();
      }
      mine = ring.take<fences::symmetric>(at) == whose::mine;
    }
    while (go.load(std::memory_order_acquire)) std::this_thread::yield();
    right = right && stolen == job;
  }
  over.store(true, std::memory_order_relaxed);
  thief.join();
  CHECK(right);
}

TEST_CASE("job_ring: a sleeper that finds it empty is told of the next push") {
  // allowed    sees, told       both looked late
  // allowed    sees, not told   the push came first
  // allowed    blind, told      the sleeper came first
  // forbidden  blind, not told  it would sleep on work
  const auto rounds = races / 200;  // in lockstep
  const auto litmus = [&](auto how) {
    constexpr fences used = decltype(how)::value;
    auto ring = std::make_unique<small_ring>();
    std::atomic<int> turn{0};
    std::atomic<int> arrived{0};
    std::vector<char> saw(rounds, 0);
    std::thread sleeper([&] {
      for (int round = 0; round < rounds; ++round) {
        await([&] { return turn.load() > round; });
        const bool owes = ring->want();
        if (owes && used == fences::asymmetric) asymmetric_fence::heavy();
        saw[static_cast<std::size_t>(round)] = !ring->looks_empty();
        arrived.store(round + 1);
      }
    });
    item job;
    int lost = 0;
    for (int round = 0; round < rounds; ++round) {
      small_ring::position at{};
      static_cast<void>(put<used>(*ring, job, at));  // listens: from here on no push tells
      static_cast<void>(ring->template take<used>(at));
      turn.store(round + 1);
      // The sleeper hears of the round some hundred nanoseconds later: meets it sooner or later.
      for (int i = 0; i < 37 * round % 2048; ++i) asymmetric_fence::light();
      at = ring->next();
      const bool told = ring->template push<used>(&job, at) == after_push_job::tell;
      await([&] { return arrived.load() > round; });
      static_cast<void>(ring->template take<used>(at));
      lost += !told && saw[static_cast<std::size_t>(round)] == 0;
    }
    sleeper.join();
    CHECK(lost == 0);
  };
  litmus(std::integral_constant<fences, fences::symmetric>{});
  if (asymmetric_fence::usable()) litmus(std::integral_constant<fences, fences::asymmetric>{});
}
