/// Sending: from a message to a batch in an open train, and the train's departure.
///
///   send() ── buffer takes it? ──yes──> copied behind the cursor
///                │ no: make_room()
///                ├─ no open train    takes one from the pool; none: the program waits, a handler is refused
///                ├─ other batch      closes it, and opens a new one in the same train
///                └─ train full       it departs; the program makes progress
///
/// Channel 0 is loaded by programs, channel 1 by handlers; channel 2 carries messages between workers of different
/// processes, but for the end marks that travel with the last messages of their selector. Each channel has its own send
/// buffers, and each buffer at most one open train.
///
/// Invariants
///   outbound.B1  A thread loads messages into the buffers of its own worker only: the fast path finds them by the
///                thread, not by the object. On a thread without a worker they have no room. A task of another worker's
///                PE fills them where lends() says so; else it hands the message over (task_sends.hpp).
///   outbound.B2  sending_state::active is channel 1's buffers exactly while a handler runs, else channel 0's; where
///                the job checks sends, it is always the same buffers without room (send_check.hpp).
///   outbound.B3  The counters of a selector are brought up to date when a batch closes, not per message.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <source_location>
#include <span>
#include <type_traits>

#include <shunt/pgas/detail/arrival.hpp>
#include <shunt/pgas/detail/batches.hpp>
#include <shunt/pgas/detail/job_link.hpp>
#include <shunt/pgas/detail/lent_buffers.hpp>
#include <shunt/pgas/detail/pending_replies.hpp>
#include <shunt/pgas/detail/selector_state.hpp>
#include <shunt/pgas/detail/send_check.hpp>
#include <shunt/pgas/detail/task_sends.hpp>
#include <shunt/pgas/detail/waiting.hpp>
#include <shunt/pgas/detail/worker_facts.hpp>
#include <shunt/pgas/traffic.hpp>
#include <shunt/rail.hpp>

namespace shunt {
inline namespace v1 {
namespace pgas {
namespace detail {

class outbound;

/// What the fast path of send() needs, of the worker that runs on the calling thread. All 0 on other threads.
struct sending_state {
  send_buffer* active = nullptr;   // by destination
  unsigned plain_pes = 0;          // worker_facts::plain ? pes : 0
  unsigned plain_request_pes = 0;  // 0 also where requests are routed
  unsigned pes = 0;
  bool straight = false;  // trains go straight, in one hop
  const std::uint16_t* next_hop_of = nullptr;
  outbound* owner = nullptr;

  /// Whether a message for that PE needs no route: then trains go straight.
  [[nodiscard]] bool plain_to(int to) const noexcept { return static_cast<unsigned>(to) < plain_pes; }
  [[nodiscard]] bool plain_request_to(int to) const noexcept { return static_cast<unsigned>(to) < plain_request_pes; }
};
/// A PE's fiber is pinned to its worker, so what a compiler remembers of this address stays right. `initial-exec`: at
/// most one load more than a member, also in a shared library.
extern constinit thread_local sending_state this_threads_sending [[gnu::tls_model("initial-exec")]];

/// Trains that have arrived and are not unloaded yet, by channel; oldest first.
using arrived_trains = rail::train_list[3];

class outbound {
 public:
  using endpoint = rail::endpoint<send_buffer, 3>;

  /// What the worker's parts share. All outlive this one.
  struct surroundings {
    const worker_facts& facts;
    job_link& job;
    selector_table& selectors;
    const running_handler& handlers;
    waiting& waits;
    rail::credit& credit;
    arrived_trains& arrived;  ///< where trains that the worker has loaded for itself go
  };
  /// \param wake, owner  as of rail::train_inbox
  /// \param place        instead of them, where the worker has an inbox in shared memory
  outbound(const surroundings& with, const endpoint::pool_size& size, rail::train_inbox::wake_function wake,
           void* owner, const transport::shared_place& place = {});

  /// The calling thread is the worker's (outbound.B1).
  void own_thread() noexcept {
    this_threads_sending = {check_.on() ? check_.decoys() : ends_.outs(0),
                            plain_pes_,
                            facts_.requests_routed ? 0 : plain_pes_,
                            static_cast<unsigned>(facts_.pes),
                            facts_.hops == 1,
                            facts_.next_hop_of,
                            this};
  }

  /// Loads one message; the fast path is a comparison and the copy.
  /// \param from  by reference, for the fast path does not read it: else compilers load it anew for each message, which
  ///              might have overwritten it
  template <class Message>
  [[gnu::always_inline]] static void send(const int& from, int to, batch_key key, const Message& message,
                                          const std::source_location where) {
    static_assert(std::is_trivially_copyable_v<Message> && alignof(Message) <= rail::good_alignment);
    if (this_threads_sending.plain_to(to)) [[likely]] {
      send_buffer* const b = this_threads_sending.active + static_cast<unsigned>(to);
      if (!b->takes(key, sizeof(Message))) [[unlikely]] {
        if (void* const elsewhere = make_room<Message>(to, to, key, from, where)) {
          ::new (elsewhere) Message(message);
          return lent_buffers::handed_over_as<Message>(from);
        }
      }
      const auto place = b->cursor;
      ::new (reinterpret_cast<void*>(place)) Message(message);
      // With many buffers no hardware prefetcher follows them all, and a store that misses holds up those behind it.
      prefetch_to_write(place + 2 * cache_line);
      b->cursor = place + sizeof(Message);
    } else {
      refuse_unless_possible(from, to, where);
      using loaded = wire::routed_message<Message>;
      const int hop = this_threads_sending.next_hop_of[to];
      send_buffer* const b = this_threads_sending.active + hop;
      const auto here = static_cast<std::uint16_t>(from), there = static_cast<std::uint16_t>(to);
      if (!b->takes(key, sizeof(loaded))) [[unlikely]] {
        if (void* const elsewhere = make_room<loaded>(hop, to, key, from, where)) {
          ::new (elsewhere) loaded{{there, here}, message};
          return lent_buffers::handed_over_as<loaded>(from);
        }
      }
      const auto place = b->cursor;
      ::new (reinterpret_cast<void*>(place)) loaded{{there, here}, message};
      b->cursor = place + sizeof(loaded);
    }
  }

  /// Loads a request, and keeps its continuation here (pending_replies). Only where plain_request_to(to).
  template <class Ask, class Then>
  [[gnu::always_inline]] static void send_plain_request(const int& from, int to, batch_key key, const Ask& ask,
                                                        const Then& then, const std::source_location where) {
    static_assert(std::is_trivially_copyable_v<Ask> && std::is_trivially_copyable_v<Then>);
    send_buffer* const b = this_threads_sending.active + static_cast<unsigned>(to);
    if (!b->takes(key, sizeof(Ask))) [[unlikely]] {
      if (std::byte* const elsewhere = make_room<Ask, sizeof(Then)>(to, to, key, from, where)) {
        ::new (static_cast<void*>(elsewhere)) Ask(ask);
        ::new (static_cast<void*>(elsewhere + handed_message::kept_at(sizeof(Ask)))) Then(then);
        return lent_buffers::handed_over_as<Ask>(from);
      }
    }
    const auto place = b->cursor;
    const auto kept = b->continuations;
    ::new (reinterpret_cast<void*>(place)) Ask(ask);
    prefetch_to_write(place + 2 * cache_line);
    ::new (reinterpret_cast<void*>(kept)) Then(then);
    b->cursor = place + sizeof(Ask);
    b->continuations = kept + sizeof(Then);
  }
  /// The same with a route. Only where trains go straight.
  template <class Ask, class Then>
  [[gnu::always_inline]] static void send_routed_request(const int& from, int to, batch_key key, const Ask& ask,
                                                         const Then& then, const std::source_location where) {
    refuse_unless_possible(from, to, where);
    using loaded = wire::routed_message<Ask>;
    using continuation = wire::routed_message<Then>;
    const int hop = this_threads_sending.next_hop_of[to];
    send_buffer* const b = this_threads_sending.active + hop;
    const auto here = static_cast<std::uint16_t>(from), there = static_cast<std::uint16_t>(to);
    if (!b->takes(key, sizeof(loaded))) [[unlikely]] {
      if (std::byte* const elsewhere = make_room<loaded, sizeof(continuation)>(hop, to, key, from, where)) {
        ::new (static_cast<void*>(elsewhere)) loaded{{there, here}, ask};
        ::new (static_cast<void*>(elsewhere + handed_message::kept_at(sizeof(loaded))))
            continuation{{here, there}, then};
        return lent_buffers::handed_over_as<loaded>(from);
      }
    }
    const auto place = b->cursor;
    const auto kept = b->continuations;
    ::new (reinterpret_cast<void*>(place)) loaded{{there, here}, ask};
    prefetch_to_write(place + 2 * cache_line);
    prefetch_to_write(kept + 2 * cache_line);
    ::new (reinterpret_cast<void*>(kept)) continuation{{here, there}, then};
    b->cursor = place + sizeof(loaded);
    b->continuations = kept + sizeof(continuation);
  }

  /// A handler only. The buffer of replies to a worker, with room for one reply of `bytes` to request `first` of a
  /// batch: in the batch `mine` if that is still open, else in a new one.
  /// \param to  the buffer: a PE's where there is one for each, else a worker's
  send_buffer& reply_buffer(int to, batch_key key, std::size_t bytes, std::uint32_t request_id, std::uint32_t first,
                            const wire::batch_head* mine) {
    send_buffer& b = ends_.out(1, static_cast<std::size_t>(to));
    if (b.batch != mine || mine == nullptr || b.cursor + bytes > b.limit) [[unlikely]] {
      open_replies(to, key, bytes, request_id, first);
    }
    return b;
  }

  /// Loads a message of varying length: captures, then payload.
  static void send_span(int from, int to, batch_key key, std::span<const std::byte> captures,
                        std::span<const std::byte> payload, const std::source_location where) {
    if (this_threads_sending.plain_to(to)) [[likely]] {
      send_buffer& b = this_threads_sending.active[static_cast<unsigned>(to)];
      const std::size_t bytes = captures.size() + payload.size();
      if (b.takes(key, wire::round_up(sizeof(wire::span_head) + bytes, wire::span_alignment))) [[likely]]
        return b.append_span({static_cast<std::uint16_t>(to), static_cast<std::uint16_t>(from)}, captures, payload);
    }
    send_span_without_room(from, to, key, captures, payload, where);
  }

  /// A program only. Loads a message between workers, straight for a worker.
  /// \param selector  it is an end mark of that selector; 0: another message
  void send_control(int to_worker, batch_key key, std::span<const std::byte> captures,
                    std::span<const std::byte> payload = {}, std::uint16_t selector = 0);

  /// The next hop takes a message of a mixed batch on: a handler's send, of bytes that are loaded already.
  void forward(int to_worker, batch_key key, const std::byte* message, std::size_t bytes, std::uint16_t stride,
               int from);

  /// Lets every open train depart. \return whether there was any.
  bool flush();
  bool flush(std::uint8_t channel) {
    return ends_.depart_all(channel, [this, channel](std::size_t to) { depart(channel, static_cast<int>(to)); });
  }
  /// Ends all open batches: what has been sent so far is counted then.
  void close_batches();

  /// From now on messages are loaded on that channel: 1 when a handler begins, 0 when it has ended (outbound.B2).
  void load_on(std::uint8_t channel) noexcept {
    if (!check_.on()) [[likely]]
      this_threads_sending.active = ends_.outs(channel);
  }

  /// The sender's part of a key: the PE's where a batch names it, else the worker's, so that requests of other workers'
  /// PEs never meet the open batch of this one's.
  /// \param asks  the key is a request's
  [[nodiscard]] batch_key sender_bits(std::uint16_t selector, int pe, bool asks = false) const noexcept {
    const bool by_pe = plain_pes_ != 0 && !(asks && facts_.requests_routed);
    return selector_bits(selector) | static_cast<batch_key>(by_pe ? pe : facts_.index);
  }
  [[nodiscard]] endpoint& ends() noexcept { return ends_; }
  [[nodiscard]] const rail::train_pool& pool() const noexcept { return ends_.pool(); }
  [[nodiscard]] pending_replies& pending() noexcept { return pending_; }
  [[nodiscard]] const traffic& moved() const noexcept { return moved_; }
  /// `count` more requests of a batch are answered.
  void requests_answered(std::uint32_t request_id, std::uint32_t count) {
    if (rail::train* const t = pending_.answered(request_id, count)) ends_.unloaded(*t);
  }

 private:
  friend class lent_buffers;
  friend struct handed_message;

  [[nodiscard]] bool is_own(int pe) const noexcept {
    return static_cast<unsigned>(facts_.local_pe(pe)) < static_cast<unsigned>(facts_.pes_here);
  }
  static void refuse_unless_possible(int from, int to, std::source_location where) {
    if (static_cast<unsigned>(to) >= this_threads_sending.pes) [[unlikely]]
      refuse_send(from, to, where);
  }
  // By value: a reference would make the caller store it for each message.
  [[noreturn, gnu::cold]] static void refuse_send(int from, int to, std::source_location where);

  // The caller builds the message that is handed over: a call that takes it would make compilers store each one first.
  template <class Message, std::size_t KeptBytes = 0>
  [[gnu::cold, gnu::noinline]] static std::byte* make_room(int hop, int to, batch_key key, const int& from,
                                                           std::source_location where) {
    return lent_buffers::make_room(hop, {from, to, key, sizeof(Message), KeptBytes, may_be_read<Message>, where});
  }
  static void send_span_without_room(int from, int to, batch_key key, std::span<const std::byte> captures,
                                     std::span<const std::byte> payload, const std::source_location& where);
  bool load_span(int from, int to, batch_key key, std::span<const std::byte> captures,
                 std::span<const std::byte> payload, const std::source_location& where);
  /// \return false: `from` is another worker's PE, and lends() is no longer true.
  bool make_room(int to, batch_key key, std::size_t message_bytes, std::size_t stride, std::size_t kept_bytes, int from,
                 const std::source_location& where);
  void make_room_once(std::uint8_t channel, int to, batch_key key, std::size_t message_bytes, std::size_t stride,
                      std::size_t kept_bytes, int from);
  [[gnu::cold]] void open_replies(int to, batch_key key, std::size_t bytes, std::uint32_t request_id,
                                  std::uint32_t first);
  void check_mailbox(batch_key key, int from, const std::source_location& where) const;
  bool open_train(std::uint8_t channel, int to);
  void open_batch(send_buffer& b, int to, batch_key key, std::size_t stride, int from);
  bool keep_continuations(send_buffer& b, std::uint8_t channel, batch_key key, std::size_t stride,
                          std::size_t kept_bytes);
  void close_batch(send_buffer& b, int to);
  [[nodiscard]] send_buffer* taken_along(std::size_t at, std::uint16_t selector) noexcept;
  void depart(std::uint8_t channel, int to);

  unsigned plain_pes_;  // facts_.plain ? pes : 0
  const worker_facts& facts_;
  job_link& job_;
  selector_table& selectors_;
  const running_handler& handlers_;
  waiting& waits_;
  arrived_trains& arrived_;
  endpoint ends_;
  pending_replies pending_;
  send_check check_;
  traffic moved_;
};

}  // namespace detail
}  // namespace pgas
}  // namespace v1
}  // namespace shunt
