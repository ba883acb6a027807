#include <shunt/pgas/detail/pe_worker.hpp>
#include <shunt/pgas/detail/refusals.hpp>
#include <shunt/pgas/superstep.hpp>

namespace shunt {
inline namespace v1 {
namespace pgas {
namespace detail {

distributed::distributed(pe& me, std::uint64_t size, void (*finish)(distributed&))
    : me_(&me), size_(size), changeable_(me.supersteps().open ? size : 0), finish_(finish) {
  me.supersteps().all.push_back(this);
}
distributed::~distributed() { std::erase(me_->supersteps().all, this); }

bool distributed::open() const noexcept { return me_->supersteps().open; }

void distributed::check_read(const char* call, std::source_location where) const {
  if (open()) refuse_read_amid(me_->index(), call, where);
}

void open_superstep(pe& me, std::source_location where) {
  if (std::exchange(me.supersteps().open, true)) refuse_superstep(me.index(), where);
  for (distributed* const each : me.supersteps().all) each->set_open(true);
}

/// No PE changes an object any more when it has come here, so the objects may end one after the other. A faster PE may
/// be in the next superstep while this one waits for the end of the last object: until then all are held.
void finish_superstep(pe& me) {
  close_superstep(me);
  auto& ending = me.home().ending;
  ending.hold(me.index());
  for (distributed* const each : me.supersteps().all) each->finish_changes();
  ending.let_go(me.index());
}

void close_superstep(pe& me) noexcept {
  me.supersteps().open = false;
  for (distributed* const each : me.supersteps().all) each->set_open(false);
}

}  // namespace detail
}  // namespace pgas
}  // namespace v1
}  // namespace shunt
