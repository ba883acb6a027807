/// histogram, as one writes the loop.
#pragma once

#include <cstdint>
#include <shunt/pgas.hpp>
#include <span>

namespace shunt::apps::natural {

/// Collective. Counts up the elements of these indices.
inline void histogram(pgas::pe& me, pgas::array<std::int64_t>& table, std::span<const std::uint64_t> indices) {
  pgas::superstep(me, [&] {
    for (const auto i : indices) ++table[i];
  });
}

}  // namespace shunt::apps::natural
