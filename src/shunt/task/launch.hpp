/// Programs that are nothing but a root fiber.
///
/// ```cpp
/// int main() {
///   return shunt::launch([] { shunt::finish([] { shunt::async(serve_one); shunt::async(serve_other); }); });
/// }
/// ```
#pragma once

#include <concepts>
#include <functional>
#include <source_location>
#include <type_traits>
#include <utility>

#include <shunt/sched/runtime.hpp>
#include <shunt/task/finish.hpp>

namespace shunt {
inline namespace v1 {
namespace task {
namespace detail {
[[nodiscard]] int launch(const std::function<int()>& root, const sched::options& how,
                         std::source_location where) noexcept;
}  // namespace detail

/// The main thread, outside of any runtime. Runs `root` as the first fiber of a new runtime, and waits for all fibers
/// that it and they make. An exception that leaves one of them is written to stderr: the program's name, and what().
/// \param root  returns an int, which is the program's status, or anything else, which counts as 0
/// \param how   the runtime's options
/// \return the status for main(): 0 or what `root` returned; 1 after an exception; 2 after a usage_error.
template <std::invocable F>
  requires std::copy_constructible<std::decay_t<F>>
[[nodiscard]] int launch(F&& root, const sched::options& how = {},
                         std::source_location where = std::source_location::current()) {
  return detail::launch(
      [f = std::decay_t<F>(std::forward<F>(root))]() mutable -> int {
        if constexpr (std::is_same_v<std::invoke_result_t<std::decay_t<F>&>, int>) {
          return f();
        } else {
          static_cast<void>(f());
          return 0;
        }
      },
      how, where);
}

}  // namespace task

using task::launch;

}  // namespace v1
}  // namespace shunt
