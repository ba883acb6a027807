/// Goods that move between fibers or threads in trains: stations on a line, and no queue in sight.
///
/// ```cpp
/// shunt::railway<order> line;
/// auto& in = line.source("in");
/// auto& risk = line.after({&in}, "risk");            // risk and log both see every order
/// auto& log = line.after({&in}, "log");
/// auto& book = line.after({&risk, &log}, "book");    // and book what both have left
/// line.operate(in, [&](auto& s) { while (read(next)) s.put(next); });
/// line.operate(risk, [&](auto& s) { while (auto train = s.arrive()) for (order& o : train) o.fine = check(o); });
/// line.operate(log, [&](auto& s) { while (auto train = s.arrive()) write(train); });
/// line.operate(book, [&](auto& s) { while (auto train = s.arrive()) for (order& o : train) settle(o); });
/// line.run();                                        // until the last train has left `book`
/// ```
///
/// Shapes: one after the other is a pipeline, two after one multicast, one after two a join; stations after several
/// sources unload the trains of all of them; a station changes goods in place, and how many there are. Every source has
/// trains of its own, which come back to it from the last stations.
///
/// The end: a source closes, and each station sees its last train and then the end, in the order of the line. A failure
/// goes the same way: stations behind it get the trains that left before it, and then the exception; sources are told
/// to load no more, and whatever does not come after it runs to its end. Nothing that departed is lost or seen twice.
///
/// Source: Papou, Railway: high-performance inter-thread communication, 2014. The mechanism: rail/line.hpp.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <shunt/base/clock.hpp>
#include <shunt/base/error.hpp>
#include <shunt/base/latency_histogram.hpp>
#include <shunt/rail/line.hpp>
#include <shunt/sched.hpp>
#include <shunt/task/finish.hpp>

namespace shunt {
inline namespace v1 {

/// What may ride: objects that a train is full of from the start, and that are assigned to.
template <typename T>
concept railway_good = std::default_initializable<T> && std::is_object_v<T> && std::is_nothrow_destructible_v<T>;

/// What a station does that finds no train. A fiber lets its worker's other fibers run in any case; a worker that a
/// sleeping station leaves without any sleeps as well, at once.
enum class wait_profile : std::uint8_t {
  latency,  ///< looks on and on: a processor for each station that waits, the shortest way to the next train (each says
            ///< itself that it is there, which takes 8 bytes more where it carries one small good)
  balanced,  ///< looks for some 20 us, less where waits have been long, then sleeps
  battery,   ///< sleeps soon
};

struct railway_options {
  /// Goods of a train; 0: as many as `latency` allows.
  std::size_t capacity = 0;
  /// Trains of each source, at least 2; 0: as many as `bytes` has room for, at least 4.
  std::size_t trains = 0;

  /// How old a good may get because its train fills, at the pace of copying (8 bytes a ns): a train then has 8 bytes
  /// for each ns, at least a cache line, at most 16 KiB.
  std::chrono::nanoseconds latency{256};
  /// Memory of each source's trains. About 32 KiB stay in a core's own cache, the best there is for stations on one
  /// worker; 2 to 16 MiB are best between two cores with trains of some KiB, for what is loaded has then left the
  /// loader's own cache when it is unloaded.
  std::size_t bytes = 32 * 1024;

  wait_profile wait = wait_profile::balanced;

  /// One train of so many carries the time of its departure, for station_counts::age; 0: none does.
  unsigned stamp_every = 0;
};

/// What a station has done so far; a moment's view.
struct station_counts {
  std::string name;
  std::uint64_t goods = 0;    ///< that have left here
  std::uint64_t trains = 0;   ///< likewise
  double mean_fill = 0;       ///< of the trains: goods over capacity
  std::uint64_t waiting = 0;  ///< trains that are under way to here; 0 for a source
  std::uint64_t waits = 0;    ///< times that it found no train
  std::uint64_t sleeps = 0;   ///< of these, times that it slept
  /// Time from the source to here of the stamped trains; null without stamps, and for sources. Lives as long as the
  /// railway.
  const latency_histogram* age = nullptr;
};

namespace detail {

/// The part of a station that is no template: waiting, counting, its name.
class stand : public rail::waker {
 public:
  stand(const stand&) = delete;
  stand& operator=(const stand&) = delete;

  [[nodiscard]] std::string_view name() const noexcept { return name_; }

  void wake() noexcept final;

 protected:
  using moment = std::chrono::steady_clock::time_point;
  stand(rail::station& at, std::string name, wait_profile profile)
      : at_(at), name_(std::move(name)), profile_(profile) {
    at.set_waker(*this);
  }
  ~stand() = default;

  rail::station& at_;

  /// Until a train stands here, or an end is seen, or the time is over or `stop` asked: then nothing.
  [[nodiscard, gnu::noinline]] rail::poll_result await(moment deadline, const std::stop_token& stop);

  /// wait_profile::latency, before await(): looks on and on, in the frame of who will use the train. So little runs
  /// between the look that finds it and its use, and nothing that has not run for as long as the wait took.
  /// \param here  whether a train stands here; cheap. \return the same, at last; false: await() knows more.
  template <typename Here>
  [[nodiscard, gnu::always_inline]] bool look_on(Here&& here, moment deadline, const std::stop_token& stop) {
    if (profile_ != wait_profile::latency) return false;
    for (unsigned round = 0; goes_on(round, deadline, stop); ++round) {
      for (int i = 0; i != looks_a_round; ++i) {
        relax();
        if (!here()) continue;
        count_wait();
        return true;
      }
    }
    return false;
  }

  void count(std::uint64_t goods) noexcept {
    goods_.store(goods_.load(std::memory_order_relaxed) + goods, std::memory_order_relaxed);  // relaxed: one writer
  }
  void fill_in(station_counts& c) const {
    c.name = name_;
    c.goods = goods_.load(std::memory_order_relaxed);  // relaxed: numbers
    c.waits = waits_.load(std::memory_order_relaxed);
    c.sleeps = sleeps_.load(std::memory_order_relaxed);
  }

 private:
  static constexpr int looks_a_round = 16;

  /// Before each round of looking on: others have their turn, and ends, the time and `stop` are looked at.
  /// \param round  the round's number, from 0. \return false: await() knows more.
  [[nodiscard, gnu::noinline]] bool goes_on(unsigned round, moment deadline, const std::stop_token& stop);
  void count_wait() noexcept {
    waits_.store(waits_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);  // relaxed: one writer
  }
  void keep_distance(bool fiber);
  rail::poll_result spin(moment deadline, const std::stop_token& stop);
  rail::poll_result sleep(moment deadline, const std::stop_token& stop);

  const std::string name_;
  const wait_profile profile_;
  unsigned in_vain_ = 0;    // waits, the last ones in a row, in which looking on was not enough
  std::uint64_t last_ = 0;  // trains that had left at the last wait
  int distance_ = 0;        // to keep, see keep_distance()

  std::atomic<std::uint64_t> goods_{0};
  std::atomic<std::uint64_t> waits_{0};
  std::atomic<std::uint64_t> sleeps_{0};

  // The fiber that sleeps here; none: a thread does, on token_. Edge `sleeper`, sleep() -> wake(): that fiber was made.
  alignas(quiet_distance) std::atomic<sched::waker> fiber_{};
  std::atomic<std::uint32_t> token_{0};
};

struct train_shape {
  std::size_t capacity;  // goods
  std::size_t trains;
  bool signs;  // in front of the goods
  std::size_t goods_offset;
  std::size_t train_bytes;
  std::size_t alignment;
};
/// \throws usage_error
[[nodiscard]] train_shape shape_of(const railway_options& wanted, std::size_t good_bytes, std::size_t good_alignment);

/// Runs the bodies as fibers, block by block on the workers, or in a runtime of its own where there is none.
void run_stations(const std::vector<std::function<void()>>& bodies, const std::vector<std::string_view>& names,
                  int workers);

[[noreturn]] void throw_not_of_this_line(std::string_view call);
[[noreturn]] void throw_cannot_be_empty();

}  // namespace detail

/// Goods of type T, moved in trains along a line of stations. Built by one thread or fiber; then every station is used
/// by one thread or fiber at a time, each station by its own. Outlives their use.
template <railway_good T>
class railway {
 public:
  /// A train at a station's platform, as a span of its goods; empty, false, where there is none. Valid until the
  /// station's next arrive() or depart().
  class train {
   public:
    train() noexcept = default;
    [[nodiscard]] explicit operator bool() const noexcept { return here_; }
    [[nodiscard]] T* begin() const noexcept { return goods_.data(); }
    [[nodiscard]] T* end() const noexcept { return goods_.data() + goods_.size(); }
    [[nodiscard]] std::size_t size() const noexcept { return goods_.size(); }
    [[nodiscard]] T& operator[](std::size_t i) const noexcept { return goods_[i]; }
    [[nodiscard]] std::span<T> goods() const noexcept { return goods_; }

   private:
    friend class railway;
    explicit train(std::span<T> goods) noexcept : goods_(goods), here_(true) {}
    std::span<T> goods_;
    bool here_ = false;
  };

  /// What source() and after() make.
  class place : public detail::stand {
   protected:
    friend class railway;
    place(railway& of, rail::station& at, std::string name)
        : stand(at, std::move(name), of.wanted_.wait), of_(of), goods_offset_(of.shape_.goods_offset) {}
    ~place() = default;
    [[nodiscard]] T* goods_in(std::byte* at) const noexcept {
      return std::launder(reinterpret_cast<T*>(at + goods_offset_));
    }

    railway& of_;

   private:
    const std::size_t goods_offset_;
  };

  /// Loads trains.
  class loader final : public place {
   public:
    /// The room of the train at the platform, the part that is not loaded yet; waits until one is there.
    /// \return empty: no more trains are wanted, because of request_stop(), a failure, or for want of stations that
    ///         unload them. \throws what sched::this_fiber::park() throws.
    [[nodiscard]] std::span<T> board() {
      if (room_ == nullptr && !stand_at_platform(detail::stand::moment::max(), {})) return {};
      return {room_ + loaded_, capacity_ - loaded_};
    }
    /// The same, until `deadline` or until `stop` is asked to, at the longest: then it is empty too.
    [[nodiscard]] std::span<T> board_until(std::chrono::steady_clock::time_point deadline,
                                           const std::stop_token& stop = {}) {
      if (room_ == nullptr && !stand_at_platform(deadline, stop)) return {};
      return {room_ + loaded_, capacity_ - loaded_};
    }
    [[nodiscard]] std::span<T> board_for(std::chrono::nanoseconds time, const std::stop_token& stop = {}) {
      return board_until(sched::after(time), stop);
    }

    /// The train at the platform leaves with what was put into it before and so many more, the first of board()'s room.
    /// Without any goods it stays. \param goods  at most as many as the room has (contract); 0 without a board().
    void depart(std::size_t goods = 0) noexcept {
      SHUNT_ASSERT(goods == 0 || (room_ != nullptr && loaded_ + goods <= capacity_));
      loaded_ += goods;
      if (loaded_ == 0) return;
      sched::this_fiber::interleave();
      if (stamps_) stamp();
      end_.depart(loaded_);
      this->count(loaded_);  // afterwards: stores leave a core in order, and this line may be far away
      room_ = nullptr;
      loaded_ = 0;
    }

    /// Loads one; the train leaves once it is full. \return false: no more are wanted, as by board().
    bool put(T good) {
      if (room_ == nullptr && !stand_at_platform(detail::stand::moment::max(), {})) [[unlikely]]
        return false;
      room_[loaded_] = std::move(good);
      if (++loaded_ == capacity_) depart();
      return true;
    }

    /// What was loaded leaves, then no more trains. Stations see the end after the last one. Again: nothing.
    void close() noexcept {
      depart();
      end_.end();
    }
    /// No more trains; stations get those that departed, and then `what`.
    void fail(std::exception_ptr what) noexcept {
      of().line_.fail(std::move(what));
      end_.end(true);
    }

   private:
    friend class railway;
    loader(railway& of, rail::source& end, std::string name)
        : place(of, end, std::move(name)), end_(end), capacity_(of.capacity()), stamps_(of.stamps()) {}
    railway& of() const noexcept { return this->of_; }
    bool stand_at_platform(detail::stand::moment deadline, const std::stop_token& stop) {
      if (!end_.board() && !this->look_on([&] { return end_.board(); }, deadline, stop) &&
          this->await(deadline, stop) != rail::poll_result::train) {
        return false;
      }
      room_ = this->goods_in(end_.train());
      return true;
    }
    void stamp() noexcept {
      auto& at = of().stamp_of(end_.train());
      at = 0;
      if (++unstamped_ < of().wanted_.stamp_every) return;
      unstamped_ = 0;
      at = sched::now().time_since_epoch().count();
    }

    rail::source& end_;
    const std::size_t capacity_;
    const bool stamps_;
    T* room_ = nullptr;  // of the train at the platform, if it is known to stand there
    std::size_t loaded_ = 0;
    unsigned unstamped_ = 0;
  };

  /// Unloads trains, or changes what they carry.
  class station final : public place {
   public:
    /// The train that stood here leaves; waits for the next one.
    /// \return false: the end, all that will ever come has been here.
    /// \throws what made a station before this one fail, after the trains that left before that;
    ///         what sched::this_fiber::park() throws.
    [[nodiscard]] train arrive() {
      depart();
      std::uint64_t goods;
      if (!end_.arrive(goods)) [[unlikely]] {
        constexpr auto for_ever = detail::stand::moment::max();
        if (!this->look_on([&] { return end_.arrive(goods); }, for_ever, {})) return arrive_later(for_ever, {});
      }
      return take(goods);
    }
    /// The same, until `deadline` or until `stop` is asked to, at the longest: then it is false, and ended() is.
    [[nodiscard]] train arrive_until(std::chrono::steady_clock::time_point deadline, const std::stop_token& stop = {}) {
      depart();
      std::uint64_t goods;
      if (!end_.arrive(goods) && !this->look_on([&] { return end_.arrive(goods); }, deadline, stop)) {
        return arrive_later(deadline, stop);
      }
      return take(goods);
    }
    [[nodiscard]] train arrive_for(std::chrono::nanoseconds time, const std::stop_token& stop = {}) {
      return arrive_until(sched::after(time), stop);
    }

    /// The train that stands here leaves now, rather than with the next arrive(). None stands here: nothing.
    void depart() noexcept {
      if (!standing_) return;
      sched::this_fiber::interleave();
      standing_ = false;
      end_.depart();
      this->count(goods_);
    }
    /// The train that stands here will carry so many, the first ones of its room. For a station that no other one
    /// unloads beside. \param goods  at most capacity() (contract), also more than came.
    /// \return all of them. \throws usage_error for none where capacity() is 1: such a train cannot say that it is
    ///   empty.
    train resize(std::size_t goods) {
      SHUNT_ASSERT(standing_ && goods <= this->of_.capacity());
      if (this->of_.capacity() == 1 && goods == 0) detail::throw_cannot_be_empty();
      if (!this->of_.shape_.signs) return train({this->goods_in(end_.train()), goods_});
      end_.set_goods(goods);
      goods_ = goods;
      return train({this->goods_in(end_.train()), goods});
    }

    /// Whether the last arrive() saw the end.
    [[nodiscard]] bool ended() const noexcept { return ended_; }

    /// Takes no more trains; the one that stands here leaves. See rail::unloader::end() for what this does to the
    /// others: where trains are left, a last station lets the others go on; after any other one the line ends. Again:
    /// nothing.
    void close() noexcept {
      depart();
      end_.end();
    }
    /// The same, and stations behind this one get `what` after the trains that departed; the one that stands here does
    /// not.
    void fail(std::exception_ptr what) noexcept {
      this->of_.line_.fail(std::move(what));
      end_.end(true);
    }

   private:
    friend class railway;
    station(railway& of, rail::unloader& end, std::string name) : place(of, end, std::move(name)), end_(end) {
      if (of.stamps()) age_ = std::make_unique<latency_histogram>();
    }
    train take(std::uint64_t goods) noexcept {
      standing_ = true;
      goods_ = static_cast<std::size_t>(goods);
      if (age_ != nullptr) {
        if (const auto left = this->of_.stamp_of(end_.train()); left != 0) {
          const std::chrono::steady_clock::duration since(left);
          age_->record(sched::now().time_since_epoch() - since);
        }
      }
      return train({this->goods_in(end_.train()), goods_});
    }
    [[gnu::noinline]] train arrive_later(detail::stand::moment deadline, const std::stop_token& stop) {
      switch (this->await(deadline, stop)) {
        case rail::poll_result::train: break;
        case rail::poll_result::nothing: return {};
        case rail::poll_result::ended: ended_ = true; return {};
        case rail::poll_result::failed: ended_ = true; std::rethrow_exception(this->of_.line_.failure());
      }
      std::uint64_t goods = 0;
      static_cast<void>(end_.arrive(goods));  // the one that await() saw
      return take(goods);
    }

    rail::unloader& end_;
    bool standing_ = false;
    bool ended_ = false;
    std::size_t goods_ = 0;
    std::unique_ptr<latency_histogram> age_;
  };

  /// \throws usage_error for a capacity or number of trains that cannot be.
  explicit railway(railway_options wanted = {})
      : wanted_(std::move(wanted)), shape_(detail::shape_of(wanted_, sizeof(T), alignof(T))) {}

  /// Nobody uses its stations any more. What lies in trains is destroyed.
  ~railway() {
    for (const auto& s : sources_) {
      for (auto* at = s->end_.ring().first(); at != s->end_.ring().end(); at += shape_.train_bytes) destroy_goods(at);
    }
  }
  railway(const railway&) = delete;
  railway& operator=(const railway&) = delete;

  /// Before any station is used: a new source, with trains of its own.
  /// \throws std::bad_alloc; what T's constructor throws.
  loader& source(std::string name = {}) {
    rail::source& end = line_.add_source(shape_.trains, shape_.train_bytes, shape_.alignment, shape_.signs);
    std::size_t made = 0;
    try {
      for (auto* at = end.ring().first(); at != end.ring().end(); at += shape_.train_bytes) {
        if (stamps()) new (at + sizeof(rail::train_ring::header)) std::int64_t(0);
        std::uninitialized_value_construct_n(reinterpret_cast<T*>(at + shape_.goods_offset), shape_.capacity);
        ++made;
      }
      sources_.emplace_back(new loader(*this, end, std::move(name)));
    } catch (...) {
      for (auto* at = end.ring().first(); made-- != 0; at += shape_.train_bytes) destroy_goods(at);
      throw;
    }
    return *sources_.back();
  }

  /// Before any station is used: a new station, which gets each train once all of `before` have let it leave.
  /// Of stations side by side none may change goods.
  /// \param before  sources and stations of this railway, at least one, each once. \throws usage_error, std::bad_alloc.
  station& after(const std::vector<place*>& before, std::string name = {}) {
    std::vector<rail::station*> ends;
    for (place* const p : before) {
      if (&p->of_ != this || std::ranges::count(before, p) != 1) detail::throw_not_of_this_line(p->name());
      ends.push_back(&p->at_);
    }
    if (ends.empty()) detail::throw_not_of_this_line("");
    stations_.emplace_back(new station(*this, line_.add_unloader(ends), std::move(name)));
    return *stations_.back();
  }

  /// What serve(at, body) does is done by run(), in a fiber. `body` may refer to what outlives run().
  /// \throws std::bad_alloc
  template <class At, std::invocable<At&> Body>
    requires std::same_as<At, loader> || std::same_as<At, station>
  void operate(At& at, Body body) {
    bodies_.push_back(detail::as_function([this, &at, b = std::move(body)]() mutable {
      try {
        serve(at, b);
      } catch (...) {  // run() throws the first one
      }
    }));
    names_.push_back(at.name());
  }

  /// Runs the bodies given to operate(), each in a fiber: block by block on the workers, in the order of operate().
  /// A fiber: on its runtime's workers. Any other thread: on a new runtime's.
  /// \param workers  to use; 0: all. For lines that do no more than move goods one is fastest: a cache line comes from
  ///        another core in some 50 ns, and goes through the same one's cache in 2.
  /// \param stop  when it is asked to, request_stop().
  /// \throws the first exception that left a body, after all have ended; what sched::runtime::run() throws.
  void run(int workers = 0, const std::stop_token& stop = {}) {
    const auto bodies = std::exchange(bodies_, {});
    const auto names = std::exchange(names_, {});
    const std::stop_callback on_stop(stop, [this] { request_stop(); });
    detail::run_stations(bodies, names, workers);
    if (const auto what = failure()) std::rethrow_exception(what);
  }

  /// Calls body(at) on this thread or fiber, and closes the station; for stations that are a thread's of the program.
  /// \throws what `body` throws, which is the station's failure.
  template <class At, std::invocable<At&> Body>
    requires std::same_as<At, loader> || std::same_as<At, station>
  void serve(At& at, Body&& body) {
    try {
      sched::this_fiber::require_stack();
      body(at);
    } catch (...) {
      at.fail(std::current_exception());
      throw;
    }
    at.close();
  }

  /// Any thread. Sources see that no more is wanted; what departed before runs to its end.
  void request_stop() noexcept { line_.stop_all(); }

  /// The first failure; null: none so far. Any thread.
  [[nodiscard]] std::exception_ptr failure() const noexcept { return line_.failure(); }

  /// Sources, then stations, each in the order in which they were made. Any thread once all are made. \throws
  /// std::bad_alloc
  [[nodiscard]] std::vector<station_counts> counts() const {
    std::vector<station_counts> all;
    for (const auto& s : sources_) {
      auto& c = all.emplace_back();
      s->fill_in(c);
      c.trains = s->end_.departed();
    }
    for (const auto& s : stations_) {
      auto& c = all.emplace_back();
      s->fill_in(c);
      c.trains = s->end_.departed();
      c.waiting = s->end_.waiting();
      c.age = s->age_.get();
    }
    for (auto& c : all) {
      const auto room = static_cast<double>(c.trains) * static_cast<double>(capacity());
      if (c.trains != 0) c.mean_fill = static_cast<double>(c.goods) / room;
    }
    return all;
  }

  /// Goods of a train, and trains of each source.
  [[nodiscard]] std::size_t capacity() const noexcept { return shape_.capacity; }
  [[nodiscard]] std::size_t trains() const noexcept { return shape_.trains; }

 private:
  [[nodiscard]] bool stamps() const noexcept { return wanted_.stamp_every != 0; }
  [[nodiscard]] static std::int64_t& stamp_of(std::byte* at) noexcept {
    return *std::launder(reinterpret_cast<std::int64_t*>(at + sizeof(rail::train_ring::header)));
  }
  void destroy_goods(std::byte* at) const noexcept {
    std::destroy_n(std::launder(reinterpret_cast<T*>(at + shape_.goods_offset)), shape_.capacity);
  }

  const railway_options wanted_;
  const detail::train_shape shape_;
  rail::line line_;
  std::vector<std::unique_ptr<loader>> sources_;
  std::vector<std::unique_ptr<station>> stations_;
  std::vector<std::function<void()>> bodies_;
  std::vector<std::string_view> names_;
};

}  // namespace v1
}  // namespace shunt
