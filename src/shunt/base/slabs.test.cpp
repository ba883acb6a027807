#include <shunt/base/detail/slabs.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <set>
#include <thread>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

#include <shunt/base/sanitizers.hpp>

#include <catch2/catch.hpp>

namespace {

using shunt::detail::free_block;
using shunt::detail::slabs;

void give(slabs& to, const std::vector<void*>& blocks) {
  free_block* chain = nullptr;
  for (void* const at : blocks) chain = ::new (at) free_block{chain};
  to.give(chain);
}

void* take_one(slabs& from, std::size_t which) { return from.take(which, 1).first; }

std::uintptr_t slab_of(const void* block) { return reinterpret_cast<std::uintptr_t>(block) / slabs::slab_bytes; }

/// All that so many new slabs hold, and the spare if there was one; no other was in use. Now there is a spare.
std::vector<void*> take_slabs(slabs& from, std::size_t which, std::size_t how_many) {
  std::vector<void*> blocks;
  for (const auto before = from.count(); from.count() <= before + how_many;) blocks.push_back(take_one(from, which));
  give(from, {blocks.back()});
  blocks.pop_back();
  return blocks;
}

}  // namespace

TEST_CASE("slabs: blocks of all sizes are aligned, apart from each other, and fill their slabs") {
  for (std::size_t bytes = slabs::step; bytes <= slabs::largest; bytes += slabs::step) {
    CAPTURE(bytes);
    static slabs all;
    const auto before = all.count();
    const auto which = slabs::class_of(bytes);
    CHECK(slabs::class_of(bytes - slabs::step + 1) == which);
    auto blocks = take_slabs(all, which, 2);
    std::sort(blocks.begin(), blocks.end());
    CHECK(blocks.size() >= 2 * ((slabs::slab_bytes - 192) / bytes));
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      std::memset(blocks[i], 0xff, bytes);  // and the slabs still know what is theirs
      CHECK(reinterpret_cast<std::uintptr_t>(blocks[i]) % (bytes % 16 == 0 ? 16 : 8) == 0);
      CHECK((i == 0 || static_cast<std::byte*>(blocks[i]) - static_cast<std::byte*>(blocks[i - 1]) >=
                           static_cast<std::ptrdiff_t>(bytes)));
      const auto end = reinterpret_cast<std::uintptr_t>(blocks[i]) % slabs::slab_bytes + bytes;
      CHECK(end <= slabs::slab_bytes - 64);  // the rest was not asked for
    }
    give(all, blocks);
    CHECK(all.count() == before + 1);
    const auto again = take_slabs(all, which, 1);
    CHECK(again.size() == blocks.size());  // the spare's, and the new one's
    give(all, again);
  }
}

TEST_CASE("slabs: a chain is as long as asked for, also where it needs several slabs; no slab is begun for its end") {
  static slabs all;
  const auto which = slabs::class_of(256);
  const auto blocks = take_slabs(all, which, 3);
  const auto count_of = [&](std::uint32_t at_most) {
    const auto [first, count] = all.take(which, at_most);
    std::uint32_t found = 0;
    std::vector<void*> there;
    for (auto* b = first; b != nullptr; b = b->next, ++found) there.push_back(b);
    CHECK(found == count);
    for (void* const at : there) CHECK(slabs::class_of_block(at) == which);
    give(all, there);
    return count;
  };
  CHECK(count_of(16) == 16);  // the spare's
  const auto a_slab = static_cast<std::uint32_t>(blocks.size() / 3);
  CHECK(count_of(a_slab + 1) == a_slab);
  CHECK(all.count() == 4);
  // One of each slab is free, and the spare is not needed for three of them.
  const std::vector<void*> free{blocks[0], blocks[a_slab], blocks[2 * a_slab]};
  give(all, free);
  CHECK(count_of(2) == 2);
  CHECK(count_of(16) == 3);
  give(all, {blocks.begin() + 1, blocks.begin() + a_slab});
  give(all, {blocks.begin() + a_slab + 1, blocks.begin() + 2 * a_slab});
  give(all, {blocks.begin() + 2 * a_slab + 1, blocks.end()});
  CHECK(all.count() == 1);
}

TEST_CASE("slabs: blocks in use stay close together: slabs in use come before empty ones") {
  static slabs all;
  const auto which = slabs::class_of(24);
  auto blocks = take_slabs(all, which, 3);
  const auto in_first = [&](const void* at) { return slab_of(at) == slab_of(blocks.front()); };
  const auto whole_first = static_cast<std::size_t>(std::count_if(blocks.begin(), blocks.end(), in_first));
  give(all, {blocks[3], blocks[1]});  // the first slab: full -> some
  CHECK(all.count() == 4);            // and one spare
  const std::set<void*> again{take_one(all, which), take_one(all, which)};
  CHECK(again == std::set<void*>{blocks[1], blocks[3]});  // some -> full
  // Its last block comes home: it is empty, and as there is a spare already, the heap's.
  std::vector<void*> firsts(blocks.begin(), blocks.begin() + static_cast<std::ptrdiff_t>(whole_first));
  CHECK(std::all_of(firsts.begin(), firsts.end(), in_first));
  give(all, {firsts.begin() + 1, firsts.end()});
  CHECK(all.count() == 4);
  give(all, {firsts.front()});
  CHECK(all.count() == 3);
  const auto more = take_slabs(all, which, 1);  // the spare is used, then another one made
  CHECK(more.size() == 2 * whole_first);
  blocks.erase(blocks.begin(), blocks.begin() + static_cast<std::ptrdiff_t>(whole_first));
  give(all, blocks);
  give(all, more);
  CHECK(all.count() == 1);
}

TEST_CASE("slabs: any slab with blocks at home may be the next one to be empty") {
  static slabs all;
  const auto which = slabs::class_of(64);
  std::array<std::size_t, 3> order{0, 1, 2};
  do {
    const auto blocks = take_slabs(all, which, all.count() == 0 ? 3 : 2);  // three slabs, and a spare
    std::array<std::vector<void*>, 3> in;
    for (void* const at : blocks) {
      for (auto& one : in) {
        if (!one.empty() && slab_of(one[0]) != slab_of(at)) continue;
        one.push_back(at);
        break;
      }
    }
    for (auto& one : in) {
      REQUIRE(one.size() == blocks.size() / 3);
      give(all, {one.back()});  // all three are in the list
      one.pop_back();
    }
    for (const auto i : order) give(all, in[i]);
    CHECK(all.count() == 1);
  } while (std::next_permutation(order.begin(), order.end()));
}

TEST_CASE("slabs: sizes do not affect each other") {
  static slabs all;
  void* const small = take_one(all, 0);
  void* const large = take_one(all, slabs::classes - 1);
  CHECK(slab_of(small) != slab_of(large));
  give(all, {small});
  give(all, {large});
  CHECK(all.count() == 2);  // a spare each
}

TEST_CASE("slabs: threads that give blocks which others took neither lose nor share one") {
  static slabs all;
  const auto which = slabs::class_of(40);
  constexpr std::uintptr_t threads = 4, rounds = 3000;
  struct marked : free_block {
    std::uintptr_t by;
  };
  std::array<std::atomic<free_block*>, threads> passed{};
  std::array<std::thread, threads> team;
  std::atomic<long> wrong{0};
  for (std::uintptr_t me = 0; me < threads; ++me) {
    team[me] = std::thread([&, me] {
      for (std::uintptr_t r = 0; r < rounds; ++r) {
        const auto [first, count] = all.take(which, 8);
        const auto mark = r * threads + me;
        for (auto* b = first; b != nullptr; b = b->next) static_cast<marked*>(b)->by = mark;
        // acq_rel: the chain, out and in
        free_block* const got = passed[(me + r) % threads].exchange(first, std::memory_order_acq_rel);
        for (auto* b = got; b != nullptr; b = b->next)
          wrong += static_cast<marked*>(b)->by == static_cast<marked*>(got)->by ? 0 : 1;
        all.give(got);
      }
    });
  }
  for (auto& t : team) t.join();
  CHECK(wrong == 0);
  for (auto& p : passed) all.give(p.load());
  CHECK(all.count() == 1);  // all are at home
}

#if !defined(SHUNT_TSAN)  // which ends a child of a process of several threads
TEST_CASE("slabs: a child that is forked while a thread holds the lock can take and give") {
  std::atomic<bool> begun{false};
  std::atomic<bool> done{false};
  std::thread other([&] {
    while (!done) {
      shunt::detail::the_slabs.give(shunt::detail::the_slabs.take(3, 64).first);
      begun = true;
    }
  });
  // Before, it may be in its first operator new: what a heap does for a new thread need not survive a fork.
  while (!begun) std::this_thread::yield();
  for (int i = 0; i < 200; ++i) {
    const auto child = ::fork();
    CHECK(child >= 0);
    if (child < 0) break;
    if (child == 0) {
      ::alarm(300);
      shunt::detail::the_slabs.give(shunt::detail::the_slabs.take(3, 64).first);
      ::_exit(0);
    }
    int status = -1;
    CHECK(::waitpid(child, &status, 0) == child);
    CHECK(status == 0);  // else it hung
    if (status != 0) break;
  }
  done = true;
  other.join();
}
#endif
