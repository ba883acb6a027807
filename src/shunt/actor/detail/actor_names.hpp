/// Names of living actors. Any thread.
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <typeindex>

#include <shunt/actor/detail/actor_cell.hpp>
#include <shunt/base/call_site.hpp>
#include <shunt/base/error.hpp>

namespace shunt {
inline namespace v1 {
namespace actor::detail {

class actor_names {
 public:
  /// From now on the name means this actor. An empty name is none.
  void add(const std::string& name, const address& actor, std::type_index type) {
    if (name.empty()) return;
    const std::scoped_lock held(lock_);
    names_.insert_or_assign(name, named{actor, type});
  }

  /// \return a null address if there is none. \throws usage_error if it is of another class.
  [[nodiscard]] address find(const std::string& name, std::type_index type, call_site call = "find") const {
    const std::scoped_lock held(lock_);
    const auto found = names_.find(name);
    if (found == names_.end()) return {};
    if (found->second.type != type) {
      throw usage_error(error_number(501),
                        "find: actor `" + name + "` is of another class than the one asked for" + call.place(),
                        call.where());
    }
    return found->second.actor;
  }

  /// Nothing if the name means another actor.
  void remove(const std::string& name, const actor_cell& actor) noexcept {
    if (name.empty()) return;
    const std::scoped_lock held(lock_);
    const auto found = names_.find(name);
    if (found != names_.end() && found->second.actor.to == &actor) names_.erase(found);
  }

 private:
  struct named {
    address actor;
    std::type_index type;
  };
  mutable std::mutex lock_;
  std::map<std::string, named, std::less<>> names_;
};

}  // namespace actor::detail
}  // namespace v1
}  // namespace shunt
