#include <shunt/actor/manager.hpp>

namespace shunt {
inline namespace v1 {
namespace {

detail::typed::settings settings_of(manager_options& wanted) {
  detail::typed::settings s;
  s.runtime = wanted.runtime;
  s.stack_bytes = wanted.stack_bytes;
  s.stop_after = wanted.stop_after;
  s.on_dead_letter = std::move(wanted.on_dead_letter);
  s.report = std::move(wanted.report);
  return s;
}

manager_options with(const sched::options& workers) {
  manager_options wanted;
  wanted.runtime = workers;
  return wanted;
}

}  // namespace

manager::manager(manager_options wanted) : hall_(std::make_unique<detail::typed::hall>(settings_of(wanted), nullptr)) {}

manager::manager(const sched::options& workers) : manager(with(workers)) {}

manager::manager(sched::runtime& on, manager_options wanted) {
  if (!sched::this_fiber::inside() || &sched::this_worker::current() != &on) {
    throw usage_error("manager: called outside of a fiber of the runtime that it was given");
  }
  if (detail::typed::station::here() != nullptr) throw usage_error("manager: these workers have a manager already");
  hall_ = std::make_unique<detail::typed::hall>(settings_of(wanted), &on);
}

manager::~manager() = default;

supervisor manager::supervise(const supervisor_options& how) {
  if (how.restarts < 0) throw usage_error("supervise: " + std::to_string(how.restarts) + " restarts; at least 0");
  auto made = std::make_shared<detail::typed::supervisor_state>();
  made->name = how.name;
  made->all = how.how == strategy::all_for_one;
  made->most = static_cast<std::size_t>(how.restarts);
  made->within = how.within;
  made->above = how.under.state_;
  if (made->above != nullptr) made->above->adopt(made);
  return supervisor(std::move(made));
}

detail::typed::address manager::settle(detail::typed::station& at, std::unique_ptr<detail::typed::biography> about,
                                       void* object, const actor_options& how, std::type_index is) {
  const std::string name = about->name;
  const auto above = about->above;
  detail::typed::address who;
  try {
    who = at.take_cell(about, object, how.capacity, how.when_full);
  } catch (...) {
    about->finish(object);
    about->free(object);
    throw;
  }
  try {
    if (above != nullptr) above->adopt(*who.to, who.life());
    hall_->bear(name, who, is);
  } catch (...) {
    at.at_home([who] { who.to->home->wish_for(*who.to, who.life(), detail::typed::wish_end); });
    throw;
  }
  return who;
}

void manager::block(task::detail::one_event& e) {
  struct blocked : task::detail::one_event::listener {
    blocked() noexcept : listener([](listener& l) noexcept { static_cast<blocked&>(l).who.wake(); }) {}
    sched::sleeper who;
  } me;
  if (e.attach(me)) me.who.sleep("a future");
}

void this_actor::stop() { detail::typed::station::end_running(); }

namespace detail::typed {
void throw_nobody(const char* call) { throw usage_error(std::string(call) + ": the reference is to nobody"); }
}  // namespace detail::typed

}  // namespace v1
}  // namespace shunt
