// Collective calls in handlers.
#include <shunt/pgas.hpp>
#include <shunt/pgas/containers.hpp>

#include <vector>

namespace pgas = shunt::pgas;

namespace {

using part = std::vector<long>;
pgas::pe* program = nullptr;  // of the only PE in this process
pgas::array<long>* shared = nullptr;
pgas::map<std::uint64_t, long>* counts = nullptr;

void collective(pgas::pe& me) {
  pgas::symmetric<part> table(me, 100);
  pgas::actor_of updates(table);
  updates.send(0, [](part&) { program->barrier(); });                          // wrong: a handler calls barrier()
  updates.send(0, [](part& mine) { mine[0] = program->sum(mine[0]); });        // wrong: a handler calls sum()
  updates.send(0, [](part& mine) { mine[0] = program->scan(mine[0]); });       // wrong: a handler calls scan()
  updates.send(0, [](part& mine) { mine = program->broadcast(mine, 0); });     // wrong: a handler calls broadcast()
  updates.send(0, [](auto& mine) { mine[0] = program->gather(mine[0])[0]; });  // wrong: a handler calls gather()
  updates.send(0, [](part& mine) { mine[0] = (*shared)[3]; });   // wrong: the read of an array's element, which waits
  updates.send(0, [](part& mine) { mine[0] = shared->sum(); });  // wrong: a handler calls sum()
  updates.send(0, [](part& mine) { mine[0] = counts->find(5).value_or(0); });  // wrong: a handler calls find()
  updates.send(0, [](part&) {
    pgas::superstep(*program, [] { ++(*shared)[1]; });  // wrong: a handler calls superstep()
  });
  updates.send(0, [](part&) {
    pgas::symmetric<long> more(*program);  // wrong: the construction of a pgas::symmetric
    *more = 1;
  });

  // Right: local calls, and the same calls in the program.
  updates.send(0, [](part& mine, auto& here) {
    mine[0] = program->index() + program->count() + here.count();
    mine[1] = shared->local()[0];
    mine[2] = std::max(mine[0], mine[1]);
  });
  updates.finish();
  me.barrier();
  (*table)[0] = me.sum((*table)[0]) + shared->sum();
}

}  // namespace

int main(int argc, char** argv) { return pgas::launch(argc, argv, collective); }
