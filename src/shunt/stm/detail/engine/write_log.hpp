/// What a transaction will write.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <shunt/base/cache_line.hpp>
#include <shunt/stm/detail/engine/word.hpp>
#include <utility>
#include <vector>

namespace shunt {
inline namespace v1 {
namespace stm::detail {

inline constexpr std::size_t words_inline = 4;  // larger values are boxed
using words = std::array<word, words_inline>;

/// How a variable holds its value.
struct form {
  std::size_t words;            // 1..words_inline
  void (*drop)(word) noexcept;  // boxed: deletes the box with that address; null: inline
};

/// Deletes a box that no other thread has seen. \param box  an inline value: not looked at; 0: there is none.
inline void drop(const form& how, word box) noexcept {
  if (how.drop != nullptr && box != 0) how.drop(box);
}

struct alignas(cache_line) entry {
  const variable* target;
  std::atomic<word>* data;
  const form* how;
  word before;  // its lock word before it was locked
  words value;  // to be written; boxed: value[0] is the new box, the transaction's own until the commit
};
static_assert(sizeof(entry) == cache_line);

/// Entries in the order of first writes, one a variable. Entries move when one is added; not during a commit.
class write_log {
 public:
  [[nodiscard]] bool empty() const noexcept { return end_ == entries_.get(); }
  [[nodiscard]] std::size_t size() const noexcept { return static_cast<std::size_t>(end_ - entries_.get()); }
  [[nodiscard]] entry* begin() noexcept { return entries_.get(); }
  [[nodiscard]] entry* end() noexcept { return end_; }
  [[nodiscard]] entry& operator[](std::size_t i) noexcept { return entries_[i]; }

  /// One look that tells most reads of exclusive mode two things: nothing is written yet, and variables may be read in
  /// place.
  [[nodiscard, gnu::always_inline]] bool read_in_place() const noexcept { return filter_ == 0; }
  /// Before a body. \param yes  what read_in_place() returns until the first write.
  void allow_reads_in_place(bool yes) noexcept {
    none_ = yes ? 0 : stopped;
    filter_ = none_;
  }
  /// read_in_place() is false until the attempt's end.
  void forbid_reads_in_place() noexcept { filter_ |= stopped; }

  /// False: the variable is certainly not in the log.
  [[nodiscard, gnu::always_inline]] bool may_hold(const variable* v) const noexcept {
    return filter_ > stopped && (filter_ & bit(v)) != 0;  // most bodies read first
  }
  /// may_hold() is true of it from now on, though find() returns null.
  void mark(const variable* v) noexcept { filter_ |= bit(v); }

  /// Cost: O(1); up to `few` entries are looked through.
  [[nodiscard]] entry* find(const variable* v) noexcept { return const_cast<entry*>(std::as_const(*this).find(v)); }
  [[nodiscard]] const entry* find(const variable* v) const noexcept {
    if (size() > few) return find_by_index(v);
    for (const entry* e = end_; e != entries_.get();) {
      if ((--e)->target == v) return e;
    }
    return nullptr;
  }
  [[nodiscard]] bool holds(const variable* v) const noexcept { return may_hold(v) && find(v) != nullptr; }
  /// The variable is not in the log yet; the caller stores the entry's value. \throws std::bad_alloc; then nothing has
  /// changed.
  entry& add(const variable* v, std::atomic<word>* data, const form* how) {
    if (end_ >= room_) [[unlikely]]
      make_room_for(v);
    entry& e = *end_++;
    // Member by member: a whole entry would be built elsewhere and copied, and the copy would wait for the stores.
    e.target = v;
    e.data = data;
    e.how = how;
    filter_ |= bit(v);
    return e;
  }
  void clear() noexcept {
    end_ = entries_.get();
    filter_ = none_;
  }
  /// The first `count` entries stay.
  void truncate(std::size_t count) noexcept;

  /// The entry of this log that has locked a word; null: another transaction has. \param locked  the word.
  [[nodiscard]] const entry* owner_of(word locked) const noexcept {
    const auto address = static_cast<std::uintptr_t>(locked & ~locked_bit);
    const auto first = reinterpret_cast<std::uintptr_t>(entries_.get());
    const bool own = address >= first && address < reinterpret_cast<std::uintptr_t>(end_);
    return own ? reinterpret_cast<const entry*>(address) : nullptr;
  }

 private:
  static constexpr std::size_t few = 16;
  static constexpr word stopped = 1;
  /// A bit of the filter, but never `stopped`.
  static word bit(const variable* v) noexcept {
    const auto one = word{1} << ((reinterpret_cast<std::uintptr_t>(v) >> 4) & 63);
    return one + (one & stopped);
  }
  static std::size_t hash(const variable* v) noexcept {
    return static_cast<std::size_t>((reinterpret_cast<std::uintptr_t>(v) >> 4) * 0x9E3779B97F4A7C15U >> 20);
  }
  [[nodiscard]] const entry* find_by_index(const variable* v) const noexcept;
  [[gnu::noinline]] void make_room_for(const variable* v);
  void insert(const variable* v, std::uint32_t position) noexcept;

  entry* end_ = nullptr;
  entry* room_ = nullptr;  // after the first few; further entries are indexed, and need room now and then
  word filter_ = stopped;  // superset of the variables written
  word none_ = stopped;    // the filter's value while nothing is written
  std::unique_ptr<entry[]> entries_;
  std::size_t capacity_ = 0;
  std::vector<std::uint32_t> index_;  // open addressing, 1 + position, 0: free; current while there are more than `few`
};

}  // namespace stm::detail
}  // namespace v1
}  // namespace shunt
