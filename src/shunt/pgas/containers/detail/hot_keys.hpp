/// What a PE has counted of hot keys itself: a cache, of which a key's hash names the bucket of eight.
///
///   bucket      eight tags, each 7 bits of a key's hash, 0 for a free place
///   entries     of a bucket: eight keys, each with its count and its heat
///
/// A look compares the eight tags at once, as hash_table does, and reads an entry only where the tag is the key's: so
/// a key that is not there costs one line of memory. A caller that seeks a key some keys before it counts it does not
/// wait for either line. Where a bucket is full, a key that is not there takes a degree of heat from one of the
/// eight, chosen by its hash, or the place of one that has none left: what comes often stays.
///
/// Buckets are doubled while most of them are in use, up to a limit. A bucket's keys then stay in their places, or go
/// to the same places of one new bucket, which is empty: so none is lost.
///
/// Invariants
///   K1  A key lies in the bucket of its hash, in one place at most; tags of used places have a top bit.
///   K2  used_ is the number of used places.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <new>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <shunt/pgas/containers/detail/hash_table.hpp>
#include <shunt/pgas/containers/key_hash.hpp>

namespace shunt {
inline namespace v1 {
namespace pgas {
namespace detail {

/// A text of at most 16 bytes, in registers.
struct short_text {
  short_words words;
  std::size_t size = 0;

  short_text() = default;
  [[gnu::always_inline]] explicit short_text(std::string_view text) noexcept
      : words(words_of(text.data(), text.size())), size(text.size()) {}
  bool operator==(const short_text&) const = default;
};
/// Its bytes, while the object lives.
class short_text_bytes {
 public:
  explicit short_text_bytes(const short_text& text) noexcept : size_(text.size) {
    write_words(text.words, bytes_, size_);
  }
  [[nodiscard]] std::string_view view() const noexcept { return {bytes_, size_}; }

 private:
  char bytes_[short_words::most];
  std::size_t size_;
};
/// The hash of the text. \tparam Hash  of texts
template <class Hash>
struct short_text_hash {
  std::uint64_t operator()(const short_text& text) const noexcept { return Hash()(short_text_bytes(text).view()); }
};
template <>
struct short_text_hash<key_hash<std::string>> {
  [[gnu::always_inline]] std::uint64_t operator()(const short_text& text) const noexcept {
    return hash_of_words(text.words, text.size);
  }
};

/// One thread at a time. \tparam K, Hash  as hash_table's
template <class K, class Hash>
class hot_keys {
  struct plain_entry {
    K key;
    std::uint64_t state;
  };
  /// Of a power of two bytes no entry lies across two lines of memory.
  static constexpr std::size_t aligned_to =
      std::has_single_bit(sizeof(plain_entry)) ? std::min<std::size_t>(sizeof(plain_entry), 64) : alignof(plain_entry);

 public:
  /// A key, how often it came since it took its place, and its heat, 0..hottest.
  struct alignas(aligned_to) entry {
    K key{};
    std::uint64_t state = 0;  // the count in all bits but the lowest eight, which are the heat; 0: a free place

    [[nodiscard]] std::uint64_t count() const noexcept { return state >> 8U; }
    [[nodiscard]] std::uint64_t heat() const noexcept { return state & 0xFFU; }
  };
  /// Where a key may be.
  using place = std::size_t;
  static constexpr place none = ~std::size_t{0};

  /// \param most  keys; rounded up to a power of two, at least a bucket
  explicit hot_keys(std::size_t most) noexcept : most_buckets_(std::bit_ceil(std::max(most, places)) / places) {}

  /// Says to the processor that the key will be sought.
  [[gnu::always_inline]] void prefetch(std::uint64_t hash) const noexcept {
    __builtin_prefetch(tags_.data() + bucket_of(hash));
  }
  /// Where the key is, if it is there: the first place whose tag is the key's. Says to the processor that it will be
  /// counted.
  [[gnu::always_inline]] [[nodiscard]] place seek(std::uint64_t hash) const noexcept {
    if (tags_.empty()) [[unlikely]]
      return none;
    const std::size_t at = bucket_of(hash);
    const std::uint64_t same = alike(tags_[at], hash);
    if (same == 0) [[unlikely]]
      return none;
    const place found = at * places + first(same);
    __builtin_prefetch(&entries_[found], 1);
    return found;
  }
  /// Counts the key, if it is still there. \param where  from seek() \return whether it is
  [[gnu::always_inline]] bool count(place where, key_view<K> key) noexcept {
    if (where == none) [[unlikely]]
      return false;
    entry& e = entries_[where];
    if (!(e.key == key) || e.state == 0) [[unlikely]]
      return false;
    e.state += one + static_cast<std::uint64_t>(e.heat() < hottest);
    return true;
  }

  /// Counts the key, or takes it in, unless those that are there are hotter.
  /// \param send  called with an entry that makes place for it, when the key has it \return whether it is counted
  /// Where memory for more buckets is short, it makes do with those that it has. \throws what `send` throws;
  /// std::bad_alloc for a key's own memory: then nothing has changed
  template <class Send>
  bool count_or_take_in(key_view<K> key, std::uint64_t hash, Send&& send) {
    if (tags_.empty() && !grow()) return false;
    for (auto same = alike(tags_[bucket_of(hash)], hash); same != 0; same &= same - 1) {
      if (count(bucket_of(hash) * places + first(same), key)) return true;
    }
    while (is_full(tags_[bucket_of(hash)]) && 2 * used_ > entries_.size() && tags_.size() < most_buckets_) {
      if (!grow()) break;
    }
    const std::size_t at = bucket_of(hash);
    if (!is_full(tags_[at])) {
      const unsigned free = first(~tags_[at] & tops);
      entries_[at * places + free] = entry{K(key), one + 1};
      set_tag(at, free, tag_of(hash));
      ++used_;
      return true;
    }
    const auto chosen = static_cast<unsigned>(hash) & 7U;  // other bits than the tag's
    entry& e = entries_[at * places + chosen];
    if (e.heat() != 0) {
      --e.state;
      return false;
    }
    const entry before = std::exchange(e, entry{K(key), one + 1});
    set_tag(at, chosen, tag_of(hash));
    send(before);  // which may wait
    return true;
  }

  /// Calls send(entry) for each, which then is there no more.
  template <class Send>
  void take_out_all(Send&& send) {
    for (std::size_t at = 0; used_ != 0; ++at) {
      while (tags_[at] != 0) {
        const unsigned taken = first(tags_[at] & tops);
        const entry out = std::exchange(entries_[at * places + taken], entry());
        set_tag(at, taken, 0);
        --used_;
        send(out);
      }
    }
  }

 private:
  static constexpr std::size_t places = 8;  // of a bucket: a byte of a word each
  static constexpr std::size_t first_buckets = 16;
  static constexpr std::uint64_t each = 0x0101010101010101U, tops = each << 7U;
  static constexpr std::uint64_t one = 256;     // of an entry's state
  static constexpr std::uint64_t hottest = 16;  // keys that come by before a hot one loses its place

  /// Neither those that name a table's slot, where the keys go from here bucket by bucket, nor the tag's.
  static std::size_t bits_of(std::uint64_t hash) noexcept { return hash >> 40U; }
  [[nodiscard]] std::size_t bucket_of(std::uint64_t hash) const noexcept { return bits_of(hash) & mask_; }
  static std::uint64_t tag_of(std::uint64_t hash) noexcept { return 0x80U | ((hash >> 32U) & 0x7FU); }
  static bool is_full(std::uint64_t tags) noexcept { return (~tags & tops) == 0; }
  /// A top bit for each byte that is the hash's tag, and perhaps for the one above it: keys are compared anyway.
  static std::uint64_t alike(std::uint64_t tags, std::uint64_t hash) noexcept {
    const std::uint64_t differing = tags ^ (each * tag_of(hash));
    return (differing - each) & ~differing & tops;
  }
  /// The number of the first byte that has a bit.
  static unsigned first(std::uint64_t bits) noexcept { return static_cast<unsigned>(std::countr_zero(bits)) / 8; }
  void set_tag(std::size_t at, unsigned which, std::uint64_t tag) noexcept {
    tags_[at] = (tags_[at] & ~(std::uint64_t{0xFF} << (8 * which))) | tag << (8 * which);
  }

  /// Twice as many buckets, or the first ones. \return false: there is no memory for them, and nothing has changed
  bool grow() {
    const std::size_t before = tags_.size();
    const std::size_t wanted = before == 0 ? std::min(first_buckets, most_buckets_) : 2 * before;
    try {
      tags_.reserve(wanted);
      entries_.resize(wanted * places);
    } catch (const std::bad_alloc&) {
      return false;
    }
    tags_.resize(wanted);
    mask_ = wanted - 1;
    for (std::size_t at = 0; at != before; ++at) {
      for (unsigned which = 0; which != places; ++which) {
        const std::uint64_t tag = (tags_[at] >> (8 * which)) & 0xFFU;
        entry& e = entries_[at * places + which];
        if (tag == 0 || (bits_of(Hash()(e.key)) & before) == 0) continue;
        entries_[(at + before) * places + which] = std::exchange(e, entry());
        set_tag(at + before, which, tag);
        set_tag(at, which, 0);
      }
    }
    return true;
  }

  std::vector<std::uint64_t> tags_;  // a byte a place; of a power of two buckets, or none
  std::vector<entry> entries_;
  std::size_t mask_ = 0;
  std::size_t used_ = 0;
  std::size_t most_buckets_;
};

}  // namespace detail
}  // namespace pgas
}  // namespace v1
}  // namespace shunt
