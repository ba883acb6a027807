/// What a supervisor knows, and decides: see ../supervisor.hpp.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <source_location>
#include <string>
#include <vector>

#include <shunt/actor/detail/actor_cell.hpp>

namespace shunt {
inline namespace v1 {
namespace actor::detail {

struct supervisor_state {
  enum class verdict : std::uint8_t { restart, end };

  std::string name;
  bool all = false;  // all for one
  std::size_t most = 0;
  std::chrono::nanoseconds within{0};
  std::shared_ptr<supervisor_state> above;

  /// Any thread. A child has failed: `actor`, or a supervisor below (then `actor` is null). The other children are told
  /// what they have to do. \return what the child has to do.
  verdict failure(const actor_cell* actor, const supervisor_state* below);
  /// \param where  of the actor's options. \throws error if it has given up.
  void adopt(actor_cell& c, std::uint32_t incarnation, std::source_location where = {});
  void adopt(const std::shared_ptr<supervisor_state>& below);
  void forget(const actor_cell& c) noexcept;

 private:
  void request_from_others(const actor_cell* actor, const supervisor_state* below, cell_flag what);

  struct child {
    actor_cell* actor;
    std::uint32_t incarnation;
  };
  std::mutex lock_;
  std::vector<child> children_;
  std::vector<std::weak_ptr<supervisor_state>> below_;
  std::vector<std::chrono::steady_clock::time_point> failures_;
  bool given_up_ = false;
};

}  // namespace actor::detail
}  // namespace v1
}  // namespace shunt
