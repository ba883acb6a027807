// Messages that change one member of a part, and reads of it and of others.
#include <shunt/pgas.hpp>

#include <algorithm>
#include <vector>

namespace pgas = shunt::pgas;

namespace {

struct ranks {
  std::vector<double> now, next;
  struct {
    long messages = 0, reads = 0;
  } counted;
  void hear(std::size_t row, double part) {
    next[row] += part;
    count();
  }
  void count() { ++counted.messages; }
  [[nodiscard]] bool is_empty() const { return now.empty(); }
};

void add_to(ranks& r, std::size_t row, double part) { r.next[row] += part; }

void assign(pgas::pe& me) {
  pgas::symmetric<ranks> r(me);
  pgas::actor_of actor(r);
  double x = 0;
  actor.send(0, [](ranks& there) { there.next[0] = 1; });
  x += r->now[0];
  x += r->next[0];  // wrong: part of `r` is read before finish()
  auto& [now, next, counted] = *r;
  x += now[0];
  x += next[1];  // wrong: part of `r` is read before finish()
  const auto& old = r->now;
  const auto& coming = r->next;
  x += old[0];
  x += coming[0];        // wrong: part of `r` is read before finish()
  const ranks all = *r;  // wrong: part of `r` is read before finish()
  actor.finish();
  x += all.next[0] + r->next[0] + coming[0];
}

// Through a member function of the part, and a function that is given the part.
void through_functions(pgas::pe& me) {
  pgas::symmetric<ranks> r(me);
  pgas::actor_of actor(r);
  double x = 0;
  actor.send(0, [](auto& there) { there.hear(5, 0.5); });
  x += r->now[0] + static_cast<double>(r->counted.reads);
  x += r->next[0];                                // wrong: part of `r` is read before finish()
  x += static_cast<double>(r->counted.messages);  // wrong: part of `r` is read before finish()
  if (r->is_empty()) x = 0;
  actor.finish();
  actor.send(0, [](ranks& there) { add_to(there, 5, 0.5); });
  x += r->now[0] + static_cast<double>(r->counted.messages);
  x += r->next[0];  // wrong: part of `r` is read before finish()
  actor.finish();
  actor.send(0, [](ranks& there) {
    auto& next = there.next;
    next.push_back(1);
  });
  x += r->now[0];
  x += r->next.back();  // wrong: part of `r` is read before finish()
  std::swap(r->now, r->next);
  actor.finish();
  x += r->next.back();
}

// The part of another object with the same type.
void others(pgas::pe& me) {
  pgas::symmetric<ranks> first(me);
  pgas::symmetric<ranks> second(me);
  pgas::actor_of actor(first, second);
  double x = 0;
  actor.send(0, [](auto&, auto& there) { there.next[0] = 1; });
  x += first->next[0];
  x += second->next[0];  // wrong: part of `second` is read before finish()
  actor.finish();
}

}  // namespace

int main(int argc, char** argv) {
  return pgas::launch(argc, argv, [](pgas::pe& me) {
    assign(me);
    through_functions(me);
    others(me);
  });
}
