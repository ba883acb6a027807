#include <shunt/pgas/detail/inbound.hpp>

#include <utility>

#include <shunt/base/clock.hpp>
#include <shunt/pgas/detail/recorder.hpp>
#include <shunt/pgas/detail/validation.hpp>

namespace shunt {
inline namespace v1 {
namespace pgas {
namespace detail {
namespace {

/// Trains that one call unloads at most, so that a program that only looks in is not kept.
constexpr int trains_a_look = 64;

}  // namespace

// Callees first: what runs once for each look, train or batch is inlined into its only caller.

/// Replies of another process name a batch of requests of this worker, and their places in it.
void inbound::check_replies(const arrival& a, const wire::handler& how) const {
  const wire::batch_head& batch = *a.batch;
  if (facts_.hops == 1) return out_.pending().check(batch, how);
  // Continuations travel.
  if ((batch.flags & wire::mixed) == 0 && batch.count > a.of->unanswered) {
    throw damage{std::to_string(batch.count) + " replies, but " + std::to_string(a.of->unanswered) +
                 " requests wait for one"};
  }
}

/// First of two hops: messages for PEs of this worker are handled, others go on to their worker.
void inbound::unload_mixed(arrival& a, const wire::handler& how) {
  const wire::batch_head& batch = *a.batch;
  std::byte* const end = a.last;
  const batch_key onward = key_of(how, selector_bits(batch.selector)) | forwarding;
  std::uint64_t handled = 0;
  for (std::byte* p = a.first; p != end;) {
    std::size_t bytes = batch.stride;
    if (bytes == 0) {
      bytes = wire::round_up(sizeof(wire::span_head) + reinterpret_cast<const wire::span_head*>(p)->bytes,
                             wire::span_alignment);
    }
    const auto way = *reinterpret_cast<const wire::route*>(p);
    const int to_worker = facts_.worker_of[way.to];
    if (to_worker == facts_.index) {
      a.first = p;
      a.last = p + bytes;
      how.unload(&a);
      ++handled;
    } else {
      out_.forward(to_worker, onward, p, bytes, batch.stride, way.from);
    }
    p += bytes;
  }
  if (batch.mailbox != control) a.of->count_unloaded(batch, handled);
}

[[gnu::always_inline]] inline void inbound::run_handler(arrival& a, const wire::handler& how) {
  const wire::batch_head& batch = *a.batch;
  if (facts_.networked && (batch.flags & wire::replies) != 0) check_replies(a, how);
  if ((batch.flags & wire::mixed) != 0) return unload_mixed(a, how);
  how.unload(&a);
  if (batch.mailbox != control) a.of->count_unloaded(batch, batch.count);
}

/// Whatever goes wrong in the handler or in what arrived fails the job, with the message that names it.
[[gnu::always_inline]] inline void inbound::unload_batch(rail::train& t, arrival& a, const wire::handler& how) {
  const wire::batch_head& batch = *a.batch;
  handlers_.begin(a, how);
  out_.load_on(1);
  try {
    run_handler(a, how);
  } catch (const damage& found) {
    job_.fail(damaged(t, static_cast<std::size_t>(address(a.batch->messages()) - address(t.goods())) - sizeof batch,
                      found.what));
  } catch (const std::exception& thrown) {
    const std::string handler = "PE " + std::to_string(a.way.to) + ": handler " + std::string(how.name());
    const std::string_view what = thrown.what();
    job_.fail(what.starts_with(handler) ? std::string(what) : handler + " threw: " + std::string(what),
              job_link::fault_of(thrown));
  } catch (...) {
    job_.fail("PE " + std::to_string(a.way.to) + ": handler " + std::string(how.name()) +
              " threw something that is not a std::exception");
  }
  out_.load_on(0);
  handlers_.end();
}

/// \param s  the batch's selector here; null for messages between workers, and where no PE has constructed it
[[gnu::always_inline]] inline auto inbound::judge(const wire::batch_head& batch, const wire::handler& how,
                                                  const selector_state* s) const -> verdict {
  if (batch.selector == 0) return verdict::unload;
  // Not constructed here yet, or between epochs (G3). Replies that pass through on their second hop belong to the epoch
  // that others have not ended yet.
  if (s == nullptr || !selectors_.all_ready(*s) || (s->between && (batch.flags & wire::replies) == 0)) {
    return verdict::defer;
  }
  const bool stranger =
      (how.owner().data() != s->name.data() && how.owner() != s->name) || batch.mailbox >= s->mailboxes.size();
  return stranger && batch.mailbox != control ? verdict::refuse : verdict::unload;
}

/// \return false: some batches are for a selector that is not ready.
bool inbound::unload_batches(rail::train& t) {
  bool everything = true;
  const running_handler::forbidding no_wait(handlers_);
  const auto end = address(t.goods()) + t.head.bytes;
  for (auto p = address(t.goods()); p < end;) {
    auto& batch = *reinterpret_cast<wire::batch_head*>(p);
    p = aligned_for_batch(address(batch.messages()) + batch.bytes);
    if ((batch.flags & wire::unloaded) != 0) continue;
    selector_state* const s = batch.selector == 0 ? nullptr : selectors_.find(batch.selector);
    const wire::handler& how = wire::handler_table::at(batch.handler);
    switch (judge(batch, how, s)) {
      case verdict::defer: everything = false; continue;  // the rest of the train need not wait for it
      case verdict::refuse:
        job_.fail(error_number(924).added_to("PE " + std::to_string(facts_.first_pe) + ": " +
                                             selector_table::disagreement_about(*s, how.owner())));
        break;
      case verdict::unload: {
        arrival a{&worker_,
                  &out_,
                  s,
                  &batch,
                  batch.messages(),
                  batch.messages() + batch.bytes,
                  t.head.from,
                  {batch.to, batch.from}};
        const auto began = facts_.recorded != nullptr ? ticks() : 0;
        unload_batch(t, a, how);
        if (facts_.recorded != nullptr) [[unlikely]]
          facts_.recorded->handled(batch, ticks() - began);
      }
    }
    batch.flags |= wire::unloaded;
  }
  return everything;
}

void inbound::unload(rail::train& t) {
  if (unload_batches(t)) {
    out_.ends().unloaded(t);
  } else {
    deferred_.push_back(&t);
  }
}

/// A rank's workers share its transport: each takes what has come, validates it, and passes on what is another's.
bool inbound::take_from_transport() {
  rail::train_list arrived;
  const bool any = job_.carrier().poll(arrived);
  while (!arrived.empty()) {
    rail::train& t = arrived.pop_front();
    if (const auto fault = job_.fault_of(t); !fault.empty()) [[unlikely]] {
      job_.fail(fault);
      rail::send_home(t);
    } else if (t.head.to == facts_.index) {
      arrived_[t.head.channel].push_back(t);
    } else {
      static_cast<void>(job_.deliver(t, t.head.to));
    }
  }
  return any;
}

[[gnu::always_inline]] inline bool inbound::take_arrivals() {
  bool any = out_.ends().arrivals([this](rail::train& t) { arrived_[t.head.channel].push_back(t); });
  if (facts_.networked) any |= take_from_transport();
  return any;
}

/// nullptr: there is none that may be unloaded now (inbound.A2).
[[gnu::always_inline]] inline rail::train* inbound::next_train() noexcept {
  for (const int channel : {2, 1}) {
    if (!arrived_[channel].empty()) return &arrived_[channel].pop_front();
  }
  return arrived_[0].empty() || out_.pool().over_credit() ? nullptr : &arrived_[0].pop_front();
}

/// In an explored run a train may stand for a while, as one between two workers might: so while a fiber can go on, each
/// look unloads one train or none.
int inbound::trains_now() const noexcept {
  if (!sched::this_worker::has_runnable()) return trains_a_look;
  const bool any = !arrived_[0].empty() || !arrived_[1].empty() || !arrived_[2].empty();
  return any ? static_cast<int>(sched::this_worker::choose(2)) : 0;
}

bool inbound::unload_arrivals() {
  bool any = take_arrivals();
  if (!deferred_.empty() && selectors_.take_retry()) [[unlikely]] {
    for (rail::train* const t : std::exchange(deferred_, {})) unload(*t);
    any = true;
  }
  for (int left = facts_.explored ? trains_now() : trains_a_look; left > 0; --left) {
    rail::train* const t = next_train();
    if (t == nullptr) break;
    unload(*t);
    any = true;
  }
  // Over credit by trains that stand half loaded: they depart now, or they never come home.
  if (!any && !arrived_[0].empty()) any = out_.flush(1);
  return any;
}

}  // namespace detail
}  // namespace pgas
}  // namespace v1
}  // namespace shunt
