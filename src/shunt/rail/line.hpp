/// A line of stations: trains run from one that loads them through all that unload them, and home.
///
///              progress of `in`        of `risk`, `log`           of `book`
///                     v                       v                       v
///   | free | loaded | loaded | unloaded by one of two | unloaded | free |      train = position % trains
///
///      in ──> risk ──> book        track: the trains of one source, run round it for ever
///        └──> log ───┘             way:   what one stop has of a track: where it stands, how far it may go
///
/// Invariants
///   L1  A train's position only grows; position p uses the memory of position p - trains.
///   L2  A progress is stored by one station only, and its count only grows. Once it says `ended` it stays.
///   L3  Train p is its source's while every sink of the track has passed p - trains and it has not departed; then
///       those stops' that all stations before them have passed p, until they pass it too.
///   L4  A stop whose every way has ended gets no more trains; one whose way has a failed station before it gets the
///       trains that left before the failure, and then `failed`.
///
/// Edges: a release store, and the acquire load that it feeds
///   loaded    source::depart -> way::here        the goods, through the train's own sign: the first goods lie on the
///             same
///                                                cache line; without a sign, -> way::refresh
///   passed    stop::depart -> way::refresh       the goods, as that station leaves them
///   emptied   stop::depart -> source::refresh    the memory is free
///   told      line::tell -> source::refresh      somebody wants no more trains
///
/// Who finds nothing looks again, spins or sleeps: rail knows no fiber, so the caller passes in how it is woken.
/// Sleeping, and what the one who departs owes, is a Dekker pair:
///
///   sleeper                                       departing station
///   asleep = 1; watched = 1                       progress = p
///   heavy fence; looks once more; sleeps          light fence; reads watched: wakes all sleepers of the progress
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

/// How the one who stands at a station is woken.
class sleeper {
 public:
  /// Any thread. Must not wait, nor throw.
  virtual void wake() noexcept = 0;

 protected:
  ~sleeper() = default;
};

/// What a station finds when it looks.
enum class [[nodiscard]] poll_result : std::uint8_t {
  train,    ///< one stands at the platform
  nothing,  ///< not yet
  ended,    ///< and never again
  failed,   ///< never again: a station before this one has failed, see line::failure()
};

class line;
class source;
class station;

/// How many trains of one track have left a station; for others to read.
class progress {
 public:
  static constexpr std::uint64_t ended = std::uint64_t{1} << 63;   // no further train will leave
  static constexpr std::uint64_t failed = std::uint64_t{1} << 62;  // and that is a failure
  static constexpr std::uint64_t away = std::uint64_t{1} << 61;    // a sink that wants no more: nobody waits for it
  static constexpr std::uint64_t count = away - 1;

  /// seq_cst: edges `passed`, `emptied`; and half of the Dekker pair where fences are not asymmetric, at no cost on
  /// x86-64 and AArch64.
  [[nodiscard]] std::uint64_t read() const noexcept { return word_.load(std::memory_order_seq_cst); }
  /// The owner's own: relaxed, for nobody else stores it (L2).
  [[nodiscard]] std::uint64_t own() const noexcept { return word_.load(std::memory_order_relaxed); }

 private:
  friend class station;
  alignas(quiet_distance) std::atomic<std::uint64_t> word_{0};
  alignas(quiet_distance) std::atomic<std::uint32_t> watched_{0};  // apart: read at each departure, written by sleepers
  std::vector<station*> sleepers_;                                 // who may wait for it; fixed once trains run
};

/// The trains of one source: in one block of memory, each with a sign in front of its goods.
///
///   sign   (position + 1) << 24 | goods       40 bits of the position, which no two trains of a track share
///
/// Trains of a single small good may go without: they always carry it, and `progress` says what is here. The sign would
/// double what moves between the cores; but without it each good that comes alone takes two lines' ways instead of one.
class track {
 public:
  static constexpr unsigned goods_bits = 24;
  static constexpr std::uint64_t most_goods = (std::uint64_t{1} << goods_bits) - 1;
  using sign = std::atomic<std::uint64_t>;

  /// \throws std::bad_alloc
  track(std::size_t trains, std::size_t train_bytes, std::size_t alignment, bool with_signs)
      : memory_(trains * train_bytes, alignment), trains_(trains), stride_(train_bytes), signs_(with_signs) {
    if (!signs_) return;
    for (auto* at = first(); at != end(); at += stride_) new (at) sign(0);
  }
  track(const track&) = delete;
  track& operator=(const track&) = delete;

  [[nodiscard]] std::byte* first() const noexcept { return memory_.data(); }
  [[nodiscard]] std::byte* end() const noexcept { return memory_.data() + trains_ * stride_; }
  [[nodiscard]] std::size_t stride() const noexcept { return stride_; }
  [[nodiscard]] std::size_t trains() const noexcept { return trains_; }
  [[nodiscard]] static sign& sign_of(std::byte* train) noexcept {
    return *std::launder(reinterpret_cast<sign*>(train));
  }
  [[nodiscard]] static constexpr std::uint64_t write_sign(std::uint64_t position, std::uint64_t goods) noexcept {
    return (position + 1) << goods_bits | goods;
  }

 private:
  friend class line;
  friend class source;
  friend class stop;
  friend class way;

  const block memory_;
  const std::size_t trains_;
  const std::size_t stride_;
  const bool signs_;
  progress loaded_;                   // of the source
  std::vector<progress*> sinks_;      // of the stops that nobody comes after
  std::atomic<std::size_t> gone_{0};  // sinks that left before the end
  source* owner_ = nullptr;
  std::atomic<bool> wanted_{true};  // edge `told`
};

/// What sources and stops share: sleeping, and being woken.
class station {
 public:
  station(const station&) = delete;
  station& operator=(const station&) = delete;

  /// Before trains run. \param who  wakes who stands here; lives as long as the line.
  void wakes(sleeper& who) noexcept { who_ = &who; }

  /// Who stands here, before it sleeps; then it must look() once more, and sleep only if it finds nothing.
  virtual void watch() noexcept = 0;
  /// Who stands here, once awake, or instead of sleeping.
  void unwatch() noexcept { asleep_.store(0, std::memory_order_relaxed); }  // relaxed: a late wake is a spurious one

  /// Who stands here: whether a train does. Cheap, so that it may be asked again and again; sees no ends.
  [[nodiscard]] virtual bool glance() noexcept = 0;
  /// Who stands here. Reads more that others write.
  virtual poll_result look() noexcept = 0;

  /// Trains that have left here, of all tracks. Any thread.
  [[nodiscard]] virtual std::uint64_t departed() const noexcept = 0;

  /// Any thread: whoever stands here looks again.
  void wake() noexcept {
    // acquire: the sleeper's own words, set before it fell asleep. seq_cst: pair `slept`; half of line::tell()'s pair.
    if (asleep_.exchange(0, std::memory_order_seq_cst) != 0) who_->wake();
  }

 protected:
  friend class line;
  station() = default;
  virtual ~station() = default;

  /// Stores a progress and wakes who sleeps on it. The only writer of `p` (L2).
  void publish(progress& p, std::uint64_t word) noexcept {
    if (asymmetric_) [[likely]] {
      p.word_.store(word, std::memory_order_release);  // edges `passed`, `emptied`
      asymmetric_fence::light();
      if (p.watched_.load(std::memory_order_relaxed) != 0) [[unlikely]]
        wake_all(p);  // relaxed: the Dekker pair orders it
    } else {
      p.word_.store(word);  // seq_cst: the Dekker pair
      if (p.watched_.load() != 0) [[unlikely]]
        wake_all(p);
    }
  }
  void begin_watch() noexcept {
    // What wake() will need was written before. seq_cst: pair `slept`; half of line::tell()'s pair.
    asleep_.store(1, std::memory_order_seq_cst);
  }
  static void watch(progress& p) noexcept {
    p.watched_.store(1, std::memory_order_seq_cst);  // pair `slept`; the Dekker pair
  }
  void end_watch() noexcept {
    if (asymmetric_) asymmetric_fence::heavy();
  }
  static void wake_all(progress& p) noexcept;
  static void listen(progress& p, station& who) { p.sleepers_.push_back(&who); }
  static void forget(progress& p, station& who) { std::erase(p.sleepers_, &who); }

  const bool asymmetric_ = asymmetric_fence::usable();

 private:
  std::atomic<std::uint32_t> asleep_{0};
  sleeper* who_ = nullptr;
};

/// Loads the trains of its track. One thread or fiber at a time.
class source final : public station {
 public:
  /// Whether a train stands at the platform, empty. Cost: some ns; every few trains a look at the sinks' progress.
  [[nodiscard]] bool board() noexcept { return next_ != limit_ || refresh(); }
  [[nodiscard]] bool glance() noexcept override { return board(); }
  poll_result look() noexcept override;
  void watch() noexcept override;

  /// Memory of the train that stands at the platform, its sign in front if it has one.
  [[nodiscard]] std::byte* train() const noexcept { return at_; }

  /// The train at the platform leaves. \param goods  that it carries, at most track::most_goods.
  void depart(std::size_t goods) noexcept {
    if (signs_) {
      const auto sign = track::write_sign(next_, goods);
      if (asymmetric_) [[likely]] {
        track::sign_of(at_).store(sign, std::memory_order_release);  // edge `loaded`
      } else {
        track::sign_of(at_).store(sign);  // seq_cst: the Dekker pair
      }
    }
    ++next_;
    at_ += stride_;
    if (at_ == track_.end()) at_ = track_.first();
    publish(track_.loaded_, next_);
  }

  /// No more trains will leave.
  void end(bool by_failure = false) noexcept;

  [[nodiscard]] std::uint64_t departed() const noexcept override { return track_.loaded_.read() & progress::count; }
  [[nodiscard]] const track& on() const noexcept { return track_; }

 private:
  friend class line;
  source(std::size_t trains, std::size_t train_bytes, std::size_t alignment, bool with_signs)
      : signs_(with_signs), limit_(trains), stride_(train_bytes), track_(trains, train_bytes, alignment, with_signs) {
    at_ = track_.first();
    track_.owner_ = this;
  }
  bool refresh() noexcept;

  // With what a station has, one cache line: all that a train needs to leave. In a station that has rested each line
  // comes from far away.
  const bool signs_;
  std::byte* at_;  // train `next_`
  std::uint64_t next_ = 0;
  std::uint64_t limit_;  // the least progress of the sinks, as last seen, and all trains beyond it
  const std::size_t stride_;
  static_assert(sizeof(station) + 5 * sizeof(std::uint64_t) <= cache_line);
  track track_;
};

/// What a stop has of one track.
class way {
 public:
  /// Whether the next train is here. \param goods  set to what it carries.
  [[nodiscard]] bool here(std::uint64_t& goods) noexcept {
    if (by_sign_) {
      const auto sign =
          track::sign_of(at_).load(std::memory_order_seq_cst);  // edge `loaded`; seq_cst: see progress::read()
      goods = sign & track::most_goods;
      return sign >> track::goods_bits == (track::write_sign(next_, 0) >> track::goods_bits);
    }
    if (next_ == limit_ && !refresh()) return false;
    // relaxed: covered by the edge which limit_ was read through.
    goods = signs_ ? track::sign_of(at_).load(std::memory_order_relaxed) & track::most_goods : 1;
    return true;
  }
  [[nodiscard]] std::byte* train() const noexcept { return at_; }

 private:
  friend class line;
  friend class stop;
  explicit way(track& on) noexcept : on_(&on), at_(on.first()), signs_(on.signs_) {}
  bool refresh() noexcept;
  [[nodiscard]] std::uint64_t before() const noexcept;  // the least progress of the stations before, with its flags

  track* on_;
  std::byte* at_;  // train `next_`
  std::uint64_t next_ = 0;
  std::uint64_t limit_ = 0;  // the least progress of the stations before, as last seen
  const bool signs_;
  bool first_ = true;      // right behind the source
  bool by_sign_ = signs_;  // and signs say what is here, no progress is read
  bool over_ = false;
  std::vector<progress*> before_;
  std::unique_ptr<progress> own_ = std::make_unique<progress>();
};

/// Unloads the trains of all tracks that lead to it. One thread or fiber at a time.
class stop final : public station {
 public:
  /// Whether a train stands at the platform. The one that stood there is still there, unless it departed.
  /// Where several tracks meet, up to 8 trains of one are taken in a row while others wait.
  [[nodiscard]] bool arrive(std::uint64_t& goods) noexcept {
    if (ways_.size() == 1) [[likely]]
      return here_->here(goods);
    return arrive_anywhere(goods);
  }
  [[nodiscard]] bool glance() noexcept override {
    std::uint64_t goods;
    return arrive(goods);
  }
  poll_result look() noexcept override;
  void watch() noexcept override;

  /// Of the train that arrive() found.
  [[nodiscard]] std::byte* train() const noexcept { return here_->train(); }
  /// It will leave with so many goods, at most as many as fit; of a train with a sign.
  void carries(std::uint64_t goods) noexcept {
    // relaxed: edge `passed` covers it. Stations side by side must not do this: they share the train.
    track::sign_of(here_->at_).store(track::write_sign(here_->next_, goods), std::memory_order_relaxed);
  }
  /// The train that arrive() found leaves.
  void depart() noexcept {
    way& w = *here_;
    ++w.next_;
    w.at_ += w.on_->stride();
    if (w.at_ == w.on_->end()) w.at_ = w.on_->first();
    publish(*w.own_, w.next_);
    if (row_ != 0) --row_;
  }

  /// This station takes no more trains. If it has not seen all, a sink lets the others go on without it, and if it was
  /// the last sink of a track, its source is told; a station that others come after ends the line for these, and all
  /// its sources are told. A failure is for those behind it a failure, and all its sources are told.
  void end(bool by_failure = false) noexcept;

  [[nodiscard]] bool is_sink() const noexcept { return sink_; }
  [[nodiscard]] std::uint64_t departed() const noexcept override;
  /// Trains that have left the sources and not this station. Any thread; a moment's view.
  [[nodiscard]] std::uint64_t waiting() const noexcept;

 private:
  friend class line;
  stop() = default;
  static constexpr int most_in_a_row = 8;
  bool arrive_anywhere(std::uint64_t& goods) noexcept;

  std::deque<way> ways_;  // ways are referred to
  way* here_ = nullptr;
  std::size_t turn_ = 0;  // of the way that here_ is
  int row_ = most_in_a_row;
  bool sink_ = true;
};

/// Owns the tracks and stations. Built by one thread, before trains run.
class line {
 public:
  line() = default;
  line(const line&) = delete;
  line& operator=(const line&) = delete;

  /// \param train_bytes  of the sign and the goods; a multiple of the goods' alignment and of the sign's.
  /// \param with_signs   false only where every train carries one good.
  /// \throws std::bad_alloc
  source& add_source(std::size_t trains, std::size_t train_bytes, std::size_t alignment, bool with_signs);

  /// \param after  stations of this line, at least one, each once.
  /// \throws std::bad_alloc
  stop& add_stop(const std::vector<station*>& after);

  /// Any thread: sources see an end instead of empty trains.
  void stop_all() noexcept;

  /// Any thread. The first one stays.
  void fail(std::exception_ptr what) noexcept;
  [[nodiscard]] std::exception_ptr failure() const noexcept;

 private:
  friend class station;
  friend class source;
  friend class stop;
  static void tell(track& t) noexcept;

  std::vector<std::unique_ptr<source>> sources_;
  std::vector<std::unique_ptr<stop>> stops_;
  mutable std::mutex failure_lock_;
  std::exception_ptr failure_;
};

}  // namespace rail
}  // namespace v1
}  // namespace shunt
