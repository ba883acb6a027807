/// A job that goes wrong on purpose, for check.py.
///
///   fault_job KIND [options of a job] [marker]
///
///   good      ends well
///   handler   a handler of the last PE throws, amid traffic
///   program   the program of the last PE throws while others wait
///   budget    the last PE's handler sends more than its budget holds
///   disagree  the last PE waits in a barrier, the others in finish()
///   exit      the last PE's process ends without a word
///   abort     the same, by a signal
///   endless   traffic without end; each rank says "rank R process P" first
///
/// Whatever follows the options is ignored: it marks the processes, so that those left behind can be found.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <string_view>

#include <shunt/pgas.hpp>

using namespace shunt;

namespace {

struct letter {
  long number;
};

/// Named in messages: what check.py looks for.
struct post_office : pgas::selector<post_office, letter, letter> {
  post_office(pgas::pe& me, std::string_view what) : selector(me), kind(what) {}
  void process(pgas::mailbox_index<0>, letter l) {
    if (l.number == 77 && me().index() == me().count() - 1) {
      if (kind == "handler") throw std::runtime_error("letter 77 is on fire");
      if (kind == "budget") {
        for (long i = 0; i < 1'000'000; ++i) send<1>(0, {i});
      }
    }
    sum += l.number;
  }
  void process(pgas::mailbox_index<1>, letter l) { sum += l.number; }
  std::string_view kind;
  long sum = 0;
};

void traffic(pgas::pe& me, post_office& office, int letters) {
  for (int i = 0; i < letters; ++i) office.send<0>((me.index() + i) % me.count(), {i});
}

}  // namespace

int main(int argc, char** argv) {
  const std::string kind = argc > 1 ? argv[1] : "";
  return pgas::launch(argc, argv, [&kind](pgas::pe& me) {
    const bool last = me.index() == me.count() - 1;
    if (me.index() == me.count() * me.rank() / me.ranks()) {
      std::printf("rank %d process %ld\n", me.rank(), static_cast<long>(::getpid()));
      std::fflush(stdout);
    }
    post_office office(me, kind);
    traffic(me, office, 300);
    if (last && kind == "program") throw std::runtime_error("out of stamps");
    if (last && kind == "exit") std::_Exit(3);
    if (last && kind == "abort") std::abort();
    if (last && kind == "disagree") me.barrier();
    office.finish();
    while (kind == "endless") {
      traffic(me, office, 100);
      office.finish();
    }
    if (me.sum(office.sum) != 300L * 299 / 2 * me.count()) throw std::runtime_error("letters were lost");
    if (me.index() == 0) std::printf("ended well\n");
  });
}
