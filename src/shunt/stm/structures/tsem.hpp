/// A counting semaphore.
#pragma once

#include <cstdint>
#include <limits>
#include <shunt/base/call_site.hpp>
#include <shunt/base/error.hpp>
#include <shunt/stm/atomically.hpp>
#include <source_location>

namespace shunt {
inline namespace v1 {
namespace stm {

namespace detail {
inline constinit transaction_class class_of_tsems{"tsem"};
}

/// Any thread or fiber may acquire, and any other may release. All operations conflict with each other; each is O(1). A
/// release wakes all fibers and threads that wait; the order in which they acquire is not specified.
class tsem {
 public:
  /// \param permits  that it begins with.
  explicit tsem(std::uint64_t permits) : permits_(permits) {}

  /// Waits until there are `count` permits, and takes them all at once. 0: does nothing.
  void acquire(tx& t, std::uint64_t count = 1) { t.check(try_acquire(t, count)); }
  /// The same as a transaction of its own.
  void acquire(std::uint64_t count = 1) {
    atomically(kind, [&](tx& t) { acquire(t, count); });
  }

  /// \return false: there are fewer permits; none is taken.
  [[nodiscard]] bool try_acquire(tx& t, std::uint64_t count = 1) {
    if (count == 0) return true;
    const auto now = t.read(permits_);
    if (now < count) return false;
    t.write(permits_, now - count);
    return true;
  }
  /// The same as a transaction of its own.
  [[nodiscard]] bool try_acquire(std::uint64_t count = 1) {
    return atomically(kind, [&](tx& t) { return try_acquire(t, count); });
  }

  /// \throws usage_error if there would be more than 2^64 - 1 permits; then nothing is done.
  void release(tx& t, std::uint64_t count = 1, std::source_location where = std::source_location::current()) {
    const auto now = t.read(permits_);
    if (count > std::numeric_limits<std::uint64_t>::max() - now) {
      const call_site call("tsem::release", where);
      throw usage_error(error_number(709),
                        "tsem: more permits than 2^64 - 1: release only what was acquired" + call.place(),
                        call.where());
    }
    t.write(permits_, now + count);
  }
  /// The same as a transaction of its own.
  void release(std::uint64_t count = 1, std::source_location where = std::source_location::current()) {
    atomically(kind, [&](tx& t) { release(t, count, where); });
  }

  /// Permits that are free.
  [[nodiscard]] std::uint64_t permits(tx& t) const { return t.read(permits_); }
  /// The same outside of transactions: one load.
  [[nodiscard]] std::uint64_t permits() const { return permits_.load(); }

 private:
  static constexpr const auto& kind = detail::class_of_tsems;

  tvar<std::uint64_t> permits_;
};

}  // namespace stm

using stm::tsem;

}  // namespace v1
}  // namespace shunt
