/// A distributed bag: items in no order and on no PE in particular, such as work.
///
/// ```cpp
/// pgas::bag<task> work(me);
/// work.add(first);                                   // on this PE
/// work.drain([&](const task& t) {                    // until none is left anywhere
///   for (const task& part : parts_of(t)) work.insert(part);
/// });
/// ```
#pragma once

#include <atomic>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <source_location>
#include <utility>
#include <vector>

#include <shunt/pgas/actor_of.hpp>
#include <shunt/pgas/containers/balance.hpp>
#include <shunt/pgas/detail/refusals.hpp>
#include <shunt/pgas/superstep.hpp>
#include <shunt/pgas/symmetric.hpp>

namespace shunt {
inline namespace v1 {
namespace pgas {

/// The program of each PE makes it, in the same order as its other symmetric objects, and destroys it.
template <plain_value T>
class bag final : private detail::distributed {
 public:
  using value_type = T;  ///< of an item

  /// Collective, but does not wait for all: as actor_of's. \throws std::bad_alloc
  explicit bag(pe& me) : distributed(me, 1), part_(me), messages_(part_), next_pe_(me.index()) {}
  /// Collective: the last superstep is over.
  ~bag() = default;

  /// One-sided, in a superstep. Puts an item onto the next PE, in turn: so all get the same number, but for one a
  /// sender. \throws usage_error outside of one.
  void insert(const T& item, std::source_location where = std::source_location::current()) {
    if (changeable() == 0) [[unlikely]]
      detail::refuse_change(me().index(), false, 0, 0, where);
    const int to = next_pe_.load(std::memory_order_relaxed);  // relaxed: two tasks of the PE may take the same one
    next_pe_.store(to + 1 == me().count() ? 0 : to + 1, std::memory_order_relaxed);  // relaxed: the same
    messages_.send(to, [item](part& there) { there.arrived.push_back(item); }, where);
  }
  /// Local, outside of supersteps. Puts an item onto this PE.
  void add(const T& item) { part_->items.push_back(item); }

  /// Local. This PE's items; to be read, or changed, outside of supersteps. In one they are those from before it, in
  /// drain() none.
  [[nodiscard]] std::vector<T>& local() noexcept { return part_->items; }
  /// The same, to read.
  [[nodiscard]] const std::vector<T>& local() const noexcept { return part_->items; }
  /// Collective. Items of all PEs.
  [[nodiscard]] std::uint64_t size() const { return me().sum(std::uint64_t{part_->items.size()}); }
  /// Collective. Moves items until each PE has as many as the others, but for one.
  void balance() { pgas::balance(me(), part_->items); }

  /// Collective, outside of supersteps. Takes every item out and calls f(item) where it is, which may insert() more;
  /// until none is left anywhere. It goes in rounds: items are shared out evenly, then a superstep works on them; what
  /// is inserted in it is work of the next one.
  /// \throws what `f` throws: then the item that it got is gone, what is left of the round stays, and what was inserted
  ///         in it is there after the next superstep.
  template <std::invocable<const T&> F>
  void drain(F&& f) {
    std::vector<T> now;
    while (size() != 0) {
      balance();
      superstep(me(), [&] {
        now.swap(part_->items);
        try {
          while (!now.empty()) {
            const T item = now.back();
            now.pop_back();
            f(item);
          }
        } catch (...) {
          part_->items.insert(part_->items.end(), now.begin(), now.end());
          throw;
        }
      });
    }
  }

  /// Local, outside of supersteps. For a checkpoint (checkpoint.hpp): this PE's items, and which PE gets the next one.
  template <class Writer>
  void save(Writer& to) const {
    to.put(part_->items);
    to.put(next_pe_.load(std::memory_order_relaxed));  // relaxed: the PE's tasks have ended
  }
  /// Local, outside of supersteps. This PE's items, as they were saved.
  template <class Reader>
  void load(Reader& from) {
    from.get(part_->items);
    const int next = from.template get<int>();
    if (next < 0 || next >= me().count()) from.refuse("its next item is for a PE that the job does not have");
    next_pe_.store(next, std::memory_order_relaxed);  // relaxed: the PE's tasks begin later
  }

 private:
  /// What arrives does not lie with the items: a faster PE may be in the next superstep while this one balances.
  struct part {
    std::vector<T> items;
    std::vector<T> arrived;  // in this superstep
  };

  [[nodiscard]] detail::ending_selector changes() noexcept override { return detail::end_of::changes(messages_); }
  void ended() override {
    auto& [items, arrived] = *part_;
    if (items.empty()) {
      items.swap(arrived);
    } else {
      items.insert(items.end(), arrived.begin(), arrived.end());
    }
    arrived.clear();
  }

  symmetric<part> part_;
  actor_of<part> messages_;
  std::atomic<int> next_pe_;  // also by tasks of the PE on other workers
};

}  // namespace pgas
}  // namespace v1
}  // namespace shunt
