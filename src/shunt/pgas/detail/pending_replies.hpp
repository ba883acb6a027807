/// Continuations of requests that are under way: what is to be done with each reply when it comes.
///
///   a batch of requests    open ──closes──> under way ──first reply──> being answered ──last reply──> (train goes
///                          back) continuations are written      `unanswered` counts down
///
/// Replies to a batch of requests come back in order, so they need not carry their continuations: a request id names
/// them, and each batch of replies says the first request that it answers. The continuations of one batch lie in a
/// train of the worker's pool that does not travel. Owned by the worker's thread; only where trains go straight.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <shunt/pgas/detail/batches.hpp>

namespace shunt {
inline namespace v1 {
namespace pgas {
namespace detail {

class pending_replies {
 public:
  /// Gives a batch of requests its id. \param kept  an empty train of the pool, taken as one that stays
  /// \param replies  the handler of the replies
  [[nodiscard]] std::uint32_t open(rail::train& kept, const wire::handler* replies, std::uint16_t selector);
  /// The batch is closed: so many requests will be answered.
  void close(std::uint32_t id, std::uint32_t count) noexcept { batches_[id].unanswered = batches_[id].count = count; }
  /// The continuation of request 0, and the following ones behind it.
  [[nodiscard]] const std::byte* continuations(std::uint32_t id) const noexcept { return batches_[id].kept->goods(); }
  /// `count` more requests are answered. \return the train, empty again, after the last; else nullptr.
  [[nodiscard]] rail::train* answered(std::uint32_t id, std::uint32_t count);

  /// Replies of another process: \throws damage unless they answer requests that are under way.
  void check(const wire::batch_head& replies, const wire::handler& how) const;

 private:
  struct batch {
    rail::train* kept = nullptr;  // null: the id is free
    std::uint32_t unanswered = 0;
    std::uint32_t count = 0;                 // of requests
    const wire::handler* replies = nullptr;  // the handler of their replies
    std::uint16_t selector = 0;
  };
  std::vector<batch> batches_;  // by request id
  std::vector<std::uint32_t> free_ids_;
};

}  // namespace detail
}  // namespace pgas
}  // namespace v1
}  // namespace shunt
