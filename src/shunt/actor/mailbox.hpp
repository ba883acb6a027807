/// How much a mailbox holds, what happens when it is full, and what becomes of messages that nobody will handle.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <shunt/base/error.hpp>

namespace shunt {
inline namespace v1 {

/// What a tell or an ask does that finds the mailbox full. What the manager itself sends (timers, monitors, stop and
/// restart) is exempt: it always passes.
enum class overflow : std::uint8_t {
  suspend,      ///< the sender waits for room, first come first served: a fiber parks, a thread blocks
  drop_newest,  ///< the message becomes a dead letter
  drop_oldest,  ///< the oldest message in the mailbox becomes a dead letter
  fail,         ///< the call throws mailbox_full
};

/// Messages that a mailbox holds unless its actor was spawned with another number; 64 bytes each, while they are
/// there.
inline constexpr std::uint32_t default_capacity = 1024;

/// Thrown by tell and ask where the mailbox is full and its policy is overflow::fail.
class mailbox_full : public error {
 public:
  using error::error;
};

/// What a future delivers whose actor ended, or had ended, before it answered; or whose message was dropped.
class unanswered : public error {
 public:
  using error::error;
};

/// A message that nobody handled, or will.
struct dead_letter {
  std::string_view actor;   ///< its name; empty: it has none, or has ended
  std::string_view method;  ///< "&counter::add", as the compiler writes it
  std::string_view why;     ///< "the actor has ended", "its mailbox is full"
};

/// What a monitor is told.
struct ended {
  std::string name;  ///< the actor's; empty: it has none, or had ended before the monitor came
  std::string why;   ///< empty: it was asked to stop; else what left its handler
};

}  // namespace v1
}  // namespace shunt
