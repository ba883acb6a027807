/// Messages: variables of the program that actors hand to each other. See engine.hpp for the whole picture.
#pragma once

#include <atomic>
#include <cstdint>

#include <shunt/base/error.hpp>

namespace shunt {
inline namespace v1 {
namespace templet {

class actor;
class engine;
class message;

namespace detail {
template <class>
class inbox;
class loop;
class scheduler;
}  // namespace detail

[[nodiscard]] bool access(const message& m, const actor& a) noexcept;
void send(engine& e, message& m, actor& to);

/// A variable that actors hand to each other. Programs derive from it, or let it stand for something.
///
///   where_  unsent    no actor has had it yet
///           a         actor a has it
///           a, +1     on its way to a
///
///   where_      send(m, to) by a caller that may                delivery     access(m, a)
///   unsent      -> on its way; of two senders, one exchange wins   -            false
///   a           -> on its way, by a's handler                      -            true
///   on its way  refused                                            -> a         false
class message {
 public:
  message() noexcept = default;
  message(const message&) = delete;
  message& operator=(const message&) = delete;
  /// Not on its way (contract).
  ~message() { SHUNT_ASSERT(!on_its_way()); }

 private:
  template <class>
  friend class detail::inbox;
  friend class detail::loop;
  friend class detail::scheduler;
  friend bool access(const message& m, const actor& a) noexcept;
  friend void send(engine& e, message& m, actor& to);
  static constexpr std::uintptr_t under_way = 1;  // a bit beside an actor*
  static constexpr std::uintptr_t unsent = 1;     // the same bit, so that one look tells both from "a has it"

  [[nodiscard]] bool on_its_way() const noexcept {
    const auto where = where_.load(std::memory_order_relaxed);  // relaxed: a look; another actor may have it
    return where != unsent && (where & under_way) != 0;
  }

  std::atomic<std::uintptr_t> where_{unsent};
  message* next_ = nullptr;  // the inbox's
};

}  // namespace templet
}  // namespace v1
}  // namespace shunt
