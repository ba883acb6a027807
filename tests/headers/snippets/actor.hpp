/// What the code in the comments of module actor takes for granted: see tools/snippets.py.
#pragma once

#include <chrono>
#include <string>

#include <shunt/actor.hpp>

namespace examples::actor_ref {
struct counter;
extern shunt::ref<counter> co;
}  // namespace examples::actor_ref

namespace examples::actor_supervisor {
using namespace std::chrono_literals;
struct worker {
  explicit worker(const std::string& name);
};
extern shunt::manager all;
}  // namespace examples::actor_supervisor
