/// A distributed set that counts how often each key was inserted: for word counts, k-mers, degrees.
///
/// ```cpp
/// pgas::counting_set<std::string> words(me);
/// pgas::superstep(me, [&] {
///   for (const auto& word : text) words.insert(word);
/// });
/// for (const auto& [word, n] : words.local()) std::printf("%s %lu\n", word.c_str(), n);
/// ```
///
/// Each PE counts hot keys itself, in a cache, and sends what it has counted when the key makes place for a hotter one,
/// or at the end of the superstep. So a key that makes up half of all inserts does not make its owner the job's
/// bottleneck, and words of a natural text cost a third of what they cost a map.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <ranges>
#include <source_location>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include <shunt/pgas/containers/detail/hot_keys.hpp>
#include <shunt/pgas/containers/detail/keyed.hpp>

namespace shunt {
inline namespace v1 {
namespace pgas {

/// The program of each PE makes it, in the same order as its other symmetric objects, and destroys it.
/// \tparam K, Hash  as map's
template <detail::key_type K, class Hash = key_hash<K>>
class counting_set final : private detail::keyed<K, detail::hash_table<K, std::uint64_t, Hash>, Hash> {
  using table_type = detail::hash_table<K, std::uint64_t, Hash>;
  using base = detail::keyed<K, table_type, Hash>;
  using part = typename base::part;
  using key_at = detail::key_at<K>;

 public:
  using key_type = K;  ///< what is counted

  /// Collective, but does not wait for all: as actor_of's.
  /// \param cached  keys that each PE counts itself, at most; rounded up to a power of two and to 8, 0 for none; fewer
  ///                where there are many PEs; texts of more than 64 bytes are not. Memory: a key and 9 bytes each, of
  ///                a text of up to 16 bytes 33 in all; of as many keys as there have been, or up to four times as many
  /// \throws std::bad_alloc
  explicit counting_set(pe& me, std::size_t cached = most_cached)
      : base(me),
        caches_(cached != 0),
        cache_(cache_size(cached, me.count())),
        long_texts_(cache_size(cached, me.count())) {}
  /// Collective: the last superstep is over.
  ~counting_set() = default;

  /// One-sided, in a superstep. The key was seen once more. Tasks of the PE may call it, too; what they insert on
  /// another worker goes past the cache. \throws usage_error outside of one.
  [[gnu::always_inline]] void insert(key_at at) {
    this->check_change(at.line);
    if (!caches_here() || !is_short(at.key)) [[unlikely]]
      return insert_long(at, Hash()(at.key));
    const short_key key(at.key);
    const waiting now{short_hash()(key), key, cache::none, at.line};
    cache_.prefetch(now.hash);
    waiting& oldest = waiting_[inserts_ % most_waiting];
    if (inserts_ >= most_waiting) {
      waiting& half_way = waiting_[(inserts_ - most_waiting / 2) % most_waiting];
      half_way.where = cache_.seek(half_way.hash);
      if (!cache_.count(oldest.where, oldest.key)) {
        ++inserts_;
        // The new key is in its place before that: a send may wait, and other fibers of the PE insert meanwhile.
        return insert_slowly(std::exchange(oldest, now));
      }
    }
    ++inserts_;
    oldest = now;
  }
  /// One-sided, in a superstep. The key was seen `count` times more; 0 makes no key.
  /// \throws usage_error outside of one.
  void insert(key_at at, std::uint64_t count) {
    this->check_change(at.line);
    if (count != 0) this->to_owner(at.key, more{count}, at.line);
  }

  /// Local. This PE's keys and how often each was inserted, by any PE, in no order:
  /// `for (auto [key, count] : s.local())`. In a superstep that inserts, on any PE, it lacks what PEs still count
  /// themselves, and iterators end when the next count comes: superstep.hpp.
  [[nodiscard]] auto local() const noexcept {
    return std::ranges::subrange(this->table().begin(), this->table().end());
  }
  /// Local. How often a key of this PE was inserted; 0 for one of another PE, too.
  [[nodiscard]] std::uint64_t count_local(detail::key_view<K> key) const noexcept {
    const auto* const at = this->table().find(key);
    return at == nullptr ? 0 : at->value;
  }
  /// The PE that has a key, or would have it.
  [[nodiscard]] int owner(detail::key_view<K> key) const noexcept { return this->owner_of(Hash()(key)); }
  /// Collective. Different keys, of all PEs.
  [[nodiscard]] std::uint64_t size() const { return this->me().sum(std::uint64_t{this->table().size()}); }
  /// Collective. Inserts of all keys.
  [[nodiscard]] std::uint64_t total() const {
    std::uint64_t mine = 0;
    for (const auto& [key, count] : local()) mine += count;
    return this->me().sum(mine);
  }
  /// Local. Erases this PE's keys.
  void clear() noexcept { this->table().clear(); }
  /// Local. Room for so many keys on this PE before its table grows. \throws std::bad_alloc
  void reserve(std::size_t keys) { this->table().reserve(keys); }

  /// Local, outside of supersteps. For a checkpoint (checkpoint.hpp): this PE's keys and counts.
  template <class Writer>
  void save(Writer& to) const {
    this->table().save(to);
  }
  /// Local, outside of supersteps. This PE's keys and counts, as they were saved by as many PEs; in another order.
  template <class Reader>
  void load(Reader& from) {
    this->table().load(from);
  }

 private:
  static constexpr std::size_t most_cached = 131'072;
  static constexpr std::size_t most_in_job = 512 * 1024;
  static constexpr std::size_t longest_cached = 64;  // bytes of a text
  static constexpr std::size_t most_waiting = 32;

  using short_key = std::conditional_t<detail::is_text<K>, detail::short_text, K>;
  using short_hash = std::conditional_t<detail::is_text<K>, detail::short_text_hash<Hash>, Hash>;

  using cache = detail::hot_keys<short_key, short_hash>;

  /// A key that is fetched from memory: first its bucket of the cache, then, half way, its place there.
  struct waiting {
    std::uint64_t hash;
    short_key key;
    typename cache::place where;
    std::source_location line;
  };
  struct one_more {
    void operator()(part& p, detail::key_view<K> key) const { ++p.table.find_or_insert(key).first->value; }
  };
  struct more {
    std::uint64_t count;
    void operator()(part& p, detail::key_view<K> key) const { p.table.find_or_insert(key).first->value += count; }
  };

  /// Whether the calling thread may use the cache: that of the PE's worker may.
  [[nodiscard]] bool caches_here() const noexcept { return caches_ && this->me().home().owns_thread(); }
  static bool is_short([[maybe_unused]] detail::key_view<K> key) noexcept {
    if constexpr (detail::is_text<K>) {
      return key.size() <= detail::short_words::most;
    } else {
      return true;
    }
  }
  /// Of a thousand PEs in a process each has a smaller one.
  static std::size_t cache_size(std::size_t wanted, int pes) noexcept {
    return std::min(wanted, std::max<std::size_t>(16, most_in_job / static_cast<std::size_t>(pes)));
  }

  [[gnu::noinline]] void insert_slowly(const waiting& w) {
    const auto send = [&](const auto& e) { send_count(e.key, e.count(), w.line); };
    if (!cache_.count_or_take_in(w.key, w.hash, send)) send_count(w.key, 1, w.line);
  }
  /// Of a text of more than 16 bytes, or without a cache that this thread may use.
  [[gnu::noinline]] void insert_long(const key_at& at, std::uint64_t hash) {
    if constexpr (detail::is_text<K>) {
      if (caches_here() && at.key.size() <= longest_cached) {
        const auto send = [&](const auto& e) { send_count(e.key, e.count(), at.line); };
        if (long_texts_.count_or_take_in(at.key, hash, send)) return;
      }
    }
    this->to_owner(at.key, hash, one_more(), at.line);
  }

  void send_count(detail::key_view<K> key, std::uint64_t count, std::source_location where) {
    if (count == 1) {
      this->to_owner(key, one_more(), where);
    } else {
      this->to_owner(key, more{count}, where);
    }
  }
  void send_count(const detail::short_text& key, std::uint64_t count, std::source_location where)
    requires detail::is_text<K>
  {
    send_count(detail::short_text_bytes(key).view(), count, where);
  }

  void send_rest() override {
    for (auto n = inserts_ - std::min<std::uint64_t>(inserts_, most_waiting); n != inserts_; ++n)
      insert_slowly(waiting_[n % most_waiting]);
    inserts_ = 0;
    // All by one function, also keys that came once: two in turn would cost a head each.
    const auto here = std::source_location::current();
    if constexpr (detail::is_text<K>) {
      cache_.take_out_all(
          [&](const auto& e) { this->to_owner(detail::short_text_bytes(e.key).view(), more{e.count()}, here); });
      long_texts_.take_out_all([&](const auto& e) { this->to_owner(e.key, more{e.count()}, here); });
    } else {
      cache_.take_out_all([&](const auto& e) { this->to_owner(e.key, more{e.count()}, here); });
    }
  }

  const bool caches_;
  cache cache_;
  std::array<waiting, most_waiting> waiting_{};
  std::uint64_t inserts_ = 0;                       // since the superstep began
  detail::hot_keys<std::string, Hash> long_texts_;  // of texts only
};

}  // namespace pgas
}  // namespace v1
}  // namespace shunt
