/// A group: what the PEs of one dock know of one selector or actor.
///
/// The PEs of a job construct their selectors in the same order, so a group has the same slot on every dock.
/// One thread owns it, like everything of a dock.
///
/// Counts only grow, over the whole life of the group, so that nothing has to be reset while a faster dock
/// is already in the next epoch:
///
///   per mailbox    arrived[leg]    goods unloaded here, or sent on, of that leg
///                  announced[leg]  goods that end marks (and this dock's own) announce
///                  marks[leg]      end marks received
///                  sent[lane]      goods put on the lane since the last mark sent down it
///
/// Invariants
///   G1  A mailbox has ended its n-th epoch here when marks[leg] == n * neighbours and
///       arrived[leg] == announced[leg] on each leg, and no request is unanswered.
///   G2  An end mark of mailbox m leaves only after m has ended on its feeder m-1 here: handlers of m-1 are the only
///       ones that still send to m.
///   G3  Between the end of its last mailbox here and the return of finish() on every PE of the dock, messages for
///       the group belong to the next epoch and wait: a program sees its part as the epoch left it.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include <shunt/pgas/detail/event.hpp>

namespace shunt {
inline namespace v1 {
namespace pgas {
namespace detail {

inline constexpr int most_mailboxes = 64;
inline constexpr int legs = 2;

struct mailbox_state {
  std::uint64_t arrived[legs] = {};
  std::uint64_t announced[legs] = {};
  std::uint64_t marks[legs] = {};
  std::vector<std::uint64_t> sent[legs];  // by destination dock of the lane
  int pes_done = 0;                       // PEs of this dock that said done in this epoch
  bool closed = false;                    // this epoch's end marks of leg 0 have left
};

struct group {
  std::uint16_t slot = 0;
  std::string_view name;     // of the selector's type, for messages
  std::uint32_t kind = 0;    // a digest of the name and the number of mailboxes
  std::vector<void*> parts;  // by local PE; nullptr until that PE is ready
  int built = 0;             // local PEs that have constructed theirs
  int present = 0;           // those among them that have not destroyed it
  int ready = 0;             // local PEs whose part may be handed to handlers
  std::vector<mailbox_state> mailboxes;
  std::uint64_t epoch = 0;       // finished so far
  event complete;                // built reached the PEs of the dock
  bool between = false;          // epochs (G3)
  int returning = 0;             // local PEs whose finish() is over and has not returned yet
  std::uint64_t sent = 0;        // goods sent, all mailboxes, replies too: for quiesce()
  std::uint64_t handled = 0;     // goods handled here, the same
  std::uint64_t started = 0;     // the same without replies
  std::uint64_t settled = 0;     // `started` when finish() or quiesce() last ended
  std::uint64_t unanswered = 0;  // requests of this dock without a reply
};

}  // namespace detail
}  // namespace pgas
}  // namespace v1
}  // namespace shunt
