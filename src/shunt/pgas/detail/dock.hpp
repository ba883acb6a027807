/// A dock: the worker thread on which some PEs live, seen from the side of the trains.
///
///    programs of PEs --send--> lanes[0][d] --+                     +--> pending[0] --> handlers
///    handlers        --send--> lanes[1][d] --+--> trains --> platform                     |
///                                            |               |     +--> pending[1] --> handlers
///                              pool <--------+---- empty ----+
///
/// The PEs of a dock are fibers pinned to one thread, so they share one inbox, one pool and one open train per
/// destination without a lock. That is why a thousand PEs cost what two do: trains fill at the pace of
/// all PEs of the dock, and a train for any PE of a dock is unloaded by whichever fiber of the dock makes progress.
///
/// Invariants
///   D1  Everything here is touched by the dock's thread only, except the train inbox and job::failed.
///   D2  A handler never waits: what it sends goes into trains of channel 1, which may use the pool up to its limit.
///   D3  Trains of channel 1 are always unloaded. Trains of channel 0 are unloaded only while the pool is not
///       strained, so that requests cannot outgrow replies.
///   D4  No handler runs while another one of the same dock does: poll() does nothing inside a handler.
///   D5  A goods counter (group.hpp) is brought up to date when a run closes, not per good.
///
/// DESIGN.md has the protocol, why it ends, and the rejected ways.
#pragma once

#include <cstdint>
#include <cstring>
#include <exception>
#include <map>
#include <memory>
#include <new>
#include <source_location>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include <shunt/base/cache_line.hpp>
#include <shunt/base/error.hpp>
#include <shunt/pgas/detail/event.hpp>
#include <shunt/pgas/detail/group.hpp>
#include <shunt/pgas/detail/tokens.hpp>
#include <shunt/pgas/detail/validation.hpp>
#include <shunt/pgas/traffic.hpp>
#include <shunt/rail.hpp>
#include <shunt/sched.hpp>
#include <shunt/wire.hpp>

namespace shunt {
inline namespace v1 {
namespace pgas {
namespace detail {

class job;
class dock;

/// Thrown through a PE's program to unwind it when the job has failed elsewhere. Not an error of its own: the job's
/// message says what happened.
struct job_over {};

/// What a lane is loaded with at the moment: handler, group and, in plain runs for handlers that ask who sent, the
/// sender. One comparison says whether a good may be added. Never 0.
using run_key = std::uint64_t;

inline constexpr run_key forwarding = run_key{1} << 62;  // the second of two legs

[[nodiscard]] inline run_key key_of(const wire::handler& entry, run_key sender_bits) noexcept {
  return entry.key_bits() | sender_bits;
}
[[nodiscard]] constexpr std::uint16_t slot_of(run_key key) noexcept { return static_cast<std::uint16_t>(key >> 16); }
[[nodiscard]] inline const wire::handler& entry_of(run_key key) noexcept {
  return wire::handler_table::at(static_cast<std::uint16_t>(key >> 32));
}

/// The train under loading for one destination, and the run under loading in it.
struct alignas(cache_line) lane {
  std::uintptr_t cursor = 0;      // address of the next good
  std::uintptr_t limit = 0;       // end of the train; == cursor while there is none
  run_key key = 0;                // of the open run; 0: none
  wire::run_head* run = nullptr;  // the open run
  rail::train* open = nullptr;
  std::uintptr_t shelf = 0;  // of an open run of requests: where the next continuation is kept
  std::uint32_t place = 0;   // in the list of open lanes

  [[nodiscard]] bool takes(run_key wanted, std::size_t bytes) const noexcept {
    return key == wanted && cursor + bytes <= limit;
  }
};

/// What an unloading function gets: the run, and where it arrived.
struct arrival {
  dock* at;
  group* of;
  wire::run_head* run;
  std::byte* first;  // goods to unload
  std::byte* last;
  int from_dock;
  wire::stop stop;  // of the good under the handler: kept up to date for messages and for replies

  [[nodiscard]] bool tagged() const noexcept { return (run->flags & wire::tagged) != 0; }
  /// For sending on behalf of the PE under the handler. \param named  the handler there asks who sent
  [[nodiscard]] run_key sender_bits(bool named) const noexcept;
  template <class Part>
  [[nodiscard]] Part& part() const noexcept;
};

/// Says how many goods have left on a lane.
struct end_mark {
  std::uint64_t count;
  std::uint32_t kind;  // group::kind
  std::uint16_t slot;
  std::uint8_t mailbox;
  std::uint8_t leg;
};

/// Who sends: a program, or a handler on behalf of its PE.
struct sender {
  dock* at;
  int pe;
};

class dock final : public sched::poller, private sched::no_wait {
 public:
  dock(job& whole, int index, int local, int first_pe, int pes_here);
  ~dock() override;

  // --- facts, constant over the job ---
  job& whole;
  const int index;     // among all docks of the job
  const int local;     // worker of this rank
  const int first_pe;  // PEs first_pe .. first_pe+pes_here-1 live here
  const int pes_here;
  unsigned pes = 0;        // of the job
  int docks = 0;           // of the job
  bool remote = false;     // the job has several processes
  bool plain = false;      // a lane for each PE: goods need no stop. Else one for each dock, or hop
  unsigned plain_pes = 0;  // plain ? pes : 0
  [[nodiscard]] run_key sender_bits(std::uint16_t slot, int pe) const noexcept {
    return run_key{slot} << 16 | (plain ? static_cast<run_key>(pe) : 0);
  }
  int hops = 1;
  const std::uint16_t* dock_of = nullptr;  // by PE
  const std::uint16_t* hop_of = nullptr;   // by PE: the dock its goods are loaded for here
  std::vector<int> neighbours;             // docks this one loads goods for, itself excluded

  // --- loading ---

  /// Loads one good; the fast path is a comparison and the copy.
  /// \param from  by reference, for the fast path does not read it: else compilers load it anew for each good, which
  ///              might have overwritten it
  template <class Good>
  [[gnu::always_inline]] void send(const int& from, int to, run_key key, const Good& good,
                                   const std::source_location where) {
    static_assert(std::is_trivially_copyable_v<Good> && alignof(Good) <= rail::good_alignment);
    if (static_cast<unsigned>(to) < plain_pes) [[likely]] {
      lane* const l = active_ + static_cast<unsigned>(to);
      if (!l->takes(key, sizeof(Good))) [[unlikely]]
        make_room<sizeof(Good)>(to, key, from, where);
      const auto place = l->cursor;
      ::new (reinterpret_cast<void*>(place)) Good(good);
      // With many lanes no hardware prefetcher follows them all, and a store that misses holds up those behind it.
      prefetch_to_write(place + 2 * cache_line);
      l->cursor = place + sizeof(Good);
    } else {
      if (static_cast<unsigned>(to) >= pes) [[unlikely]]
        refuse_destination(from, to, where);
      using loaded = wire::tagged_good<Good>;
      lane* const l = active_ + hop_of[to];
      if (!l->takes(key, sizeof(loaded))) [[unlikely]]
        make_room<sizeof(loaded)>(hop_of[to], key, from, where);
      const auto place = l->cursor;
      ::new (reinterpret_cast<void*>(place))
          loaded{{static_cast<std::uint16_t>(to), static_cast<std::uint16_t>(from)}, good};
      l->cursor = place + sizeof(loaded);
    }
  }

  /// Loads a request, and keeps what is to be done with its reply at home: replies to a run of requests come back in
  /// order, so they need not carry it. Only where trains go straight.
  template <class Ask, class Then>
  [[gnu::always_inline]] void send_request(const int& from, int to, run_key key, const Ask& ask, const Then& then,
                                           const std::source_location where) {
    static_assert(std::is_trivially_copyable_v<Ask> && std::is_trivially_copyable_v<Then>);
    if (static_cast<unsigned>(to) < plain_pes) [[likely]] {
      lane* const l = active_ + static_cast<unsigned>(to);
      if (!l->takes(key, sizeof(Ask))) [[unlikely]]
        make_request_room<sizeof(Ask), sizeof(Then)>(to, key, from, where);
      const auto place = l->cursor;
      const auto kept = l->shelf;
      ::new (reinterpret_cast<void*>(place)) Ask(ask);
      prefetch_to_write(place + 2 * cache_line);
      ::new (reinterpret_cast<void*>(kept)) Then(then);
      l->cursor = place + sizeof(Ask);
      l->shelf = kept + sizeof(Then);
    } else {
      if (static_cast<unsigned>(to) >= pes) [[unlikely]]
        refuse_destination(from, to, where);
      using loaded = wire::tagged_good<Ask>;
      using shelved = wire::tagged_good<Then>;
      lane* const l = active_ + hop_of[to];
      if (!l->takes(key, sizeof(loaded))) [[unlikely]] {
        make_request_room<sizeof(loaded), sizeof(shelved)>(hop_of[to], key, from, where);
      }
      const auto place = l->cursor;
      const auto kept = l->shelf;
      const auto here = static_cast<std::uint16_t>(from), there = static_cast<std::uint16_t>(to);
      ::new (reinterpret_cast<void*>(place)) loaded{{there, here}, ask};
      ::new (reinterpret_cast<void*>(kept)) shelved{{here, there}, then};
      l->cursor = place + sizeof(loaded);
      l->shelf = kept + sizeof(shelved);
    }
  }

  /// The lane of replies to a dock, with room for one reply of `bytes` to request `first` of a run: in the run `mine`
  /// if that is still open, else in a new one.
  /// \param to  the lane: a PE's where there is one for each, else a dock's
  lane& reply_lane(int to, run_key key, std::size_t bytes, std::uint32_t ticket, std::uint32_t first,
                   const wire::run_head* mine) {
    lane& l = lanes_[1][static_cast<std::size_t>(to)];
    if (l.run != mine || mine == nullptr || l.cursor + bytes > l.limit) [[unlikely]] {
      open_replies(to, key, bytes, ticket, first);
    }
    return l;
  }

  /// What is kept for request `first` of a ticket, and the following ones.
  [[nodiscard]] const std::byte* shelf_of(std::uint32_t ticket) const noexcept { return shelves_[ticket].on->goods(); }
  /// `count` more requests of a ticket are answered.
  void take_from_shelf(std::uint32_t ticket, std::uint32_t count);

  /// Loads a good of varying length: captures, then payload.
  void send_span(int from, int to, run_key key, std::span<const std::byte> captures, std::span<const std::byte> payload,
                 std::source_location where);

  /// Loads a control good straight for a dock.
  void send_control(int to_dock, run_key key, std::span<const std::byte> captures, std::span<const std::byte> payload);

  // --- unloading (sched::poller) ---

  /// Takes what has arrived and unloads it. Nothing inside a handler (D4).
  bool progress();
  /// progress(); and where there is nothing to do, lets open trains depart.
  bool poll() override;
  bool arm() override;
  void disarm() override;
  std::chrono::nanoseconds patience() override;

  /// Lets every open train depart.
  bool flush();

  // --- waiting ---

  /// Makes progress until ready() is true. The calling PE's fiber parks meanwhile if others can run.
  /// \param what  the call, for errors and reports; static text.
  template <class Ready>
  void wait(event& changed, const char* what, Ready ready) {
    refuse_inside_handler(what);
    for (int idle = 0; !ready();) {
      leave_if_failed();
      if (progress()) {
        idle = 0;
      } else if (idle_step(idle)) {
        if (!leaving()) changed.wait(what);  // after a failure nobody notifies any more
        idle = 0;
      }
    }
  }

  /// \throws shunt::error when called by a handler, job_over when the job has failed.
  void refuse_inside_handler(const char* what) const;
  void leave_if_failed() const;
  /// The job has failed: programs are on their way out.
  [[nodiscard]] bool leaving() const noexcept;

  // --- groups ---

  /// The group in a slot, made at the first call. Slots are handed out in the order of construction on each PE. Returns
  /// once every PE of the dock has called: what comes for a group that only some have made would keep its train here,
  /// and with it the credit of a dock that these may be waiting for.
  group& group_at(std::uint16_t slot, std::size_t mailboxes, std::string_view name);
  void forget_group(std::uint16_t slot, int pe);
  /// The PE's part may be handed to handlers from now on.
  void part_ready(group& g, int pe, void* part);
  /// The same, once the PE comes back to the dock: its object is under construction now.
  void part_announced(group& g, int pe, void* part) { newborn_.push_back({&g, pe, part}); }
  /// Called where a program of this dock comes in: what it announced is complete.
  void settle(int pe) {
    if (!newborn_.empty()) [[unlikely]]
      settle_newborn(pe);
  }
  /// Goods of this dock that no finish() or quiesce() has waited for.
  [[nodiscard]] bool unfinished(group& g);
  /// Fails the job if there are any.
  void refuse_unfinished(group& g, int pe) noexcept;

  void done(group& g, int pe, unsigned mailbox);
  void finish(group& g, int pe);
  void quiesce(group& g, int pe);
  void end_mark_arrived(const end_mark& mark);
  /// The same of another process: may the mark be one?
  void check(const end_mark& mark) const;

  // --- collectives of PEs; all PEs of the job call the same ones in the same order ---

  /// What a collective call is, so that a program whose PEs disagree is told so.
  /// The end of a PE's program is one of them: a PE that has ended is in no other call.
  enum class call : std::uint8_t { barrier, finish, quiesce, gather, reduce, end };
  struct collective {
    call kind{};
    std::uint16_t slot = 0;  // of the group concerned; 0: none
    friend bool operator==(const collective&, const collective&) = default;
  };

  void barrier(int pe);
  /// The PE's program has returned. Returns when all have, everywhere; the dock sends nothing any more.
  void end(int pe);
  /// Every PE's bytes, by PE. The result is shared by the PEs of the dock.
  using blobs = std::shared_ptr<const std::vector<std::vector<std::byte>>>;
  blobs gather(int pe, std::span<const std::byte> mine);
  /// combine(into, from) over all PEs in order; every PE gets the result in `mine`.
  void reduce(int pe, std::span<std::byte> mine, void (*combine)(std::byte* into, const std::byte* from));

  // --- for handlers and messages ---
  [[nodiscard]] bool in_handler() const noexcept { return now_ != nullptr; }
  [[nodiscard]] const traffic& moved() const noexcept { return moved_; }
  [[nodiscard]] const rail::train_pool& pool() const noexcept { return pool_; }
  rail::train_inbox train_inbox;
  event trains_home;  // a train of the pool came home
  event activity;     // progress() did something

  // These throw `damage` for what cannot be. \param from  the dock that says so
  void barrier_token_arrived(int from, unsigned round, std::uint64_t number, call kind);
  /// The dock before this one sleeps in its collective call of that number, which is `what`.
  void neighbour_stands(int from, std::uint64_t number, const collective& what);
  /// It will not say so again, and has done so `said` times.
  void neighbour_leaves(int from, std::uint64_t said);
  void blob_arrived(int from, std::uint32_t sequence, bool down, std::uint32_t total, std::uint32_t offset,
                    std::span<const std::byte> bytes);

  // --- values that fetch() waits for; over two hops their places travel with the request and come back ---

  void await_value(const void* place, const void* type) { awaited_.push_back({place, type}); }
  void forget_value(const void* place) {
    std::erase_if(awaited_, [place](const awaited& a) { return a.place == place; });
  }
  /// \throws damage unless a fetch() of this dock waits for a value of that type at that place.
  void check_value(const void* place, const void* type) const;
  void answered(group& g, std::uint64_t count) noexcept { g.unanswered -= count; }

  /// The job has failed: wakes everybody, so that they leave. \return true the first time.
  bool notice_failure();

 private:
  friend class job;

  lane* active_ = nullptr;  // lanes of the channel in force: programs' or handlers'
  std::vector<lane> lanes_[3];
  std::vector<std::uint16_t> open_[3];  // lanes that have a train, in no order
  rail::train_pool pool_;
  rail::train_list pending_[3];
  std::vector<end_mark> early_marks_;  // of groups that are not constructed here yet
  /// What a run of requests keeps here until its replies come: a train of the pool that does not travel.
  struct shelf {
    rail::train* on = nullptr;
    std::uint32_t unanswered = 0;
    std::uint32_t count = 0;                 // of requests
    const wire::handler* replies = nullptr;  // the handler of their replies
    std::uint16_t slot = 0;                  // of their group
  };
  std::vector<shelf> shelves_;  // by ticket
  std::vector<std::uint32_t> free_tickets_;
  struct awaited {
    const void* place;
    const void* type;
  };
  std::vector<awaited> awaited_;    // by fetch()
  std::vector<rail::train*> held_;  // trains with runs for a group that is not ready here
  bool look_at_held_ = false;
  const group* constructing_ = nullptr;  // which some PEs of the dock have constructed, and others not yet
  std::vector<std::unique_ptr<group>> groups_;
  struct newborn {
    group* of;
    int pe;
    void* part;
  };
  std::vector<newborn> newborn_;
  void settle_newborn(int pe);
  traffic moved_;
  const arrival* now_ = nullptr;  // the run under unloading
  const wire::handler* handler_ = nullptr;
  bool spoiled_ = false;  // failure noticed

  // collectives
  struct partial {
    std::uint32_t sequence;
    int from;
    bool down;
    std::uint32_t total;
    std::vector<std::byte> bytes;                           // those that follow one another from the first
    std::map<std::uint32_t, std::vector<std::byte>> early;  // pieces that came before one that precedes them
  };
  std::vector<partial> partials_;
  std::uint32_t sequence_ = 0;   // of the collective under way on this dock
  token_slot<call> tokens_[17];  // by round
  std::uint64_t barriers_ = 0;
  int at_call_ = 0;  // local PEs inside the current collective
  int caller_ = 0;   // the PE that came last into a collective: it acts for all
  collective call_;
  std::uint64_t calls_ = 0;             // collectives completed on this dock
  std::uint64_t announced_ = 0;         // announce() has spoken of the calls before this one
  std::uint64_t neighbour_number_ = 0;  // of the call that the dock before this one announced, counted from 1
  collective neighbour_;
  std::uint64_t standings_sent_ = 0, standings_seen_ = 0;
  std::uint64_t farewell_ = 0;  // 1 + how many the dock before this one has sent; 0: it may send more
  bool farewell_said_ = false;  // said farewell
  event call_done_;
  std::vector<std::vector<std::byte>> contributed_;  // by local PE
  blobs gathered_;
  std::vector<std::byte> reduced_;

 public:
  template <std::size_t Bytes>
  [[gnu::cold, gnu::noinline]] void make_room(int to, run_key key, const int& from, std::source_location where) {
    make_room(to, key, Bytes, Bytes, 0, from, where);
  }
  template <std::size_t Bytes, std::size_t KeptBytes>
  [[gnu::cold, gnu::noinline]] void make_request_room(int to, run_key key, const int& from,
                                                      std::source_location where) {
    make_room(to, key, Bytes, Bytes, KeptBytes, from, where);
  }

 private:
  void make_room(int to, run_key key, std::size_t good_bytes, std::size_t stride, std::size_t kept_bytes, int from,
                 const std::source_location& where);
  [[gnu::cold]] void open_replies(int to, run_key key, std::size_t bytes, std::uint32_t ticket, std::uint32_t first);
  void wait_for_train(std::uint8_t channel, std::size_t count, const char* what);
  bool open_shelf(lane& l, std::uint8_t channel, run_key key, std::size_t stride, std::size_t kept_bytes);
  [[noreturn]] void refuse(const char* what) const override;  // sched::no_wait
  [[noreturn, gnu::cold]] void refuse_destination(int from, int to, std::source_location where) const;
  [[noreturn, gnu::cold]] void refuse_length(int from, std::size_t bytes, run_key key,
                                             const std::source_location& where) const;
  void check_open(run_key key, int from, const std::source_location& where) const;
  /// Lanes are numbered by PE where goods are plain, else by dock.
  [[nodiscard]] int dock_of_lane(int to) const noexcept { return plain ? dock_of[to] : to; }
  bool open_train(std::uint8_t channel, int to);
  [[noreturn, gnu::cold]] void refuse_budget(int from) const;
  static bool fits(const lane& l, std::size_t good_bytes);
  void open_run(lane& l, int to, run_key key, std::size_t stride, int from);
  void close_run(lane& l, int to);
  void depart(std::uint8_t channel, int to);
  bool flush(std::uint8_t channel);
  bool sort_arrivals();
  void check_replies(const arrival& a, const wire::handler& how) const;
  void unload(rail::train& t);
  bool unload_runs(rail::train& t);
  void unload_mixed(arrival& a, const wire::handler& how);
  void account(const arrival& a, std::uint64_t handled_here);
  std::byte* append_span(lane& l, wire::stop at, std::size_t bytes);
  void let_go(rail::train& t);
  bool idle_step(int& idle);
  void finish_here(group& g);
  void send_marks(group& g, unsigned mailbox, int leg);
  void close_runs();
  [[nodiscard]] bool ended(const group& g, unsigned mailbox, int leg, std::uint64_t epoch) const;
  [[noreturn, gnu::cold]] void disagree(const std::string& one, const std::string& others);
  bool announce() noexcept;
  void compare_with_neighbour();
  [[nodiscard]] static std::string disagreement_about(const group& g, std::string_view other);
  [[gnu::cold]] void refuse_stranger(const group& g, std::string_view other) noexcept;
  bool arrive(const collective& what, int pe);  // true: the last PE of this dock, which acts for all
  void complete();
  void dock_barrier(call kind);
  std::vector<std::vector<std::byte>> dock_gather(std::vector<std::byte> mine);
  void send_blob(int to, bool down, std::span<const std::byte> bytes);
  std::vector<std::byte> take_blob(int from, bool down);
  [[nodiscard]] bool is_child(int d) const noexcept;
  [[noreturn, gnu::cold]] void refuse_bundle(const std::string& what) const;
};

template <class Part>
Part& arrival::part() const noexcept {
  return *static_cast<Part*>(of->parts[static_cast<std::size_t>(stop.to - at->first_pe)]);
}
inline run_key arrival::sender_bits(bool named) const noexcept {
  return at->sender_bits(of->slot, named ? stop.to : 0);
}

}  // namespace detail
}  // namespace pgas
}  // namespace v1
}  // namespace shunt
