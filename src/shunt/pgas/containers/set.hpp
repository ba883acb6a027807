/// A distributed set of keys: as a map (map.hpp) without values.
///
/// ```cpp
/// pgas::set<std::uint64_t> seen(me);
/// pgas::superstep(me, [&] {
///   for (const auto key : keys) seen.insert(key);
/// });
/// const auto different = seen.size();
/// ```
#pragma once

#include <cstddef>
#include <cstdint>
#include <ranges>
#include <source_location>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <shunt/pgas/containers/detail/keyed.hpp>

namespace shunt {
inline namespace v1 {
namespace pgas {

/// The program of each PE makes it, in the same order as its other symmetric objects, and destroys it.
/// \tparam K, Hash  as map's
template <detail::key_type K, class Hash = key_hash<K>>
class set final : private detail::keyed<K, detail::hash_table<K, detail::no_value, Hash>, Hash> {
  using table_type = detail::hash_table<K, detail::no_value, Hash>;
  using base = detail::keyed<K, table_type, Hash>;
  using part = typename base::part;
  using key_at = detail::key_at<K>;

 public:
  using key_type = K;  ///< what it is a set of

  /// Collective, but does not wait for all: as actor_of's. \throws std::bad_alloc
  explicit set(pe& me) : base(me) {}
  /// Collective: the last superstep is over.
  ~set() = default;

  /// One-sided, in a superstep. \throws usage_error outside of one.
  [[gnu::always_inline]] void insert(key_at at) {
    this->check_change(at.line);
    this->to_owner(at.key, inserter(), at.line);
  }
  /// One-sided, in a superstep. \throws usage_error outside of one.
  void erase(key_at at) {
    this->check_change(at.line);
    this->to_owner(at.key, eraser(), at.line);
  }

  /// Local. This PE's keys, in no order: `for (const auto& key : s.local())`. In a superstep that changes the set,
  /// on any PE, iterators end when the next change comes: superstep.hpp.
  [[nodiscard]] auto local() const noexcept {
    return std::ranges::subrange(this->table().begin(), this->table().end()) |
           std::views::transform([](const auto& item) -> const K& { return item.first; });
  }
  /// Local. Whether this PE has the key.
  [[nodiscard]] bool contains_local(detail::key_view<K> key) const noexcept {
    return this->table().find(key) != nullptr;
  }
  /// The PE that has a key, or would have it.
  [[nodiscard]] int owner(detail::key_view<K> key) const noexcept { return this->owner_of(Hash()(key)); }
  /// Collective. Keys of all PEs.
  [[nodiscard]] std::uint64_t size() const { return this->me().sum(std::uint64_t{this->table().size()}); }

  /// Collective, outside of supersteps. \return of each key, whether it is in the set. PEs may ask for different
  /// numbers of keys, or none. \throws usage_error in a superstep. Cost: a message and a reply a key.
  template <std::ranges::random_access_range Keys>
  [[nodiscard]] std::vector<bool> contains(const Keys& keys,
                                           std::source_location where = std::source_location::current()) {
    this->check_read("contains()", where);
    std::vector<bool> found(static_cast<std::size_t>(std::ranges::size(keys)));
    this->mine().into = &found;
    this->template look_up<looker, receiver, text_looker>(keys, where);
    return found;
  }

  /// Local. Erases those of this PE's keys for which f(key) is true. \return how many
  template <class F>
  std::size_t erase_if(F&& f) {
    return this->table().erase_if([&](const K& key, detail::no_value) { return f(key); });
  }
  /// Local. Erases this PE's keys.
  void clear() noexcept { this->table().clear(); }
  /// Local. Room for so many keys on this PE before its table grows. \throws std::bad_alloc
  void reserve(std::size_t keys) { this->table().reserve(keys); }

  /// Local, outside of supersteps. For a checkpoint (checkpoint.hpp): this PE's keys.
  template <class Writer>
  void save(Writer& to) const {
    this->table().save(to);
  }
  /// Local, outside of supersteps. This PE's keys, as they were saved by as many PEs; in another order.
  template <class Reader>
  void load(Reader& from) {
    this->table().load(from);
  }

 private:
  struct inserter {
    void operator()(part& p, detail::key_view<K> key) const { p.table.find_or_insert(key); }
  };
  struct eraser {
    void operator()(part& p, detail::key_view<K> key) const noexcept { p.table.erase(key); }
  };
  struct looker {
    K key;
    bool operator()(const part& p) const { return p.table.find(key) != nullptr; }
  };
  struct receiver {
    std::size_t k;
    void operator()(part& p, bool found) const { (*static_cast<std::vector<bool>*>(p.into))[k] = found; }
  };
  struct reply {
    std::size_t k;
    bool found;
    void operator()(part& p) const { (*static_cast<std::vector<bool>*>(p.into))[k] = found; }
  };
  struct text_looker {
    std::size_t k;
    template <class Here>
    void operator()(part& p, std::string_view key, Here& here) const {
      here.template send<1>(here.from(), reply{k, p.table.find(key) != nullptr});
    }
  };
};

}  // namespace pgas
}  // namespace v1
}  // namespace shunt
