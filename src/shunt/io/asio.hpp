/// Fibers that wait for operations of Boost.Asio: a completion token.
///
/// ```cpp
/// boost::asio::io_context context;                          // a thread of the program runs it, beside the workers
/// boost::asio::serial_port port(context, "/dev/ttyS0");
/// const auto bytes = port.async_read_some(boost::asio::buffer(room), shunt::io::use_fiber);   // in a fiber
/// ```
///
/// The operation runs where its io_context runs. The fiber that began it waits, its worker does not; so a program can
/// use what Asio has and this library has not: serial ports, HTTP by Boost.Beast, libraries that are written for Asio.
/// Threads may use the token as well: they sleep.
///
/// Not part of <shunt/io.hpp>. Empty where Boost.Asio is not installed (Debian: libboost-dev); 1.70 or later.
#pragma once

#if __has_include(<boost/asio/async_result.hpp>)

#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>

#include <boost/asio/async_result.hpp>
#include <boost/asio/error.hpp>
#include <boost/system/error_code.hpp>
#include <boost/system/system_error.hpp>

#include <shunt/sched.hpp>
#include <shunt/sched/waiter.hpp>

namespace shunt {
inline namespace v1 {
namespace io {

/// The type of use_fiber.
class use_fiber_t {
 public:
  /// The same token for calls that set `ec` instead of throwing boost::system::system_error. `ec` lives until the
  /// operation has ended.
  [[nodiscard]] constexpr use_fiber_t operator[](boost::system::error_code& ec) const noexcept {
    use_fiber_t made;
    made.ec_ = &ec;
    return made;
  }
  /// Where the code goes; null: it is thrown.
  [[nodiscard]] constexpr boost::system::error_code* code() const noexcept { return ec_; }

 private:
  boost::system::error_code* ec_ = nullptr;
};

/// In place of a handler: the call begins the operation, waits for its end, and returns what the handler would have got
/// after its error code: nothing, a value, or a tuple of several.
///
/// \throws boost::system::system_error with the operation's code, unless the token was given one; with
///         boost::asio::error::operation_aborted if the io_context ended without the operation. What
///         sched::this_fiber::require_wait() throws, before the operation begins.
///
/// Cost: two wakes between threads.
inline constexpr use_fiber_t use_fiber{};

namespace detail {

/// What a fiber waits for, in its frame. Edge `woken` of sched::waiter makes the result visible.
template <typename... Results>
struct asio_wait : sched::waiter {
  std::optional<std::tuple<Results...>> result;  // empty after the wake: the handler was dropped
};

/// The handler that Asio calls once, or drops. Moves, does not copy.
template <typename... Results>
class asio_handler {
 public:
  explicit asio_handler(asio_wait<Results...>& of) noexcept : of_(&of) {}
  asio_handler(asio_handler&& other) noexcept : of_(std::exchange(other.of_, nullptr)) {}
  asio_handler& operator=(asio_handler&&) = delete;
  ~asio_handler() {
    if (of_ != nullptr) of_->wake();
  }
  template <typename... Given>
  void operator()(Given&&... given) {
    of_->result.emplace(std::forward<Given>(given)...);  // may throw: then the destructor wakes the fiber
    std::exchange(of_, nullptr)->wake();
  }

 private:
  asio_wait<Results...>* of_;
};

template <typename... Values>
auto only(std::tuple<Values...>&& all) {
  if constexpr (sizeof...(Values) == 1) {
    return std::get<0>(std::move(all));
  } else if constexpr (sizeof...(Values) > 1) {
    return std::move(all);
  }
}

inline void tell(use_fiber_t how, const boost::system::error_code& ec) {
  if (how.code() != nullptr) {
    *how.code() = ec;
  } else if (ec) {
    throw boost::system::system_error(ec);
  }
}

/// What the call returns, from what the handler got.
template <typename First, typename... Rest>
auto asio_result(use_fiber_t how, std::tuple<First, Rest...>&& all) {
  if constexpr (std::is_same_v<First, boost::system::error_code>) {
    tell(how, std::get<0>(all));
    return std::apply(
        [](auto&&, auto&&... rest) { return only(std::tuple<Rest...>(std::forward<decltype(rest)>(rest)...)); },
        std::move(all));
  } else {
    return only(std::move(all));
  }
}
inline void asio_result(use_fiber_t, std::tuple<>&&) {}

}  // namespace detail
}  // namespace io
}  // namespace v1
}  // namespace shunt

/// \cond
/// What Boost.Asio asks about the token.
template <typename R, typename... Args>
class boost::asio::async_result<shunt::io::use_fiber_t, R(Args...)> {
 public:
  /// Begins the operation, and waits for its end: see shunt::io::use_fiber.
  template <typename Initiation, typename... InitArgs>
  static auto initiate(Initiation&& initiation, shunt::io::use_fiber_t how, InitArgs&&... with) {
    using namespace shunt::io::detail;
    if (shunt::sched::this_worker::index() >= 0) shunt::sched::this_fiber::require_wait("use_fiber");
    asio_wait<std::decay_t<Args>...> end;
    std::forward<Initiation>(initiation)(asio_handler<std::decay_t<Args>...>(end), std::forward<InitArgs>(with)...);
    end.wait("an operation of Asio", "use_fiber");
    if (!end.result) tell({}, boost::asio::error::operation_aborted);
    return asio_result(how, std::move(*end.result));
  }
};
/// \endcond

#endif
