/// A thread's end of every line on which it moves trains: the trains that it fills for others, the pool that is its
/// credit, and the inbox where trains come to it.
///
///   pool ──open()──> open train of a destination ──depart()──> the destination's train inbox, or a network
///    ^                                                                              │ unloaded there
///    └── home ── arrivals() <── own train inbox <─────────── send_home() ───────────┘
///                    └────────> the caller, which unloads what others have loaded
///
/// The workers of PGAS jobs and the workers of typed actors each own one.
///
/// Invariants
///   endpoint.E1  Only the owner touches an endpoint; other threads touch its inbox alone.
///   endpoint.E2  outgoing::open is set exactly for the destinations in the channel's list of open trains, and
///                outgoing::place is the destination's place in that list.
///   endpoint.E3  Every train of the pool is at home, open, under way, or held by the code that unloads it.
///
/// The endpoint knows no fiber and no lock. An owner that has no train waits through a `credit` that it hands in, as
/// the scheduler is handed a poller: the endpoint stays below everything that can wait.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <shunt/base/call_site.hpp>
#include <shunt/base/error.hpp>
#include <shunt/rail/train.hpp>
#include <shunt/rail/train_inbox.hpp>

namespace shunt {
inline namespace v1 {
namespace rail {

/// How the owner of an endpoint waits for trains of its pool. Both functions run on the owner's thread.
class credit {
 public:
  /// Returns once pool().has(channel, trains) has been true, or throws what ends the wait. Other code of the owner may
  /// run meanwhile and take trains: the caller looks again.
  /// \param call  the function that the program called, for errors and reports
  virtual void wait(std::uint8_t channel, std::size_t trains, call_site call) = 0;
  /// So many trains have come home since the last time: at least 1.
  virtual void came_home(std::size_t trains) noexcept = 0;

 protected:
  ~credit() = default;
};

/// What an owner keeps for one destination on one channel; a derived class adds the cursor with which it fills trains.
struct outgoing {
  train* open = nullptr;    ///< the train that is being filled; null: none
  std::uint32_t place = 0;  ///< endpoint.E2
};

/// \tparam Outgoing  what is kept for a destination; a fresh one, `Outgoing{}`, has no train
/// \tparam Channels  that trains are opened on: 0..Channels-1, as train_pool counts them
template <std::derived_from<outgoing> Outgoing, std::size_t Channels = 1>
class endpoint {
 public:
  /// How many trains the pool may have; the meaning is train_pool's.
  struct pool_size {
    std::size_t capacity;  ///< bytes of goods a train
    std::size_t regular;   ///< trains of one channel, at least 1
    std::size_t limit;     ///< trains that exist, at most
    std::size_t resting;   ///< with so many at home, the oldest is used rather than a new one
  };

  /// \param wake          called by a thread that puts a train in front of the sleeping owner, with `owner`
  /// \param destinations  numbered from 0
  /// \param waits         outlives the endpoint
  endpoint(train_inbox::wake_function wake, void* owner, const pool_size& size, std::size_t destinations, credit& waits)
      : endpoint({wake, owner}, nullptr, nullptr, size, destinations, waits) {}
  /// In memory that several processes map at one address.
  /// \param inbox  where trains come to the owner, in that memory; outlives the endpoint
  /// \param yard   for its trains (train_pool)
  endpoint(train_inbox& inbox, std::byte* yard, const pool_size& size, std::size_t destinations, credit& waits)
      : endpoint({nullptr, nullptr}, &inbox, yard, size, destinations, waits) {}
  endpoint(const endpoint&) = delete;
  endpoint& operator=(const endpoint&) = delete;

  /// Any thread may deliver trains to it; the rest is the owner's.
  [[nodiscard]] train_inbox& inbox() noexcept { return *inbox_; }
  /// The same, to be looked at.
  [[nodiscard]] const train_inbox& inbox() const noexcept { return *inbox_; }
  /// The owner's trains.
  [[nodiscard]] train_pool& pool() noexcept { return pool_; }
  /// The same, to be looked at.
  [[nodiscard]] const train_pool& pool() const noexcept { return pool_; }

  // --- filling ---

  /// What is kept for a destination. \param destination  0..destinations-1 (contract).
  [[nodiscard]] Outgoing& out(std::uint8_t channel, std::size_t destination) noexcept {
    return channels_[channel].out[destination];
  }
  /// All destinations of a channel, for code that indexes them itself.
  [[nodiscard]] Outgoing* outs(std::uint8_t channel) noexcept { return channels_[channel].out.data(); }

  /// Gives a destination that has no open train an empty one.
  /// \param stays  the owner itself will unload it (train_pool::take)
  /// \return false: the pool has none.
  [[nodiscard]] bool open(std::uint8_t channel, std::size_t destination, bool stays = false) noexcept {
    train* const t = pool_.take(channel, stays);
    if (t == nullptr) return false;
    auto& [out, open] = channels_[channel];
    out[destination].open = t;
    out[destination].place = static_cast<std::uint32_t>(open.size());
    open.push_back(static_cast<std::uint32_t>(destination));  // reserved: does not throw
    return true;
  }

  /// The open train of a destination is the caller's now, and the destination has none.
  [[nodiscard]] train& take_open(std::uint8_t channel, std::size_t destination) noexcept {
    auto& [out, open] = channels_[channel];
    Outgoing& o = out[destination];
    open[o.place] = open.back();  // the last one takes its place
    out[open.back()].place = o.place;
    open.pop_back();
    return *std::exchange(o, Outgoing{}).open;
  }

  /// Calls depart(destination) for each destination with an open train, until there is none; depart() takes it.
  /// \return whether there was any.
  template <class Depart>
  bool depart_all(std::uint8_t channel, Depart depart) {
    const auto& open = channels_[channel].open;
    if (open.empty()) return false;
    while (!open.empty()) depart(static_cast<std::size_t>(open.back()));
    return true;
  }
  /// Whether a train of that channel stands open.
  [[nodiscard]] bool any_open(std::uint8_t channel) const noexcept { return !channels_[channel].open.empty(); }
  /// The destinations with an open train, in no order.
  [[nodiscard]] const std::vector<std::uint32_t>& open_destinations(std::uint8_t channel) const noexcept {
    return channels_[channel].open;
  }

  // --- arriving ---

  /// Takes all that has arrived: own empty trains go into the pool, and the credit is told of them; others are handed
  /// to loaded(train&), oldest first. \return whether anything had arrived.
  template <class Loaded>
  bool arrivals(Loaded loaded) {
    std::size_t home = 0;
    train* t = inbox_->arrivals();
    const bool any = t != nullptr;
    while (t != nullptr) {
      train& now = *t;
      t = t->next;
      if (now.head.empty != 0) {
        pool_.put(now);
        ++home;
      } else {
        loaded(now);
      }
    }
    if (home != 0) credit_->came_home(home);
    return any;
  }

  /// A train that the caller has unloaded: back to this pool, or home to its own.
  void unloaded(train& t) noexcept {
    if (t.home != inbox_) return send_home(t);
    pool_.put(t, true);
    credit_->came_home(1);
  }

  // --- waiting ---

  /// For code that has waited for trains, and takes none: another one that waits may have the train that has come.
  void pass_on_credit() noexcept {
    if (pool_.has(0)) credit_->came_home(1);
  }
  /// Waits until the pool has so many trains for a channel.
  /// \throws error when the machine has no memory for them, and what credit::wait() throws.
  void wait_for_trains(std::uint8_t channel, std::size_t trains, call_site call) {
    // A pool that could not buy a train has lowered its limit to what it has.
    if (pool_.limit() < trains) {
      throw error(error_number(820),
                  std::string(call.name()) + ": no memory for a train of " + std::to_string(pool_.capacity()) +
                      " bytes" + call.place(),
                  call.where());
    }
    credit_->wait(channel, trains, call);
  }

 private:
  struct channel_state {
    std::vector<Outgoing> out;        // by destination
    std::vector<std::uint32_t> open;  // destinations, in no order. endpoint.E2
  };

  struct wake_call {
    train_inbox::wake_function wake;
    void* owner;
  };
  endpoint(wake_call call, train_inbox* inbox, std::byte* yard, const pool_size& size, std::size_t destinations,
           credit& waits)
      : own_inbox_(call.wake, call.owner),
        inbox_(inbox == nullptr ? &own_inbox_ : inbox),
        pool_(*inbox_, size.capacity, size.regular, size.limit, size.resting, yard),
        credit_(&waits) {
    for (auto& c : channels_) {
      c.out.resize(destinations);
      c.open.reserve(destinations);
    }
  }

  train_inbox own_inbox_;
  train_inbox* inbox_;
  train_pool pool_;
  credit* credit_;
  channel_state channels_[Channels];
};

}  // namespace rail
}  // namespace v1
}  // namespace shunt
