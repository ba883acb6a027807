/// A PE's part of a map or set: a table of keys and values by open addressing.
///
/// Linear probing from the slot that the hash names. A byte a slot, the tag, says whether it is free, and 7 bits of
/// the hash of the key that is there: a probe compares eight tags at a time, and looks into a slot only where the tag
/// is the key's. erase() closes the gap, so there are no marks of erased keys. Behind the last tag the first eight
/// stand once more.
///
/// Memory: slots are a power of two, between 4/3 and 8/3 of the keys, each sizeof(slot) + 1 bytes; while it grows the
/// old table lies beside the new one. Invariant: a slot is free, so every probe ends.
///
/// Source: Knuth, The Art of Computer Programming, volume 3, 6.4, algorithms L and R; the tags after Kulukundis, CppCon
/// 2017 (there sixteen at a time).
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <new>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include <shunt/pgas/containers/detail/table_memory.hpp>

namespace shunt {
inline namespace v1 {
namespace pgas {
namespace detail {

/// The value of a set's key.
struct no_value {};

/// How a key is given to a function, and compared: texts as views.
template <class K>
struct key_argument {
  using type = const K&;
};
template <>
struct key_argument<std::string> {
  using type = std::string_view;
};
template <class K>
using key_view = typename key_argument<K>::type;

/// What a table can keep: it moves values while it grows, and an exception there would lose some.
template <class V>
concept stored_value = std::is_nothrow_move_constructible_v<V> && std::is_nothrow_move_assignable_v<V>;

/// One thread at a time.
/// \tparam V     default constructible, movable
/// \tparam Hash  without members
template <class K, class V, class Hash>
class hash_table {
 public:
  struct slot {
    K key;
    [[no_unique_address]] V value;
  };

  hash_table() = default;
  hash_table(const hash_table&) = delete;
  hash_table& operator=(const hash_table&) = delete;
  ~hash_table() { release(); }

  [[nodiscard]] std::size_t size() const noexcept { return size_; }

  /// \return null: there is no such key.
  [[nodiscard]] slot* find(key_view<K> key) const noexcept {
    if (size_ == 0) return nullptr;
    return probe(key, Hash()(key)).found;
  }

  /// \return the key's slot, and whether the key is new: then its value is V(). \throws std::bad_alloc
  std::pair<slot*, bool> find_or_insert(key_view<K> key) {
    const auto hash = Hash()(key);
    if (tags_ == nullptr) [[unlikely]]
      grow_to(least_slots);
    auto [found, free] = probe(key, hash);
    if (found != nullptr) return {found, false};
    if (size_ >= most_) [[unlikely]] {
      grow_to(2 * slots());
      free = probe(key, hash).free;
    }
    new (&slots_[free]) slot{K(key), V()};
    set_tag(free, tag_of(hash));
    ++size_;
    return {&slots_[free], true};
  }

  /// \return whether there was such a key.
  bool erase(key_view<K> key) noexcept {
    slot* const at = find(key);
    if (at == nullptr) return false;
    erase_at(static_cast<std::size_t>(at - slots_));
    return true;
  }

  /// Erases the keys for which f(key, value) is true. \return how many
  template <class F>
  std::size_t erase_if(F&& f) {
    if (size_ == 0) return 0;
    std::size_t free = 0;
    while (tags_[free] != free_) ++free;
    // Backwards around the table, from a free slot to itself: what erase_at() moves has been seen.
    std::size_t erased = 0;
    for (std::size_t i = (free - 1) & mask_; i != free; i = (i - 1) & mask_) {
      if (tags_[i] == free_ || !f(std::as_const(slots_[i].key), slots_[i].value)) continue;
      erase_at(i);
      ++erased;
    }
    return erased;
  }

  /// Room for so many keys without growing. \throws std::bad_alloc
  void reserve(std::size_t keys) {
    if (keys > ~std::size_t{0} / 4) throw std::bad_alloc();  // `wanted` would wrap
    std::size_t wanted = least_slots;
    while (most_of(wanted) < keys) wanted *= 2;
    if (wanted > slots()) grow_to(wanted);
  }
  void clear() noexcept {
    release();
    slots_ = nullptr;
    tags_ = nullptr;
    size_ = mask_ = most_ = 0;
  }

  /// For a checkpoint: the keys, and their values if they have any.
  template <class Writer>
  void save(Writer& to) const {
    to.put(std::uint64_t{size_});
    for (const auto& [key, value] : *this) {
      to.put(key);
      if constexpr (!std::is_same_v<V, no_value>) to.put(value);
    }
  }
  /// As they were saved; in another order.
  template <class Reader>
  void load(Reader& from) {
    clear();
    const auto keys = from.template get<std::uint64_t>();
    reserve(
        static_cast<std::size_t>(std::min<std::uint64_t>(keys, from.left())));  // of a number that is wrong, no more
    for (std::uint64_t i = 0; i != keys; ++i) {
      [[maybe_unused]] slot& at = *find_or_insert(from.template get<K>()).first;
      if constexpr (!std::is_same_v<V, no_value>) from.get(at.value);
    }
  }

  /// Says to the processor that the key's slot will be used.
  void prefetch(key_view<K> key) const noexcept {
    if (mask_ < fewest_prefetched) return;
    const auto i = Hash()(key) & mask_;
    __builtin_prefetch(&tags_[i]);
    __builtin_prefetch(&slots_[i]);
  }

  /// Over the keys, in no order; valid until the next insert or erase. Dereferences to (key, value).
  template <class Value>
  class iterator_of {
   public:
    using iterator_category = std::forward_iterator_tag;
    using value_type = std::pair<const K&, Value&>;
    using difference_type = std::ptrdiff_t;
    using reference = value_type;
    using pointer = void;

    iterator_of() = default;
    iterator_of(const hash_table& table, std::size_t at) noexcept : table_(&table), at_(at) { skip(); }
    [[nodiscard]] reference operator*() const noexcept {
      slot& s = table_->slots_[at_];
      return {s.key, s.value};
    }
    iterator_of& operator++() noexcept {
      ++at_;
      skip();
      return *this;
    }
    iterator_of operator++(int) noexcept {
      const auto before = *this;
      ++*this;
      return before;
    }
    friend bool operator==(const iterator_of& a, const iterator_of& b) noexcept { return a.at_ == b.at_; }

   private:
    void skip() noexcept {
      while (at_ != table_->slots() && table_->tags_[at_] == free_) ++at_;
    }
    const hash_table* table_ = nullptr;
    std::size_t at_ = 0;
  };
  [[nodiscard]] auto begin() noexcept { return iterator_of<V>(*this, 0); }
  [[nodiscard]] auto end() noexcept { return iterator_of<V>(*this, slots()); }
  [[nodiscard]] auto begin() const noexcept { return iterator_of<const V>(*this, 0); }
  [[nodiscard]] auto end() const noexcept { return iterator_of<const V>(*this, slots()); }

 private:
  static constexpr std::uint8_t free_ = 0;
  static constexpr std::size_t tags_at_once = 8;
  static constexpr std::size_t least_slots = 16;
  static constexpr std::size_t fewest_prefetched = (std::size_t{256} << 10U) / sizeof(slot);  // others stay in a cache

  /// The owner was found by the highest bits of the hash, the slot by the lowest.
  static std::uint8_t tag_of(std::uint64_t hash) noexcept {
    return static_cast<std::uint8_t>(0x80U | ((hash >> 32U) & 0x7FU));
  }
  static std::size_t most_of(std::size_t slots) noexcept { return slots / 4 * 3; }
  [[nodiscard]] std::size_t slots() const noexcept { return tags_ == nullptr ? 0 : mask_ + 1; }

  static std::uint64_t eight(const std::uint8_t* tags) noexcept {
    std::uint64_t word;
    std::memcpy(&word, tags, sizeof word);
    if constexpr (std::endian::native == std::endian::big) word = __builtin_bswap64(word);
    return word;
  }
  void set_tag(std::size_t i, std::uint8_t tag) noexcept {
    tags_[i] = tag;
    if (i < tags_at_once) tags_[slots() + i] = tag;
  }

  struct probed {
    slot* found;
    std::size_t free;  // where the key would be, if it is not found
  };
  /// The table has slots.
  probed probe(key_view<K> key, std::uint64_t hash) const noexcept {
    constexpr std::uint64_t each = 0x0101010101010101U, tops = each << 7U;
    const std::uint64_t wanted = each * tag_of(hash);
    for (std::size_t i = hash & mask_;; i = (i + tags_at_once) & mask_) {
      const std::uint64_t tags = eight(&tags_[i]), differing = tags ^ wanted;
      // A top bit for each byte that is 0, and perhaps for the one above it: the key is compared anyway.
      for (std::uint64_t same = (differing - each) & ~differing & tops; same != 0; same &= same - 1) {
        slot& s = slots_[(i + static_cast<unsigned>(std::countr_zero(same)) / 8) & mask_];
        if (s.key == key) [[likely]]
          return {&s, 0};
      }
      // Tags of keys have a top bit. Behind a free slot there is no such key.
      if (const std::uint64_t free = ~tags & tops; free != 0) {
        return {nullptr, (i + static_cast<unsigned>(std::countr_zero(free)) / 8) & mask_};
      }
    }
  }

  void erase_at(std::size_t gap) noexcept {
    for (std::size_t i = gap;;) {
      i = (i + 1) & mask_;
      if (tags_[i] == free_) break;
      const std::size_t home = Hash()(slots_[i].key) & mask_;
      if (((i - home) & mask_) < ((i - gap) & mask_)) continue;  // its home lies behind the gap
      slots_[gap].key = std::move(slots_[i].key);
      slots_[gap].value = std::move(slots_[i].value);
      set_tag(gap, tags_[i]);
      gap = i;
    }
    slots_[gap].~slot();
    set_tag(gap, free_);
    --size_;
  }

  void grow_to(std::size_t wanted) {
    if (wanted < least_slots) wanted = least_slots;
    // Old slots in order: what moves goes to two places of the new table that move on with it.
    auto* const tags = static_cast<std::uint8_t*>(allocate_table(wanted + tags_at_once, 1));
    slot* to;
    try {
      to = static_cast<slot*>(allocate_table(wanted * sizeof(slot), alignof(slot)));
    } catch (...) {
      free_table(tags, wanted + tags_at_once, 1);
      throw;
    }
    std::memset(tags, free_, wanted + tags_at_once);
    const std::size_t mask = wanted - 1;
    for (std::size_t old = 0; old != slots(); ++old) {
      if (tags_[old] == free_) continue;
      std::size_t i = Hash()(slots_[old].key) & mask;
      while (tags[i] != free_) i = (i + 1) & mask;
      new (&to[i]) slot(std::move(slots_[old]));
      tags[i] = tags_[old];
    }
    std::memcpy(tags + wanted, tags, tags_at_once);
    release();
    tags_ = tags;
    slots_ = to;
    mask_ = mask;
    most_ = most_of(wanted);
  }
  void release() noexcept {
    if (tags_ == nullptr) return;
    if constexpr (!std::is_trivially_destructible_v<slot>) {
      for (std::size_t i = 0; i != slots(); ++i) {
        if (tags_[i] != free_) slots_[i].~slot();
      }
    }
    free_table(slots_, slots() * sizeof(slot), alignof(slot));
    free_table(tags_, slots() + tags_at_once, 1);
  }

  std::uint8_t* tags_ = nullptr;
  slot* slots_ = nullptr;
  std::size_t size_ = 0;
  std::size_t mask_ = 0;
  std::size_t most_ = 0;  // keys, before the table grows
};

}  // namespace detail
}  // namespace pgas
}  // namespace v1
}  // namespace shunt
