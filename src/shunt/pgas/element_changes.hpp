/// The statements that change an element of a distributed object: `h[i] += v`, `++h[i]`, `h[i] = v`, `h[i].max(v)`.
#pragma once

#include <concepts>
#include <type_traits>

namespace shunt {
inline namespace v1 {
namespace pgas {

namespace detail {

/// The base of all elements of distributed objects.
struct element_base {};

/// What a change carries. Of `h[i] += t[k]` that is the element's value, as if it stood alone: an element itself would
/// carry the address of `t`.
template <class U>
constexpr auto value_of(const U& value) {
  if constexpr (std::is_base_of_v<element_base, U>) {
    return static_cast<typename U::element_type>(value);
  } else {
    return value;
  }
}

}  // namespace detail

/// The base of what an operator[] of a distributed object returns. Each statement becomes a function of the element,
/// which runs on the element's PE. All of it: one-sided, in a superstep; usage_error outside of one. All are compiled
/// into the loop, as actor_of::send() is: left to itself, gcc 12 calls some of them.
/// \tparam Self  has `change(f)`, which makes f(element) happen; f is a value, as actor_of::send() takes it
/// \tparam T     of the element
template <class Self, class T>
class element_changes : private detail::element_base {
 public:
  using element_type = T;  ///< of the object's elements

  /// The element becomes `value`; of several such changes the last to arrive stays.
  [[gnu::always_inline]] void operator=(const T& value) const {
    change([value](T& at) { at = value; });
  }
  /// The same as the others below: the element's own operator, at its PE.
  template <class U>
  [[gnu::always_inline]] void operator+=(const U& value) const {
    change([value = detail::value_of(value)](T& at) { at = static_cast<T>(at + value); });
  }
  /// As operator+=.
  template <class U>
  [[gnu::always_inline]] void operator-=(const U& value) const {
    change([value = detail::value_of(value)](T& at) { at = static_cast<T>(at - value); });
  }
  /// As operator+=.
  template <class U>
  [[gnu::always_inline]] void operator*=(const U& value) const {
    change([value = detail::value_of(value)](T& at) { at = static_cast<T>(at * value); });
  }
  /// As operator+=.
  template <class U>
  [[gnu::always_inline]] void operator|=(const U& value) const {
    change([value = detail::value_of(value)](T& at) { at = static_cast<T>(at | value); });
  }
  /// As operator+=.
  template <class U>
  [[gnu::always_inline]] void operator&=(const U& value) const {
    change([value = detail::value_of(value)](T& at) { at = static_cast<T>(at & value); });
  }
  /// As operator+=.
  template <class U>
  [[gnu::always_inline]] void operator^=(const U& value) const {
    change([value = detail::value_of(value)](T& at) { at = static_cast<T>(at ^ value); });
  }
  /// As operator+=. Returns nothing: the value is elsewhere.
  [[gnu::always_inline]] void operator++() const {
    change([](T& at) { ++at; });
  }
  /// As operator++().
  [[gnu::always_inline]] void operator++(int) const { ++*this; }
  /// As operator++().
  [[gnu::always_inline]] void operator--() const {
    change([](T& at) { --at; });
  }
  /// As operator++().
  [[gnu::always_inline]] void operator--(int) const { --*this; }
  /// As operator+=. The element becomes `value` if that is less.
  [[gnu::always_inline]] void min(const T& value) const {
    change([value](T& at) {
      if (value < at) at = value;
    });
  }
  /// As operator+=. The element becomes `value` if that is greater.
  [[gnu::always_inline]] void max(const T& value) const {
    change([value](T& at) {
      if (at < value) at = value;
    });
  }
  /// As operator+=. Runs f(element) at its PE. \param f  as actor_of::send() takes it: captures are values
  template <class F>
    requires std::invocable<const F&, T&>
  [[gnu::always_inline]] void update(const F& f) const {
    change(f);
  }

 protected:
  element_changes() = default;
  /// Of the same element.
  element_changes(const element_changes&) = default;
  ~element_changes() = default;
  /// `a[i] = b[k]` would read in a superstep: gather() what is needed before.
  element_changes& operator=(const element_changes&) = delete;

 private:
  template <class F>
  [[gnu::always_inline]] void change(const F& f) const {
    static_cast<const Self&>(*this).change(f);
  }
};

}  // namespace pgas
}  // namespace v1
}  // namespace shunt
