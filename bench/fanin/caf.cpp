/// Question: how much do 8 event-based actors of CAF get into the mailbox of one?
///
/// Mailboxes have no bound: a sender that has sent a portion asks the receiver for leave to send the next.
/// `--what thread`: the sender is the program's own thread, which sends all without leave.
#include <algorithm>
#include <string>
#include <vector>

#include "../common/caf.hpp"
#include "../common/program.h"

namespace {

using value = std::int64_t;
using leave = bool;
constexpr long portion = 512;

caf::behavior receiver(caf::event_based_actor* self, long all, long* sum) {
  long got = 0;
  return {
      [=](value v) mutable {
        *sum += v;
        if (++got == all) self->quit();
      },
      [=](const caf::actor& asker) { self->send(asker, leave{true}); },
  };
}

caf::behavior sender(caf::event_based_actor* self, const caf::actor& to, long each) {
  long next = 0;
  return {
      [=](leave) mutable {
        for (const long end = std::min(each, next + portion); next < end; ++next) self->send(to, value{next});
        if (next == each) return self->quit();
        self->send(to, caf::actor(self));
      },
  };
}

}  // namespace

int main(int argc, char** argv) {
  const auto options = bench_parse(argc, argv);
  const long senders = options.table, each = options.rounds / senders;
  const bool thread = options.what == std::string("thread");
  bench::caf_settings settings(options.pes);
  caf::actor_system all(settings);
  const caf::scoped_actor here(all);
  for (long round = 0; round < options.warmup + options.samples; ++round) {
    long sum = 0;
    const auto into = all.spawn(receiver, senders * each, &sum);
    std::vector<caf::actor> from;
    for (long s = 0; s < senders && !thread; ++s) from.push_back(all.spawn(sender, into, each));
    const double start = bench_now();
    for (const auto& s : from) here->send(s, leave{true});
    for (long k = 0; k < senders * each && thread; ++k) caf::anon_send(into, value{k});
    here->wait_for(into);
    const double seconds = bench_now() - start;
    const long want = senders * (each * (each - 1) / 2);
    if (sum != want) {
      bench_wrong(argv[0], "the sum", static_cast<unsigned long long>(sum), static_cast<unsigned long long>(want));
    }
    if (round >= options.warmup) bench_report(seconds, "");
  }
  return 0;
}
