#include <shunt/sched/observe/deadlock.hpp>

#include <mutex>
#include <vector>

#include <shunt/sched/detail/worker.hpp>

namespace shunt {
inline namespace v1 {
namespace sched {
namespace {

using detail::fiber;

constexpr std::size_t longest_circle = 1000;
constexpr std::size_t most_names = 19;  // of a circle, beside the one that closes it

struct link {
  fiber* to;
  std::uint32_t generation;
  friend bool operator==(const link&, const link&) = default;
};

/// The edge of `from`. `to` is null if there is none, or if its fiber has ended (deadlock.E2).
link edge_of(const fiber& from) noexcept {
  // seq_cst: deadlock.E3. It implies acquire: edge `waits` in, for waits_on_generation and the names, which were
  // written before the edge.
  fiber* const to = from.waits_on.load(std::memory_order_seq_cst);
  // acquire: edge `replaced` in. If it is a later edge's already, the second look finds this edge gone. The acquire
  // load of the generation that `to` has: deadlock.E2.
  const auto generation = from.waits_on_generation.load(std::memory_order_acquire);
  if (to == nullptr || to->generation.load(std::memory_order_acquire) != generation) return {nullptr, 0};
  return {to, generation};
}

/// \return whether edges lead from `start` back to it; without looking twice.
bool leads_back(const fiber& start) noexcept {
  const fiber* at = &start;
  for (std::size_t i = 0; i < longest_circle; ++i) {
    at = edge_of(*at).to;
    if (at == nullptr) return false;
    if (at == &start) return true;
  }
  return false;
}

std::vector<link> circle_of(const fiber& start) {
  std::vector<link> all;
  const fiber* at = &start;
  do {
    all.push_back(edge_of(*at));
    at = all.back().to;
  } while (at != nullptr && at != &start && all.size() < longest_circle);
  return all;
}

void append_name(std::string& text, const fiber& f) {
  if (f.called().empty()) {
    text += "a fiber without a name";
  } else {
    text += '`';
    text += f.called();
    text += '`';
  }
}

}  // namespace

/// Makes the edge first, and looks for a circle then: of fibers that close one at the same time, the last sees all
/// edges.
waits_for_end::waits_for_end(fiber_id whose, call_site call) {
  fiber* const other = fiber::behind(whose);
  if (other == nullptr) return;
  const auto* const here = detail::worker::current();
  fiber* const me = here == nullptr ? nullptr : here->running();
  if (me == nullptr)
    throw usage_error(error_number(101), std::string(call.name()) + ": called outside a fiber" + call.place(),
                      call.where());
  me->waits_on_generation.store(fiber::generation_of(whose), std::memory_order_release);  // edge `replaced` out
  me->waits_on.store(other, std::memory_order_seq_cst);  // edge `waits` out; seq_cst: deadlock.E3
  me_ = me;
  if (!leads_back(*me)) return;
  // One at a time: if other fibers close the same circle now, the first one breaks it, and the others wait on. Until
  // then all fibers of the circle stand still, so their names can be read.
  static std::mutex breaking;
  const std::scoped_lock held(breaking);
  try {
    const auto once = circle_of(*me);
    if (once != circle_of(*me) || once.back().to != me) return;
    std::string text = std::string(call.name()) + (me->called().empty() ? ": deadlock: " : ": deadlock: fiber ");
    append_name(text, *me);
    for (std::size_t i = 0; i < once.size(); ++i) {
      if (i == most_names && once.size() > most_names + 1) {
        text += " waits for the first of " + std::to_string(once.size() - 1 - i) + " more, the last of which";
        i = once.size() - 1;
      }
      text += " waits for ";
      append_name(text, *once[i].to);
      if (once[i].to != me) text += ", which";
    }
    throw deadlock(error_number(119), text + call.place(), call.where());
  } catch (...) {
    // deadlock.E1: its own edge goes. The lock, which is still held, lets the next fiber of the circle see that, so
    // release is more than it needs.
    me->waits_on.store(nullptr, std::memory_order_release);
    throw;
  }
}

waits_for_end::~waits_for_end() {
  // deadlock.E1: its own edge goes. A fiber that finds no edge reads nothing else of this one, and the next edge's
  // `replaced` covers this store: release is more than it needs.
  if (me_ != nullptr) me_->waits_on.store(nullptr, std::memory_order_release);
}

}  // namespace sched
}  // namespace v1
}  // namespace shunt
