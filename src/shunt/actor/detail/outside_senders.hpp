/// Senders that are no fibers of the manager's workers: threads, and fibers of other runtimes. Each message has a train
/// of its own.
///
/// They share one endpoint, under a lock: its holder is the endpoint's owner.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>

#include <shunt/actor/detail/outbox.hpp>
#include <shunt/actor/detail/waiter.hpp>
#include <shunt/rail/endpoint.hpp>

namespace shunt {
inline namespace v1 {
namespace actor::detail {

class actor_system;

class outside_senders final : rail::credit {
 public:
  explicit outside_senders(actor_system& of);

  /// Any thread. Waits while 1,024 trains are on their way. `m` is empty afterwards, unless this throws.
  /// \throws error if there is no memory for a train, and what park() throws where waiting is impossible.
  void send(envelope& m, const char* call);

 private:
  static void train_came_home(void* self) noexcept;
  /// Under the lock, which it lets go while it sleeps.
  void wait(std::uint8_t channel, std::size_t trains, const char* call) override;
  void came_home(std::size_t /*trains*/) noexcept override {}  // train_came_home() wakes all that wait

  actor_system& of_;
  std::mutex lock_;  // guards what follows
  bool armed_ = false;
  listed_waiter* waiting_ = nullptr;
  rail::endpoint<open_batch> line_;
};

}  // namespace actor::detail
}  // namespace v1
}  // namespace shunt
