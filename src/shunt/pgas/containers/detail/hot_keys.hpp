/// What a PE has counted of hot keys itself: a cache, of which a key's hash names the bucket of eight.
///
///   bucket      eight tags, each 7 bits of a key's hash, 0 for a free place; and eight heats
///   entries     of a bucket: eight keys with their counts
///
/// A look compares the eight tags at once, as hash_table does, and reads an entry only where the tag is the key's: so a
/// key that is not there costs one line of memory. Where a bucket is full, a key that is not there takes a degree of
/// heat from one of the eight, chosen by its hash, or the place of one that has none left: what comes often stays.
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
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <shunt/pgas/containers/detail/hash_table.hpp>

namespace shunt {
inline namespace v1 {
namespace pgas {
namespace detail {

/// Of as many bytes. Short ones, which keys mostly are, by loads that overlap.
[[nodiscard]] inline bool same_bytes(const char* a, const char* b, std::size_t size) noexcept {
  const auto same = [&]<class Word>(Word, std::size_t at) {
    Word one, other;
    std::memcpy(&one, a + at, sizeof one);
    std::memcpy(&other, b + at, sizeof other);
    return one == other;
  };
  if (size > 16) return std::memcmp(a, b, size) == 0;
  if (size >= 8) return same(std::uint64_t{}, 0) && same(std::uint64_t{}, size - 8);
  if (size >= 4) return same(std::uint32_t{}, 0) && same(std::uint32_t{}, size - 4);
  return size == 0 || (a[0] == b[0] && a[size / 2] == b[size / 2] && a[size - 1] == b[size - 1]);
}

/// One thread at a time. \tparam K, Hash  as hash_table's
template <class K, class Hash>
class hot_keys {
 public:
  /// A key, and how often it came since it took its place.
  struct entry {
    K key{};
    std::uint64_t count = 0;
  };

  /// \param most  keys; rounded up to a power of two, at least a bucket
  explicit hot_keys(std::size_t most) noexcept : most_buckets_(std::bit_ceil(std::max(most, places)) / places) {}

  /// Counts the key, if it is there. \return whether it is
  [[gnu::always_inline]] bool count(key_view<K> key, std::uint64_t hash) noexcept {
    if (buckets_.empty()) [[unlikely]]
      return false;
    const std::size_t at = hash & mask_;
    bucket& g = buckets_[at];
    const std::uint64_t differing = g.tags ^ (each * tag_of(hash));
    // A top bit for each byte that is 0, and perhaps for the one above it: the key is compared anyway.
    for (std::uint64_t same = (differing - each) & ~differing & tops; same != 0; same &= same - 1) {
      const auto place = static_cast<unsigned>(std::countr_zero(same)) / 8;
      entry& e = entries_[at * places + place];
      if (!equal(e.key, key)) [[unlikely]]
        continue;
      ++e.count;
      g.heats += static_cast<std::uint64_t>(g.heat(place) < hottest) << (8 * place);
      return true;
    }
    return false;
  }

  /// Takes in a key that is not there, counted once, unless those that are there are hotter.
  /// \param send  called with an entry that makes place for it, when the key has it \return whether it is taken in
  /// \throws std::bad_alloc: then nothing has changed; what `send` throws
  template <class Send>
  bool take_in(key_view<K> key, std::uint64_t hash, Send&& send) {
    if (buckets_.empty()) grow();
    while (is_full(buckets_[hash & mask_]) && 2 * used_ > entries_.size() && buckets_.size() < most_buckets_) grow();
    const std::size_t at = hash & mask_;
    bucket& g = buckets_[at];
    if (!is_full(g)) {
      const auto place = static_cast<unsigned>(std::countr_zero(~g.tags & tops)) / 8;
      entries_[at * places + place] = entry{K(key), 1};
      g.set(place, tag_of(hash));
      ++used_;
      return true;
    }
    const auto place = static_cast<unsigned>(hash >> 40U) & 7U;  // other bits than the tag's
    if (g.heat(place) != 0) {
      g.heats -= std::uint64_t{1} << (8 * place);
      return false;
    }
    const entry before = std::exchange(entries_[at * places + place], entry{K(key), 1});
    g.set(place, tag_of(hash));
    send(before);  // which may wait
    return true;
  }

  /// Calls send(entry) for each, which then is there no more.
  template <class Send>
  void take_out_all(Send&& send) {
    for (std::size_t at = 0; used_ != 0; ++at) {
      for (bucket& g = buckets_[at]; g.tags != 0;) {
        const auto place = static_cast<unsigned>(std::countr_zero(g.tags & tops)) / 8;
        g.tags &= ~(std::uint64_t{0xFF} << (8 * place));
        --used_;
        send(std::as_const(entries_[at * places + place]));
      }
    }
  }

 private:
  static constexpr std::size_t places = 8;  // of a bucket: a byte of a word each
  static constexpr std::size_t first_buckets = 16;
  static constexpr std::uint64_t each = 0x0101010101010101U, tops = each << 7U;
  static constexpr std::uint64_t hottest = 16;  // keys that come by before a hot one loses its place

  struct bucket {
    std::uint64_t tags = 0;   // a byte a place
    std::uint64_t heats = 0;  // the same, 0..hottest

    [[nodiscard]] std::uint64_t heat(unsigned place) const noexcept { return (heats >> (8 * place)) & 0xFFU; }
    /// The place has a key that has come once.
    void set(unsigned place, std::uint64_t tag) noexcept {
      const auto others = ~(std::uint64_t{0xFF} << (8 * place));
      tags = (tags & others) | tag << (8 * place);
      heats = (heats & others) | std::uint64_t{1} << (8 * place);
    }
  };

  static std::uint64_t tag_of(std::uint64_t hash) noexcept { return 0x80U | ((hash >> 32U) & 0x7FU); }
  static bool is_full(const bucket& g) noexcept { return (~g.tags & tops) == 0; }
  static bool equal(const K& a, key_view<K> b) noexcept {
    if constexpr (std::is_same_v<K, std::string>) {
      return a.size() == b.size() && same_bytes(a.data(), b.data(), b.size());
    } else {
      return a == b;
    }
  }

  /// Twice as many buckets, or the first ones.
  void grow() {
    const std::size_t before = buckets_.size();
    const std::size_t wanted = before == 0 ? std::min(first_buckets, most_buckets_) : 2 * before;
    entries_.resize(wanted * places);
    buckets_.resize(wanted);
    mask_ = wanted - 1;
    for (std::size_t at = 0; at != before; ++at) {
      for (unsigned place = 0; place != places; ++place) {
        bucket& g = buckets_[at];
        const std::uint64_t byte = std::uint64_t{0xFF} << (8 * place);
        entry& e = entries_[at * places + place];
        if ((g.tags & byte) == 0 || (Hash()(e.key) & before) == 0) continue;
        bucket& to = buckets_[at + before];
        to.tags |= g.tags & byte;
        to.heats |= g.heats & byte;
        g.tags &= ~byte;
        g.heats &= ~byte;
        entries_[(at + before) * places + place] = std::move(e);
      }
    }
  }

  std::vector<bucket> buckets_;  // a power of two, or none
  std::vector<entry> entries_;
  std::size_t mask_ = 0;
  std::size_t used_ = 0;
  std::size_t most_buckets_;
};

}  // namespace detail
}  // namespace pgas
}  // namespace v1
}  // namespace shunt
