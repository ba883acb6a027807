#include <shunt/pgas/detail/pending_replies.hpp>

#include <string>
#include <utility>

#include <shunt/pgas/detail/validation.hpp>

namespace shunt {
inline namespace v1 {
namespace pgas {
namespace detail {

std::uint32_t pending_replies::open(rail::train& kept, const wire::handler* replies, std::uint16_t selector) {
  if (free_ids_.empty()) {
    free_ids_.push_back(static_cast<std::uint32_t>(batches_.size()));
    batches_.emplace_back();
  }
  const auto id = free_ids_.back();
  free_ids_.pop_back();
  batches_[id] = {&kept, 0, 0, replies, selector};
  return id;
}

rail::train* pending_replies::answered(std::uint32_t id, std::uint32_t count) {
  batch& b = batches_[id];
  b.unanswered -= count;
  if (b.unanswered != 0) return nullptr;
  free_ids_.push_back(id);
  return std::exchange(b.kept, nullptr);
}

void pending_replies::check(const wire::batch_head& replies, const wire::handler& how) const {
  const batch* const b = replies.request_id < batches_.size() ? &batches_[replies.request_id] : nullptr;
  if (b == nullptr || b->kept == nullptr || b->replies != &how || b->selector != replies.selector) {
    throw damage{"replies to requests " + std::to_string(replies.request_id) + ", which are not under way"};
  }
  if (std::uint64_t{replies.first} + replies.count > b->count || replies.count > b->unanswered) {
    throw damage{"replies " + std::to_string(replies.first) + " and " + std::to_string(replies.count) +
                 " following to " + std::to_string(b->count) + " requests, of which " + std::to_string(b->unanswered) +
                 " wait for one"};
  }
}

}  // namespace detail
}  // namespace pgas
}  // namespace v1
}  // namespace shunt
