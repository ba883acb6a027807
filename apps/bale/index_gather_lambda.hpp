/// Index-gather: every PE reads random entries of a distributed table. Published as "index-gather" of bale.
#pragma once
#include <bale/kernel.hpp>
namespace shunt::apps::lambda_form {
using part = std::vector<std::int64_t>;
inline void index_gather(pgas::symmetric<part>& table, pgas::symmetric<part>& target, std::span<const place> reads) {
  pgas::actor_of reader(table, target);
  for (std::uint32_t i = 0; i < reads.size(); ++i)
    reader.ask(
        reads[i].pe, [spot = reads[i].spot](part& entries, part&) { return entries[spot]; },
        [i](part&, part& gathered, std::int64_t value) { gathered[i] = value; });
  reader.finish();
}
}  // namespace shunt::apps::lambda_form
