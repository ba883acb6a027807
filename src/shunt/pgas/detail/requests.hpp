/// Requests and replies: how they travel, whatever a form calls them.
///
/// Where trains go straight, continuations stay at home (pending_replies.hpp). The worker that is asked unloads a batch
/// of requests in order, so its replies come back in order, and name only the batch. A read of a distributed table then
/// moves its index there and its value back, nothing else.
///
///   asking worker   batch of requests, id 7 | q0 | q1 | q2 | ...    continuations 7 | t0 | t1 | t2 | ...
///   asked worker                              batch of replies, id 7, first 0 | r0 | r1 |   and   first 2 | r2 | ...
///   asking worker   t0(r0) t1(r1) t2(r2) ...; when all have come, the continuations' train goes back to the pool
///
/// Over two hops the order is lost on the way, so continuations travel there and back with the request.
///
/// A Policy says: types `ask`, `then`, `result` (void: the reply says only that it is done);
/// `result answer(arrival&, const ask&)`; `void done(arrival&, const then&, const result&)` (or without a result);
/// `pure`: answer() cannot send; the name, the mailbox and the owner of its handlers.
#pragma once

#include <algorithm>

#include <shunt/pgas/detail/handlers.hpp>

namespace shunt {
inline namespace v1 {
namespace pgas {
namespace detail {

/// What comes back where nothing does.
struct no_result {};

template <class Policy>
class requests {
  using ask = typename Policy::ask;
  using then = typename Policy::then;
  using result = typename Policy::result;
  using reply = std::conditional_t<std::is_void_v<result>, no_result, result>;
  static_assert(std::is_trivially_copyable_v<reply> && alignof(reply) <= rail::good_alignment,
                "a reply is a value: trivially copyable");

 public:
  [[gnu::always_inline]] static void send(batch_key sender, const int& from, int to, const ask& a, const then& t,
                                          const std::source_location where) {
    if (this_threads_sending.plain_request_to(to)) [[likely]] {
      outbound::send_plain_request(from, to, key_of(kept_request, sender), a, t, where);
    } else if (this_threads_sending.straight) {
      outbound::send_routed_request(from, to, key_of(kept_request, sender), a, t, where);
    } else {
      outbound::send(from, to, key_of(travelling_request, sender), question{a, t}, where);
    }
  }
  /// The requester waits for each reply before it goes on: where the job checks, none of these is noted.
  static void wait_themselves(pe_worker& w) {
    if (!w.facts.checked) return;
    w.selectors.note_none_of(kept_request);
    w.selectors.note_none_of(travelling_request);
  }

 private:
  [[gnu::always_inline]] static reply answer(arrival& a, const ask& q) {
    if constexpr (std::is_void_v<result>) {
      Policy::answer(a, q);
      return {};
    } else {
      return Policy::answer(a, q);
    }
  }
  [[gnu::always_inline]] static void done(arrival& a, const then& t, const reply& r) {
    if constexpr (std::is_void_v<result>) {
      Policy::done(a, t);
    } else {
      Policy::done(a, t, r);
    }
  }

  // --- continuations kept at home ---

  struct kept_replies {};  // a type to name their handler by

  static void unload_requests(void* what) {
    auto& a = *static_cast<arrival*>(what);
    if (a.routed()) {
      a.way = reinterpret_cast<const wire::routed_message<ask>*>(a.first)
                  ->way;  // the PE that answers, should there be no room
      answer_all<wire::routed_message<ask>>(a, [&a](const wire::routed_message<ask>& q) __attribute__((always_inline)) {
        a.way = q.way;
        return answer(a, q.message);
      });
    } else {
      answer_all<ask>(a, [&a](const ask& q) __attribute__((always_inline)) { return answer(a, q); });
    }
  }

  template <class Message, class Answer>
  [[gnu::always_inline]] static void answer_all(arrival& a, Answer each) {
    pe_worker& w = *a.at;
    // Where messages have routes, the continuations have them, and batches of replies by different PEs are kept apart
    // by request id.
    const batch_key key = key_of(kept_reply, a.sender_bits(true));
    const int back = a.routed() ? w.facts.buffer_of_worker(a.from_worker) : a.way.from;
    const auto request_id = a.batch->request_id;
    const auto* const first = reinterpret_cast<const Message*>(a.first);
    const auto count = static_cast<std::uint32_t>(reinterpret_cast<const Message*>(a.last) - first);
    const wire::batch_head* mine = nullptr;
    for (std::uint32_t i = 0; i < count;) {
      if constexpr (Policy::pure) {
        // Nothing else loads the buffer meanwhile: as many as fit, without a look at it.
        send_buffer& b = a.out->reply_buffer(back, key, sizeof(reply), request_id, i, mine);
        mine = b.batch;
        const auto room = static_cast<std::uint32_t>((b.limit - b.cursor) / sizeof(reply));
        const auto upto = std::min(count, i + room);
        auto* place = reinterpret_cast<reply*>(b.cursor);
        for (; i < upto; ++i) ::new (static_cast<void*>(place++)) reply(each(first[i]));
        b.cursor = reinterpret_cast<std::uintptr_t>(place);
      } else {
        const reply r = each(first[i]);
        send_buffer& b = a.out->reply_buffer(back, key, sizeof(reply), request_id, i, mine);
        mine = b.batch;
        const auto place = b.cursor;
        ::new (reinterpret_cast<void*>(place)) reply(r);
        b.cursor = place + sizeof(reply);
        ++i;
      }
    }
  }

  static void unload_replies(void* what) {
    auto& a = *static_cast<arrival*>(what);
    pe_worker& w = *a.at;
    const wire::batch_head& batch = *a.batch;
    const auto* const replies = reinterpret_cast<const reply*>(a.first);
    const std::byte* const continuations = a.out->pending().continuations(batch.request_id);
    if (!w.facts.routed(wire::requests)) {
      const auto* const kept = reinterpret_cast<const then*>(continuations) + batch.first;
      for (std::uint32_t i = 0; i < batch.count; ++i) done(a, kept[i], replies[i]);
    } else {
      const auto* const kept = reinterpret_cast<const wire::routed_message<then>*>(continuations) + batch.first;
      for (std::uint32_t i = 0; i < batch.count; ++i) {
        a.way = kept[i].way;
        done(a, kept[i].message, replies[i]);
      }
    }
    a.out->requests_answered(batch.request_id, batch.count);
  }

  // --- travelling ---

  struct question {
    ask asked;
    then kept;
  };
  struct response {
    then kept;
    reply value;
  };

  static void unload_questions(void* what) {
    auto& a = *static_cast<arrival*>(what);
    const batch_key key = key_of(travelling_reply, a.sender_bits(true));
    each_message<question>(a, [&a, key](const question& q) {
      const response back{q.kept, answer(a, q.asked)};
      outbound::send(a.way.to, a.way.from, key, back, std::source_location::current());
    });
  }
  static void unload_responses(void* what) {
    auto& a = *static_cast<arrival*>(what);
    each_message<response>(a, [&a](const response& r) { done(a, r.kept, r.value); });
  }

  static inline const wire::handler kept_reply{typeid(kept_replies),
                                               Policy::name(),
                                               unload_replies,
                                               Policy::mailbox,
                                               wire::replies | wire::unrouted,
                                               wire::message_layout::unrouted<reply>(),
                                               Policy::owner()};
  static inline const wire::handler kept_request{typeid(requests), Policy::name(), unload_requests,
                                                 Policy::mailbox,  wire::requests, wire::message_layout::of<ask>(),
                                                 Policy::owner(),  &kept_reply};
  static inline const wire::handler travelling_request{typeid(question), Policy::name(),
                                                       unload_questions, Policy::mailbox,
                                                       wire::requests,   wire::message_layout::of<question>(),
                                                       Policy::owner()};
  static inline const wire::handler travelling_reply{typeid(response), Policy::name(),
                                                     unload_responses, Policy::mailbox,
                                                     wire::replies,    wire::message_layout::of<response>(),
                                                     Policy::owner()};
};

}  // namespace detail
}  // namespace pgas
}  // namespace v1
}  // namespace shunt
