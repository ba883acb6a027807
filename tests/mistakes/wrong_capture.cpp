// A program with a mistake: the message captures a variable of its sender by its address.
#include <shunt/pgas.hpp>

int main(int argc, char** argv) {
  return shunt::pgas::launch(argc, argv, [](shunt::pgas::pe& me) {
    shunt::pgas::symmetric<long> total(me);
    shunt::pgas::actor_of adder(total);
    for (int i = 0; i < 100; ++i) {
      adder.send((me.index() + 1) % me.count(), [at = &i](long& sum) { sum += *at; });
    }
    adder.finish();
  });
}
