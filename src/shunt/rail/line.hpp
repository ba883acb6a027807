/// A line of stations: trains run from the station that loads them through all that unload them, and home.
///
///              progress of `in`        of `risk`, `log`           of `book`
///                     v                       v                       v
///   | free | loaded | loaded | unloaded by one of two | unloaded | free |      train = position % trains
///
///      in ──> risk ──> book        train_ring:   the trains of one source, used in turn for ever
///        └──> log ───┘             ring_reader:  what an unloader has of one ring: its position, and how far it may go
///
/// Invariants
///   line.L1  A train's position only grows; position p uses the memory of position p - trains.
///   line.L2  Only one station stores a progress, and its count only grows. Once it says `ended` it stays.
///   line.L3  Train p is its source's while every sink of the ring has passed p - trains and it has not departed. Then
///            it is the unloaders' that all stations before them have passed p, until they pass it too.
///   line.L4  An unloader whose every ring has ended gets no more trains. One with a failed station before it gets the
///            trains that left before the failure, and then `failed`.
///
/// Edges: a release store, and the acquire load that it feeds
///   loaded    source::depart -> ring_reader::here         the goods, through the train's own header: the first goods
///                                                         lie on the same cache line; without headers, ->
///                                                         ring_reader::refresh
///   passed    unloader::depart -> ring_reader::refresh    the goods, as that station leaves them
///   emptied   unloader::depart -> source::refresh,        the memory is free, and the goods in it are those that come
///                                 source::poll_returned   back
///   told      line::ask_to_stop -> source::refresh        no station wants more trains
///
/// A station without a train polls again, spins or sleeps. rail knows no fiber, so the user of the station passes in
/// how it is woken. Falling asleep, and the wake that a departure owes, is a Dekker pair:
///
///   station that falls asleep                     departing station
///   asleep = 1; watched = 1                       progress = p
///   heavy fence; polls once more; sleeps          light fence; reads watched: wakes all sleepers of the progress
///
/// Pair `stopped`, the same for a source that is to stop: begin_watch() stores asleep, then poll() reads wanted;
/// line::ask_to_stop() stores wanted, then wake() reads asleep. All four are sequentially consistent.
///
/// Pair `slept`, with either kind of fence: the sleeper stores asleep, then watched; wake_all() clears watched, then
/// asleep. All four are sequentially consistent. So a sleeper whose `watched` was cleared is found asleep, whichever
/// station's store of `watched` the departing station has read.
///
/// Source: Thompson et al., Disruptor, LMAX 2011 (stations that wait for the least of those before them); Papou,
/// Railway, 2014 (trains); Lamport, doi:10.1145/69624.357207 (a buffer of one writer and one reader without locks).
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <new>
#include <vector>

#include <shunt/base/asymmetric_fence.hpp>
#include <shunt/base/block.hpp>
#include <shunt/base/cache_line.hpp>

namespace shunt {
inline namespace v1 {
namespace rail {

/// How the user of a station, a thread or a fiber, is woken.
class waker {
 public:
  /// Any thread. Must not wait, nor throw.
  virtual void wake() noexcept = 0;

 protected:
  ~waker() = default;
};

/// What a station finds when it polls.
enum class [[nodiscard]] poll_result : std::uint8_t {
  train,    ///< a train is at the station
  nothing,  ///< no train yet
  ended,    ///< no train will come any more
  failed,   ///< the same: a station before this one has failed, see line::failure()
};

class line;
class source;
class station;

/// How many trains of one ring have left a station, for other stations to read.
class progress {
 public:
  static constexpr std::uint64_t ended = std::uint64_t{1} << 63;   ///< no further train will leave
  static constexpr std::uint64_t failed = std::uint64_t{1} << 62;  ///< and that is a failure
  static constexpr std::uint64_t left = std::uint64_t{1} << 61;    ///< a sink left before the end: none waits for it
  static constexpr std::uint64_t count = left - 1;                 ///< the bits that count trains

  /// Any thread. seq_cst: edges `passed`, `emptied`; and half of the Dekker pair where fences are not asymmetric, at no
  /// cost on x86-64 and AArch64.
  [[nodiscard]] std::uint64_t read() const noexcept { return word_.load(std::memory_order_seq_cst); }
  /// Owner only. relaxed: no other station stores it (line.L2).
  [[nodiscard]] std::uint64_t own() const noexcept { return word_.load(std::memory_order_relaxed); }

 private:
  friend class station;
  alignas(quiet_distance) std::atomic<std::uint64_t> word_{0};
  alignas(quiet_distance) std::atomic<std::uint32_t> watched_{0};  // apart: read at each departure, written by sleepers
  std::vector<station*> sleepers_;  // stations that may wait for it; constant once trains run
};

/// The trains of one source, in one block of memory, each with a header in front of its goods.
///
///   header   (position + 1) << 24 | goods       40 bits of the position, which no two trains of a ring share
///
/// Trains of a single small good may go without headers: they always carry one good, and `progress` says what is here.
/// A header would double what moves between the cores; but without it a good that comes alone moves two cache lines
/// instead of one.
class train_ring {
 public:
  static constexpr unsigned goods_bits = 24;  ///< bits of a header that count goods
  /// Goods that a train may have.
  static constexpr std::uint64_t most_goods = (std::uint64_t{1} << goods_bits) - 1;
  /// In front of a train's goods.
  using header = std::atomic<std::uint64_t>;

  /// \param trains       at least 1
  /// \param train_bytes  of the header and the goods
  /// \throws std::bad_alloc
  train_ring(std::size_t trains, std::size_t train_bytes, std::size_t alignment, bool with_headers)
      : memory_(trains * train_bytes, alignment), trains_(trains), stride_(train_bytes), headers_(with_headers) {
    if (!headers_) return;
    for (auto* at = first(); at != end(); at += stride_) new (at) header(0);
  }
  train_ring(const train_ring&) = delete;
  train_ring& operator=(const train_ring&) = delete;

  /// The first train.
  [[nodiscard]] std::byte* first() const noexcept { return memory_.data(); }
  /// Behind the last train.
  [[nodiscard]] std::byte* end() const noexcept { return memory_.data() + trains_ * stride_; }
  /// Bytes from train to train.
  [[nodiscard]] std::size_t stride() const noexcept { return stride_; }
  /// Trains of the ring.
  [[nodiscard]] std::size_t trains() const noexcept { return trains_; }
  /// Of a ring with headers. \param train  its first byte.
  [[nodiscard]] static header& header_of(std::byte* train) noexcept {
    return *std::launder(reinterpret_cast<header*>(train));
  }
  /// The header of the train that leaves at that position, from 0.
  [[nodiscard]] static constexpr std::uint64_t make_header(std::uint64_t position, std::uint64_t goods) noexcept {
    return (position + 1) << goods_bits | goods;
  }

 private:
  friend class line;
  friend class source;
  friend class unloader;
  friend class ring_reader;

  const block memory_;
  const std::size_t trains_;
  const std::size_t stride_;
  const bool headers_;
  progress loaded_;                             // of the source
  std::vector<progress*> sinks_;                // of the unloaders that no other station comes after
  std::atomic<std::size_t> departed_sinks_{0};  // sinks that left before the end
  source* owner_ = nullptr;
  std::atomic<bool> wanted_{true};  // edge `told`, pair `stopped`
};

/// What sources and unloaders share: sleeping, and being woken. One thread or fiber at a time uses a station; it is the
/// owner in what follows.
class station {
 public:
  station(const station&) = delete;
  station& operator=(const station&) = delete;

  /// Before trains run. \param w  wakes the owner; lives as long as the line.
  void set_waker(waker& w) noexcept { waker_ = &w; }

  /// Owner only, before it sleeps. Then the owner must poll() once more, and sleep only if it finds nothing.
  virtual void prepare_to_wait() noexcept = 0;
  /// Owner only, once it is awake, or instead of sleeping.
  void finish_wait() noexcept {
    asleep_.store(0, std::memory_order_relaxed);  // relaxed: a late wake is a spurious one
  }

  /// Owner only. Whether a train is here. Cheap, so that it may be called again and again; sees no ends.
  [[nodiscard]] virtual bool has_train() noexcept = 0;
  /// Owner only. Whether a train is here, or an end. Reads more that other stations write.
  virtual poll_result poll() noexcept = 0;

  /// Any thread. Trains that have left here, of all rings.
  [[nodiscard]] virtual std::uint64_t departed() const noexcept = 0;

  /// Any thread, once trains run; for reports. Appends the wakers of the sources whose trains come here and that have
  /// not ended, as of a moment. \throws std::bad_alloc
  virtual void append_open_sources(std::vector<const waker*>& to) const { static_cast<void>(to); }

  /// Any thread. The owner polls again, if it sleeps.
  void wake() noexcept {
    // acquire: the sleeper's own words, set before it fell asleep. seq_cst: pairs `slept` and `stopped`.
    if (asleep_.exchange(0, std::memory_order_seq_cst) != 0) waker_->wake();
  }

 protected:
  friend class line;
  station() = default;
  virtual ~station() = default;

  /// Stores a progress, and wakes the stations that sleep on it. Only the owner of `p` calls it (line.L2).
  void publish(progress& p, std::uint64_t word) noexcept {
    if (asymmetric_) [[likely]] {
      p.word_.store(word, std::memory_order_release);  // edges `passed`, `emptied`
      asymmetric_fence::light();
      // relaxed: the Dekker pair orders it.
      if (p.watched_.load(std::memory_order_relaxed) != 0) [[unlikely]]
        wake_all(p);
    } else {
      p.word_.store(word, std::memory_order_seq_cst);  // the Dekker pair
      if (p.watched_.load(std::memory_order_seq_cst) != 0) [[unlikely]]
        wake_all(p);
    }
  }
  /// Owner only: from now on a departure that it waits for wakes it.
  void begin_watch() noexcept {
    // What wake() will need was written before. seq_cst: pairs `slept` and `stopped`.
    asleep_.store(1, std::memory_order_seq_cst);
  }
  /// Owner only, after begin_watch(): for each ring that it waits for.
  static void watch(progress& p) noexcept {
    p.watched_.store(1, std::memory_order_seq_cst);  // pair `slept`; the Dekker pair
  }
  /// Owner only, after the last watch(). Then it looks once more, and sleeps.
  void end_watch() noexcept {
    if (asymmetric_) asymmetric_fence::heavy();
  }
  /// Wakes the stations that sleep for `p`.
  static void wake_all(progress& p) noexcept;
  /// Before trains run.
  static void add_sleeper(progress& p, station& s) { p.sleepers_.push_back(&s); }
  /// Before trains run, or after their end.
  static void remove_sleeper(progress& p, station& s) { std::erase(p.sleepers_, &s); }
  /// What set_waker() was given.
  [[nodiscard]] static const waker* waker_of(const station& s) noexcept { return s.waker_; }

  /// Whether fences are asymmetric here.
  const bool asymmetric_ = asymmetric_fence::usable();

 private:
  std::atomic<std::uint32_t> asleep_{0};
  waker* waker_ = nullptr;
};

/// Loads the trains of its ring.
class source final : public station {
 public:
  /// Owner only. Whether an empty train is here. Cost: some ns; every few trains it reads the sinks' progress.
  [[nodiscard]] bool board() noexcept { return next_ != limit_ || refresh(); }
  [[nodiscard]] bool has_train() noexcept override {
    return unloads_ ? poll_returned() == poll_result::train : board();
  }
  poll_result poll() noexcept override;
  void prepare_to_wait() noexcept override;

  /// Owner only, after board() returned true. The memory of that train, its header in front if it has one.
  [[nodiscard]] std::byte* train() const noexcept { return train_; }

  /// Owner only, after board() returned true. The train leaves.
  /// \param goods  that it carries, at most train_ring::most_goods
  void depart(std::size_t goods) noexcept {
    if (headers_) {
      const auto value = train_ring::make_header(next_, goods);
      if (asymmetric_) [[likely]] {
        train_ring::header_of(train_).store(value, std::memory_order_release);  // edge `loaded`
      } else {
        train_ring::header_of(train_).store(value, std::memory_order_seq_cst);  // the Dekker pair
      }
    }
    ++next_;
    train_ += stride_;
    if (train_ == ring_.end()) train_ = ring_.first();
    publish(ring_.loaded_, next_);
  }

  /// Owner only. No more trains will leave. Again: no effect.
  void end(bool by_failure = false) noexcept;

  /// A train that came back: its memory, header in front, and the goods that the last stations left in it.
  struct returned_train {
    std::byte* at;      ///< its first byte; null: none
    std::size_t goods;  ///< that the last stations left in it
  };
  /// Owner only, after board() returned true, before train() is written to. The same train as it came back, once:
  /// {nullptr, 0} if it has not been out, or was unloaded before.
  [[nodiscard]] returned_train unload_here() noexcept;

  /// While it lives, the owner waits for trains that come back: has_train() and poll() say whether the first one that
  /// departed, is not unloaded and not used again is here. `ended`: none will come any more.
  class unloading {
   public:
    /// \param here_too  whether train() may be unloaded: nothing was loaded into it.
    unloading(source& of, bool here_too) noexcept : of_(of) { of.begin_unloading(here_too); }
    ~unloading() { of_.unloads_ = false; }
    unloading(const unloading&) = delete;
    unloading& operator=(const unloading&) = delete;
    /// After has_train() returned true. That train; the next one's turn begins.
    [[nodiscard]] returned_train next() noexcept { return of_.unload(); }

   private:
    source& of_;
  };

  [[nodiscard]] std::uint64_t departed() const noexcept override { return ring_.loaded_.read() & progress::count; }
  /// For its other stations.
  [[nodiscard]] const train_ring& ring() const noexcept { return ring_; }

 private:
  friend class line;
  source(std::size_t trains, std::size_t train_bytes, std::size_t alignment, bool with_headers)
      : headers_(with_headers),
        limit_(trains),
        stride_(train_bytes),
        ring_(trains, train_bytes, alignment, with_headers) {
    train_ = ring_.first();
    ring_.owner_ = this;
  }
  bool refresh() noexcept;
  poll_result poll_returned() const noexcept;
  void begin_unloading(bool here_too) noexcept;
  returned_train unload() noexcept;

  // With the members of `station`, one cache line: all that a train needs to leave. In a station that has rested each
  // line comes from far away.
  const bool headers_;
  std::byte* train_;  // train `next_`
  std::uint64_t next_ = 0;
  std::uint64_t limit_;  // the least progress of the sinks, as last seen, and all trains beyond it
  const std::size_t stride_;
  static_assert(sizeof(station) + 5 * sizeof(std::uint64_t) <= cache_line);
  train_ring ring_;
  std::uint64_t unloaded_ = 0;  // the train that unload() takes next; those before it are unloaded, or used again
  bool unloads_ = false;        // an `unloading` lives
};

/// What an unloader has of one ring: its position there, and the progress of the stations before it.
class ring_reader {
 public:
  /// Owner only. Whether the next train is here. \param goods  set to the number of goods that it carries.
  [[nodiscard]] bool here(std::uint64_t& goods) noexcept {
    if (by_header_) {
      // acquire: edge `loaded`. seq_cst: see progress::read().
      const auto value = train_ring::header_of(train_).load(std::memory_order_seq_cst);
      goods = value & train_ring::most_goods;
      return value >> train_ring::goods_bits == (train_ring::make_header(next_, 0) >> train_ring::goods_bits);
    }
    if (next_ == limit_ && !refresh()) return false;
    // relaxed: covered by the edge through which limit_ was read.
    goods = headers_ ? train_ring::header_of(train_).load(std::memory_order_relaxed) & train_ring::most_goods : 1;
    return true;
  }
  /// The train that is here: its first byte. After arrive() returned true.
  [[nodiscard]] std::byte* train() const noexcept { return train_; }

 private:
  friend class line;
  friend class unloader;
  explicit ring_reader(train_ring& ring) noexcept : ring_(&ring), train_(ring.first()), headers_(ring.headers_) {}
  bool refresh() noexcept;
  [[nodiscard]] std::uint64_t before() const noexcept;  // the least progress of the stations before, with its flags

  train_ring* ring_;
  std::byte* train_;  // train `next_`
  std::uint64_t next_ = 0;
  std::uint64_t limit_ = 0;  // the least progress of the stations before, as last seen
  const bool headers_;
  bool behind_source_ = true;  // the source is the station before this one
  bool by_header_ = headers_;  // headers say what is here, no progress is read
  bool ended_ = false;
  std::vector<progress*> before_;
  std::unique_ptr<progress> progress_ = std::make_unique<progress>();
};

/// Unloads the trains of all rings that lead to it.
class unloader final : public station {
 public:
  /// Owner only. Whether a train is here. A train that arrived before is still here, unless it has departed. Where
  /// several rings meet, up to 8 trains of one are taken in a row while those of others wait.
  /// \param goods  set to the number of goods that the train carries
  [[nodiscard]] bool arrive(std::uint64_t& goods) noexcept {
    if (only_ring_) [[likely]]
      return reader_->here(goods);
    return (row_left_ != 0 && reader_->here(goods)) || arrive_elsewhere(goods);
  }
  [[nodiscard]] bool has_train() noexcept override {
    std::uint64_t goods;
    return arrive(goods);
  }
  poll_result poll() noexcept override;
  void prepare_to_wait() noexcept override;

  /// Owner only, after arrive() returned true. The memory of that train, its header in front if it has one.
  [[nodiscard]] std::byte* train() const noexcept { return reader_->train(); }
  /// The same. The train will leave with so many goods, at most as many as fit. Only of a train with a header.
  void set_goods(std::uint64_t goods) noexcept {
    // relaxed: edge `passed` covers it. Stations side by side must not do this: they share the train.
    train_ring::header_of(reader_->train_)
        .store(train_ring::make_header(reader_->next_, goods), std::memory_order_relaxed);
  }
  /// Owner only, after arrive() returned true. That train leaves.
  void depart() noexcept {
    ring_reader& r = *reader_;
    ++r.next_;
    r.train_ += r.ring_->stride();
    if (r.train_ == r.ring_->end()) r.train_ = r.ring_->first();
    publish(*r.progress_, r.next_);
    row_left_ -= row_left_ != 0;
  }

  /// Owner only. This station takes no more trains. Again: no effect.
  ///
  ///   it has seen all trains     stations behind it see the end
  ///   a sink, amid the trains    other sinks go on without it; the last sink of a ring asks its source to stop
  ///   amid the line              the line ends for those behind it; all its sources are asked to stop
  ///   by_failure                 the stations behind it see a failure, and all its sources are asked to stop
  void end(bool by_failure = false) noexcept;

  /// Whether no other station comes after it.
  [[nodiscard]] bool is_sink() const noexcept { return sink_; }
  [[nodiscard]] std::uint64_t departed() const noexcept override;
  void append_open_sources(std::vector<const waker*>& to) const override;
  /// Any thread. Trains that have left the sources and not this station; a moment's view.
  [[nodiscard]] std::uint64_t waiting() const noexcept;

 private:
  friend class line;
  unloader() = default;
  static constexpr int most_in_a_row = 8;
  [[gnu::noinline]] bool arrive_elsewhere(std::uint64_t& goods) noexcept;

  std::deque<ring_reader> readers_;  // a deque: other members point into it
  ring_reader* reader_ = nullptr;    // of the train that is here
  std::size_t current_ = 0;          // index of reader_
  int row_left_ = most_in_a_row;     // trains that reader_ may take before another reader gets its turn
  bool sink_ = true;
  bool only_ring_ = false;  // readers_ has one
};

/// Owns the rings and stations. One thread builds it, before trains run.
class line {
 public:
  line() = default;
  line(const line&) = delete;
  line& operator=(const line&) = delete;

  /// \param trains        at least 1
  /// \param train_bytes   of the header and the goods; a multiple of the goods' alignment and of the header's
  /// \param with_headers  false only where every train carries one good
  /// \throws std::bad_alloc
  source& add_source(std::size_t trains, std::size_t train_bytes, std::size_t alignment, bool with_headers);

  /// \param after  the stations whose trains it unloads: of this line, at least one, each once
  /// \throws std::bad_alloc
  unloader& add_unloader(const std::vector<station*>& after);

  /// Any thread. Sources see an end instead of empty trains.
  void stop_all() noexcept;

  /// Any thread. Keeps the failure that stations report with poll_result::failed. The first one stays.
  void fail(std::exception_ptr what) noexcept;
  /// Any thread. Null: none.
  [[nodiscard]] std::exception_ptr failure() const noexcept;

 private:
  friend class station;
  friend class source;
  friend class unloader;
  static void ask_to_stop(train_ring& t) noexcept;

  std::vector<std::unique_ptr<source>> sources_;
  std::vector<std::unique_ptr<unloader>> unloaders_;
  mutable std::mutex failure_lock_;
  std::exception_ptr failure_;
};

}  // namespace rail
}  // namespace v1
}  // namespace shunt
