#include <exception>
#include <utility>

#include <shunt/pgas/detail/pe_worker.hpp>
#include <shunt/pgas/detail/refusals.hpp>
#include <shunt/pgas/superstep.hpp>

namespace shunt {
inline namespace v1 {
namespace pgas {
namespace detail {

distributed::distributed(pe& me, std::uint64_t size)
    : me_(&me), size_(size), changeable_(me.supersteps().open ? size : 0) {
  auto& here = me.supersteps();
  // Room for finish(): a PE that failed there would leave the others waiting.
  if (here.ends.capacity() <= here.all.size()) here.ends.reserve(2 * here.all.size() + 1);
  here.all.push_back(this);
}
distributed::~distributed() { std::erase(me_->supersteps().all, this); }

bool distributed::open() const noexcept { return me_->supersteps().open; }

void distributed::finish_changes() {
  distributed* const alone = this;
  finish(*me_, {&alone, 1});
}

/// Their selectors end in one call, so no object gets a change of the next superstep before all have ended. What one of
/// them throws is thrown when all have ended: other PEs and other objects go on.
void distributed::finish(pe& me, std::span<distributed* const> some) {
  std::exception_ptr first;
  const auto try_each = [&](void (distributed::*step)()) {
    for (distributed* const each : some) {
      try {
        (each->*step)();
      } catch (...) {
        if (first == nullptr) first = std::current_exception();
      }
    }
  };
  try_each(&distributed::send_rest);
  auto& ends = me.supersteps().ends;
  ends.clear();
  for (distributed* const each : some) ends.push_back(each->changes());
  try {
    if (!ends.empty()) me.home().finish_selectors(ends, me.index());
  } catch (...) {  // the job fails: no object has all changes
    if (first != nullptr) std::rethrow_exception(first);
    throw;
  }
  try_each(&distributed::ended);
  if (first != nullptr) std::rethrow_exception(first);
}

void distributed::check_read(const char* call, std::source_location where) const {
  if (open()) refuse_read_amid(me_->index(), call, where);
}

void open_superstep(pe& me, std::source_location where) {
  me.home().refuse_in_task(me.index(), "superstep()");
  if (std::exchange(me.supersteps().open, true)) refuse_superstep(me.index(), where);
  for (distributed* const each : me.supersteps().all) each->set_open(true);
}

void finish_superstep(pe& me) {
  close_superstep(me);
  distributed::finish(me, me.supersteps().all);
}

void close_superstep(pe& me) noexcept {
  me.supersteps().open = false;
  for (distributed* const each : me.supersteps().all) each->set_open(false);
}

}  // namespace detail
}  // namespace pgas
}  // namespace v1
}  // namespace shunt
