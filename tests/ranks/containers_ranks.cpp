/// The properties of the distributed containers between processes, over small trains: those that the module's tests
/// check on threads, once more where keys and items travel by copy, and parts of a long text in several trains.
///
///   containers_ranks [options of a job]
#include <cstdint>
#include <cstdio>
#include <functional>
#include <string>

#include <shunt/pgas.hpp>
#include <shunt/pgas/containers.hpp>
#include <support/item_properties.hpp>
#include <support/keyed_properties.hpp>
#include <support/linked_properties.hpp>

using namespace shunt;
using namespace shunt::testing;

namespace {

/// Says where the job is, should it hang, and lets all PEs begin together.
void say(pgas::pe& me, const char* what) {
  me.barrier();
  if (me.index() == 0) std::fprintf(stderr, "%s\n", what);
}

/// A property that is made for a number of PEs: once a process, by the PE that comes first.
template <class Property>
void check(pgas::pe& me, const char* what) {
  static const Property property(me.count());
  say(me, what);
  property(me);
}

void check_keyed(pgas::pe& me) {
  check<map_as_serial<std::uint64_t>>(me, "map of numbers");
  check<map_as_serial<char>>(me, "map of characters");
  check<map_as_serial<pair_key, pair_key_hash>>(me, "map of pairs");
  check<map_as_serial<std::string>>(me, "map of texts");
  say(me, "map: gather");
  map_gathers(me);
  say(me, "map: texts as values");
  map_of_texts(me);
  check<multimap_as_serial<std::uint64_t>>(me, "multimap of numbers");
  check<multimap_as_serial<std::string>>(me, "multimap of texts");
  check<set_as_serial<std::uint64_t>>(me, "set of numbers");
  check<set_as_serial<std::string>>(me, "set of texts");
  check<counting_set_as_serial<std::uint64_t>>(me, "counting_set of numbers");
  check<counting_set_as_serial<std::string>>(me, "counting_set of texts");
}

template <class T, class Less = std::less<T>>
void check_sort(pgas::pe& me, const char* what) {
  say(me, what);
  for (const auto items : all_items) sort_as_serial<T, Less>(me.count(), items)(me);
}

void check_items(pgas::pe& me) {
  say(me, "balance");
  balances(me);
  say(me, "bag");
  bag_spreads(me);
  bag_drains(me);
  check_sort<std::int64_t>(me, "sort of numbers");
  check_sort<std::uint8_t>(me, "sort of bytes");
  check_sort<int, std::greater<>>(me, "sort, the greatest first");
  say(me, "sort_by_key");
  sorts_by_key(me);
  check<top_k_as_serial>(me, "top_k");
  say(me, "shuffle");
  static_cast<void>(shuffled(me));
  say(me, "scan");
  scans(me);
}

void check_linked(pgas::pe& me) {
  static const auto unions = random_unions();
  static const auto shapes = shaped_unions();
  say(me, "disjoint_sets");
  unions(me);
  for (const auto& some : shapes) some(me);
  unites_by_and_by(me);
  static const matrix_adds adds;
  static const matrix_multiplies multiplies;
  static const matrix_moves moves;
  say(me, "sparse_matrix");
  adds(me);
  multiplies(me);
  moves(me);
}

}  // namespace

int main(int argc, char** argv) {
  return pgas::launch(argc, argv, [](pgas::pe& me) {
    check_keyed(me);
    check_items(me);
    check_linked(me);
  });
}
