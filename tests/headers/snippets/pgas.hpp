/// What the code in the comments of module pgas takes for granted: see tools/snippets.py.
#pragma once

#include <cstddef>
#include <cstdint>
#include <stop_token>
#include <vector>

#include <shunt/pgas.hpp>

namespace examples::pgas_actor_of {
namespace pgas = shunt::pgas;
extern pgas::pe& me;
extern std::vector<std::size_t> keys;
}  // namespace examples::pgas_actor_of

namespace examples::pgas_array {
namespace pgas = shunt::pgas;
extern pgas::pe& me;
extern std::vector<std::size_t> keys;
}  // namespace examples::pgas_array

namespace examples::pgas_handler {
namespace pgas = shunt::pgas;
extern pgas::symmetric<std::vector<long>>& table;
}  // namespace examples::pgas_handler

namespace examples::pgas_mailbox_order {
namespace pgas = shunt::pgas;
extern pgas::symmetric<std::vector<long>>& table;
}  // namespace examples::pgas_mailbox_order

namespace examples::pgas_selector {
namespace pgas = shunt::pgas;
extern pgas::pe& me;
extern int pe;
extern std::uint32_t spot;
}  // namespace examples::pgas_selector

namespace examples::pgas_symmetric {
namespace pgas = shunt::pgas;
extern pgas::pe& me;
extern const int pe;
extern const unsigned spot;
}  // namespace examples::pgas_symmetric

namespace examples::pgas_time_limit {
namespace pgas = shunt::pgas;
extern pgas::pe& me;
extern pgas::actor_of<std::vector<long>>& updates;
extern std::stop_token stop;
}  // namespace examples::pgas_time_limit
