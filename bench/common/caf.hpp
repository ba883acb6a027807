/// CAF, as the tables of actors have it: as many workers as the table's, work stealing.
#pragma once

#include <caf/all.hpp>
#include <cstddef>
#include <cstdint>

namespace bench {

/// An actor keeps its worker until its mailbox is empty (`max-throughput`, as by default).
struct caf_settings : caf::actor_system_config {
  explicit caf_settings(long workers) { set("scheduler.max-threads", static_cast<std::size_t>(workers)); }
};

}  // namespace bench
