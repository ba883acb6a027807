/// Question: what does the published listing reach on this runtime, line by line?
#include <shunt/templet.hpp>

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

}  // namespace

int main(int argc, char** argv) { return bench::heat<actors_system>(argc, argv); }
