/// Vertex numbers with gaps become 0..n-1, in the same order.
///
/// Both classes are used alike: add() each number, finish() once, then rank() each number.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <shunt/graph/graph.hpp>
#include <shunt/graph/read.hpp>
#include <utility>
#include <vector>

namespace shunt {
inline namespace v1 {
namespace graph {
namespace detail {

/// Ranks among numbers below a bound that is not much greater than their count: a bit each.
class dense_ranks {
 public:
  explicit dense_ranks(std::uint64_t greatest) : words_(greatest / 64 + 1) {}
  void add(std::uint64_t x) noexcept { words_[x / 64].bits |= std::uint64_t{1} << (x % 64); }

  /// Between the last add() and the first rank(). \return how many numbers there are.
  std::uint64_t finish(std::vector<std::uint64_t>* names) {
    std::uint64_t before = 0;
    for (std::size_t i = 0; i < words_.size(); ++i) {
      words_[i].before = before;
      before += static_cast<unsigned>(std::popcount(words_[i].bits));
      if (names == nullptr) continue;
      for (std::uint64_t rest = words_[i].bits; rest != 0; rest &= rest - 1) {
        names->push_back(i * 64 + static_cast<unsigned>(std::countr_zero(rest)));
      }
    }
    return before;
  }

  [[nodiscard]] vertex rank(std::uint64_t x) const noexcept {
    const word& w = words_[x / 64];
    const std::uint64_t below = w.bits & ((std::uint64_t{1} << (x % 64)) - 1);
    return static_cast<vertex>(w.before + static_cast<unsigned>(std::popcount(below)));
  }

 private:
  struct word {
    std::uint64_t bits = 0;
    std::uint64_t before = 0;  ///< numbers in the words before this one
  };
  std::vector<word> words_;
};

/// Ranks among any numbers up to max_number: a hash table, open, at most half full.
class sparse_ranks {
 public:
  explicit sparse_ranks(std::uint64_t) : slots_(1024) {}

  void add(std::uint64_t x) {
    slot& s = find(x);
    if (s.number == x) return;
    s.number = x;
    if (++used_ * 2 > slots_.size()) grow();
  }

  std::uint64_t finish(std::vector<std::uint64_t>* names) {
    std::vector<std::uint64_t> numbers;
    numbers.reserve(used_);
    for (const slot& s : slots_) {
      if (s.number != none) numbers.push_back(s.number);
    }
    std::sort(numbers.begin(), numbers.end());
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      find(numbers[i]).rank = static_cast<vertex>(i);
    }
    if (names != nullptr) *names = std::move(numbers);
    return used_;
  }

  [[nodiscard]] vertex rank(std::uint64_t x) noexcept { return find(x).rank; }

 private:
  static constexpr std::uint64_t none = ~std::uint64_t{0};
  static_assert(none > max_number, "no vertex has this number");
  struct slot {
    std::uint64_t number = none;
    vertex rank = 0;
  };

  /// Its slot, or the free one where it belongs.
  slot& find(std::uint64_t x) noexcept {
    // The finaliser of MurmurHash3: numbers often differ in their high bits only.
    std::uint64_t h = x;
    h = (h ^ (h >> 33)) * 0xff51afd7ed558ccdU;
    h = (h ^ (h >> 33)) * 0xc4ceb9fe1a85ec53U;
    h ^= h >> 33;
    const std::size_t mask = slots_.size() - 1;
    for (std::size_t i = h & mask;; i = (i + 1) & mask) {
      if (slots_[i].number == x || slots_[i].number == none) return slots_[i];
    }
  }

  void grow() {
    std::vector<slot> old(slots_.size() * 2);
    old.swap(slots_);
    for (const slot& s : old) {
      if (s.number != none) find(s.number) = s;
    }
  }

  std::vector<slot> slots_;
  std::uint64_t used_ = 0;
};

}  // namespace detail
}  // namespace graph
}  // namespace v1
}  // namespace shunt
