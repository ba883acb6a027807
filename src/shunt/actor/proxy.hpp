/// Calls of actors that look like calls, by a proxy that is written once for each interface.
///
/// ```cpp
/// struct player {  // the interface
///   virtual ~player() = default;
///   virtual void hit(shunt::ref<player> from, long ball) = 0;
///   virtual long hits() = 0;
/// };
/// template <>
/// struct shunt::actor::proxy<player> : shunt::proxy_of<player> {
///   using proxy_of::proxy_of;
///   void hit(shunt::ref<player> from, long ball, std::source_location where = std::source_location::current()) const {
///     tell<&player::hit>(from, ball, where);
///   }
///   shunt::future<long> hits() const { return ask<&player::hits>(); }
/// };
/// void serve(shunt::ref<player> a, shunt::ref<player> b) {
///   b->hit(a, 1);  // a message, as tell()
/// }
/// ```
///
/// Each method of the proxy names the interface's, so the compiler holds its arguments against them. With a `where`
/// that it passes on, errors name the line of the call through the proxy; without one, the proxy's own line.
///
/// Source: Papou, Railway: high-performance inter-thread communication, 2014: actors behind interfaces, and a manager
/// that makes them.
#pragma once

#include <utility>

#include <shunt/actor/ref.hpp>

namespace shunt {
inline namespace v1 {
namespace actor {

namespace detail {
template <typename>
inline constexpr bool has_proxy = false;
}  // namespace detail

/// To be specialized for an interface, by a class derived from proxy_of<I>.
template <typename I>
class proxy {
  static_assert(detail::has_proxy<I>,
                "`ref->method(...)` needs a proxy of this class: template <> struct shunt::actor::proxy<I> : "
                "shunt::proxy_of<I> { using proxy_of::proxy_of; ... }; without one, say ref.tell<&I::method>(...)");
};

/// What a proxy is made of. Copyable, as a ref is.
template <typename I>
class proxy_of : protected ref<I> {
 public:
  /// \param to  whom the calls go to; null: the first call throws, as ref's do.
  explicit proxy_of(const ref<I>& to) noexcept : ref<I>(to) {}

  /// `ref->method(...)`
  [[nodiscard]] const proxy<I>* operator->() const noexcept { return static_cast<const proxy<I>*>(this); }

 protected:
  using ref<I>::tell;  ///< as of ref
  using ref<I>::ask;   ///< as of ref: a future of the answer
};

template <typename T>
auto ref<T>::operator->() const noexcept {
  return proxy<T>(*this);
}

}  // namespace actor

using actor::proxy_of;

}  // namespace v1
}  // namespace shunt
