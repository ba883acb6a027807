// Messages that handlers send on, function objects, and templates.
#include <shunt/pgas.hpp>

#include <vector>

namespace pgas = shunt::pgas;

namespace {

using part = std::vector<long>;

struct adder {
  long by;
  void operator()(part& counts) const { counts[0] += by; }
};
struct pointing_adder {
  const long* by;
  void operator()(part& counts) const { counts[0] += *by; }
};
void add_one(part& counts) { ++counts[0]; }

void send_on(pgas::pe& me) {
  pgas::symmetric<part> table(me, 100);
  auto chain = pgas::make_selector<2>(table);
  const long own = 1;
  chain.send<0>(1, [own](part& counts, auto& here) {
    long* const at = &counts[0];
    here.template send<1>(0, [at](part& others) { others[0] += *at; });  // wrong: captures the pointer `at`
    here.template send<1>(0, [own, value = *at](part& others) { others[0] += value + own; });
    here.send_through(1, 0, [at](part& others) { others[0] += *at; });  // wrong: captures the pointer `at`
  });
  chain.send<0>(1, adder{own});
  chain.send<0>(1, pointing_adder{&own});  // wrong: the function of send() holds a pointer in `by`
  chain.send<0>(1, &add_one);              // wrong: is given by its address
  const auto inner = [at = &own](part& counts) { counts[0] += *at; };
  chain.send<1>(1, [inner](part& counts) { inner(counts); });  // wrong: captures `inner`
  const auto harmless = [own](part& counts) { counts[0] += own; };
  chain.send<1>(1, [harmless](part& counts) { harmless(counts); });
  chain.finish();
}

// One finding, though the template is used twice; for long there is nothing to find.
template <class T>
void send_as(pgas::symmetric<part>& table, T value) {
  pgas::actor_of a(table);
  a.send(0, [value](auto& counts) { counts[0] += value != T{}; });  // wrong: captures the pointer `value`
  a.finish();
}

}  // namespace

int main(int argc, char** argv) {
  return pgas::launch(argc, argv, [](pgas::pe& me) {
    send_on(me);
    pgas::symmetric<part> table(me, 100);
    int number = 1;
    long other = 2;
    send_as(table, 5L);
    send_as(table, &number);
    send_as(table, &other);
  });
}
