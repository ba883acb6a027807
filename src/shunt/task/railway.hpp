/// Goods that move between fibers or threads in trains: stations on a line, without a queue.
///
/// ```cpp
/// shunt::railway<order> line;
/// auto& in = line.source("in");
/// auto& risk = line.after({&in}, "risk");            // risk and log both see every order
/// auto& log = line.after({&in}, "log");
/// auto& book = line.after({&risk, &log}, "book");    // book sees the orders that both have left
/// line.operate(in, [&](auto& s) { while (read(next)) s.put(next); });
/// line.operate(risk, [&](auto& s) { while (auto train = s.arrive()) for (order& o : train) o.fine = check(o); });
/// line.operate(log, [&](auto& s) { while (auto train = s.arrive()) write(train); });
/// line.operate(book, [&](auto& s) { while (auto train = s.arrive()) for (order& o : train) settle(o); });
/// line.run();                                        // until the last train has left `book`
/// ```
///
/// Shapes: one station after another is a pipeline, two after one a multicast, one after two a join. A station after
/// several sources unloads the trains of all of them. A station changes goods in place, and may change their number.
///
/// The end: a source closes, and each station sees its last train and then the end, in the order of the line. A failure
/// goes the same way: the stations behind it get the trains that left before it, and then the exception; the sources
/// load no more; the stations that are not behind it run to their end. No train is lost, or seen twice.
///
/// Results: a train belongs to one source, and returns to it with the goods that the last stations left in it; so the
/// way back needs no second line. The source unloads it before it loads it anew, and those still out at the end:
///
/// ```cpp
/// line.operate(in, [&](auto& s) {
///   for (auto space = s.board(); more() && !space.empty(); space = s.board()) {
///     for (order& o : s.returned()) settle(o);       // the same memory as `space`: nothing is copied
///     s.depart(fill(space));
///   }
///   while (auto train = s.await_returned()) for (order& o : train) settle(o);
/// });
/// ```
///
/// Source: Papou, Railway: high-performance inter-thread communication, 2014. The mechanism: rail/line.hpp.
#pragma once

#include <algorithm>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <source_location>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <shunt/base/error.hpp>
#include <shunt/base/latency_histogram.hpp>
#include <shunt/rail/line.hpp>
#include <shunt/sched.hpp>
#include <shunt/task/detail/run_stations.hpp>
#include <shunt/task/detail/station_base.hpp>
#include <shunt/task/detail/train_shape.hpp>
#include <shunt/task/finish.hpp>
#include <shunt/task/railway_options.hpp>

namespace shunt {
inline namespace v1 {
namespace task {

/// Moves goods of type T in trains along a line of stations. One thread or fiber builds it. Then one thread or fiber at
/// a time uses each station, every station its own. The railway outlives that.
template <railway_good T>
class railway {
 public:
  /// The train that is at a station, as a span of its goods; false, and empty, if there is none. Valid until the
  /// station's next arrive() or depart().
  class train {
   public:
    train() noexcept = default;
    /// Whether a train is here. After the end there is none.
    [[nodiscard]] explicit operator bool() const noexcept { return here_; }
    /// The first good.
    [[nodiscard]] T* begin() const noexcept { return goods_.data(); }
    /// Behind the last good.
    [[nodiscard]] T* end() const noexcept { return goods_.data() + goods_.size(); }
    /// Goods of the train.
    [[nodiscard]] std::size_t size() const noexcept { return goods_.size(); }
    /// \param i  0..size()-1 (contract).
    [[nodiscard]] T& operator[](std::size_t i) const noexcept { return goods_[i]; }
    /// All goods, in the order in which they were loaded.
    [[nodiscard]] std::span<T> goods() const noexcept { return goods_; }

   private:
    friend class railway;
    explicit train(std::span<T> goods) noexcept : goods_(goods), here_(true) {}
    std::span<T> goods_;
    bool here_ = false;
  };

  /// A position on the line: a source or a station.
  class cursor : public detail::station_base {
   protected:
    friend class railway;
    /// For the railway only.
    cursor(railway& of, rail::station& at, std::string name)
        : station_base(at, std::move(name), of.wanted_.wait, of.shape_.trains),
          of_(of),
          goods_offset_(of.shape_.goods_offset) {}
    ~cursor() = default;
    /// For the railway only: where a train's goods are.
    [[nodiscard]] T* goods_in(std::byte* at) const noexcept {
      return std::launder(reinterpret_cast<T*>(at + goods_offset_));
    }

    railway& of_;  ///< the line that it is on

   private:
    const std::size_t goods_offset_;
  };

  /// Loads trains.
  class loader final : public cursor {
   public:
    /// Waits until a train is here. \return its space that is not loaded yet; empty: no more trains are wanted, because
    ///         of request_stop(), of a failure, or because no station is left that unloads them.
    /// \throws what sched::this_fiber::park() throws.
    [[nodiscard]] std::span<T> board(std::source_location where = std::source_location::current()) {
      if (space_ == nullptr && !await_train(this->never, {}, {"board", where})) return {};
      return {space_ + loaded_, capacity_ - loaded_};
    }
    /// The same, at the longest until `deadline` or until `stop` is asked to stop: then the result is empty, too.
    [[nodiscard]] std::span<T> board_until(std::chrono::steady_clock::time_point deadline,
                                           const std::stop_token& stop = {},
                                           std::source_location where = std::source_location::current()) {
      if (space_ == nullptr && !await_train(deadline, stop, {"board_until", where})) return {};
      return {space_ + loaded_, capacity_ - loaded_};
    }
    /// The same, `time` from now at the latest.
    [[nodiscard]] std::span<T> board_for(std::chrono::nanoseconds time, const std::stop_token& stop = {},
                                         std::source_location where = std::source_location::current()) {
      return board_until(sched::after(time), stop, where);
    }

    /// The train leaves with the goods that put() loaded, and the first `goods` of board()'s space. Without any goods
    /// it stays. \param goods  at most the size of that space (contract); 0 without a board().
    void depart(std::size_t goods = 0) noexcept {
      SHUNT_ASSERT(goods == 0 || (space_ != nullptr && loaded_ + goods <= capacity_));
      loaded_ += goods;
      if (loaded_ == 0) return;
      sched::this_fiber::interleave();
      if (stamps_) stamp();
      end_.depart(loaded_);
      this->count(loaded_);  // after the departure: stores leave a core in order, and this line may be far away
      space_ = nullptr;
      loaded_ = 0;
    }

    /// Loads one good; the train leaves when it is full. \return false: no more are wanted, as board() says.
    [[gnu::always_inline]] bool put(T good, std::source_location where = std::source_location::current()) {
      if (space_ == nullptr && !await_train(this->never, {}, {"put", where})) [[unlikely]]
        return false;
      space_[loaded_] = std::move(good);
      if (++loaded_ == capacity_) depart();
      return true;
    }

    /// The goods that came back with the train that board() found, as the last stations left them: as many as it
    /// departed with, or as their resize() said. Each train's goods come once, in the order in which trains departed.
    /// To be called, and read, before that train is loaded: the same memory is board()'s space, and goods that are not
    /// asked for are overwritten.
    /// \return empty: the train has not been out, came back empty, was unloaded before, or is being loaded; or board()
    ///         was not called.
    /// Cost: some ns; none for programs that do not call it.
    [[nodiscard]] std::span<T> returned() noexcept {
      if (space_ == nullptr || loaded_ != 0) return {};
      const auto back = end_.unload_here();
      return {space_, back.goods};
    }

    /// Waits until the first train that departed and is not unloaded has left the last stations. For trains that are
    /// out when there is no more to load, before close(), or after it. Loading may go on afterwards; then returned() is
    /// empty for each train that was unloaded here. Goods that put() loaded, and that have not departed, stay.
    /// \return that train, perhaps empty, valid until the loader's next call; false: no train is out that will come
    ///         back. After a failure, or when the last stations have closed, the trains come that had left them before.
    /// \throws what sched::this_fiber::park() throws; not the failure, which run() throws.
    [[nodiscard]] train await_returned(std::source_location where = std::source_location::current()) {
      const call_site call("await_returned", where);
      rail::source::unloading back(end_, loaded_ == 0);
      const auto here = [this] { return end_.has_train(); };
      if (!here() && !this->poll_on(here, this->never, {}, call) &&
          this->await(this->never, {}, call) != rail::poll_result::train) {
        return {};
      }
      const auto came = back.next();
      return train({this->goods_in(came.at), came.goods});
    }

    /// The goods that are loaded leave, then no more trains do. Stations see the end after the last train. A further
    /// call does nothing.
    void close() noexcept {
      depart();
      end_.end();
    }
    /// No more trains leave. Stations get those that departed, and then `what`.
    void fail(std::exception_ptr what) noexcept {
      of().line_.fail(std::move(what));
      end_.end(true);
    }

   private:
    friend class railway;
    loader(railway& of, rail::source& end, std::string name)
        : cursor(of, end, std::move(name)), end_(end), capacity_(of.capacity()), stamps_(of.stamps()) {}
    railway& of() const noexcept { return this->of_; }
    bool await_train(detail::station_base::time_point deadline, const std::stop_token& stop, call_site call) {
      if (!end_.board() && !this->poll_on([&] { return end_.board(); }, deadline, stop, call) &&
          this->await(deadline, stop, call) != rail::poll_result::train) {
        return false;
      }
      space_ = this->goods_in(end_.train());
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
    T* space_ = nullptr;  // of the train that is here; null: await_train() comes first
    std::size_t loaded_ = 0;
    unsigned unstamped_ = 0;
  };

  /// Unloads trains, or changes their goods. What the last stations leave in a train is what loader::returned() finds:
  /// a station writes results over goods, and resize() says how many there are.
  class station final : public cursor {
   public:
    /// The train that is here leaves; waits for the next one.
    /// \return false: the end, no further train will come.
    /// \throws the failure of a station before this one, after the trains that left before it; what
    ///         sched::this_fiber::park() throws.
    [[nodiscard]] train arrive(std::source_location where = std::source_location::current()) {
      depart();
      std::uint64_t goods;
      if (!end_.arrive(goods)) [[unlikely]] {
        if (!this->poll_on([&] { return end_.arrive(goods); }, this->never, {}, {"arrive", where}))
          return arrive_later(this->never, {}, {"arrive", where});
      }
      return take(goods);
    }
    /// The same, at the longest until `deadline` or until `stop` is asked to stop: then the result is false, and so is
    /// ended().
    [[nodiscard]] train arrive_until(std::chrono::steady_clock::time_point deadline, const std::stop_token& stop = {},
                                     std::source_location where = std::source_location::current()) {
      depart();
      const call_site call("arrive_until", where);
      std::uint64_t goods;
      if (!end_.arrive(goods) && !this->poll_on([&] { return end_.arrive(goods); }, deadline, stop, call)) {
        return arrive_later(deadline, stop, call);
      }
      return take(goods);
    }
    /// The same, `time` from now at the latest.
    [[nodiscard]] train arrive_for(std::chrono::nanoseconds time, const std::stop_token& stop = {},
                                   std::source_location where = std::source_location::current()) {
      return arrive_until(sched::after(time), stop, where);
    }

    /// The train that is here leaves now, rather than with the next arrive(). Does nothing if there is none.
    void depart() noexcept {
      if (!standing_) return;
      sched::this_fiber::interleave();
      standing_ = false;
      end_.depart();
      this->count(goods_);
    }
    /// The train that is here will carry its first `goods` goods, which may be more than came. Only for a station
    /// without another one beside it. \param goods  at most capacity() (contract).
    /// \return all of them. \throws usage_error for 0 where capacity() is 1: such a train cannot say that it is empty.
    train resize(std::size_t goods, std::source_location where = std::source_location::current()) {
      SHUNT_ASSERT(standing_ && goods <= this->of_.capacity());
      if (this->of_.capacity() == 1 && goods == 0) detail::throw_cannot_be_empty(where);
      if (!this->of_.shape_.headers) return train({this->goods_in(end_.train()), goods_});
      end_.set_goods(goods);
      goods_ = goods;
      return train({this->goods_in(end_.train()), goods});
    }

    /// Whether the last arrive() saw the end.
    [[nodiscard]] bool ended() const noexcept { return ended_; }

    /// Takes no more trains; the one that is here leaves. If more trains were to come: where this is a last station,
    /// the other stations go on; otherwise the line ends here, also for its sources (rail::unloader::end()). A further
    /// call does nothing.
    void close() noexcept {
      depart();
      end_.end();
    }
    /// The same, but the train that is here does not leave, and the stations behind this one get `what` after the
    /// trains that departed.
    void fail(std::exception_ptr what) noexcept {
      this->of_.line_.fail(std::move(what));
      end_.end(true);
    }

   private:
    friend class railway;
    station(railway& of, rail::unloader& end, std::string name) : cursor(of, end, std::move(name)), end_(end) {
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
    [[gnu::noinline]] train arrive_later(detail::station_base::time_point deadline, const std::stop_token& stop,
                                         call_site call) {
      switch (this->await(deadline, stop, call)) {
        case rail::poll_result::train: break;
        case rail::poll_result::nothing: return {};
        case rail::poll_result::ended: ended_ = true; return {};
        case rail::poll_result::failed: ended_ = true; std::rethrow_exception(this->of_.line_.failure());
      }
      std::uint64_t goods = 0;
      static_cast<void>(end_.arrive(goods));  // finds the train that await() saw
      return take(goods);
    }

    rail::unloader& end_;
    bool standing_ = false;
    bool ended_ = false;
    std::size_t goods_ = 0;
    std::unique_ptr<latency_histogram> age_;
  };

  /// \throws usage_error for an impossible capacity or number of trains.
  explicit railway(railway_options wanted = {}, std::source_location where = std::source_location::current())
      : wanted_(std::move(wanted)), shape_(detail::shape_of(wanted_, sizeof(T), alignof(T), {"railway", where})) {}

  /// No fiber or thread uses its stations any more (contract). Destroys the goods in its trains.
  ~railway() {
    for (const auto& s : sources_) {
      for (auto* at = s->end_.ring().first(); at != s->end_.ring().end(); at += shape_.train_bytes) destroy_goods(at);
    }
  }
  railway(const railway&) = delete;
  railway& operator=(const railway&) = delete;

  /// Makes a source, with trains of its own. Before any station is used.
  /// \throws std::bad_alloc; what T's constructor throws.
  loader& source(std::string name = {}) {
    rail::source& end = line_.add_source(shape_.trains, shape_.train_bytes, shape_.alignment, shape_.headers);
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

  /// Makes a station, which gets each train when it has left all of `before`. Before any station is used. Stations side
  /// by side may each write only members that the others neither read nor write.
  /// \param before  sources and stations of this railway, at least one, each once. \throws usage_error, std::bad_alloc.
  template <std::ranges::input_range Before>
    requires std::convertible_to<std::ranges::range_reference_t<const Before&>, cursor*>
  station& after(const Before& before, std::string name = {},
                 std::source_location where = std::source_location::current()) {
    return after(std::vector<cursor*>(std::ranges::begin(before), std::ranges::end(before)), std::move(name), where);
  }
  /// The same: `after({&x, &y})`.
  station& after(const std::vector<cursor*>& before, std::string name = {},
                 std::source_location where = std::source_location::current()) {
    std::vector<rail::station*> ends;
    for (cursor* const p : before) {
      if (&p->of_ != this || std::ranges::count(before, p) != 1) detail::throw_bad_predecessor(p->name(), where);
      ends.push_back(&p->at_);
    }
    if (ends.empty()) detail::throw_bad_predecessor("", where);
    return *stations_.emplace_back(new station(*this, line_.add_unloader(ends), std::move(name)));
  }

  /// run() will call serve(at, body) in a fiber. `body` may refer to objects that outlive run().
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
  /// \param workers  workers to use; 0: all. One is fastest for lines that only move goods: a cache line takes far
  ///        longer from another core than from a core's own cache.
  /// \param stop  calls request_stop() when it is asked to stop.
  /// \throws the first exception that left a body, after all have ended; what sched::runtime::run() throws.
  void run(int workers = 0, const std::stop_token& stop = {},
           std::source_location where = std::source_location::current()) {
    const auto bodies = std::exchange(bodies_, {});
    const auto names = std::exchange(names_, {});
    const std::stop_callback on_stop(stop, [this] { request_stop(); });
    detail::run_stations(bodies, names, workers, where);
    if (const auto what = failure()) std::rethrow_exception(what);
  }

  /// Calls body(at) on this thread or fiber, and closes the station. For stations that a thread of the program serves.
  /// \throws what `body` throws; it is the station's failure, too.
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

  /// Any thread. Sources learn that no more is wanted; trains that departed before run to their end.
  void request_stop() noexcept { line_.stop_all(); }

  /// Any thread. The first failure; null: none so far.
  [[nodiscard]] std::exception_ptr failure() const noexcept { return line_.failure(); }

  /// Any thread, once all stations are made. \return sources, then stations, each in the order in which they were made.
  /// \throws std::bad_alloc
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
      if (c.trains != 0) c.mean_fill = double(c.goods) / (double(c.trains) * double(capacity()));
    }
    return all;
  }

  /// Goods of a train, and trains of each source.
  [[nodiscard]] std::size_t capacity() const noexcept { return shape_.capacity; }
  /// See capacity().
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

}  // namespace task

using task::railway;

}  // namespace v1
}  // namespace shunt
