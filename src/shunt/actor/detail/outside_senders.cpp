#include <shunt/actor/detail/outside_senders.hpp>

#include <algorithm>
#include <new>
#include <string>

#include <pthread.h>

#include <shunt/actor/detail/actor_system.hpp>
#include <shunt/actor/detail/dispatcher.hpp>

namespace shunt {
inline namespace v1 {
namespace actor::detail {
namespace {
constinit recent_rings no_recent_rings{};  // never written
}
[[gnu::used]] constinit thread_local recent_rings* this_threads_recent_rings = &no_recent_rings;
recent_rings* recent_rings_by_call() noexcept { return this_threads_recent_rings; }

namespace {

/// The rings of one thread, for dispatchers of any manager.
class sending_thread {
 public:
  ~sending_thread() {
    for (const one& o : all_) o.of->give_back(*o.ring);
  }

  recent_rings recently{};

  [[nodiscard]] message_ring* find(std::uint64_t serial) const noexcept {
    const auto at = std::find_if(all_.begin(), all_.end(), [&](const one& o) { return o.serial == serial; });
    return at == all_.end() ? nullptr : at->ring;
  }
  /// \throws std::bad_alloc
  [[nodiscard]] message_ring& take(const std::shared_ptr<ring_list>& of, const dispatcher& to) {
    std::erase_if(all_, [](const one& o) { return o.of->closed(); });
    all_.reserve(all_.size() + 1);
    message_ring& ring = of->take(static_cast<std::size_t>(to.index()));
    all_.push_back({to.serial, &ring, of});
    return ring;
  }

 private:
  struct one {
    std::uint64_t serial;  // of the dispatcher
    message_ring* ring;    // outside_senders.O2: gone if `of` is closed
    std::shared_ptr<ring_list> of;
  };
  std::vector<one> all_;
};

constinit thread_local sending_thread* this_thread_as_sender = nullptr;

/// At the end of a thread, after its thread_local objects have ended: their destructors may send. Those of other keys
/// may as well: then this is called once more.
extern "C" void end_thread(void* self) {
  this_threads_recent_rings = &no_recent_rings;
  this_thread_as_sender = nullptr;
  delete static_cast<sending_thread*>(self);
}

/// The calling thread's. Where the system has no key left, the rings of a thread stay its own until the manager ends.
sending_thread& this_thread() {
  struct end_of_threads {
    end_of_threads() noexcept : made(pthread_key_create(&key, &end_thread) == 0) {}
    pthread_key_t key{};
    const bool made;
  };
  static const end_of_threads ends;
  if (this_thread_as_sender == nullptr) {
    this_thread_as_sender = new sending_thread;
    this_threads_recent_rings = &this_thread_as_sender->recently;
    if (ends.made) pthread_setspecific(ends.key, this_thread_as_sender);
  }
  return *this_thread_as_sender;
}

}  // namespace

// --- the rings of a manager ---

message_ring& ring_list::take(std::size_t dispatcher) {
  const std::scoped_lock held(lock_);
  const auto number = note_sent(dispatcher);
  message_ring* ring = nullptr;
  for (message_ring** at = &free_; *at != nullptr; at = &(*at)->next_free) {
    if ((*at)->dispatcher != dispatcher || !(*at)->may_begin()) continue;  // outside_senders.O3
    ring = std::exchange(*at, (*at)->next_free);
    break;
  }
  if (ring == nullptr) {
    all_.push_back(std::make_unique<message_ring>(dispatcher));
    ring = all_.back().get();
  }
  ring->begin_sender(number);
  return *ring;
}

/// Notes what is new in the dispatcher's rings. look(): the dispatcher reads up to there, though it may not have looked
/// into that ring itself; the lock hands edge `sent` on. \return the number that a thread's first message comes behind.
std::uint64_t ring_list::note_sent(std::size_t dispatcher) {
  if (notes_.size() <= dispatcher) notes_.resize(dispatcher + 1);
  notes& here = notes_[dispatcher];
  std::vector<sent_before> fresh;
  for (const auto& r : all_) {
    if (r->dispatcher != dispatcher) continue;
    if (const auto end = r->look(); end != r->noted) fresh.push_back({r.get(), end});
  }
  if (fresh.empty()) return here.count;
  here.waiting.push_back(fresh);
  for (const sent_before& f : fresh) f.ring->noted = f.end;
  return ++here.count;
}

std::vector<sent_before> ring_list::next_before(std::size_t dispatcher) noexcept {
  const std::scoped_lock held(lock_);
  auto& waiting = notes_[dispatcher].waiting;
  auto next = std::move(waiting.front());
  waiting.pop_front();
  return next;
}

void ring_list::give_back(message_ring& ring) noexcept {
  const std::scoped_lock held(lock_);
  if (closed_) return;
  ring.end_sender();
  ring.next_free = std::exchange(free_, &ring);
}

void ring_list::close() noexcept {
  const std::scoped_lock held(lock_);
  closed_ = true;
  free_ = nullptr;
  all_.clear();
}

bool ring_list::closed() const noexcept {
  const std::scoped_lock held(lock_);
  return closed_;
}

std::uint64_t ring_list::done() const noexcept {
  std::uint64_t sum = 0;
  for (const auto& r : all_) sum += r->done();
  return sum;
}

std::uint64_t ring_list::published() const noexcept {
  std::uint64_t sum = 0;
  for (const auto& r : all_) sum += r->published();
  return sum;
}

// --- sending ---

/// The calling thread's. The caller must not keep it over a wait.
message_ring& outside_senders::ring_of_this_thread(const dispatcher& to, call_site call) {
  if (message_ring* const ring = recent_rings_by_call()->find(to.serial)) return *ring;
  try {
    sending_thread& me = this_thread();
    message_ring* ring = me.find(to.serial);
    if (ring == nullptr) ring = &me.take(rings_, to);
    me.recently.add(to.serial, *ring);
    return *ring;
  } catch (const std::bad_alloc&) {
    throw error(error_number(506),
                std::string(call.name()) + ": no memory for a ring of " + std::to_string(sizeof(message_ring)) +
                    " bytes" + call.place(),
                call.where());
  }
}

void outside_senders::send(envelope& m, call_site call) {
  for (;;) {
    message_ring& ring = ring_of_this_thread(*m.to->home, call);
    if (std::byte* const place = ring.place(*m.to, m.target, *m.ops)) {
      m.ops->move_arguments(m.arguments, place);
      return publish(*m.to, ring, m.ops->bytes);
    }
    ring.wait_for_room(call);
  }
}

}  // namespace actor::detail
}  // namespace v1
}  // namespace shunt
