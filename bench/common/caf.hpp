/// CAF, as the tables of actors have it: as many workers as the table's, work stealing.
#pragma once

#include <caf/all.hpp>
#include <cstddef>
#include <cstdint>

namespace bench {

struct caf_settings : caf::actor_system_config {
  /// \param at_once  messages that an actor may handle before its worker goes on to another one; 0: all that it has.
  explicit caf_settings(long workers, std::size_t at_once = 0) {
    set("scheduler.max-threads", static_cast<std::size_t>(workers));
    if (at_once != 0) set("scheduler.max-throughput", at_once);
  }
};

}  // namespace bench
