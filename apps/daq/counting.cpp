#include "daq/counting.hpp"

#include <algorithm>
#include <chrono>
#include <shunt/pgas.hpp>
#include <shunt/sched.hpp>
#include <shunt/task.hpp>
#include <system_error>
#include <utility>
#include <variant>

#include "daq/channel.hpp"
#include "daq/start_line.hpp"

namespace shunt::daq {
namespace {

using clock = std::chrono::steady_clock;

/// Where PE 0 puts together what all have found.
struct answer {
  explicit answer(std::size_t channels) {
    all.found.channels.resize(channels);
    all.known.resize(channels);
  }
  counted all;
};

/// One PE of the job.
class counter {
 public:
  counter(pgas::pe& me, const settings& s, generator& feed) : me_(me), s_(s), feed_(feed) {
    const auto ranks = me.gather(me.rank());
    const auto here = [&](auto end) { return static_cast<std::uint32_t>(std::count(ranks.begin(), end, me.rank())); };
    place_ = here(ranks.begin() + me.index());
    pes_here_ = here(ranks.end());
    share_ = {static_cast<std::uint32_t>(me.rank()), static_cast<std::uint32_t>(me.ranks())};
  }

  /// \param into  PE 0's: what the job has found.
  void run(counted& into) {
    pgas::symmetric<tallies> counts(me_, share{index(), pes()}.of(s_.channels));
    if (place_ == 0) feed_.open(share_);
    me_.barrier();  // the channels are there
    const auto before = me_.traffic();
    {
      pgas::actor_of counting(counts);
      read_all(counting);
      counting.finish();
    }
    const double seconds = me_.max(std::chrono::duration<double>(clock::now() - start_).count());
    const auto moved = me_.traffic() - before;
    pgas::symmetric<answer> whole(me_, me_.index() == 0 ? s_.channels : 0);
    {
      pgas::actor_of collecting(whole);
      collect(*counts, collecting);
      collecting.finish();
    }
    if (me_.index() != 0) return;
    into = std::move(whole->all);
    into.found.seconds = seconds;
    into.moved = moved;
    into.pes = me_.count();
    into.ranks = me_.ranks();
    std::sort(into.found.incidents.begin(), into.found.incidents.end(),
              [](const auto& a, const auto& b) { return a.channel < b.channel; });
  }

 private:
  using tallies = std::vector<tally>;

  [[nodiscard]] std::uint32_t index() const noexcept { return static_cast<std::uint32_t>(me_.index()); }
  [[nodiscard]] std::uint32_t pes() const noexcept { return static_cast<std::uint32_t>(me_.count()); }

  /// A fiber a channel of this PE's; returns when all have ended.
  void read_all(pgas::actor_of<tallies>& counting) {
    const int worker = sched::this_worker::index();
    start_line line;
    finish([&] {
      std::vector<fiber> readers;
      try {
        for (std::uint32_t i = place_; i < feed_.channels().size(); i += pes_here_) {
          readers.emplace_back(
              [this, i, &counting, me = line.enter()]() mutable {
                me.wait();
                read(i, counting);
              },
              sched::spawn_options{.worker = worker});
        }
        line.start([this] {
          me_.barrier();  // the fibers of all PEs are there
          start_ = clock::now();
          if (place_ == 0) feed_.go();
        });
      } catch (...) {
        line.give_up(std::current_exception());
        throw;
      }
      for (auto& one : readers) one.join();
    });
  }

  /// \param i  the channel's number among those of this process
  void read(std::uint32_t i, pgas::actor_of<tallies>& counting) {
    const auto c = share_.channel(i);
    const auto to = static_cast<int>(c % pes());
    const auto slot = c / pes();
    const auto how = std::visit(
        [&](auto& from) {
          const auto ended = follow(from, c, s_.timeout, [&](const reading& r) {
            total_.add(r);
            counting.send(to, [slot, r](tallies& mine) { mine[slot].add(r); });
          });
          from.close();
          return ended;
        },
        feed_.channels()[i]);
    if (how.what != trouble::none) incidents_.push_back({c, how});
  }

  /// Sends PE 0 what this PE has counted and seen, and what its process's generator says.
  void collect(const tallies& mine, pgas::actor_of<answer>& to) {
    to.send(0, [t = total_](answer& a) { a.all.found.total.add(t); });
    for (std::uint32_t slot = 0; slot < mine.size(); ++slot) {
      to.send(0, [c = index() + slot * pes(), t = mine[slot]](answer& a) { a.all.found.channels[c] = t; });
    }
    for (const auto& one : incidents_) {
      // A code's category is an address, which means nothing in another process.
      to.send(0, [c = one.channel, what = one.how.what, frame = one.how.frame, bytes = one.how.bytes,
                  code = one.how.code.value()](answer& a) {
        a.all.found.incidents.push_back({c, {what, frame, bytes, {code, std::system_category()}}});
      });
    }
    if (place_ != 0) return;
    const auto known = feed_.finish();
    for (std::uint32_t i = 0; i < known.size(); ++i) {
      to.send(0, [c = share_.channel(i), k = known[i]](answer& a) { a.all.known[c] = k; });
    }
  }

  pgas::pe& me_;
  const settings& s_;
  generator& feed_;
  std::uint32_t place_ = 0;  // of this PE among those of its process
  std::uint32_t pes_here_ = 1;
  share share_;  // of this process
  clock::time_point start_;
  tally total_;                      // of what this PE has read
  std::vector<incident> incidents_;  // of its channels
};

}  // namespace

counted count_on_pes(const pgas::options& job, const settings& s, generator& feed) {
  counted all;
  pgas::run(job, [&](pgas::pe& me) { counter(me, s, feed).run(all); });
  return all;
}

}  // namespace shunt::daq
