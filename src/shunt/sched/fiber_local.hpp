/// A variable of which each fiber has its own.
///
/// ```cpp
/// shunt::sched::fiber_local<std::string> request_name;   // at namespace scope, or in an object
/// *request_name = "GET /";                                // this fiber's
/// ```
///
/// Use it instead of a thread_local, which all fibers of one worker share.
#pragma once

#include <cstdint>
#include <functional>
#include <utility>

namespace shunt {
inline namespace v1 {
namespace sched {
namespace detail {

/// \return a number that was never given before.
[[nodiscard]] std::uint64_t new_local_key() noexcept;
/// The running fiber's value of that key; nullptr for none. \throws usage_error outside a fiber.
[[nodiscard]] void* find_local(std::uint64_t key);
/// Gives the running fiber a value, of which it has none yet. Its end calls destroy(value). \throws std::bad_alloc
void add_local(std::uint64_t key, void* value, void (*destroy)(void*) noexcept);

}  // namespace detail

/// Any number of fibers may use it at a time, on any workers. A fiber's value is made at the fiber's first use, and
/// destroyed after the fiber's body has ended, the last made first; also if this object is gone by then. A stolen
/// branch of fork_join() runs on a fiber that has run branches of others before: hand such a branch what it needs.
template <typename T>
class fiber_local {
 public:
  fiber_local() : fiber_local([] { return T(); }) {}
  /// \param make  called in each fiber at first use, on that fiber; any number of them at a time.
  explicit fiber_local(std::function<T()> make) : make_(std::move(make)) {}
  fiber_local(const fiber_local&) = delete;
  fiber_local& operator=(const fiber_local&) = delete;

  /// A fiber only. The running fiber's value. Cost: some ns, and one more for each local that the fiber has.
  /// \throws usage_error outside a fiber; what making it throws; std::bad_alloc.
  [[nodiscard]] T& operator*() const {
    if (void* const known = detail::find_local(key_)) return *static_cast<T*>(known);
    auto* const made = new T(make_());
    try {
      detail::add_local(key_, made, [](void* value) noexcept { delete static_cast<T*>(value); });
    } catch (...) {
      delete made;
      throw;
    }
    return *made;
  }
  /// A member of the running fiber's value.
  [[nodiscard]] T* operator->() const { return &**this; }

 private:
  const std::uint64_t key_ = detail::new_local_key();
  std::function<T()> make_;
};

}  // namespace sched
}  // namespace v1
}  // namespace shunt
