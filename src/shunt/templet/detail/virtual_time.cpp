#include <shunt/templet/detail/virtual_time.hpp>

#include <algorithm>

namespace shunt {
inline namespace v1 {
namespace templet {
namespace detail {

virtual_time::virtual_time(const simulate& on) : on_(on) {
  for (int c = 0; c < on.cores; ++c) cores_.push(time(0));
}

void virtual_time::sent(const message& m) {
  // With a cost function `now_` is the handler's end already.
  const time after = on_.cost != nullptr ? time(0) : since_begin();
  sent_[&m] = {now_.at + after, now_.chain + after};
}

void virtual_time::arrived(message& m, actor& a) {
  const auto told = sent_.extract(&m);
  const moment sent = told ? told.mapped() : moment{};
  mailboxes_[&a].waiting.emplace(sent.at, sent_message{&m, sent});
  queue(a);
}

void virtual_time::queue(actor& a) {
  mailbox& of = mailboxes_[&a];
  if (of.waiting.empty()) return;
  const time first = std::max(of.waiting.begin()->first, of.free.at);
  if (of.ready && (*of.ready)->first == first) return;  // it keeps its place among those of the same time
  if (of.ready) ready_.erase(*of.ready);
  of.ready = ready_.emplace(first, &a);
}

auto virtual_time::next() -> call {
  if (ready_.empty()) return {nullptr, nullptr};
  actor* const a = ready_.begin()->second;
  ready_.erase(ready_.begin());
  mailbox& of = mailboxes_[a];
  of.ready.reset();
  const sent_message first = of.waiting.begin()->second;
  of.waiting.erase(of.waiting.begin());
  now_ = {std::max(first.sent.at, of.free.at), std::max(first.sent.chain, of.free.chain)};
  return {first.m, a};
}

void virtual_time::begins(const message& m, const actor& a) {
  now_.at = std::max(now_.at, cores_.top());
  cores_.pop();
  if (on_.cost != nullptr) {
    const time takes = on_.cost(m, a);
    found_.work += takes;
    now_ = {now_.at + takes, now_.chain + takes};  // messages leave at the end
  }
  began_ = std::chrono::steady_clock::now();
}

void virtual_time::ends(const actor& a) {
  if (on_.cost == nullptr) {
    const time takes = since_begin();
    found_.work += takes;
    now_ = {now_.at + takes, now_.chain + takes};
  }
  cores_.push(now_.at);
  mailboxes_[&a].free = now_;
  found_.time = std::max(found_.time, now_.at);
  found_.longest = std::max(found_.longest, now_.chain);
}

}  // namespace detail
}  // namespace templet
}  // namespace v1
}  // namespace shunt
