#include <shunt/rail/train.hpp>

namespace shunt {
inline namespace v1 {
namespace rail {

bool train_pool::buy() noexcept {
  if (bought_.size() == limit_) return false;
  try {
    bought_.reserve(bought_.size() + 1);
    void* memory = ::operator new(sizeof(train) + capacity_, std::align_val_t{cache_line});
    train* t = ::new (memory) train;
    t->home = home_;
    t->capacity = static_cast<std::uint32_t>(capacity_);
    bought_.emplace_back(t);
    free_.push_back(*t);
    return true;
  } catch (const std::bad_alloc&) {
    limit_ = bought_.size();  // the machine's limit came before ours, and takes its place
    return false;
  }
}

}  // namespace rail
}  // namespace v1
}  // namespace shunt
