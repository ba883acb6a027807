// Pointers that a message captures.
#include <shunt/pgas.hpp>

#include <vector>

namespace pgas = shunt::pgas;

namespace {

long total = 0;
long twice(long x) { return 2 * x; }
struct counter {
  long add(long x) const { return x + 1; }
  long field = 0;
};

void send(pgas::pe& me) {
  pgas::symmetric<std::vector<long>> table(me, 100);
  pgas::actor_of updates(table);
  long own = 5;
  int numbers[] = {1, 2, 3};
  const char* name = "name";
  updates.send(0, [at = &own](auto& counts) { counts[0] += *at; });           // wrong: captures the pointer `at`
  updates.send(0, [name](auto& counts) { counts[0] += name[0]; });            // wrong: the pointer `name`
  updates.send(0, [at = &total](auto& counts) { counts[0] += *at; });         // wrong: which means nothing on
  updates.send(0, [f = &twice](auto& counts) { counts[0] = f(counts[0]); });  // wrong: captures the pointer `f`
  updates.send(0, [f = &counter::add](auto& counts) { counts[0] = (counter().*f)(1); });  // wrong: whose type
  updates.send(0, [=](auto& counts) { counts[0] += name[0] + own; });           // wrong: captures the pointer `name`
  updates.send_through(0, 1, [at = &own](auto& counts) { counts[1] += *at; });  // wrong: of send_through()

  // Right: values, an array of them, a global that the handler names, the offset of a member.
  updates.send(0, [own](auto& counts) { counts[0] += own; });
  updates.send(0, [=](auto& counts) { counts[0] += numbers[0] + own; });
  updates.send(0, [](auto& counts) { counts[0] += total + twice(1); });
  updates.send(0, [f = &counter::field](auto& counts) { counts[0] += counter().*f; });
  const auto elsewhere = [at = &own] { return *at; };
  total += elsewhere();
  updates.finish();
}

// An array of pointers, and a lambda that stands elsewhere.
void elsewhere(pgas::pe& me) {
  pgas::symmetric<long> sum(me);
  pgas::actor_of adder(sum);
  long one = 1, two = 2;
  long* both[] = {&one, &two};
  const auto add = [at = &one](long& to) { to += *at; };
  adder.send(0, [=](long& to) { to += *both[1]; });  // wrong: captures `both`, whose type
  adder.send(0, add);                                // wrong: captures the pointer `at`
  const auto add_value = [one](long& to) { to += one; };
  adder.send(0, add_value);
  adder.finish();
}

}  // namespace

int main(int argc, char** argv) {
  return pgas::launch(argc, argv, [](pgas::pe& me) {
    send(me);
    elsewhere(me);
  });
}
