/// Receiving: sorts what arrives, and unloads it into handlers.
///
///   train inbox, transport ──take──> arrived trains of channels 2, 1, 0 ──> for each batch its handler's loop ──> the
///   train goes home. A train with a batch for a selector that is not ready is deferred, and looked at again.
///
/// Invariants
///   inbound.A1  No handler runs while another one of the same worker does.
///   inbound.A2  Trains of channels 1 and 2 are always unloaded. Trains of channel 0 are unloaded only while the pool
///               is not over its credit (train_pool::over_credit), so that requests cannot outgrow replies.
///   inbound.A3  A batch is unloaded once: `unloaded` is set in its head, for a train that is looked at again.
#pragma once

#include <string>
#include <vector>

#include <shunt/pgas/detail/arrival.hpp>
#include <shunt/pgas/detail/outbound.hpp>

namespace shunt {
inline namespace v1 {
namespace pgas {
namespace detail {

class inbound {
 public:
  inbound(pe_worker& worker, const worker_facts& facts, job_link& job, selector_table& selectors,
          running_handler& handlers, outbound& out, arrived_trains& arrived)
      : worker_(worker),
        facts_(facts),
        job_(job),
        selectors_(selectors),
        handlers_(handlers),
        out_(out),
        arrived_(arrived) {}

  /// Takes what has arrived, and unloads some of it. Not inside a handler (inbound.A1). \return whether there was any.
  /// \throws what the transport throws
  bool unload_arrivals();

 private:
  enum class verdict : std::uint8_t { unload, defer, refuse };

  bool take_arrivals();
  bool take_from_transport();
  [[nodiscard]] rail::train* next_train() noexcept;
  [[nodiscard]] int trains_now() const noexcept;
  void unload(rail::train& t);
  [[nodiscard]] bool unload_batches(rail::train& t);
  [[nodiscard]] verdict judge(const wire::batch_head& batch, const wire::handler& how, const selector_state* s) const;
  void unload_batch(rail::train& t, arrival& a, const wire::handler& how);
  void run_handler(arrival& a, const wire::handler& how);
  void unload_mixed(arrival& a, const wire::handler& how);
  void check_replies(const arrival& a, const wire::handler& how) const;

  pe_worker& worker_;
  const worker_facts& facts_;
  job_link& job_;
  selector_table& selectors_;
  running_handler& handlers_;
  outbound& out_;
  arrived_trains& arrived_;
  std::vector<rail::train*> deferred_;  // trains with batches for a selector that is not ready here
};

}  // namespace detail
}  // namespace pgas
}  // namespace v1
}  // namespace shunt
