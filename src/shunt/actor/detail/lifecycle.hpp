/// What is kept of a living actor that its messages do not touch: how its object is made again and destroyed, its
/// supervisor, its monitors.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <shunt/actor/mailbox.hpp>

namespace shunt {
inline namespace v1 {
namespace actor::detail {

struct supervisor_state;

struct lifecycle {
  std::string name;
  void (*destroy)(void*) noexcept = nullptr;     // ends the object
  void (*free)(void*) noexcept = nullptr;        // frees its memory
  std::function<void(void*)> construct;          // makes the object again, in the same place; null: cannot
  bool constructed = true;                       // there is an object
  std::shared_ptr<supervisor_state> supervisor;  // null: none
  bool restarts = true;
  std::vector<std::function<void(const ended&)>> monitors;
};

}  // namespace actor::detail
}  // namespace v1
}  // namespace shunt
