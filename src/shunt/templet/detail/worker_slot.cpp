#include <shunt/templet/detail/worker_slot.hpp>

#include <shunt/templet/detail/scheduler.hpp>

namespace shunt {
inline namespace v1 {
namespace templet {
namespace detail {

[[gnu::used]] constinit thread_local activation* this_threads_quick_activation = &no_activation;
activation* quick_activation_by_call() noexcept { return this_threads_quick_activation; }

void worker_slot::inject(actor& a) noexcept { of->inject(a); }
void worker_slot::wake_one() noexcept { of->wake_one(); }

}  // namespace detail
}  // namespace templet
}  // namespace v1
}  // namespace shunt
