/// A distributed multimap: any number of values by key, all of a key on the PE that its hash names.
///
/// ```cpp
/// pgas::multimap<std::uint64_t, order> of_customer(me);
/// pgas::superstep(me, [&] {
///   for (const auto& o : orders) of_customer.insert(o.customer, o);
/// });
/// for (auto [customer, theirs] : of_customer.local()) bill(customer, theirs);  // a vector
/// ```
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <shunt/pgas/containers/map.hpp>

namespace shunt {
inline namespace v1 {
namespace pgas {

/// The program of each PE makes it, in the same order as its other symmetric objects, and destroys it.
/// \tparam K, Hash  as map's \tparam V  a plain value
template <detail::key_type K, plain_value V, class Hash = key_hash<K>>
class multimap final {
  using key_at = detail::key_at<K>;

 public:
  using key_type = K;     ///< what values are found by
  using mapped_type = V;  ///< of one value

  /// Collective, but does not wait for all: as actor_of's. \throws std::bad_alloc
  explicit multimap(pe& me) : me_(&me), values_(me) {}

  /// One-sided, in a superstep. The key has one more value. \throws usage_error outside of one.
  void insert(key_at at, const V& value) { values_.visit(at, adder{value}); }
  /// One-sided, in a superstep. Calls f(values), or f(key, values), at the key's PE, with the key's values as a
  /// std::vector<V>; a key that is not there is inserted with none before. \param f  as map's
  template <class F>
  void visit(key_at at, const F& f) {
    values_.visit(at, f);
  }
  /// One-sided, in a superstep. The same, if the key is there.
  template <class F>
  void visit_if_present(key_at at, const F& f) {
    values_.visit_if_present(at, f);
  }
  /// One-sided, in a superstep. The key and its values are there no more. \throws usage_error outside of one.
  void erase(key_at at) { values_.erase(at); }

  /// Local. This PE's keys, each with its values, a std::vector<V>&, in no order. In a superstep: as map's.
  [[nodiscard]] auto local() noexcept { return values_.local(); }
  /// Local. The values of a key of this PE. \return null: this PE has no such key.
  [[nodiscard]] std::vector<V>* find_local(detail::key_view<K> key) noexcept { return values_.find_local(key); }
  /// The PE that has a key, or would have it.
  [[nodiscard]] int owner(detail::key_view<K> key) const noexcept { return values_.owner(key); }
  /// Collective. Keys of all PEs.
  [[nodiscard]] std::uint64_t keys() const { return values_.size(); }
  /// Collective. Values of all keys of all PEs.
  [[nodiscard]] std::uint64_t size() const {
    std::uint64_t mine = 0;
    for (const auto& [key, values] : values_.local()) mine += values.size();
    return me_->sum(mine);
  }
  /// Local. Erases this PE's keys, with their values.
  void clear() noexcept { values_.clear(); }

  /// Local, outside of supersteps. For a checkpoint (checkpoint.hpp): this PE's keys and their values.
  template <class Writer>
  void save(Writer& to) const {
    to.put(values_);
  }
  /// Local, outside of supersteps. This PE's keys and values, as they were saved by as many PEs.
  template <class Reader>
  void load(Reader& from) {
    from.get(values_);
  }

 private:
  struct adder {
    V value;
    void operator()(std::vector<V>& values) const { values.push_back(value); }
  };

  pe* me_;
  map<K, std::vector<V>, Hash> values_;
};

}  // namespace pgas
}  // namespace v1
}  // namespace shunt
