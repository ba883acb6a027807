/// Question: what does the published listing reach on this runtime, line by line? And the study's other one, for typed
/// actors (`typed`)?
#include <shunt/actor.hpp>
#include <shunt/templet.hpp>
#include <string_view>
#include <vector>

#include "field.hpp"

namespace {

namespace templet = shunt::templet;

constexpr long most = 4096;  // rows; the listing's arrays have a length that the compiler knows
bench::field* plate;
long N, T;
templet::engine e;
templet::actor as[most];
templet::message ms[most];  // ms[i] is between as[i] and as[i + 1]
long ts[most];

void recv(templet::message&, templet::actor& a) {
  const long id = &a - as;
  if ((id == 0 || access(ms[id - 1], a)) && (id == N - 1 || access(ms[id], a)) && ts[id] <= T) {
    plate->compute(id + 1);
    ++ts[id];
    if (id != 0) send(e, ms[id - 1], as[id - 1]);
    if (id != N - 1) send(e, ms[id], as[id + 1]);
  }
}

struct actors_system {
  static void solve(bench::field& all, int workers) {
    plate = &all;
    N = all.rows() - 2;
    T = all.steps();
    for (long i = 0; i < N; ++i) {
      as[i].recv = recv;
      ts[i] = 1;
    }
    for (long i = 0; i < N - 1; ++i) give(e, ms[i], as[i]);
    send(e, ms[0], as[0]);
    run(e, workers);
  }
};

/// As pekko.java: a message says that a row may use the one above it, or below it, and that its sender has done with
/// that row for now.
struct row {
  explicit row(long n) : number(n) {}
  void above_is_ready() {
    may_above = true;
    go_on();
  }
  void below_is_ready() {
    may_below = true;
    go_on();
  }
  void begin(shunt::ref<row> up, shunt::ref<row> down) {
    above = up, below = down;
    may_above = !above;
  }

  void go_on() {
    if (!may_above || !may_below || step > plate->steps()) return;
    plate->compute(number);
    ++step;
    may_above = !above;
    may_below = !below;
    if (above) above.tell<&row::below_is_ready>();
    if (below) below.tell<&row::above_is_ready>();
  }

  long number;
  long step = 1;
  shunt::ref<row> above, below;  // none: the field's rim
  bool may_above = false;
  bool may_below = true;
};

struct typed_actors {
  static void solve(bench::field& all, int workers) {
    plate = &all;
    shunt::manager system({.workers = workers});
    std::vector<shunt::ref<row>> rows;
    const long inner = all.rows() - 2;
    for (long i = 0; i < inner; ++i) {  // in blocks: neighbours share a worker
      rows.push_back(system.spawn<row>({.worker = static_cast<int>(i * system.workers() / inner)}, i + 1));
    }
    const shunt::ref<row> none;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      rows[i].tell<&row::begin>(i == 0 ? none : rows[i - 1], i + 1 == rows.size() ? none : rows[i + 1]);
    }
    system.drain();
    rows[0].tell<&row::above_is_ready>();
    system.drain();
  }
};

}  // namespace

int main(int argc, char** argv) {
  return std::string_view(bench_parse(argc, argv).variant) == "typed" ? bench::heat<typed_actors>(argc, argv)
                                                                      : bench::heat<actors_system>(argc, argv);
}
