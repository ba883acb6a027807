/// Which class a manager makes for an interface.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <source_location>
#include <typeindex>
#include <typeinfo>
#include <unordered_map>
#include <utility>

#include <shunt/actor/detail/post.hpp>

namespace shunt {
inline namespace v1 {
namespace actor {

struct actor_options;

namespace detail {

/// Any thread.
class implementations {
 public:
  /// Makes an actor. \return its address, as one of the interface
  using maker = std::function<address(actor_options)>;

  /// From now on; an earlier one is replaced.
  void set(std::type_index of, maker make) {
    auto made = std::make_shared<const maker>(std::move(make));
    const std::scoped_lock held(lock_);
    by_interface_[of] = std::move(made);
  }
  /// \return null: none is known.
  [[nodiscard]] std::shared_ptr<const maker> of(std::type_index interface) const {
    const std::scoped_lock held(lock_);
    const auto found = by_interface_.find(interface);
    return found == by_interface_.end() ? nullptr : found->second;
  }

 private:
  mutable std::mutex lock_;  // guards what follows; held for a look-up only
  std::unordered_map<std::type_index, std::shared_ptr<const maker>> by_interface_;
};

/// \param where  of the actor's options. \throws usage_error that names the interface
[[noreturn]] void throw_no_implementation(const std::type_info& interface, std::source_location where);

}  // namespace detail
}  // namespace actor
}  // namespace v1
}  // namespace shunt
