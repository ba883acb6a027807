/// One object of any type on each PE, and natural statements that change the one of a PE.
///
/// ```cpp
/// pgas::per_pe<std::vector<long>> lists(me);     // an empty one on each PE
/// pgas::superstep(me, [&] {
///   for (const long key : keys)
///     lists[key % me.count()].update([key](std::vector<long>& there) { there.push_back(key); });
/// });                                            // all have come
/// std::ranges::sort(*lists);                     // this PE's
/// ```
///
/// An array (array.hpp) has elements that are trivially copyable, and can be read from any PE. These are objects of any
/// type, which only their own PE reads: `*lists`, between supersteps. What a superstep promises stands in
/// superstep.hpp.
///
/// Cost: a change is the same message as a lambda's (actor_of.hpp).
#pragma once

#include <concepts>
#include <cstdint>
#include <source_location>
#include <span>
#include <utility>

#include <shunt/pgas/actor_of.hpp>
#include <shunt/pgas/array.hpp>
#include <shunt/pgas/element_changes.hpp>
#include <shunt/pgas/superstep.hpp>
#include <shunt/pgas/symmetric.hpp>

namespace shunt {
inline namespace v1 {
namespace pgas {

/// The program of each PE makes it, in the same order as its other symmetric objects, and destroys it.
/// \tparam T  any type
template <class T>
class per_pe final : private detail::distributed {
 public:
  using value_type = T;  ///< of each PE's object

  /// The object of one PE, as operator[] returns it: element_changes.hpp has what changes it.
  class element : public element_changes<element, T> {
   public:
    /// The same object.
    element(const element&) = default;
    /// `a[i] = b[k]` would read in a superstep.
    element& operator=(const element&) = delete;
    using element_changes<element, T>::operator=;

    using element_changes<element, T>::update;
    /// One-sided, in a superstep. The same with items that travel along, in one message: as array's.
    /// \throws usage_error outside of one, and for a PE that is not there; shunt::error for more items than fit into a
    /// train. Cost: less than a message an item.
    template <payload_item U, class F>
      requires std::invocable<const F&, T&, detail::payload_view<U>>
    void update(std::span<const U> items, const F& f) const {
      of_->check_change(at_.value, at_.line);
      of_->changes_.send(static_cast<int>(at_.value), items, f, at_.line);
    }

   private:
    friend class per_pe;
    friend class element_changes<element, T>;
    [[gnu::always_inline]] element(per_pe& of, array_index at) noexcept : of_(&of), at_(at) {}
    template <class F>
    [[gnu::always_inline]] void change(const F& f) const {
      of_->check_change(at_.value, at_.line);
      of_->changes_.send(static_cast<int>(at_.value), f, at_.line);
    }

    per_pe* of_;
    array_index at_;
  };

  /// Collective, but does not wait for all: as actor_of's. \param arguments  of this PE's object; they may differ from
  /// PE to PE. \throws what T's constructor throws; std::bad_alloc
  template <class... Arguments>
  explicit per_pe(pe& me, Arguments&&... arguments)
      : distributed(me, static_cast<std::uint64_t>(me.count())),
        part_(me, std::forward<Arguments>(arguments)...),
        changes_(part_) {}
  /// Collective: the last superstep is over.
  ~per_pe() = default;

  /// The object of a PE. \param pe  0..count-1. \throws usage_error, when it is used, for another one.
  [[nodiscard]] element operator[](array_index pe) noexcept { return element(*this, pe); }

  /// Local. This PE's object: to be read, or changed, between supersteps. In one it is as an array's part.
  [[nodiscard]] T& operator*() noexcept { return *part_; }
  /// The same, to read.
  [[nodiscard]] const T& operator*() const noexcept { return *part_; }
  /// As operator*().
  [[nodiscard]] T* operator->() noexcept { return &*part_; }
  /// As operator*().
  [[nodiscard]] const T* operator->() const noexcept { return &*part_; }

  /// Local, outside of supersteps. For a checkpoint (checkpoint.hpp): this PE's object.
  template <class Writer>
  void save(Writer& to) const {
    part_.save(to);
  }
  /// Local, outside of supersteps. This PE's object, as it was saved.
  template <class Reader>
  void load(Reader& from) {
    part_.load(from);
  }

 private:
  [[nodiscard]] detail::ending_selector changes() noexcept override { return detail::end_of::changes(changes_); }

  symmetric<T> part_;
  actor_of<T> changes_;
};

}  // namespace pgas
}  // namespace v1
}  // namespace shunt
