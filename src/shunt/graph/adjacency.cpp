#include <shunt/graph/adjacency.hpp>
#include <shunt/graph/detail/arrivals.hpp>
#include <shunt/graph/pieces.hpp>
#include <shunt/pgas/actor_of.hpp>
#include <shunt/pgas/symmetric.hpp>
#include <shunt/wire/handlers.hpp>  // send() enters its handlers there

namespace shunt {
inline namespace v1 {
namespace graph {

adjacency distribute(pgas::pe& me, std::uint64_t vertices, std::span<const edge> entries) {
  using detail::arrivals, detail::arrived, detail::magnitudes;
  pgas::symmetric<adjacency> made(me, me, vertices);
  pgas::symmetric<arrivals> in(me, made->count(), 2 * entries.size() + entries.size() / 16);
  pgas::symmetric<magnitudes> busy(me, made->at.size(me.count()));
  pgas::actor_of ends(in);
  pgas::actor_of sharer(busy);
  const auto send = [&](address to, address neighbour) {
    ends.send(made->at.owner(to), [one = arrived{made->at.row(to), neighbour}](arrivals& all) { all.add(one); });
  };
  for (const auto [a, b] : entries) {
    if (a >= vertices || b >= vertices) {
      throw usage_error(error_number(1001), "distribute: an edge from " + std::to_string(a) + " to " +
                                                std::to_string(b) + ", but the graph has " + std::to_string(vertices) +
                                                " vertices, 0 the first");
    }
    if (a == b) continue;
    const auto at_a = made->at.of(a), at_b = made->at.of(b);
    send(at_a, at_b), send(at_b, at_a);
  }
  ends.finish();
  share(me, sharer, detail::make_room(*made, *in).words());
  detail::place_columns(*made, *in, *busy);
  return std::move(*made);
}

}  // namespace graph
}  // namespace v1
}  // namespace shunt
