// Names that a class must not change: members of selectors, parts named alike or like types, unnamed and unused parts.
#include <cstdint>
#include <cstdio>
#include <shunt/pgas.hpp>
#include <vector>

namespace pgas = shunt::pgas;

namespace {

struct rows {
  std::vector<long> all = std::vector<long>(10);
};
enum class color : std::uint8_t { red, green };
using alias = std::vector<std::uint32_t>;

long run_main_counter = 1;  // a name that the translation would choose

void run(pgas::pe& me, pgas::symmetric<rows>& first, pgas::symmetric<rows>& second, pgas::symmetric<alias>& third) {
  pgas::actor_of main_counter(first, second, third);
  const rows* unused = nullptr;
  const auto paint = static_cast<color>(me.count() > 0);
  const std::int64_t big = 5;
  for (int to = 0; to < me.count(); ++to) {
    main_counter.send(to, [send = big, me = me.index() + 1, paint](rows& rows, auto&, auto&) {
      rows.all[0] += send + (paint == color::green) + 0 * me;
    });
    main_counter.send(to, [](auto& m, rows& rows, const alias&, auto& h) {
      const auto message = m.all.size();
      rows.all[1] += static_cast<long>(message) + h.from() * 0;
    });
    main_counter.send(to, [rows = *&big](auto&, auto& there, auto) {
      const auto twice = [&] { return 2 * rows; };
      there.all[2] += twice() / 2;
    });
    main_counter.send(
        to, [from = 3L, h = true](rows& r, auto&, auto&, auto& here) { r.all[3] += from * h + 0 * here.from(); });
    main_counter.send(to, [](rows& r, auto&, auto&) { return ++r.all[4]; });
  }
  main_counter.finish();
  static_cast<void>(unused);
}

}  // namespace

int main(int argc, char** argv) {
  return pgas::launch(argc, argv, [](pgas::pe& me) {
    pgas::symmetric<rows> first(me), second(me);
    pgas::symmetric<alias> third(me, 3);
    run(me, first, second, third);
    const long n = me.count();
    const bool right = first->all[0] == 6 * n && second->all[1] == 10 * n && second->all[2] == 5 * n &&
                       first->all[3] == 3 * n && first->all[4] == n && run_main_counter == 1;
    if (!right) throw shunt::error("wrong");
    if (me.index() == 0) std::puts("right");
  });
}
