/// The memory of a channel's items.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <utility>

namespace shunt {
inline namespace v1 {
namespace sync {
namespace detail {

/// Places for items, which are numbered from 0 in the order in which they are put. A ring, if the channel has a
/// capacity; else blocks, each of which leads to the next.
///
/// put() and take() may run at the same time, as one of each; the channel's passages order an item's put() before its
/// take(), and in a ring the take() before the put() that uses the place again.
template <class T>
class item_store {
 public:
  /// \param capacity  of a ring, more than 0; 0: blocks. \throws std::bad_alloc.
  explicit item_store(std::uint64_t capacity)
      : mask_(capacity == 0 ? per_block - 1 : std::bit_ceil(capacity) - 1),
        in_blocks_(capacity == 0),
        filling_(make_block(mask_ + 1)),
        draining_(filling_) {}
  item_store(const item_store&) = delete;
  item_store& operator=(const item_store&) = delete;
  /// Every item has been taken.
  ~item_store() {
    while (draining_ != nullptr) destroy_block(std::exchange(draining_, draining_->next));
  }

  /// \throws std::bad_alloc for a new block; then nothing has changed.
  void put(std::uint64_t number, T&& item) {
    const auto place = number & mask_;
    if (in_blocks_ && place == 0 && number != 0) {
      block* const more = make_block(per_block);
      filling_->next = more;
      filling_ = more;
    }
    ::new (static_cast<void*>(filling_->items() + place)) T(std::move(item));
  }
  T take(std::uint64_t number) noexcept {
    const auto place = number & mask_;
    if (in_blocks_ && place == 0 && number != 0) destroy_block(std::exchange(draining_, draining_->next));
    T& at = *std::launder(draining_->items() + place);
    T item(std::move(at));
    at.~T();
    return item;
  }

 private:
  static constexpr std::uint64_t per_block = 64;

  struct block {
    block* next = nullptr;
    T* memory = nullptr;
    [[nodiscard]] T* items() const noexcept { return memory; }
  };
  [[nodiscard]] static block* make_block(std::uint64_t places) {
    auto made = std::make_unique<block>();
    made->memory = std::allocator<T>().allocate(places);
    return made.release();
  }
  void destroy_block(block* old) noexcept {
    std::allocator<T>().deallocate(old->memory, mask_ + 1);
    delete old;
  }

  const std::uint64_t mask_;
  const bool in_blocks_;
  alignas(64) block* filling_;   // the sending end's
  alignas(64) block* draining_;  // the receiving end's
};

}  // namespace detail
}  // namespace sync
}  // namespace v1
}  // namespace shunt
