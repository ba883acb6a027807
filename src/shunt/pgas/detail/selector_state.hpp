/// What the PEs of one worker know of one selector or actor.
///
/// The PEs of a job construct their selectors in the same order, so a selector has the same number on every worker.
/// One thread owns it, like everything of a worker.
///
/// Counts only grow, over the whole life of the selector, so that nothing has to be reset while a faster worker
/// is already in the next epoch:
///
///   per mailbox    arrived[hop]    messages unloaded here, or sent on, of that hop
///                  announced[hop]  messages that end marks (and this worker itself) announce
///                  marks[hop]      end marks received
///                  sent[hop][to]   messages for worker `to` since the last mark sent to it
///
/// Invariants
///   G1  A mailbox has ended its n-th epoch here when marks[hop] == n * neighbours and
///       arrived[hop] == announced[hop] on each hop, and no request is unanswered.
///   G2  An end mark of mailbox m leaves only after its feeders have ended here: their handlers are the only ones that
///       still send to m.
///   G3  Between the end of its last mailbox here and the return of finish() on every PE of the worker, messages for
///       the selector belong to the next epoch and wait: a program sees its part as the epoch left it. Selectors
///       that a superstep ends together are all between epochs before the barrier, so none is ahead of another.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <source_location>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <shunt/pgas/detail/batches.hpp>
#include <shunt/pgas/detail/event.hpp>
#include <shunt/task/future.hpp>

namespace shunt {
inline namespace v1 {
namespace pgas {
namespace detail {

inline constexpr int most_mailboxes = 64;
inline constexpr int most_hops = 2;

struct mailbox_state {
  std::uint64_t arrived[most_hops] = {};
  std::uint64_t announced[most_hops] = {};
  std::uint64_t marks[most_hops] = {};
  std::vector<std::uint64_t> sent[most_hops];  // by destination worker
  std::uint64_t feeders = 0;                   // a bit for each mailbox that ends before it
  int pes_done = 0;                            // PEs of this worker that said done in this epoch
  bool closed = false;                         // this epoch's end marks of hop 0 have left
  bool passed_on = false;                      // and those of hop 1
};

/// The last message of a PE's program that no finish() or quiesce() has waited for.
struct message_under_way {
  const wire::handler* handler = nullptr;  // null: there is none
  std::source_location where{};
  bool others_ended = false;      // since then a finish() or quiesce() of another selector has returned
  const char* read_by = nullptr;  // a collective that has been called since, and nothing has ended in between
};

/// What messages of a selector may change on a PE.
struct part_of_pe {
  std::span<const std::byte> object;
  std::span<const std::byte> (*items)(const void* object);  // of a vector or the like, elsewhere

  [[nodiscard]] bool holds(std::uintptr_t where) const {
    const auto within = [where](std::span<const std::byte> all) { return where - address(all.data()) < all.size(); };
    return within(object) || within(items(object.data()));
  }
};
/// The items of a part that keeps them in one piece; else nothing.
template <class Part>
std::span<const std::byte> items_of(const void* part) {
  if constexpr (requires(const Part& p) { std::as_bytes(std::span(p.data(), p.size())); }) {
    const Part& p = *static_cast<const Part*>(part);
    return std::as_bytes(std::span(p.data(), p.size()));
  } else {
    return {};
  }
}

/// The end of a selector that ending() makes a future of (termination.hpp).
struct selector_end {
  task::promise<void> over;
  bool driven = false;     // a fiber of the worker is at it
  bool reached = false;    // `over` has a value
  bool abandoned = false;  // a PE has destroyed its object meanwhile: it cannot be reached
};

struct selector_state {
  std::uint16_t id = 0;
  std::string_view name;     // of the selector's type, for messages to people
  std::uint32_t digest = 0;  // of the name and the number of mailboxes
  std::vector<void*> parts;  // by local PE; nullptr until that PE is ready
  int built = 0;             // local PEs that have constructed theirs
  int present = 0;           // those among them that have not destroyed it
  int ready = 0;             // local PEs whose part may be handed to handlers
  std::vector<mailbox_state> mailboxes;
  std::uint64_t epoch = 0;                         // finished so far
  std::uint64_t ended = 0;                         // in this epoch, here: a bit for each mailbox
  event changed;                                   // built has reached the PEs of the worker; the end is reached
  bool between = false;                            // epochs (G3)
  int returning = 0;                               // local PEs whose finish() is over and has not returned yet
  std::uint64_t sent = 0;                          // messages sent, all mailboxes, replies too: for quiesce()
  std::uint64_t handled = 0;                       // messages handled here, the same
  std::uint64_t started = 0;                       // messages sent, without replies
  std::uint64_t finished = 0;                      // `started` when finish() or quiesce() last ended
  std::uint64_t unanswered = 0;                    // requests of this worker without a reply
  std::vector<bool> sent_for;                      // by PE of another worker: a task of it has sent here
  std::optional<selector_end> end;                 // a PE of this worker has called ending()
  std::uint64_t marks_of_the_end[most_hops] = {};  // from neighbours

  /// By local PE; empty unless the job checks (send_check.hpp).
  std::vector<message_under_way> under_way;
  std::vector<std::vector<part_of_pe>> parts_of_pes;  // likewise

  /// A PE's part has been constructed, where the job checks.
  template <class Part>
  void add_part(int local_pe, const Part& part) {
    const auto* const object = reinterpret_cast<const std::byte*>(std::addressof(part));
    parts_of(local_pe).push_back({{object, sizeof part}, &items_of<Part>});
  }
  /// The same of the class form, whose object is still under construction: only its base is there.
  template <class Self, class Base>
  void add_object(int local_pe, const Base& base) {
    const auto* const bytes = reinterpret_cast<const std::byte*>(&base);
    parts_of(local_pe).push_back({{bytes, sizeof base}, [](const void* of) {
                                    const auto* const self = static_cast<const Self*>(static_cast<const Base*>(of));
                                    return std::span(reinterpret_cast<const std::byte*>(self), sizeof(Self));
                                  }});
  }
  [[nodiscard]] std::vector<part_of_pe>& parts_of(int local_pe) {
    parts_of_pes.resize(parts.size());
    return parts_of_pes[static_cast<std::size_t>(local_pe)];
  }
  /// Whether these bytes are the PE's part, or among its items.
  [[nodiscard]] bool holds(int local_pe, std::span<const std::byte> bytes) const;

  /// All that the local PE has sent has been processed.
  void end_messages_of(int local_pe) noexcept {
    if (!under_way.empty()) under_way[static_cast<std::size_t>(local_pe)] = {};
  }
  /// A batch of this selector has been closed here: its messages count as sent.
  void count_sent(const wire::batch_head& batch, int to_worker) noexcept;
  /// A batch of this selector has been unloaded here, and `handled_here` of its messages handled.
  void count_unloaded(const wire::batch_head& batch, std::uint64_t handled_here) noexcept;
};

// Once for each batch.
inline void selector_state::count_sent(const wire::batch_head& batch, int to_worker) noexcept {
  const bool second_hop = (batch.flags & wire::forwarded) != 0;
  const bool reply = (batch.flags & wire::replies) != 0;
  if (!second_hop) {
    sent += batch.count;
    if (!reply) started += batch.count;
    if ((batch.flags & wire::requests) != 0) unanswered += batch.count;
  }
  if (!reply) mailboxes[batch.mailbox].sent[second_hop ? 1 : 0][static_cast<std::size_t>(to_worker)] += batch.count;
}
inline void selector_state::count_unloaded(const wire::batch_head& batch, std::uint64_t handled_here) noexcept {
  handled += handled_here;
  if ((batch.flags & wire::replies) != 0) {
    unanswered -= handled_here;
  } else {
    mailboxes[batch.mailbox].arrived[(batch.flags & wire::forwarded) != 0 ? 1 : 0] += batch.count;
  }
}

/// A selector of which a PE ends an epoch, and of each mailbox whether the PE has said done().
struct ending_selector {
  selector_state* of;
  std::span<bool> said;
};

/// The selectors that live on one worker, by number. Owned by the worker's thread.
class selector_table {
 public:
  selector_table(int pes_here, int first_pe, int workers) noexcept
      : pes_here_(pes_here), first_pe_(first_pe), workers_(workers) {}

  /// nullptr: no PE of this worker has constructed it, or all have destroyed it.
  [[nodiscard]] selector_state* find(std::uint16_t id) const noexcept {
    return id < selectors_.size() ? selectors_[id].get() : nullptr;
  }
  /// A PE of this worker constructs its object. \return the state, and whether this PE is the first.
  /// \throws error if another PE of this worker constructed another selector of that number
  struct construction {
    selector_state& state;
    bool first;
  };
  /// \param feeders  for each mailbox a bit of each that ends before it; empty: the one before it
  construction construct(std::uint16_t id, std::size_t mailboxes, std::string_view name,
                         std::span<const std::uint64_t> feeders = {});
  /// The PE's object is gone. \return whether it was the last one; then drop() it.
  [[nodiscard]] bool forget(std::uint16_t id, int pe);
  void drop(std::uint16_t id);

  /// The PE's part may be handed to handlers from now on.
  void part_ready(selector_state& s, int pe, void* part);
  /// The same, once the PE's program comes back to the library: its object is under construction now.
  void part_announced(selector_state& s, int pe, void* part) { under_construction_.push_back({&s, pe, part}); }
  /// The program of a PE of this worker has come back to the library: the objects that it announced are complete.
  void finish_construction(int pe) {
    if (!under_construction_.empty()) [[unlikely]]
      complete_objects_of(pe);
  }
  /// All PEs of this worker are ready for the selector.
  [[nodiscard]] bool all_ready(const selector_state& s) const noexcept { return s.ready == pes_here_; }
  /// Whether that lies in a part of PE `pe`; false for one of another worker.
  [[nodiscard]] bool is_part_of(int pe, std::uintptr_t where) const noexcept;
  /// Messages of that handler are a fetch()'s, which waits for the reply itself: they are not noted.
  void note_none_of(const wire::handler& waits_itself);
  /// The program of a PE has sent a message, where the job checks. A PE of another worker: it does not count.
  void note_message(int pe, batch_key key, const std::source_location& where);
  /// finish() or quiesce() of the selector returns to the PE, where the job checks.
  void end_messages(selector_state& s, int pe) noexcept;
  /// The program of a PE calls a collective, where the job checks. \return a selector whose messages may still change
  /// the operand, as it lies in the PE's part; null: there is none.
  [[nodiscard]] const selector_state* read_by(const char* call, int pe, std::span<const std::byte> operand);
  /// Messages that have been sent here and handled elsewhere, less those of which it is the other way round: over all
  /// workers, those that are under way. Of closed batches.
  [[nodiscard]] std::int64_t under_way() const noexcept;
  /// Deferred batches may go on: a selector has become ready for all, or an epoch has ended.
  void retry_deferred() noexcept { retry_deferred_ = true; }
  /// Whether that has been said since the last call.
  [[nodiscard]] bool take_retry() noexcept { return std::exchange(retry_deferred_, false); }
  /// Wakes every PE that waits for a construction to be complete, or for an end.
  void notify_all();

  [[nodiscard]] static std::string disagreement_about(const selector_state& s, std::string_view other);

 private:
  void complete_objects_of(int pe);

  struct unfinished_object {
    selector_state* of;
    int pe;
    void* part;
  };
  int pes_here_, first_pe_, workers_;
  bool retry_deferred_ = false;
  std::vector<std::unique_ptr<selector_state>> selectors_;
  std::vector<std::unique_ptr<selector_state>> dropped_;  // while a fiber was at their end
  std::vector<unfinished_object> under_construction_;
  std::vector<bool> wait_themselves_;  // by number of the handler
};

}  // namespace detail
}  // namespace pgas
}  // namespace v1
}  // namespace shunt
