/// A job that goes wrong on purpose, for check.py.
///
///   fault_job KIND [options of a job] [marker]
///
///   good      ends well
///   handler   a handler of the last PE throws, amid traffic
///   program   the program of the last PE throws while others wait
///   budget    the last PE's handler sends more than its budget holds
///   disagree  the last PE waits in a barrier, the others in finish()
///   fewer     the last PE calls one barrier fewer than the others
///   more      the last PE calls one barrier more than the others
///   caught    the last PE throws, catches that and returns, while the others wait in a barrier
///   exit      the last PE's process ends without a word
///   exit0     the last PE's program calls exit(0)
///   quick     the last PE's program calls quick_exit(0)
///   gone      the last PE's program calls _Exit(0): nothing in the process can see it
///   abort     the same, by a signal
///   halt      the last rank's process is stopped (SIGSTOP) before MPI_Init
///   early     the last rank's process calls exit(0) while the others are in MPI_Init
///   endless   traffic without end; each rank says "rank R process P" first
///   timed     traffic for some time, with a fault at any moment from main() on: see below
///
/// FAULT_JOB="RANK FAULT MICROSECONDS TRAFFIC" in the environment, for `timed`: rank RANK of the launcher has FAULT
/// (none, exit0, exit1, abort, throw) so long after its main() begins, and traffic lasts TRAFFIC microseconds on all.
/// Each rank says "rank R process P at main", and "rank R returned" behind run().
///
/// Whatever follows the options is ignored: it marks the processes, so that those left behind can be found.
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>

#include <shunt/pgas.hpp>
#include <shunt/transport/processes.hpp>

using namespace shunt;
using clock_of_faults = std::chrono::steady_clock;

namespace {

/// What FAULT_JOB says.
struct plan {
  int rank = -1;
  std::string fault;
  long at = 0;       // microseconds from main() on
  long traffic = 0;  // microseconds of it
};

int rank_of_launcher() {
  const char* const rank = transport::rank_by_launcher();
  return rank == nullptr ? 0 : std::atoi(rank);
}

int ranks_of_launcher() {
  for (const char* const name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"}) {
    if (const char* const text = std::getenv(name)) return std::atoi(text);
  }
  return 1;
}

plan plan_of_environment() {
  plan p;
  if (const char* const text = std::getenv("FAULT_JOB")) {
    std::istringstream words(text);
    words >> p.rank >> p.fault >> p.at >> p.traffic;
  }
  return p;
}

/// The faults that no fiber has to cause: from a thread of their own, so at any moment, also inside MPI.
void begin_fault(const plan& p, clock_of_faults::time_point at) {
  std::thread([p, at] {
    std::this_thread::sleep_until(at);
    if (p.fault == "exit0") std::exit(0);
    if (p.fault == "exit1") std::exit(1);
    if (p.fault == "abort") std::abort();
  }).detach();
}

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

bool last_of_rank(pgas::pe& me) { return me.index() + 1 == me.count() * (me.rank() + 1) / me.ranks(); }

void traffic(pgas::pe& me, post_office& office, int letters) {
  for (int i = 0; i < letters; ++i) office.send<0>((me.index() + i) % me.count(), {i});
}

}  // namespace

int main(int argc, char** argv) {
  const auto begun = clock_of_faults::now();
  const std::string kind = argc > 1 ? argv[1] : "";
  const plan what = plan_of_environment();
  const int own = rank_of_launcher();
  const auto fault_at = begun + std::chrono::microseconds(what.at);
  if (kind == "timed") {
    std::printf("rank %d process %ld at main\n", own, static_cast<long>(::getpid()));
    std::fflush(stdout);
    if (own == what.rank) begin_fault(what, fault_at);
  }
  const bool is_last = own + 1 == ranks_of_launcher();
  if (kind == "halt" && is_last) ::raise(SIGSTOP);
  if (kind == "early" && is_last) std::exit(0);
  const int status = pgas::launch(argc, argv, [&](pgas::pe& me) {
    const bool last = me.index() == me.count() - 1;
    if (me.index() == me.count() * me.rank() / me.ranks()) {
      std::printf("rank %d process %ld\n", me.rank(), static_cast<long>(::getpid()));
      std::fflush(stdout);
    }
    if (kind == "fewer" || kind == "more") {
      const int barriers = last ? (kind == "more" ? 2 : 0) : 1;
      for (int i = 0; i < barriers; ++i) me.barrier();
      return;
    }
    if (kind == "caught") {
      try {
        if (last) throw std::runtime_error("caught");
        me.barrier();
      } catch (const std::runtime_error&) {
      }
      return;
    }
    post_office office(me, kind);
    traffic(me, office, 300);
    if (last && kind == "program") throw std::runtime_error("out of stamps");
    if (last && kind == "exit") std::_Exit(3);
    if (last && kind == "exit0") std::exit(0);
    if (last && kind == "quick") std::quick_exit(0);
    if (last && kind == "gone") std::_Exit(0);
    if (last && kind == "abort") std::abort();
    if (last && kind == "disagree") me.barrier();
    office.finish();
    if (kind == "timed") {
      const auto end = clock_of_faults::now() + std::chrono::microseconds(what.traffic);
      // All PEs end in the same round: the first one's clock counts.
      while (me.broadcast(clock_of_faults::now() < end, 0)) {
        if (own == what.rank && last_of_rank(me) && what.fault == "throw" && clock_of_faults::now() >= fault_at) {
          throw std::runtime_error("out of stamps");
        }
        post_office round(me, kind);
        traffic(me, round, 100);
        round.finish();
      }
      return;
    }
    while (kind == "endless") {
      traffic(me, office, 100);
      office.finish();
    }
    if (me.sum(office.sum) != 300L * 299 / 2 * me.count()) throw std::runtime_error("letters were lost");
    if (me.index() == 0) std::printf("ended well\n");
  });
  if (kind == "timed" && status == 0) {
    std::printf("rank %d returned\n", own);
    std::fflush(stdout);
  }
  return status;
}
