#include <shunt/templet/detail/virtual_time.hpp>

#include <algorithm>

namespace shunt {
inline namespace v1 {
namespace templet {
namespace detail {

virtual_time::virtual_time(const simulate& on) : on_(on) {
  for (int c = 0; c < on.cores; ++c) cores_.push(time(0));
}

auto virtual_time::take(std::unordered_map<const void*, moment>& from, const void* key) -> moment {
  const auto found = from.find(key);
  return found == from.end() ? moment{} : found->second;
}

void virtual_time::sent(const message& m, const actor& to) {
  moment when;
  if (running_) {
    // With a cost function `now_` is the handler's end already.
    const time after = on_.cost != nullptr ? time(0) : since_begin();
    when = {now_.at + after, now_.chain + after};
  }
  sent_[&m] = when;
  first_.try_emplace(&to, when.at);
}

void virtual_time::queue(actor& a) {
  const auto first = first_.find(&a);
  const time at = std::max(first == first_.end() ? time(0) : first->second, take(free_, &a).at);
  if (first != first_.end()) first_.erase(first);
  ready_.emplace(at, &a);
}

actor* virtual_time::next() noexcept {
  if (ready_.empty()) return nullptr;
  actor* const a = ready_.begin()->second;
  ready_.erase(ready_.begin());
  return a;
}

void virtual_time::begins(const message& m, const actor& a) {
  const moment sent = take(sent_, &m), before = take(free_, &a);
  const time core = cores_.top();
  cores_.pop();
  now_ = {std::max({sent.at, before.at, core}), std::max(sent.chain, before.chain)};
  if (on_.cost != nullptr) {
    const time takes = on_.cost(m, a);
    found_.work += takes;
    now_ = {now_.at + takes, now_.chain + takes};  // messages leave at the end
  }
  running_ = true;
  began_ = std::chrono::steady_clock::now();
}

void virtual_time::ends(const message&, const actor& a) {
  if (on_.cost == nullptr) {
    const time takes = since_begin();
    found_.work += takes;
    now_ = {now_.at + takes, now_.chain + takes};
  }
  running_ = false;
  cores_.push(now_.at);
  free_[&a] = now_;
  found_.time = std::max(found_.time, now_.at);
  found_.longest = std::max(found_.longest, now_.chain);
}

}  // namespace detail
}  // namespace templet
}  // namespace v1
}  // namespace shunt
