#include <shunt/pgas/array.hpp>

namespace shunt {
inline namespace v1 {
namespace pgas {
namespace detail {

array_base::array_base(pe& me, std::uint64_t size, void (*finish)(array_base&))
    : me_(&me), size_(size), changeable_(me.arrays().open ? size : 0), finish_(finish) {
  me.arrays().all.push_back(this);
}
array_base::~array_base() { std::erase(me_->arrays().all, this); }

bool array_base::open() const noexcept { return me_->arrays().open; }

void open_superstep(pe& me, std::source_location where) {
  if (std::exchange(me.arrays().open, true)) refuse_superstep(me.index(), where);
  for (array_base* const each : me.arrays().all) each->set_open(true);
}

/// No PE changes an element any more when it has come here, so the arrays may end one after the other.
void finish_superstep(pe& me) {
  close_superstep(me);
  for (array_base* const each : me.arrays().all) each->finish_changes();
}

void close_superstep(pe& me) noexcept {
  me.arrays().open = false;
  for (array_base* const each : me.arrays().all) each->set_open(false);
}

}  // namespace detail
}  // namespace pgas
}  // namespace v1
}  // namespace shunt
