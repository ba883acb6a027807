/// Random permutation by keys: each PE reserves room for all of its indices at each other one, and writes them there at
/// once. They are sorted there, and written to their places. (The published program throws darts: darts.hpp.)
#pragma once
#include "shared_matrix.hpp"
namespace bench {
/// Indices that lie at one PE, until they are dealt out.
template <class Net>
struct drawing {
  explicit drawing(std::size_t entries)
      : arrived(entries + entries / 4 + 1024), room(1), counts(static_cast<std::size_t>(Net::pes())) {}
  typename Net::template array<std::int64_t> arrived;
  typename Net::template array<std::int64_t> room;  // items reserved of `arrived`
  typename Net::template array<std::int64_t> counts;
};

template <class Net>
void random_permutation(std::uint64_t total, std::uint64_t seed_of, drawing<Net>& in,
                        typename Net::template array<std::uint32_t>& result) {
  using shunt::apps::drawn;
  const shunt::apps::random_keys keys(Net::me(), Net::pes(), total, seed_of);
  std::vector<std::vector<std::int64_t>> lists(static_cast<std::size_t>(Net::pes()));
  for (auto& list : lists) list.reserve(in.arrived.mine().size() / lists.size());
  in.room.mine()[0] = 0;
  Net::settle(in.room);
  keys.each([&](int pe, drawn one) { lists[static_cast<std::size_t>(pe)].push_back(static_cast<std::int64_t>(one)); });
  for (int pe = 0; pe < Net::pes(); ++pe) {
    const auto& list = lists[static_cast<std::size_t>(pe)];
    std::int64_t place = 0;
    in.room.fetch_add(&place, static_cast<std::int64_t>(list.size()), pe, 0);
    in.room.complete();
    if (static_cast<std::size_t>(place) + list.size() > in.arrived.mine().size()) {
      throw std::length_error("one PE gets a quarter more indices than another");
    }
    in.arrived.put(list.data(), pe, static_cast<std::size_t>(place), list.size());
  }
  Net::settle(in.room, in.arrived);
  std::vector<drawn> here(in.arrived.mine().begin(), in.arrived.mine().begin() + in.room.mine()[0]);
  keys.sort(here);
  const auto first = exchange<Net>(in.counts, here.size()).before;
  shunt::apps::deal_out(here, first, Net::pes(), here.size() + 1, [&](const auto& to, auto indices) {
    result.put(indices.data(), to.pe, to.spot, indices.size());
    result.complete();
  });
  Net::settle(result);
}
}  // namespace bench
