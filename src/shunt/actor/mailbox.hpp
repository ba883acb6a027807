/// How much a mailbox holds, what happens when it is full, and what becomes of messages that no handler will get.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <shunt/base/error.hpp>

namespace shunt {
inline namespace v1 {
namespace actor {

/// What a tell or an ask does that finds the mailbox full. Messages of the manager itself (timers, monitors, stop and
/// restart) are exempt: they always pass.
enum class overflow : std::uint8_t {
  suspend,      ///< the sender waits for room, first come first served: a fiber parks, a thread blocks
  drop_newest,  ///< the message becomes a dead letter
  drop_oldest,  ///< the oldest message in the mailbox becomes a dead letter
  fail,         ///< the call throws mailbox_full
};

/// Messages that a mailbox holds unless its actor was spawned with another number. Each takes 64 bytes while it is
/// there.
inline constexpr std::uint32_t default_capacity = 1024;

/// Thrown by tell and ask where the mailbox is full and its policy is overflow::fail.
class mailbox_full : public error {
 public:
  /// See error's: the text, what is known as numbers, the line.
  using error::error;
};

/// Thrown by the future of an ask whose actor ended, or had ended, before it answered; or whose message was dropped.
class unanswered : public error {
 public:
  /// See error's: the text, what is known as numbers, the line.
  using error::error;
};

/// A message that no handler got, or will get.
struct dead_letter {
  std::string_view actor;   ///< its name; empty: it has none, or has ended
  std::string_view method;  ///< "&counter::add", as the compiler writes it
  std::string_view why;     ///< "the actor has ended", "its mailbox is full"
};

/// What a monitor is told.
struct ended {
  std::string name;  ///< the actor's; empty: it has none, or had ended before the monitor came
  std::string why;   ///< empty: it was asked to stop; else the text of what left its handler
};

}  // namespace actor

using actor::dead_letter;
using actor::ended;
using actor::mailbox_full;
using actor::overflow;
using actor::unanswered;

}  // namespace v1
}  // namespace shunt
