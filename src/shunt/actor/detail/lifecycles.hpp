/// The actors of one dispatcher from spawn to end: their cells, requests, restarts, failures and monitors.
#pragma once

#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <source_location>
#include <string>
#include <vector>

#include <shunt/actor/detail/actor_cell.hpp>
#include <shunt/actor/detail/lifecycle.hpp>
#include <shunt/actor/mailbox.hpp>

namespace shunt {
inline namespace v1 {
namespace actor::detail {

/// What leaves a handler that was asked: the fiber that asked has been given the exception; this is its text.
struct answered_failure {
  std::string text;
};
/// what(), or that there is none.
[[nodiscard]] std::string text_of(const std::exception_ptr& failure);

class lifecycles {
 public:
  explicit lifecycles(dispatcher& of) noexcept : of_(of) {}

  // --- any thread ---

  /// A cell for an object that has been made. \throws error once this is closed; then `about` is as it was.
  /// \param where  of the actor's options
  [[nodiscard]] address spawn(std::unique_ptr<lifecycle>& about, void* object, std::uint32_t capacity,
                              overflow when_full, std::source_location where = {});
  /// From now on spawn() throws.
  void close() noexcept;

  // --- the owner's thread ---

  /// Asks the actor, if it lives, to end or to restart before its next message.
  void request(actor_cell& c, std::uint32_t incarnation, cell_flag what) noexcept;
  /// Asks all actors to end.
  void end_all() noexcept;
  /// Grants what was requested from an actor that no fiber runs. \return whether it lives on.
  [[nodiscard, gnu::noinline, gnu::cold]] bool grant_requests(actor_cell& c);
  /// An exception has left a handler of the actor. \return whether it lives on.
  [[nodiscard, gnu::noinline, gnu::cold]] bool failed(actor_cell& c, const std::exception_ptr& why);
  /// Appends the quoted names of actors that are not idle.
  void append_busy(std::string& names) const;

 private:
  [[nodiscard]] bool restart(actor_cell& c);
  void end(actor_cell& c, const std::string& why) noexcept;

  dispatcher& of_;
  std::mutex lock_;  // guards what follows
  std::vector<std::unique_ptr<actor_cell>> cells_;
  actor_cell* vacant_ = nullptr;  // cells without an actor
  bool closed_ = false;
};

}  // namespace actor::detail
}  // namespace v1
}  // namespace shunt
