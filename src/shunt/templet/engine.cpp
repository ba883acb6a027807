#include <shunt/templet/engine.hpp>

#include <shunt/templet/detail/scheduler.hpp>

namespace shunt {
inline namespace v1 {
namespace templet {

void detail::send_slowly(scheduler& on, message& m, actor& to) { on.send_slowly(m, to); }

engine::engine() : scheduler_(std::make_unique<detail::scheduler>()) {}
engine::~engine() = default;

void give(engine& e, message& m, actor& a) { e.scheduler_->give(m, a); }
void must_end(engine& e, actor& a, const char* what) { e.scheduler_->must_end(a, what); }
result run(engine& e, int workers) { return e.scheduler_->run(workers); }
simulated run(engine& e, const simulate& on) { return e.scheduler_->run(on); }

}  // namespace templet
}  // namespace v1
}  // namespace shunt
