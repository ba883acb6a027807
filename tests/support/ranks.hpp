/// Ranks of a job in one process, over a network that is memory: a test sees every train that arrives, and may change
/// it.
///
/// Each rank is a thread with a pgas::detail::job of its own. What leaves one rank is copied, as a network copies it,
/// so no pointer gets across. A job that fails ends its process, as everywhere: run what must fail in a child
/// (output_of_child).
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <shunt/pgas/detail/job.hpp>
#include <shunt/pgas/pe.hpp>
#include <shunt/transport.hpp>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace shunt::testing {

/// A train that is no pool's, with a copy of what crossed the network; the rest of its memory is zeros.
class train_copy {
 public:
  train_copy(std::size_t capacity, std::span<const std::byte> freight, rail::train_inbox* home)
      : memory_(sizeof(rail::train) + capacity, alignof(rail::train)), train_(::new(memory_.data()) rail::train) {
    std::memset(train_->goods(), 0, capacity);
    train_->capacity = static_cast<std::uint32_t>(capacity);
    train_->home = home;
    std::memcpy(train_->freight(), freight.data(), freight.size());
  }
  [[nodiscard]] rail::train& operator*() const noexcept { return *train_; }
  [[nodiscard]] rail::train* operator->() const noexcept { return train_; }

 private:
  block memory_;
  rail::train* train_;
};

class memory_network {
 public:
  /// Sees each train that arrives at a rank before that rank does. Calls come one at a time.
  using tap = std::function<void(rail::train& arriving, int at_rank)>;

  explicit memory_network(int ranks, tap look = {})
      : inboxes_(static_cast<std::size_t>(ranks)), look_(std::move(look)) {}

  /// Runs the program on every PE of every rank; returns when all have ended.
  void run(const pgas::options& wanted, const std::function<void(pgas::pe&)>& program) {
    std::vector<std::thread> ranks;
    for (int r = 0; r < size(); ++r) {
      ranks.emplace_back([this, r, &wanted, &program] {
        end carrier(*this, r);
        pgas::detail::job whole(wanted, carrier);
        whole.run(program);
      });
    }
    for (auto& r : ranks) r.join();
  }

  /// One rank's end of the network.
  class end final : public transport::carrier {
   public:
    end(memory_network& all, int rank) : all_(all), rank_(rank) {}
    std::string_view name() const noexcept override { return "memory"; }
    int rank() const noexcept override { return rank_; }
    int ranks() const noexcept override { return all_.size(); }
    int ranks_here() const noexcept override { return all_.size(); }
    std::vector<std::string> exchange(const std::string& mine) override { return all_.exchange(rank_, mine); }
    void start(const transport::service& wanted) override { capacity_ = wanted.capacity; }
    void send(rail::train& loaded, int rank) override {
      const auto* const first = loaded.freight();
      all_.inboxes_[static_cast<std::size_t>(rank)].put({rank_, {first, first + loaded.freight_bytes()}});
      rail::send_home(loaded);
    }
    bool poll(rail::train_list& arrived) override {
      auto& inbox = all_.inboxes_[static_cast<std::size_t>(rank_)];
      if (!inbox.any()) return false;
      const std::unique_lock lock(gate_, std::try_to_lock);
      if (!lock) return false;
      for (auto* t = home_.arrivals(); t != nullptr;) {
        auto* const next = t->next;
        std::erase_if(trains_, [t](const train_copy& c) { return &*c == t; });
        t = next;
      }
      for (const auto& [from, freight] : inbox.take()) {
        trains_.emplace_back(capacity_, freight, &home_);
        rail::train& t = *trains_.back();
        t.head.rank = static_cast<std::uint16_t>(from);
        if (all_.look_) {
          const std::lock_guard one_at_a_time(all_.guard_);
          all_.look_(t, rank_);
        }
        arrived.push_back(t);
      }
      return true;
    }
    transport::shared_place place_of(int) const noexcept override { return {}; }
    bool has_network() const noexcept override { return true; }
    std::chrono::nanoseconds patience() const noexcept override { return std::chrono::microseconds(50); }
    std::optional<transport::loss> beat() override { return std::nullopt; }
    void stop() override { static_cast<void>(exchange("")); }
    [[noreturn]] void abort(int status) noexcept override { std::_Exit(status); }

   private:
    memory_network& all_;
    int rank_;
    std::size_t capacity_ = 0;
    std::mutex gate_;         // of what follows
    rail::train_inbox home_;  // never armed
    std::deque<train_copy> trains_;
  };

 private:
  struct parcel {
    int from;
    std::vector<std::byte> freight;
  };
  class inbox {
   public:
    void put(parcel p) {
      const std::lock_guard lock(guard_);
      parcels_.push_back(std::move(p));
      any_.store(true, std::memory_order_relaxed);  // relaxed: a hint; the lock hands over
    }
    /// A poller that looks in a loop must not keep the lock from a sender.
    [[nodiscard]] bool any() const noexcept { return any_.load(std::memory_order_relaxed); }  // relaxed: a hint
    [[nodiscard]] std::vector<parcel> take() {
      const std::lock_guard lock(guard_);
      any_.store(false, std::memory_order_relaxed);  // relaxed: as in put()
      return std::exchange(parcels_, {});
    }

   private:
    std::mutex guard_;
    std::vector<parcel> parcels_;
    std::atomic<bool> any_{false};
  };

  [[nodiscard]] int size() const noexcept { return static_cast<int>(inboxes_.size()); }

  std::vector<std::string> exchange(int rank, const std::string& mine) {
    std::unique_lock lock(guard_);
    const auto round = rounds_;
    said_.resize(inboxes_.size());
    said_[static_cast<std::size_t>(rank)] = mine;
    if (++speakers_ == size()) {
      speakers_ = 0;
      ++rounds_;
      heard_ = std::exchange(said_, {});
      changed_.notify_all();
    } else {
      changed_.wait(lock, [&] { return rounds_ != round; });
    }
    return heard_;
  }

  std::mutex guard_;  // of everything but the inboxes
  std::condition_variable changed_;
  std::vector<inbox> inboxes_;
  tap look_;
  std::vector<std::string> said_, heard_;
  int speakers_ = 0;
  long rounds_ = 0;
};

struct child_output {
  int status = -1;   ///< of its exit; -1: a signal ended it
  std::string text;  ///< standard error
};

/// Runs f in a child process.
template <class F>
child_output output_of_child(F f) {
  int ends[2];
  if (pipe(ends) != 0) return {};
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    dup2(ends[1], STDERR_FILENO);
    close(ends[0]);
    close(ends[1]);
    f();
    std::_Exit(0);
  }
  close(ends[1]);
  child_output out;
  char buffer[4096];
  for (ssize_t n; (n = read(ends[0], buffer, sizeof buffer)) > 0;) out.text.append(buffer, static_cast<std::size_t>(n));
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  if (WIFEXITED(status)) out.status = WEXITSTATUS(status);
  return out;
}

}  // namespace shunt::testing
