// Functions that distributed objects send to an owner.
#include <shunt/pgas.hpp>
#include <shunt/pgas/containers.hpp>

#include <string>

namespace pgas = shunt::pgas;

namespace {

void change(pgas::pe& me) {
  pgas::array<long> table(me, 1000);
  pgas::map<std::uint64_t, long> counts(me);
  pgas::multimap<std::uint64_t, long> lists(me);
  long mine = 3;
  const long* const at = &mine;
  pgas::superstep(me, [&] {
    table[5].update([at](long& x) { x += *at; });                               // wrong: the lambda of update()
    counts.visit(7, [at](long& x) { x += *at; });                               // wrong: the lambda of visit()
    counts.visit_if_present(7, [at](long& x) { x += *at; });                    // wrong: of visit_if_present()
    lists.visit(7, [at](std::vector<long>& all) { all.push_back(*at); });       // wrong: captures the pointer `at`
    lists.visit_if_present(7, [at](std::vector<long>& all) { all[0] = *at; });  // wrong: captures the pointer `at`

    table[5].update([mine](long& x) { x += mine; });
    counts.visit(7, [mine](long& x) { x += mine; });
    counts.visit(7, [by = *at](const std::uint64_t&, long& x) { x += by; });
    lists.visit(7, [mine](std::vector<long>& all) { all.push_back(mine); });
    table[6] += *at;
  });
  // These run where the data lies.
  counts.erase_if([at](std::uint64_t, long x) { return x == *at; });
  pgas::bag<long> work(me);
  work.add(mine);
  work.drain([at, &work](long x) {
    if (x < *at) work.insert(x + 1);
  });
}

}  // namespace

int main(int argc, char** argv) { return pgas::launch(argc, argv, change); }
