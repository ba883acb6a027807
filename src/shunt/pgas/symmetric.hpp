/// An object of which every PE has its own part.
#pragma once

#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>

#include <shunt/pgas/detail/local_parts.hpp>
#include <shunt/pgas/pe.hpp>

namespace shunt {
inline namespace v1 {
namespace pgas {

/// A symmetric object as a message names it: the part of the PE on which a handler runs.
///
/// ```cpp
/// pgas::symmetric<std::vector<long>> table(me, 1000);
/// const auto histogram = table.local();
/// pgas::actor_of updates(me);
/// updates.send(pe, [=] { histogram[spot]++; });
/// ```
/// A value of four bytes, to be captured. Handlers only: in its program a PE uses the symmetric object, and tasks have
/// none. The object is constructed before the actor through which the messages go, and outlives it.
/// Cost: some loads more than a part that a handler gets as its parameter.
/// \throws usage_error, when used, outside a handler, and where the PE has no such object. PEs that construct objects
///         of one type in different orders are not told so: their messages change other objects than they mean.
///
/// Source: figure 1 of the paper named in actor_of.hpp, whose handlers name symmetric arrays.
template <class T>
class local_part {
 public:
  /// Handlers only. The part of the PE on which the handler runs. \throws usage_error as said above.
  [[nodiscard]] T& operator*() const {
    return *static_cast<T*>(
        detail::local_parts::of_handler(name_, &detail::type_mark<std::remove_const_t<T>>, &wire::type_name<T>));
  }
  /// As operator*().
  [[nodiscard]] T* operator->() const { return &**this; }
  /// The part's item.
  template <class Index>
  [[nodiscard]] decltype(auto) operator[](const Index& index) const {
    return (**this)[index];
  }

 private:
  template <class>
  friend class symmetric;
  explicit local_part(std::uint32_t name) noexcept : name_(name) {}

  std::uint32_t name_;
};
static_assert(sizeof(local_part<int>) == 4 && std::is_trivially_copyable_v<local_part<int>>, "as said");

/// ```cpp
/// pgas::symmetric<std::vector<long>> histogram(me, 1000);   // 1000 counters on each PE
/// ```
/// Only its own PE touches a part: its program directly, others through messages, whose handlers run beside the part.
/// The part outlives every actor_of that names it, or whose messages do; the PE's program, no task, constructs and
/// destroys it.
template <class T>
class symmetric {
 public:
  using part_type = T;  ///< what each PE has one of

  /// Collective, but does not wait. \param arguments  of this PE's part; they may differ from PE to PE.
  /// \throws what T's constructor throws; usage_error in a task; std::bad_alloc.
  template <class... Arguments>
  explicit symmetric(pe& me, Arguments&&... arguments)
      : me_(&me),
        part_(std::forward<Arguments>(arguments)...),
        name_(me.add_part(std::addressof(part_), &detail::type_mark<T>)) {}
  ~symmetric() { me_->remove_part(name_); }
  symmetric(const symmetric&) = delete;
  symmetric& operator=(const symmetric&) = delete;

  /// Local. This PE's part.
  [[nodiscard]] T& operator*() noexcept { return part_; }
  /// The same, to read.
  [[nodiscard]] const T& operator*() const noexcept { return part_; }
  /// As operator*().
  [[nodiscard]] T* operator->() noexcept { return &part_; }
  /// As operator*().
  [[nodiscard]] const T* operator->() const noexcept { return &part_; }

  /// Local. What messages capture to name this object: in a handler it is the part of the PE where that runs.
  [[nodiscard]] local_part<T> local() noexcept { return local_part<T>(name_); }
  /// The same; handlers may only read the part.
  [[nodiscard]] local_part<const T> local() const noexcept { return local_part<const T>(name_); }

  /// Local. For a checkpoint (checkpoint.hpp): this PE's part.
  template <class Writer>
  void save(Writer& to) const {
    to.put(part_);
  }
  /// Local. This PE's part, as it was saved.
  template <class Reader>
  void load(Reader& from) {
    from.get(part_);
  }

  /// The PE that constructed this part.
  [[nodiscard]] pe& owner() const noexcept { return *me_; }

 private:
  pe* me_;
  T part_;
  std::uint32_t name_;
};

}  // namespace pgas
}  // namespace v1
}  // namespace shunt
