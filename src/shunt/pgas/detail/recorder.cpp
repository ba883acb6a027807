#include <shunt/pgas/detail/recorder.hpp>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <utility>

#include <shunt/base/clock.hpp>
#include <shunt/pgas/detail/pe_worker.hpp>
#include <shunt/pgas/pe.hpp>

namespace shunt {
inline namespace v1 {
namespace pgas {
namespace detail {
namespace {

constinit thread_local recording* announced = nullptr;  // to the thread that will call run()

/// Batches of a superstep whose cost is kept for the median: every batch up to so many, then a part of them.
constexpr std::size_t most_samples = 1024;

std::int64_t thread_ns() noexcept {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

std::int64_t steady_ns() noexcept {
  return std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds(1);
}

}  // namespace

std::unique_ptr<recorder> recorder::of_next_job() {
  recording* const into = std::exchange(announced, nullptr);
  return into == nullptr ? nullptr : std::make_unique<recorder>(*into);
}

void recorder::announce(recording* into) noexcept { announced = into; }

void recorder::job_begins(int pes) {
  pes_ = pes;
  kept_ = into_.kept();
  if (kept_.empty()) kept_.push_back({0, pes});
  row_of_.assign(static_cast<std::size_t>(pes), -1);
  for (auto& [first, last] : kept_) {
    first = std::clamp(first, 0, pes);
    last = std::clamp(last, first, pes);
    for (int p = first; p < last; ++p) {
      row_of_[static_cast<std::size_t>(p)] = static_cast<std::int32_t>(pe_of_row_.size());
      pe_of_row_.push_back(p);
    }
  }
  now_.pe_ps.assign(pe_of_row_.size(), 0);
  first_ticks_ = ticks();
  first_ns_ = steady_ns();
  border_ns_ = thread_ns();
}

auto recorder::flow_of(const wire::batch_head& batch, bool by_handlers) -> open_flow& {
  for (std::size_t f = 0; f < used_; ++f) {
    if (flows_[f].handler == batch.handler && flows_[f].by_handlers == by_handlers) return flows_[f];
  }
  if (used_ == flows_.size()) flows_.emplace_back();
  open_flow& fresh = flows_[used_++];
  fresh.handler = batch.handler;
  fresh.by_handlers = by_handlers;
  const wire::handler& how = wire::handler_table::at(batch.handler);
  fresh.done = {};
  fresh.done.handler = how.name();
  fresh.done.mailbox = how.mailbox();
  fresh.done.requests = (batch.flags & wire::requests) != 0;
  fresh.done.replies = (batch.flags & wire::replies) != 0;
  fresh.done.by_handlers = by_handlers;
  fresh.messages.resize(pe_of_row_.size() * static_cast<std::size_t>(pes_));
  return fresh;
}

void recorder::count(open_flow& flow, const wire::route& way) {
  const std::int32_t row = row_of_[way.from];
  if (row < 0) return;
  const auto place = static_cast<std::size_t>(row) * static_cast<std::size_t>(pes_) + way.to;
  if (flow.messages[place]++ == 0) flow.touched.push_back(place);
}

void recorder::sent(wire::batch_head& batch, bool by_handlers) {
  open_flow& flow = flow_of(batch, by_handlers);
  const wire::message_layout& layout = wire::handler_table::at(batch.handler).layout();
  flow.done.messages += batch.count;
  flow.done.plain_bytes += layout.plain != 0 ? std::uint64_t{layout.plain} * batch.count : batch.bytes;
  flow.done.routed_bytes += layout.routed != 0 ? std::uint64_t{layout.routed} * batch.count : batch.bytes;
  if (flow.done.replies || (batch.flags & (wire::routed | wire::varying)) == 0) return;
  const std::byte* p = batch.messages();
  for (std::uint32_t i = 0; i < batch.count; ++i) {
    count(flow, *reinterpret_cast<const wire::route*>(p));
    p += batch.stride != 0
             ? batch.stride
             : wire::round_up(sizeof(wire::span_head) + reinterpret_cast<const wire::span_head*>(p)->bytes,
                              wire::span_alignment);
  }
}

void recorder::handled(const wire::batch_head& batch, std::uint64_t spent) {
  handler_ticks_ += spent;
  if (batch.count == 0 || batch.selector == 0) return;
  handler_costs& all = costs_[batch.handler];
  const std::uint64_t number = all.seen++;
  if (all.sample.size() < most_samples) {
    all.sample.push_back({spent, batch.count});
  } else {  // deterministic: the sample is renewed in turn
    all.sample[number % most_samples] = {spent, batch.count};
  }
}

void recorder::arrived(int pe) {
  const std::int64_t now = thread_ns();
  const auto spent = now - border_ns_;
  const auto handlers = static_cast<std::int64_t>(static_cast<double>(std::exchange(handler_ticks_, 0)) * tick_ns());
  const std::int64_t program = std::max<std::int64_t>(0, spent - handlers) * 1000;
  now_.program_ps += program;
  if (const auto row = row_of_[static_cast<std::size_t>(pe)]; row >= 0)
    now_.pe_ps[static_cast<std::size_t>(row)] += program;
  border_ns_ = now;
}

double recorder::tick_ns() const noexcept {
  return static_cast<double>(std::max<std::int64_t>(1, steady_ns() - first_ns_)) /
         static_cast<double>(std::max<std::uint64_t>(1, ticks() - first_ticks_));
}

/// Of batches, by the messages in them: half of the messages cost no more.
double recorder::median_ticks(std::uint16_t handler) const {
  const auto found = costs_.find(handler);
  if (found == costs_.end()) return 0;
  auto sample = found->second.sample;
  std::sort(sample.begin(), sample.end(),
            [](const cost& a, const cost& b) { return a.ticks * b.count < b.ticks * a.count; });
  std::uint64_t all = 0, half = 0;
  for (const cost& c : sample) all += c.count;
  for (const cost& c : sample) {
    half += c.count;
    if (2 * half >= all) return static_cast<double>(c.ticks) / c.count;
  }
  return 0;
}

recording::flow recorder::finished(open_flow& flow) const {
  flow.done.handler_ps = static_cast<std::int64_t>(median_ticks(flow.handler) * tick_ns() * 1000);
  std::sort(flow.touched.begin(), flow.touched.end());
  for (const auto place : std::exchange(flow.touched, {})) {
    const auto row = place / static_cast<std::size_t>(pes_);
    flow.done.pairs.push_back({pe_of_row_[row], static_cast<std::int32_t>(place % static_cast<std::size_t>(pes_)),
                               std::exchange(flow.messages[place], 0)});
  }
  return std::move(flow.done);
}

void recorder::superstep_ended(std::string_view call) {
  now_.ended_by = call;
  for (std::size_t f = 0; f < used_; ++f) now_.flows.push_back(finished(flows_[f]));
  used_ = 0;
  costs_.clear();
  const bool measured = now_.measured;
  supersteps_.push_back(std::exchange(now_, {}));
  now_.measured = measured;
  now_.pe_ps.assign(pe_of_row_.size(), 0);
  handler_ticks_ = 0;
  border_ns_ = thread_ns();
}

void recorder::job_ended() {
  into_.pes_ = pes_;
  into_.kept_ = std::move(kept_);
  into_.supersteps_ = std::move(supersteps_);
}

}  // namespace detail

record_next_job::record_next_job(recording& into) noexcept { detail::recorder::announce(&into); }

record_next_job::~record_next_job() { detail::recorder::announce(nullptr); }

void mark_measured(pe& me, bool on) noexcept {
  if (detail::recorder* const to = me.home().facts.recorded) to->mark(on);
}

}  // namespace pgas
}  // namespace v1
}  // namespace shunt
