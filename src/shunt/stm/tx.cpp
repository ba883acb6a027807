#include <shunt/base/call_site.hpp>
#include <shunt/base/error.hpp>
#include <shunt/stm/atomically.hpp>
#include <shunt/stm/detail/engine/registry.hpp>
#include <shunt/stm/quiesce.hpp>
#include <shunt/stm/tx.hpp>
#include <utility>

namespace shunt {
inline namespace v1 {
namespace stm {

[[gnu::used]] constinit thread_local tx* tx::of_this_thread = nullptr;

tx* tx::here_by_call() noexcept { return of_this_thread; }

/// The keeper first: what it gives back at the thread's end is taken only after it exists.
tx& tx::first_time_here() {
  struct until_thread_ends {
    ~until_thread_ends() {
      tx* const mine = std::exchange(of_this_thread, nullptr);
      if (mine == nullptr) return;
      mine->binding.unbind(mine->own_number());
      mine->memory.free_all(*mine);
      detail::the_registry().give_back(*mine);
    }
  };
  static thread_local until_thread_ends keeper;
  static_cast<void>(&keeper);  // made at this thread's first call
  of_this_thread = detail::the_registry().take_participant();
  return *of_this_thread;
}

void tx::on_commit(std::function<void()> what) { attempt::on_commit(std::move(what)); }
void tx::on_abort(std::function<void()> what) { attempt::on_abort(std::move(what)); }
void tx::become_irrevocable() { attempt::require_irrevocable(); }

void tx_quiesce(std::source_location where) {
  auto& mine = detail::stm_access::this_thread();
  if (mine.inside()) {
    const call_site call("tx_quiesce", where);
    throw usage_error(error_number(710),
                      "tx_quiesce: called inside a transaction, which it would wait for" + call.place(), call.where());
  }
  detail::participant::heavy_fence();
  for (const auto* p = detail::the_registry().first(); p != nullptr; p = p->next) {
    if (p != &mine) p->wait_until_left();
  }
  mine.memory.free_all(mine);
}

}  // namespace stm
}  // namespace v1
}  // namespace shunt
