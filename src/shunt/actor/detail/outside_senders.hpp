/// Senders that are no fibers of the manager's workers: threads, and fibers of other runtimes.
///
/// A thread has a ring for each dispatcher that it sends to (message_ring.hpp), and finds it by the dispatcher's serial
/// number, without a lock. When the thread ends, its rings are free for the next one, with the messages that are still
/// in them.
///
///   thread ──> its rings, by serial ──> ring ──looked into──> the dispatcher
///     └─────── rings of the manager (shared) <── outside_senders
///
/// Invariants
///   outside_senders.O1  A ring has one sending thread, or is free. The lock hands it from the one to the next.
///   outside_senders.O2  A thread may outlive the manager. It shares the ownership of the list of rings, and asks the
///       list whether that is closed before it touches a ring without sending.
///   outside_senders.O3  A ring is not handed on while the first message of the thread that had it is not read: until
///       then the dispatcher may ask what that message comes behind.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include <shunt/actor/detail/dispatcher.hpp>
#include <shunt/actor/detail/message_ring.hpp>
#include <shunt/base/thread_pointer.hpp>

namespace shunt {
inline namespace v1 {
namespace actor::detail {

/// The rings that a thread used last, by the dispatcher's serial number. Such a number is never used again, so a ring
/// of a manager that has ended is not found.
struct recent_rings {
  [[nodiscard]] message_ring* find(std::uint64_t serial) const noexcept {
    const one& o = all[serial % size];
    return o.serial == serial ? o.ring : nullptr;
  }
  void add(std::uint64_t serial, message_ring& ring) noexcept { all[serial % size] = {serial, &ring}; }

  static constexpr std::size_t size = 8;
  struct one {
    std::uint64_t serial;  // 0: none
    message_ring* ring;
  } all[size];
};
[[gnu::tls_model("initial-exec")]] extern constinit thread_local recent_rings* this_threads_recent_rings asm(
    "shunt_actor_rings_v1");
[[nodiscard, gnu::noinline]] recent_rings* recent_rings_by_call() noexcept;

/// What a ring had published at a moment.
struct sent_before {
  message_ring* ring;
  std::uint64_t end;
};

/// The rings of one manager.
///
/// What a thread sends first comes behind all that other threads had sent to the same dispatcher when it took its ring.
/// So the list notes then what is new in their rings, and numbers that; the dispatcher unloads up to there before it
/// reads the thread's first message.
class ring_list {
 public:
  /// Any thread, which has no ring of that dispatcher. \throws std::bad_alloc
  [[nodiscard]] message_ring& take(std::size_t dispatcher);
  /// The thread that has the ring ends. Nothing happens if the manager has ended.
  void give_back(message_ring& ring) noexcept;
  /// The dispatcher: what is to be unloaded before the next thread's first message. Of message_ring::begin_number()
  /// the first so many are for that ring's thread. \pre not more calls than the largest of those numbers
  [[nodiscard]] std::vector<sent_before> next_before(std::size_t dispatcher) noexcept;
  /// The manager ends, and with it all rings.
  void close() noexcept;
  [[nodiscard]] bool closed() const noexcept;
  /// Positions of all rings together, up to which messages are done, and published. For actor_system::quiet(), which
  /// holds the lock while it counts.
  [[nodiscard]] std::uint64_t done() const noexcept;
  [[nodiscard]] std::uint64_t published() const noexcept;
  [[nodiscard]] std::mutex& lock() const noexcept { return lock_; }

 private:
  mutable std::mutex lock_;  // guards what follows
  bool closed_ = false;
  std::vector<std::unique_ptr<message_ring>> all_;
  message_ring* free_ = nullptr;
  struct notes {
    std::uint64_t count = 0;                       // since the manager began
    std::deque<std::vector<sent_before>> waiting;  // the last of them
  };
  std::vector<notes> notes_;  // by dispatcher

  [[nodiscard]] std::uint64_t note_sent(std::size_t dispatcher);
};

class outside_senders {
 public:
  outside_senders() : rings_(std::make_shared<ring_list>()) {}
  ~outside_senders() { rings_->close(); }
  outside_senders(const outside_senders&) = delete;
  outside_senders& operator=(const outside_senders&) = delete;

  /// The calling thread's ring for a dispatcher of any manager, if the thread has used it before and has room in the
  /// actor's mailbox, as far as is known here; else nullptr: the caller must send(). The caller must not keep it over a
  /// wait: its fiber may go on on another thread.
  [[nodiscard]] static message_ring* ring_at_hand(const actor_cell& c) noexcept;
  /// The caller has built a message in the place that the ring gave: so many bytes.
  static void publish(const actor_cell& c, message_ring& ring, std::size_t bytes) noexcept;
  /// Any thread. Waits while its ring is full. `m` is empty afterwards, unless this throws.
  /// \throws error if there is no memory for a ring, and what park() throws where waiting is impossible.
  void send(envelope& m, call_site call);
  [[nodiscard]] const ring_list& rings() const noexcept { return *rings_; }
  [[nodiscard]] ring_list& rings() noexcept { return *rings_; }

 private:
  [[gnu::noinline]] message_ring& ring_of_this_thread(const dispatcher& to, call_site call);

  const std::shared_ptr<ring_list> rings_;
};

inline message_ring* outside_senders::ring_at_hand(const actor_cell& c) noexcept {
  if (c.full.load(std::memory_order_relaxed)) return nullptr;  // relaxed: a hint; a sender looks again under the gate
  recent_rings* mine;
  SHUNT_READ_THREAD_POINTER(mine, "shunt_actor_rings_v1", recent_rings_by_call);
  return mine->find(c.home->serial);
}

inline void outside_senders::publish(const actor_cell& c, message_ring& ring, std::size_t bytes) noexcept {
  if (ring.publish(bytes) == after_publish::deliver) [[unlikely]]
    c.home->inbox().deliver(ring);
}

}  // namespace actor::detail
}  // namespace v1
}  // namespace shunt
