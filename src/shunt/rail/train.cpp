#include <shunt/rail/train.hpp>

#include <algorithm>

#include <shunt/base/sanitizers.hpp>

namespace shunt {
inline namespace v1 {
namespace rail {
namespace {

/// AddressSanitizer guards what is allocated by itself: there every train has its own yard.
#if defined(SHUNT_ASAN)
constexpr bool apart = true;
#else
constexpr bool apart = false;
#endif

}  // namespace

bool train_pool::buy() noexcept {
  if (bought_ == limit_) return false;
  if (sites_ == 0) {
    try {
      const std::size_t a_page = apart ? 0 : huge_page / train_bytes();  // trains that one holds
      const std::size_t sites = std::clamp<std::size_t>(a_page, 1, limit_ - bought_);
      yards_.emplace_back(sites == a_page ? huge_page : sites * train_bytes(), cache_line);
      site_ = yards_.back().data();
      sites_ = sites;
    } catch (const std::bad_alloc&) {
      limit_ = bought_;  // the machine's limit came before ours, and takes its place
      return false;
    }
  }
  train* const t = ::new (static_cast<void*>(site_)) train;
  t->home = home_;
  t->capacity = static_cast<std::uint32_t>(capacity_);
  site_ += train_bytes();
  --sites_;
  ++bought_;
  rest(*t);
  return true;
}

}  // namespace rail
}  // namespace v1
}  // namespace shunt
