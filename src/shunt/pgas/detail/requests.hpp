/// Requests and replies: how they travel, whatever a form calls them.
///
/// Where trains go straight, what is done with a reply stays at home on a shelf: the dock that is asked unloads a run
/// of requests in order, so its replies come back in order, and name only the run. A read of a distributed table then
/// moves its index there and its value back, nothing else.
///
///   asking dock    run of requests, ticket 7 | q0 | q1 | q2 | ...      shelf 7 | t0 | t1 | t2 | ...
///   asked dock                               run of replies, ticket 7, first 0 | r0 | r1 |   and   first 2 | r2 | ...
///   asking dock    t0(r0) t1(r1) t2(r2) ...; when all have come, the shelf is a train of the pool again
///
/// Over two hops the order is lost on the way, so continuations travel there and back with the request.
///
/// A Policy says: types `ask`, `then`, `result` (void: nothing comes back but that it is done);
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
  [[gnu::always_inline]] static void send(dock& d, run_key sender, const int& from, int to, const ask& a, const then& t,
                                          const std::source_location where) {
    if (d.hops == 1) [[likely]] {
      d.send_request(from, to, key_of(shelved_request, sender), a, t, where);
    } else {
      d.send(from, to, key_of(travelling_request, sender), question{a, t}, where);
    }
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

  // --- on a shelf ---

  struct shelved_replies {};  // a type to name their handler by

  static void unload_requests(void* what) {
    auto& a = *static_cast<arrival*>(what);
    if (a.tagged()) {
      a.stop = reinterpret_cast<const wire::tagged_good<ask>*>(a.first)->at;  // who answers, should there be no room
      answer_all<wire::tagged_good<ask>>(a, [&a](const wire::tagged_good<ask>& q) __attribute__((always_inline)) {
        a.stop = q.at;
        return answer(a, q.good);
      });
    } else {
      answer_all<ask>(a, [&a](const ask& q) __attribute__((always_inline)) { return answer(a, q); });
    }
  }

  template <class Good, class Answer>
  [[gnu::always_inline]] static void answer_all(arrival& a, Answer each) {
    dock& d = *a.at;
    // Where goods say their stops the reply's shelf does, and runs of replies by different PEs are kept apart by
    // ticket.
    const run_key key = key_of(shelved_reply, a.sender_bits(true));
    const int back = d.plain ? a.stop.from : a.from_dock;
    const auto ticket = a.run->ticket;
    const auto* const first = reinterpret_cast<const Good*>(a.first);
    const auto count = static_cast<std::uint32_t>(reinterpret_cast<const Good*>(a.last) - first);
    const wire::run_head* mine = nullptr;
    for (std::uint32_t i = 0; i < count;) {
      if constexpr (Policy::pure) {
        // Nothing else loads the lane meanwhile: as many as fit, without a look at it.
        lane& l = d.reply_lane(back, key, sizeof(reply), ticket, i, mine);
        mine = l.run;
        const auto room = static_cast<std::uint32_t>((l.limit - l.cursor) / sizeof(reply));
        const auto upto = std::min(count, i + room);
        auto* place = reinterpret_cast<reply*>(l.cursor);
        for (; i < upto; ++i) ::new (static_cast<void*>(place++)) reply(each(first[i]));
        l.cursor = reinterpret_cast<std::uintptr_t>(place);
      } else {
        const reply r = each(first[i]);
        lane& l = d.reply_lane(back, key, sizeof(reply), ticket, i, mine);
        mine = l.run;
        const auto place = l.cursor;
        ::new (reinterpret_cast<void*>(place)) reply(r);
        l.cursor = place + sizeof(reply);
        ++i;
      }
    }
  }

  static void unload_replies(void* what) {
    auto& a = *static_cast<arrival*>(what);
    dock& d = *a.at;
    const wire::run_head& run = *a.run;
    const auto* const replies = reinterpret_cast<const reply*>(a.first);
    const std::byte* const shelf = d.shelf_of(run.ticket);
    if (d.plain) {
      const auto* const kept = reinterpret_cast<const then*>(shelf) + run.first;
      for (std::uint32_t i = 0; i < run.count; ++i) done(a, kept[i], replies[i]);
    } else {
      const auto* const kept = reinterpret_cast<const wire::tagged_good<then>*>(shelf) + run.first;
      for (std::uint32_t i = 0; i < run.count; ++i) {
        a.stop = kept[i].at;
        done(a, kept[i].good, replies[i]);
      }
    }
    d.take_from_shelf(run.ticket, run.count);
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
    const run_key key = key_of(travelling_reply, a.sender_bits(true));
    each_good<question>(a, [&a, key](const question& q) {
      const response back{q.kept, answer(a, q.asked)};
      a.at->send(a.stop.to, a.stop.from, key, back, std::source_location::current());
    });
  }
  static void unload_responses(void* what) {
    auto& a = *static_cast<arrival*>(what);
    each_good<response>(a, [&a](const response& r) { done(a, r.kept, r.value); });
  }

  static inline const wire::handler shelved_reply{typeid(shelved_replies),
                                                  Policy::name(),
                                                  unload_replies,
                                                  Policy::mailbox,
                                                  wire::answers | wire::untagged,
                                                  wire::good_layout::untagged<reply>(),
                                                  Policy::owner()};
  static inline const wire::handler shelved_request{typeid(requests), Policy::name(), unload_requests,
                                                    Policy::mailbox,  wire::asks,     wire::good_layout::of<ask>(),
                                                    Policy::owner(),  &shelved_reply};
  static inline const wire::handler travelling_request{typeid(question), Policy::name(),
                                                       unload_questions, Policy::mailbox,
                                                       wire::asks,       wire::good_layout::of<question>(),
                                                       Policy::owner()};
  static inline const wire::handler travelling_reply{typeid(response), Policy::name(),
                                                     unload_responses, Policy::mailbox,
                                                     wire::answers,    wire::good_layout::of<response>(),
                                                     Policy::owner()};
};

}  // namespace detail
}  // namespace pgas
}  // namespace v1
}  // namespace shunt
