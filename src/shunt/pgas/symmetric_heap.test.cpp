// The heap of OpenSHMEM's symmetric memory.
#include <catch2/catch.hpp>
#include <shunt/pgas/detail/symmetric_heap.hpp>

#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

using shunt::pgas::detail::symmetric_heap;

namespace {

constexpr std::size_t heap_of_test = 64 * 1024;

std::size_t offset_in(const symmetric_heap& heap, const void* block) {
  return static_cast<std::size_t>(static_cast<const std::byte*>(block) - heap.begin());
}

}  // namespace

TEST_CASE("symmetric_heap: two heaps that are asked alike give blocks at the same places") {
  symmetric_heap one(heap_of_test), two(heap_of_test);
  std::mt19937 random(7);
  std::vector<std::pair<void*, void*>> blocks;
  int given = 0;
  for (int i = 0; i < 2000; ++i) {
    if (!blocks.empty() && random() % 2 == 0) {
      const auto which = random() % blocks.size();
      REQUIRE(one.free(blocks[which].first));
      REQUIRE(two.free(blocks[which].second));
      blocks[which] = blocks.back();
      blocks.pop_back();
      continue;
    }
    const std::size_t bytes = random() % 5000, alignment = std::size_t{1} << random() % 9;
    void *const a = one.allocate(bytes, alignment), *const b = two.allocate(bytes, alignment);
    REQUIRE((a == nullptr) == (b == nullptr));
    if (a == nullptr) continue;
    ++given;
    REQUIRE(offset_in(one, a) == offset_in(two, b));
    REQUIRE(reinterpret_cast<std::uintptr_t>(a) % alignment == 0);
    for (const auto& [other, unused] : blocks) {
      const bool apart = offset_in(one, a) + bytes <= offset_in(one, other) ||
                         offset_in(one, other) + one.bytes_of(other) <= offset_in(one, a);
      REQUIRE(apart);
    }
    std::memset(a, 1, bytes);
    blocks.emplace_back(a, b);
  }
  CHECK(given > 500);
  for (const auto& [a, b] : blocks) REQUIRE(one.free(a));
  CHECK(one.allocate(heap_of_test, 1) == one.begin());  // what was free is one piece again
}

TEST_CASE("symmetric_heap: a block has the alignment that it is asked for, or is null") {
  symmetric_heap heap(4 * symmetric_heap::largest_alignment);
  CHECK(heap.allocate(1, 1) == heap.begin());
  for (auto alignment = symmetric_heap::largest_alignment; alignment > 1; alignment /= 2) {
    void* const block = heap.allocate(100, alignment);
    REQUIRE(block != nullptr);
    CHECK(reinterpret_cast<std::uintptr_t>(block) % alignment == 0);
  }
  CHECK(heap.allocate(1, 2 * symmetric_heap::largest_alignment) == nullptr);
  CHECK(heap.allocate(1, 96) == nullptr);
}

TEST_CASE("symmetric_heap: what does not fit is null, and what is no block is not freed") {
  symmetric_heap heap(heap_of_test);
  CHECK(heap.allocate(0, 1) == nullptr);
  CHECK(heap.allocate(heap_of_test + 1, 1) == nullptr);
  void* const all = heap.allocate(heap_of_test, 1);
  CHECK(all == heap.begin());
  CHECK(heap.allocate(1, 1) == nullptr);
  CHECK(heap.bytes_of(all) == heap_of_test);
  CHECK_FALSE(heap.free(heap.begin() + 64));
  CHECK(heap.bytes_of(heap.begin() + 64) == 0);
  CHECK(heap.free(all));
  CHECK_FALSE(heap.free(all));
  CHECK(heap.free(nullptr));
}
