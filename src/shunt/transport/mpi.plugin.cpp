/// The transport over MPI: one file, compiled once with every MPI that the build finds.
///
///   any thread       send() ----> out_ ---\                        /--> home of the train, once its freight left
///                                          +-- gate_: MPI calls --+
///   one at a time    poll() -------------/                         \--> arrived, in matching order
///
///   receive side of a channel: a ring of posted receives, in the order of posting
///
///     | done | under way | done | free | free |
///       ^ first            posted = 3               handed over from `first` on, while done
///
/// Invariants
///   M1  Every MPI call is made by the holder of gate_, who also owns every plain member below it; but for
///       the constructor and the destructor, when no other thread knows the carrier.
///   M2  A receive is posted at first + posted and handed over at first. MPI matches the trains of one
///       sender to receives in the order of posting, so this keeps their order although a later receive
///       may complete earlier.
///   M3  A channel with no free train has no receive posted. Its trains wait at their senders, whose
///       synchronous sends do not complete; the other channel has its own tag, trains and receives.
///   M4  Nothing here waits for another rank but the constructor, exchange(), start(), stop() and the
///       destructor. Those sleep between tests, but for MPI_Init, MPI_Comm_dup and MPI_Finalize.
///   M5  From before MPI_Init to after MPI_Finalize something looks after ranks that do not answer: the program,
///       by beat(), while a service runs; else the keeper, a thread of this file. Where signs of life can be sent
///       it sends and awaits them; in MPI_Init and what MPI does at the end it measures time.
///
/// Edges: beside those of gate_ and of rail::inbox there is one; last_moved_, next_beat_, ending_ and urgent_ carry no
/// data.
///   known  start_pulses() -> behind_the_gate(): processes_, through gate_limit_, which is 0 until they are complete
#include <shunt/transport/detail/plugin.hpp>

#include <fcntl.h>
#include <mpi.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <climits>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <fstream>
#include <functional>
#include <iterator>
#include <memory>
#include <mutex>
#include <new>
#include <thread>
#include <utility>

#include <shunt/base/error.hpp>
#include <shunt/base/machine.hpp>
#include <shunt/rail/inbox.hpp>
#include <shunt/transport/detail/siblings.hpp>

namespace shunt {
inline namespace v1 {
namespace transport {
namespace {

using clock = std::chrono::steady_clock;
using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;

/// Jobs of at most this many ranks exchange signs of life all with all; larger ones in a ring.
constexpr int most_ranks_in_full_watch = 8;
/// Sleep between polls of an idle process. The shorter: about what a wake-up costs. The longer: at some 5 us a
/// poll it leaves an idle process well below 1 % of a CPU.
constexpr nanoseconds shortest_patience = microseconds(20);
constexpr nanoseconds longest_patience = milliseconds(1);
/// beat() does nothing if called again within this time.
constexpr nanoseconds shortest_beat = milliseconds(10);
/// How long abort() waits for the gate, and then for MPI_Abort to end the process.
constexpr milliseconds abort_gate_limit{200};
constexpr milliseconds abort_limit{800};
/// How often the keeper looks, which is also how often it says that this rank lives.
constexpr milliseconds keeper_interval{200};
/// How much later than the rank before it a rank says what all see at once; the first one to say it ends the job.
constexpr milliseconds keeper_turn{1'500};
/// MPICH's launcher drops what it has not read when a rank ends.
constexpr milliseconds drain{100};
/// Silence, and a wait, take at least so many beats.
constexpr int beats_a_deadline = 5;
/// How long one beat waits for the gate.
constexpr milliseconds gate_turn{100};
/// How long a rank that an exception ends waits for the others to end as it does.
constexpr milliseconds unwinding_limit{2'000};

/// \throws shunt::error naming the call, the rank it concerned, and MPI's own text.
void check(int code, const char* call, int peer = -1) {
  if (code == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  MPI_Error_string(code, text, &length);
  std::string message = std::string(call) + (peer < 0 ? "" : " with rank " + std::to_string(peer)) +
                        " failed: " + std::string(text, static_cast<std::size_t>(length)) + " (code " +
                        std::to_string(code) + ")";
  throw error(message, {.rank = peer, .native = code});
}

/// Waits in a collective call: first gives the core away, then sleeps longer and longer.
class pause {
 public:
  void operator()() noexcept {
    if (turns_ < 32) {
      sched_yield();
    } else {
      std::this_thread::sleep_for(
          std::min<nanoseconds>(longest_patience, shortest_patience * (1 << std::min(6, (turns_ - 32) / 8))));
    }
    if (turns_ < 1'000) ++turns_;
  }

 private:
  int turns_ = 0;
};

/// Process numbers mean the same to two processes only within one of these; 0: unknown.
unsigned long long process_namespace() noexcept {
  struct stat about{};
  return stat("/proc/self/ns/pid", &about) == 0 ? static_cast<unsigned long long>(about.st_ino) : 0;
}

/// \return -1 and errno where the kernel has none (before 5.3) or a filter forbids it.
int open_process(int pid) noexcept {
#ifdef SYS_pidfd_open
  return static_cast<int>(syscall(SYS_pidfd_open, pid, 0));
#else
  static_cast<void>(pid);
  errno = ENOSYS;
  return -1;
#endif
}

struct release_train {
  void operator()(rail::train* t) const noexcept {
    t->~train();
    ::operator delete(static_cast<void*>(t), std::align_val_t{cache_line});
  }
};
using owned_train = std::unique_ptr<rail::train, release_train>;

owned_train make_train(rail::train_inbox& home, std::size_t capacity) {
  void* const memory = ::operator new(sizeof(rail::train) + capacity, std::align_val_t{cache_line});
  owned_train t(::new (memory) rail::train);
  t->home = &home;
  t->capacity = static_cast<std::uint32_t>(capacity);
  return t;
}

/// Takes away the files of shared memory that this process has mapped: amid MPI_Init an MPI has made them, and not yet
/// taken their names away itself, as it does once all ranks have them.
void remove_shared_files() noexcept try {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    const auto name = line.find("/dev/shm/");
    if (name == std::string::npos || line.ends_with(" (deleted)")) continue;
    for (const char* const own : {"mpich_shar_tmp", "ucx_shm_posix_", "vader_segment."}) {
      if (std::string_view(line).substr(name + 9).starts_with(own)) unlink(line.c_str() + name);
    }
  }
} catch (const std::exception&) {  // no memory for a line: the file stays
}

/// What a process says before it ends for want of other ranks; then it ends.
[[noreturn]] void leave(const std::string& name, int rank, const std::string& why) noexcept {
  std::this_thread::sleep_for(keeper_turn * std::clamp(rank, 0, 2));
  // Not by way of stdio: another thread may hold a stream's lock, and wait for ever with it.
  const std::string line = (name.empty() ? "" : name + ": ") + why + "; the job ends\n";
  static_cast<void>(!write(STDERR_FILENO, line.data(), line.size()));
  remove_shared_files();
  try {
    std::thread([] {
      std::this_thread::sleep_for(abort_limit);
      std::_Exit(EXIT_FAILURE);
    }).detach();
    std::fflush(nullptr);
  } catch (const std::exception&) {  // no thread to be had: what is not written out stays so
  }
  std::this_thread::sleep_for(drain);
  // Not MPI_Abort: this process may be amid MPI_Init or MPI_Finalize. An end without MPI_Finalize, and with a status
  // that is not 0, is what every launcher takes as the end of the job.
  std::_Exit(EXIT_FAILURE);
}

std::string seconds(nanoseconds time) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f s", std::chrono::duration<double>(time).count());
  return text;
}

/// The thread that looks after this rank's waits where the program does not (M5).
///
/// A wait inside MPI that sends no sign of life has a limit; time counts as in mpi::watch(), so that a process that was
/// itself stopped does not take that for silence of others.
class keeper {
 public:
  /// \param beat  called when no limited wait is under way
  keeper(const limits& waiting, std::function<void()> beat)
      : limits_(waiting), me_(detail::self_by_launcher()), beat_(std::move(beat)), thread_([this] { run(); }) {}
  ~keeper() {
    {
      const std::lock_guard held(mutex_);
      over_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }
  keeper(const keeper&) = delete;
  keeper& operator=(const keeper&) = delete;

  /// The calling thread enters `call`, and leaves it before the limit `gather`, or this process ends.
  /// \param others  what it means for another rank that it has no keeper
  void enter(const char* call, const char* others) {
    const std::lock_guard held(mutex_);
    call_ = call;
    others_ = others;
    waited_ = nanoseconds(0);
    last_ = clock::now();
  }
  void left() {
    const std::lock_guard held(mutex_);
    call_ = nullptr;
  }
  [[nodiscard]] const std::string& name() const noexcept { return limits_.name; }
  /// This process's rank; from its launcher's variables before MPI says it. -1: unknown.
  [[nodiscard]] int rank() const noexcept { return me_.rank; }

 private:
  void run() noexcept {
    pthread_setname_np(pthread_self(), detail::keeper_name);
    std::unique_lock held(mutex_);
    while (!changed_.wait_for(held, keeper_interval, [this] { return over_; })) {
      if (call_ == nullptr) {
        held.unlock();
        beat_();
        held.lock();
        continue;
      }
      if (limits_.gather.count() <= 0) continue;
      const auto now = clock::now();
      waited_ += std::min<nanoseconds>(now - last_, limits_.gather / beats_a_deadline);
      last_ = now;
      if (waited_ >= limits_.gather) expire();
    }
  }
  /// With the mutex: what the call waits for does not come while this is said.
  [[noreturn]] void expire() noexcept {
    const std::string who = me_.rank < 0 ? "this process" : "rank " + std::to_string(me_.rank);
    const auto why = detail::explain(me_, detail::siblings("/proc", static_cast<int>(getpid())), others_);
    leave(limits_.name, me_.rank,
          why + "; " + who + " has waited in " + call_ + " for " + seconds(waited_) +
              " (--start-deadline, SHUNT_START_DEADLINE)");
  }

  const limits limits_;
  const detail::self me_;
  const std::function<void()> beat_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool over_ = false;
  const char* call_ = nullptr;
  const char* others_ = "";
  nanoseconds waited_{0};
  clock::time_point last_{};
  std::thread thread_;  // last: it uses all of the above
};

/// A wait of a scope that has a limit.
class limited {
 public:
  limited(keeper& by, const char* call, const char* others) : by_(by) { by_.enter(call, others); }
  ~limited() { by_.left(); }
  limited(const limited&) = delete;
  limited& operator=(const limited&) = delete;

 private:
  keeper& by_;
};

class mpi final : public carrier {
 public:
  explicit mpi(const limits& waiting);
  ~mpi() override;

  std::string_view name() const noexcept override { return "mpi"; }
  int rank() const noexcept override { return rank_; }
  int ranks() const noexcept override { return ranks_; }
  int ranks_here() const noexcept override { return ranks_here_; }
  std::vector<std::string> exchange(const std::string& mine) override;
  void start(const service& wanted) override;
  void send(rail::train& loaded, int rank) override;
  bool poll(rail::train_list& arrived) override;
  nanoseconds patience() const noexcept override;
  std::optional<loss> beat() override;
  void stop() override;
  void abort(int status) noexcept override;

 private:
  /// A receive, done once its length is known.
  struct slot {
    rail::train* train = nullptr;
    int bytes = -1;
    int source = -1;
  };
  /// The receive side of a channel. Unloaded trains come home to it: the channel is told by the train inbox,
  /// since a train's head is overwritten by every freight.
  struct lane {
    rail::train_inbox home;
    std::vector<slot> ring;
    std::size_t first = 0;
    std::size_t posted = 0;
  };
  /// A rank whose signs of life this one listens to, and which listens to this one's.
  struct neighbour {
    int rank = 0;
    nanoseconds silent{0};  ///< watched time since it was heard
    char in_word = 0;
    char out_word = 0;
    bool speaking = false;  ///< its second pulse request is under way
    bool bye_sent = false;
    bool bye_heard = false;
  };
  /// A rank on this machine, as the kernel knows it.
  struct process {
    int rank = 0;
    int pid = 0;
  };
  static constexpr char alive = 0;
  static constexpr char goodbye = 1;

  using guard = std::unique_lock<std::mutex>;

  // Called with gate_ held.
  bool progress(rail::train_list& arrived);
  void post(int channel, rail::train& t);
  bool load_off();
  bool test();
  void hand_over(lane& from, int channel, rail::train_list& arrived);
  void listen();
  void speak(char word);
  std::optional<loss> watch();
  template <class What>
  std::optional<loss> look(What what);                      // without it
  std::optional<loss> behind_the_gate(nanoseconds waited);  // without it
  [[nodiscard]] std::optional<loss> ended() const;          // with or without it
  [[nodiscard]] bool stopped(int rank) const;
  bool said_goodbye();
  void stop_receiving();
  void beat_as_keeper() noexcept;
  void start_pulses(const std::vector<std::string>& them);
  bool part(bool unwinding);

  /// Takes gate_ for each test. \param meanwhile  called between tests, without it.
  template <class Meanwhile>
  void finish(MPI_Request& request, const char* call, Meanwhile meanwhile);
  void barrier(const char* call, MPI_Comm among, bool watched);
  void watch_while_stopping();

  int rank_ = 0;
  int ranks_ = 1;
  int ranks_here_ = 1;
  bool initialised_here_ = false;
  const int exceptions_ = std::uncaught_exceptions();
  const milliseconds deadline_;  // where no service runs

  rail::inbox<rail::train> out_;  // head.rank says to which rank
  std::atomic<clock::rep> last_moved_{0};
  std::atomic<bool> ending_{false};
  std::atomic<clock::rep> next_beat_{0};
  std::atomic<nanoseconds::rep> gate_closed_{0};  // for how long beat() has not had the gate
  std::atomic<nanoseconds::rep> gate_limit_{0};   // how long that may be: the service's deadline
  std::atomic<int> urgent_{0};  // threads that must have the gate: busy pollers, who retake it at once, make way

  alignas(quiet_distance) std::mutex gate_;
  MPI_Comm freight_ = MPI_COMM_NULL;
  MPI_Comm pulse_ = MPI_COMM_NULL;
  bool started_ = false;
  bool watching_ = false;
  service wanted_;
  lane lanes_[channels];
  std::vector<owned_train> trains_;
  std::size_t receives_ = 0;           // requests_[0, receives_) are the rings', channel by channel;
  std::vector<MPI_Request> requests_;  // requests_[receives_ + i] carries leaving_[i]
  std::vector<rail::train*> leaving_;
  std::vector<int> indices_;
  std::vector<MPI_Status> statuses_;
  std::vector<neighbour> neighbours_;  // not resized once its requests exist: they point into it
  std::vector<MPI_Request> pulses_;    // persistent; 2i hears neighbours_[i], 2i + 1 speaks to it
  // Not changed after the constructor: ended() and behind_the_gate() read them without the gate (edge `known`).
  std::vector<process> processes_;  // processes_[i] is watched by ends_[i]
  std::vector<pollfd> ends_;
  std::optional<loss> ended_early_;
  clock::time_point last_beat_;

  keeper keeper_;  // last: its thread uses all of the above
};

mpi::mpi(const limits& waiting) : deadline_(waiting.deadline), keeper_(waiting, [this] { beat_as_keeper(); }) {
  constexpr const char* late = "has not called shunt::pgas::run() yet, or not come as far";
  const limited wait(keeper_, "MPI_Init", late);
  int already = 0;
  check(MPI_Initialized(&already), "MPI_Initialized");
  int level = MPI_THREAD_SINGLE;
  if (already != 0) {
    check(MPI_Query_thread(&level), "MPI_Query_thread");
  } else {
    check(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &level), "MPI_Init_thread");
    initialised_here_ = true;
    check(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
  }
  if (level < MPI_THREAD_SERIALIZED) {
    throw error(
        "this MPI was initialised for a single thread: initialise it with MPI_Init_thread and "
        "MPI_THREAD_SERIALIZED or more, or leave that to Shunt");
  }
  keeper_.enter("MPI_Comm_dup", late);
  for (MPI_Comm* own : {&freight_, &pulse_}) {
    check(MPI_Comm_dup(MPI_COMM_WORLD, own), "MPI_Comm_dup");
    check(MPI_Comm_set_errhandler(*own, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
  }
  check(MPI_Comm_rank(freight_, &rank_), "MPI_Comm_rank");
  check(MPI_Comm_size(freight_, &ranks_), "MPI_Comm_size");
  keeper_.enter("the first exchange over MPI", late);
  const auto them = exchange(std::to_string(getpid()) + ' ' + machine_identity());
  if (ranks_ > 1) start_pulses(them);
}

/// From here on every rank says that it lives, and the keeper, or the program, listens.
/// \param them  of every rank, its process and its machine
void mpi::start_pulses(const std::vector<std::string>& them) {
  const guard held(gate_);
  const auto machine_of = [&](int r) -> std::string_view {
    const auto& text = them[static_cast<std::size_t>(r)];
    return std::string_view(text).substr(text.find(' '));
  };
  std::vector<int> near;
  if (ranks_ <= most_ranks_in_full_watch) {
    for (int r = 0; r < ranks_; ++r) {
      if (r != rank_) near.push_back(r);
    }
  } else {
    near = {(rank_ + 1) % ranks_, (rank_ + ranks_ - 1) % ranks_};
  }
  neighbours_.assign(near.size(), {});
  pulses_.assign(2 * near.size(), MPI_REQUEST_NULL);
  for (std::size_t i = 0; i < near.size(); ++i) {
    auto& n = neighbours_[i];
    n.rank = near[i];
    // Synchronous, so that at most one sign of life is under way to a rank that does not listen.
    check(MPI_Recv_init(&n.in_word, 1, MPI_CHAR, n.rank, 0, pulse_, &pulses_[2 * i]), "MPI_Recv_init", n.rank);
    check(MPI_Ssend_init(&n.out_word, 1, MPI_CHAR, n.rank, 0, pulse_, &pulses_[2 * i + 1]), "MPI_Ssend_init", n.rank);
    check(MPI_Start(&pulses_[2 * i]), "MPI_Start", n.rank);
  }
  ranks_here_ = 0;
  for (int r = 0; r < ranks_; ++r) {
    if (machine_of(r) != machine_of(rank_)) continue;
    ++ranks_here_;
    if (r == rank_ || process_namespace() == 0) continue;
    const int pid = std::atoi(them[static_cast<std::size_t>(r)].c_str());
    const int fd = open_process(pid);
    if (fd >= 0) {
      processes_.push_back({r, pid});
      ends_.push_back({fd, POLLIN, 0});
    } else if (errno == ESRCH) {
      ended_early_ = loss{r, "ended (process " + std::to_string(pid) + ")"};
    }  // else: silence must do
  }
  wanted_.deadline = deadline_;
  last_beat_ = clock::now();
  watching_ = deadline_.count() > 0;
  gate_limit_.store(nanoseconds(deadline_).count(), std::memory_order_release);  // edge `known`: processes_ is complete
}

mpi::~mpi() {
  int over = 0;
  MPI_Finalized(&over);
  const bool unwinding = std::uncaught_exceptions() > exceptions_;
  if (over == 0 && (started_ || !part(unwinding))) {
    // The job was left in the middle, by an exception: other ranks are not in MPI_Finalize, which would wait
    // for them, and MPI may still write into the trains. The launcher sees a process that ended without it.
    const guard held(gate_);
    watching_ = false;
    for (auto& t : trains_) static_cast<void>(t.release());
  }
  for (const auto& e : ends_) close(e.fd);
}

//   phase      a rank leaves it when              looked after by
//   gathering  all ranks are in the destructor    signs of life
//   goodbye    no sign of life is under way       time: others may be ahead
//   leaving    all ranks have said goodbye        time; from here on a process may end
//   finalize   MPI is done                        time
//
/// \return false: an exception is under way, and the other ranks do not come.
bool mpi::part(bool unwinding) try {
  if (ranks_ > 1) {
    MPI_Request request = MPI_REQUEST_NULL;
    {
      const guard held(gate_);
      // Of its own communicator: a rank that an exception brought here must not meet another's exchange().
      check(MPI_Ibarrier(pulse_, &request), "MPI_Ibarrier, gathering to part");
    }
    const auto start = clock::now();
    for (pause wait;; wait()) {
      {
        const guard held(gate_);
        int done = 0;
        check(MPI_Test(&request, &done, MPI_STATUS_IGNORE), "MPI_Ibarrier, gathering to part");
        if (done != 0) break;
      }
      // The message of the exception comes from the caller; the others hear of it by this process's end.
      if (unwinding && clock::now() - start > unwinding_limit) return false;
    }
  }
  const limited wait(keeper_, "the end of the job, after the last message", "has left MPI");
  if (ranks_ > 1) {
    {
      const guard held(gate_);
      watching_ = false;
    }
    for (pause again;; again()) {
      const guard held(gate_);
      if (said_goodbye()) break;
    }
    barrier("MPI_Ibarrier, leaving", pulse_, false);
    for (auto& request : pulses_) check(MPI_Request_free(&request), "MPI_Request_free");
  }
  MPI_Comm_free(&pulse_);
  MPI_Comm_free(&freight_);
  if (!initialised_here_) return true;
  keeper_.enter("MPI_Finalize, with every message processed,", "has left MPI");
  // Ranks should enter MPI_Finalize together: over UCX's TCP, MPICH before 4.2 waits in it for ranks that no
  // longer move the network (DESIGN.md, known compromises).
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
  return true;
} catch (const std::exception& thrown) {
  std::fprintf(stderr, "%s%s\n", keeper_.name().empty() ? "" : (keeper_.name() + ": ").c_str(), thrown.what());
  return false;
}

template <class Meanwhile>
void mpi::finish(MPI_Request& request, const char* call, Meanwhile meanwhile) {
  for (pause wait;; wait()) {
    {
      const guard held(gate_);
      int done = 0;
      check(MPI_Test(&request, &done, MPI_STATUS_IGNORE), call);
      if (done != 0) return;
    }
    meanwhile();
  }
}

std::vector<std::string> mpi::exchange(const std::string& mine) {
  const auto nothing = [] {};
  const auto count = static_cast<std::size_t>(ranks_);
  if (mine.size() > INT_MAX) {
    throw error("exchange of " + std::to_string(mine.size()) + " bytes: at most " + std::to_string(INT_MAX) + " in all",
                {.rank = rank_});
  }
  const int length = static_cast<int>(mine.size());
  std::vector<int> lengths(count);
  MPI_Request request = MPI_REQUEST_NULL;
  {
    const guard held(gate_);
    check(MPI_Iallgather(&length, 1, MPI_INT, lengths.data(), 1, MPI_INT, freight_, &request), "MPI_Iallgather");
  }
  finish(request, "MPI_Iallgather", nothing);

  std::vector<int> starts(count);
  std::size_t all = 0;
  for (std::size_t r = 0; r < count; ++r) {
    starts[r] = static_cast<int>(all);
    all += static_cast<std::size_t>(lengths[r]);
    if (all > INT_MAX) {  // seen alike by every rank
      throw error("exchange of more than " + std::to_string(INT_MAX) + " bytes in all", {.rank = static_cast<int>(r)});
    }
  }
  std::string texts(all, '\0');
  {
    const guard held(gate_);
    check(MPI_Iallgatherv(mine.data(), length, MPI_CHAR, texts.data(), lengths.data(), starts.data(), MPI_CHAR,
                          freight_, &request),
          "MPI_Iallgatherv");
  }
  finish(request, "MPI_Iallgatherv", nothing);
  std::vector<std::string> result(count);
  for (std::size_t r = 0; r < count; ++r) {
    result[r] = texts.substr(static_cast<std::size_t>(starts[r]), static_cast<std::size_t>(lengths[r]));
  }
  return result;
}

void mpi::start(const service& wanted) {
  SHUNT_ASSERT(!started_);
  SHUNT_ASSERT(wanted.receive_trains > 0);
  if (wanted.capacity > INT_MAX - sizeof(rail::train_head)) {
    throw error("a train of " + std::to_string(wanted.capacity) + " bytes is longer than an MPI message",
                {.rank = rank_});
  }
  const std::string terms = std::to_string(wanted.capacity) + " bytes, " + std::to_string(wanted.receive_trains) +
                            " trains, " + std::to_string(wanted.deadline.count()) + " ms";
  const auto theirs = exchange(terms);
  for (int r = 0; r < ranks_; ++r) {
    if (const auto& t = theirs[static_cast<std::size_t>(r)]; t != theirs[0]) {
      throw error("rank " + std::to_string(r) + " asks the transport for " + t + ", rank 0 for " + theirs[0] +
                      ": the options of all ranks must be alike",
                  {.rank = r});
    }
  }

  const guard held(gate_);
  wanted_ = wanted;
  trains_.clear();
  receives_ = static_cast<std::size_t>(channels) * wanted_.receive_trains;
  requests_.assign(receives_, MPI_REQUEST_NULL);
  if (ranks_ == 1) {
    started_ = true;
    return;
  }
  for (int c = 0; c < channels; ++c) {
    lanes_[c].ring.assign(wanted_.receive_trains, {});
    lanes_[c].first = lanes_[c].posted = 0;
    for (std::size_t i = 0; i < wanted_.receive_trains; ++i) {
      trains_.push_back(make_train(lanes_[c].home, wanted_.capacity));
      post(c, *trains_.back());
    }
  }

  // relaxed: a hint of how long ago, read by patience().
  last_moved_.store(clock::now().time_since_epoch().count(), std::memory_order_relaxed);
  watching_ = wanted_.deadline.count() > 0;
  gate_limit_.store(nanoseconds(wanted_.deadline).count(), std::memory_order_release);  // edge `known`
  started_ = true;
}

void mpi::post(int channel, rail::train& t) {
  auto& l = lanes_[channel];
  const auto spot = (l.first + l.posted) % l.ring.size();
  l.ring[spot] = {&t, -1, -1};
  check(MPI_Irecv(t.freight(), static_cast<int>(sizeof(rail::train_head) + wanted_.capacity), MPI_BYTE, MPI_ANY_SOURCE,
                  channel, freight_, &requests_[static_cast<std::size_t>(channel) * wanted_.receive_trains + spot]),
        "MPI_Irecv");
  ++l.posted;
}

void mpi::send(rail::train& loaded, int rank) {
  SHUNT_ASSERT(rank >= 0 && rank < ranks_ && rank != rank_);
  SHUNT_ASSERT(loaded.head.channel < channels);
  SHUNT_ASSERT(loaded.head.bytes <= wanted_.capacity);
  loaded.head.rank = static_cast<std::uint16_t>(rank);
  loaded.head.empty = 0;
  static_cast<void>(out_.push(loaded));  // never armed: nobody sleeps on it
  // Whoever holds the gate instead may have looked already; then the next poll() takes the train.
  if (const guard held(gate_, std::try_to_lock); held) static_cast<void>(load_off());
}

/// Hands everything that waits in out_ to MPI.
bool mpi::load_off() {
  rail::train* t = out_.take_all();
  if (t == nullptr) return false;
  while (t != nullptr) {
    rail::train* const following = t->next;
    const int to = t->head.rank;
    leaving_.push_back(t);
    requests_.push_back(MPI_REQUEST_NULL);
    // Synchronous: it completes once the receiver has a train for it. A standard send of a short train would
    // complete at once and leave it in the receiver's memory, whose size nobody bounds (M3).
    check(MPI_Issend(t->freight(), static_cast<int>(t->freight_bytes()), MPI_BYTE, to, t->head.channel, freight_,
                     &requests_.back()),
          "MPI_Issend", to);
    t = following;
  }
  return true;
}

/// Moves the network on. Receives that are done are marked, trains that have left go home.
bool mpi::test() {
  const auto count = requests_.size();
  if (indices_.size() < count) {
    indices_.resize(count);
    statuses_.resize(count);
  }
  int done = 0;
  // Twice: Open MPI's first call makes progress but does not look again at what that completed.
  for (int turn = 0; turn < 2 && done == 0; ++turn) {
    const int code = MPI_Testsome(static_cast<int>(count), requests_.data(), &done, indices_.data(), statuses_.data());
    if (code != MPI_SUCCESS) {
      for (int i = 0; done != MPI_UNDEFINED && i < done; ++i) {
        const auto spot = static_cast<std::size_t>(indices_[static_cast<std::size_t>(i)]);
        const auto& s = statuses_[static_cast<std::size_t>(i)];
        if (s.MPI_ERROR == MPI_SUCCESS || s.MPI_ERROR == MPI_ERR_PENDING) continue;
        if (spot < receives_) check(s.MPI_ERROR, "MPI_Irecv", s.MPI_SOURCE);
        check(s.MPI_ERROR, "MPI_Issend", leaving_[spot - receives_]->head.rank);
      }
      check(code, "MPI_Testsome");
    }
    if (done == MPI_UNDEFINED) return false;  // nothing is under way
  }
  bool left = false;
  for (int i = 0; i < done; ++i) {
    const auto spot = static_cast<std::size_t>(indices_[static_cast<std::size_t>(i)]);
    if (spot >= receives_) {
      left = true;
      continue;
    }
    auto& s = lanes_[spot / wanted_.receive_trains].ring[spot % wanted_.receive_trains];
    const auto& status = statuses_[static_cast<std::size_t>(i)];
    check(MPI_Get_count(&status, MPI_BYTE, &s.bytes), "MPI_Get_count");
    s.source = status.MPI_SOURCE;
  }
  for (auto i = leaving_.size(); left && i-- > 0;) {
    if (requests_[receives_ + i] != MPI_REQUEST_NULL) continue;
    rail::train* const t = leaving_[i];
    leaving_[i] = leaving_.back();
    leaving_.pop_back();
    requests_[receives_ + i] = requests_.back();
    requests_.pop_back();
    rail::send_home(*t);
  }
  return done > 0;
}

void mpi::hand_over(lane& from, int channel, rail::train_list& arrived) {
  while (from.posted > 0 && from.ring[from.first].bytes >= 0) {
    const auto& s = from.ring[from.first];
    if (s.bytes < static_cast<int>(sizeof(rail::train_head)) ||
        s.train->freight_bytes() != static_cast<std::size_t>(s.bytes) || s.train->head.channel != channel) {
      throw error("rank " + std::to_string(s.source) + " sent a damaged train: " + std::to_string(s.bytes) +
                      " bytes arrived on channel " + std::to_string(channel) + ", and the head says " +
                      std::to_string(s.train->freight_bytes()) + " bytes and channel " +
                      std::to_string(s.train->head.channel) +
                      ": the ranks do not run the same program, or the network changes data",
                  {.rank = s.source});
    }
    s.train->head.rank = static_cast<std::uint16_t>(s.source);
    arrived.push_back(*s.train);
    from.first = (from.first + 1) % from.ring.size();
    --from.posted;
  }
}

bool mpi::progress(rail::train_list& arrived) {
  for (int c = 0; c < channels; ++c) {
    for (rail::train* t = lanes_[c].home.arrivals(); t != nullptr;) {
      rail::train* const following = t->next;
      post(c, *t);
      t = following;
    }
  }
  bool moved = load_off();
  if (test()) {
    moved = true;
    for (int c = 0; c < channels; ++c) hand_over(lanes_[c], c, arrived);
  }
  return moved;
}

bool mpi::poll(rail::train_list& arrived) {
  if (ranks_ == 1) return false;
  bool moved = false;
  do {
    // relaxed: see urgent_.
    if (urgent_.load(std::memory_order_relaxed) != 0) break;
    const guard held(gate_, std::try_to_lock);
    if (!held || !started_) break;
    if (progress(arrived)) moved = true;
  } while (out_.any());  // put in while the gate was held, by a sender that found it closed
  // relaxed: a hint for patience().
  if (moved) last_moved_.store(clock::now().time_since_epoch().count(), std::memory_order_relaxed);
  return moved;
}

nanoseconds mpi::patience() const noexcept {
  if (ranks_ == 1) return nanoseconds::max();
  // An eighth of the time that nothing has moved: sleeping makes no wait longer than by that.
  // relaxed: a hint.
  const clock::time_point moved{clock::duration(last_moved_.load(std::memory_order_relaxed))};
  return std::clamp<nanoseconds>((clock::now() - moved) / 8, shortest_patience, longest_patience);
}

/// Takes in what neighbours have said since the last time.
void mpi::listen() {
  std::vector<int> spots(pulses_.size());
  // A rank that woke from a long sleep may have to look twice to find what has long been there.
  for (int turn = 0; turn < 2; ++turn) {
    int done = 0;
    check(MPI_Testsome(static_cast<int>(pulses_.size()), pulses_.data(), &done, spots.data(), MPI_STATUSES_IGNORE),
          "MPI_Testsome of the signs of life");
    if (done == MPI_UNDEFINED) return;
    for (int i = 0; i < done; ++i) {
      const auto spot = static_cast<std::size_t>(spots[static_cast<std::size_t>(i)]);
      auto& n = neighbours_[spot / 2];
      if (spot % 2 == 1) {
        n.speaking = false;
        continue;
      }
      n.silent = nanoseconds(0);
      n.bye_heard = n.in_word == goodbye;
      if (!n.bye_heard) check(MPI_Start(&pulses_[spot]), "MPI_Start", n.rank);
    }
  }
}

/// Says `word` to everybody to whom the last one is no longer under way; nothing after a goodbye.
void mpi::speak(char word) {
  for (std::size_t i = 0; i < neighbours_.size(); ++i) {
    auto& n = neighbours_[i];
    if (n.speaking || n.bye_sent) continue;
    n.out_word = word;
    n.bye_sent = word == goodbye;
    n.speaking = true;
    check(MPI_Start(&pulses_[2 * i + 1]), "MPI_Start", n.rank);
  }
}

std::optional<loss> mpi::watch() {
  const auto now = clock::now();
  // What counts is time during which this rank was awake and listening. When it was itself stopped, or its
  // watch thread starved, one long gap counts as one beat: so silence takes both time and five beats.
  const auto gap = std::min<nanoseconds>(now - last_beat_, wanted_.deadline / beats_a_deadline);
  last_beat_ = now;
  for (auto& n : neighbours_) n.silent += gap;
  // The kernel first: a rank that was killed inside MPI may have left MPI's shared memory so that no call of MPI returns.
  if (auto lost = ended()) return lost;
  listen();
  speak(alive);
  const auto lost = std::any_of(neighbours_.begin(), neighbours_.end(),
                                [this](const neighbour& n) { return n.silent >= wanted_.deadline && !n.bye_heard; });
  if (!lost) return std::nullopt;
  // One that is stopped may hold what others wait for inside MPI, so that several are silent: the system knows who is
  // stopped, and otherwise it is who fell silent first.
  const neighbour* worst = nullptr;
  bool worst_stopped = false;
  for (const auto& n : neighbours_) {
    if (n.bye_heard) continue;
    const bool is_stopped = stopped(n.rank);
    if (worst == nullptr || is_stopped > worst_stopped || (is_stopped == worst_stopped && n.silent > worst->silent)) {
      worst = &n;
      worst_stopped = is_stopped;
    }
  }
  return loss{worst->rank, "silent for " + seconds(worst->silent) + ": stopped or unreachable"};
}

/// A rank of this machine whose process has ended, by what the kernel says. Needs no gate: reads what does not change.
std::optional<loss> mpi::ended() const {
  if (ended_early_) return ended_early_;
  std::vector<pollfd> ends = ends_;
  if (ends.empty() || ::poll(ends.data(), static_cast<nfds_t>(ends.size()), 0) <= 0) return std::nullopt;
  for (std::size_t i = 0; i < ends.size(); ++i) {
    if ((ends[i].revents & POLLIN) == 0) continue;
    return loss{processes_[i].rank, "ended (process " + std::to_string(processes_[i].pid) + ")"};
  }
  return std::nullopt;
}

/// Whether a rank is known to be stopped: one of this machine, by job control or a debugger.
bool mpi::stopped(int rank) const {
  const auto known =
      std::find_if(processes_.begin(), processes_.end(), [rank](const process& p) { return p.rank == rank; });
  if (known == processes_.end()) return false;
  std::ifstream about("/proc/" + std::to_string(known->pid) + "/stat");
  const std::string text{std::istreambuf_iterator<char>(about), {}};
  const auto name_ends = text.rfind(')');  // then a blank and the state: proc(5)
  return name_ends != std::string::npos && name_ends + 2 < text.size() &&
         (text[name_ends + 2] == 'T' || text[name_ends + 2] == 't');
}

/// What the keeper does where no service runs.
void mpi::beat_as_keeper() noexcept try {
  const auto lost = look([this]() -> std::optional<loss> {
    if (!watching_ || started_) return std::nullopt;
    int over = 0;  // by the program that has initialised MPI itself
    if (MPI_Finalized(&over) != MPI_SUCCESS || over != 0) return std::nullopt;
    return watch();
  });
  if (lost) {
    leave(keeper_.name(), rank_,
          "rank " + std::to_string(lost->rank) + " " + lost->why + " while the job began or ended");
  }
} catch (const std::exception& thrown) {
  leave(keeper_.name(), rank_, std::string("transport: ") + thrown.what());
}

std::optional<loss> mpi::beat() {
  // Who asks all the time is answered now and then, or nobody else would get the gate.
  // relaxed, both: only this word matters; several may pass it, and the gate orders them.
  const auto ticks = clock::now().time_since_epoch().count();
  if (ticks < next_beat_.load(std::memory_order_relaxed)) return std::nullopt;
  next_beat_.store(ticks + clock::duration(shortest_beat).count(), std::memory_order_relaxed);
  return look([this] { return watching_ ? watch() : std::nullopt; });
}

/// Has `what` done with the gate, if that opens: a thread that is stuck inside MPI must not hold up the one that looks
/// after such things.
template <class What>
std::optional<loss> mpi::look(What what) {
  const auto now = clock::now();
  // relaxed, both: a hint to pollers; the gate orders what they do.
  urgent_.fetch_add(1, std::memory_order_relaxed);
  guard held(gate_, std::try_to_lock);
  const auto limit = now + gate_turn;
  while (!held && clock::now() < limit) {
    std::this_thread::sleep_for(shortest_patience);
    static_cast<void>(held.try_lock());
  }
  urgent_.fetch_sub(1, std::memory_order_relaxed);
  if (!held) return behind_the_gate(clock::now() - now);
  // relaxed, here and in behind_the_gate(): a sum that several threads may spoil by one beat.
  gate_closed_.store(0, std::memory_order_relaxed);
  return what();
}

/// A thread of this process has not come back from MPI: a rank that has ended or is stopped may hold what MPI wants there.
std::optional<loss> mpi::behind_the_gate(nanoseconds waited) {
  const auto sum = gate_closed_.load(std::memory_order_relaxed) + std::min<nanoseconds>(waited, 2 * gate_turn).count();
  gate_closed_.store(sum, std::memory_order_relaxed);
  const nanoseconds limit(gate_limit_.load(std::memory_order_acquire));  // edge `known`
  if (limit.count() <= 0 || nanoseconds(sum) < limit) return std::nullopt;
  if (auto lost = ended()) return lost;
  for (const auto& p : processes_) {
    if (stopped(p.rank)) return loss{p.rank, "stopped (process " + std::to_string(p.pid) + ")"};
  }
  return loss{rank_, "has not come back from a call of MPI for " + seconds(nanoseconds(sum)) +
                         ": a rank that it waits for is stopped or unreachable"};
}

void mpi::watch_while_stopping() {
  std::optional<loss> lost;
  {
    const guard held(gate_);
    if (watching_ && clock::now() - last_beat_ > milliseconds(100)) lost = watch();
  }
  if (lost) {
    throw error("rank " + std::to_string(lost->rank) + " " + lost->why + " before the end of the job",
                {.rank = lost->rank});
  }
}

void mpi::barrier(const char* call, MPI_Comm among, bool watched) {
  MPI_Request request = MPI_REQUEST_NULL;
  {
    const guard held(gate_);
    check(MPI_Ibarrier(among, &request), call);
  }
  finish(request, call, [&] {
    if (watched) watch_while_stopping();
  });
}

/// \return true once every neighbour has said goodbye and has heard this rank's.
bool mpi::said_goodbye() {
  listen();
  speak(goodbye);
  return std::all_of(neighbours_.begin(), neighbours_.end(),
                     [](const neighbour& n) { return n.bye_sent && !n.speaking && n.bye_heard; });
}

/// Takes back the receives, and makes sure that none was needed.
void mpi::stop_receiving() {
  for (auto& l : lanes_) {
    while (rail::train* t = l.home.arrivals()) {
      for (; t != nullptr; t = t->next) ++l.posted;  // at home: counted like the rest
    }
    if (l.posted != l.ring.size()) {
      throw error("stop() while " + std::to_string(l.ring.size() - l.posted) + " received trains are not unloaded",
                  {.rank = rank_});
    }
  }
  for (auto& request : requests_) {
    if (request == MPI_REQUEST_NULL) continue;
    MPI_Status status;
    int cancelled = 0;
    check(MPI_Cancel(&request), "MPI_Cancel");
    check(MPI_Wait(&request, &status), "MPI_Wait");  // local: the cancellation or a train that is here
    check(MPI_Test_cancelled(&status, &cancelled), "MPI_Test_cancelled");
    if (cancelled == 0) {
      throw error("a train from rank " + std::to_string(status.MPI_SOURCE) + " arrived during stop()",
                  {.rank = status.MPI_SOURCE});
    }
  }
}

/// The service ends once every rank's sends are complete and all ranks are here. Signs of life go on.
void mpi::stop() {
  SHUNT_ASSERT(started_);
  if (ranks_ > 1) {
    for (pause wait;; wait()) {
      {
        const guard held(gate_);
        rail::train_list late;
        static_cast<void>(progress(late));
        if (!late.empty()) {
          throw error("stop() while trains for this rank are under way", {.rank = rank_});
        }
        if (leaving_.empty() && !out_.any()) break;
      }
      watch_while_stopping();
    }
    // A synchronous send is complete when it has met its receive: behind this no train is under way.
    barrier("MPI_Ibarrier, gathering to stop", freight_, true);
  }
  const guard held(gate_);
  stop_receiving();
  trains_.clear();
  wanted_.deadline = deadline_;
  watching_ = ranks_ > 1 && deadline_.count() > 0;
  gate_limit_.store(nanoseconds(deadline_).count(), std::memory_order_release);  // edge `known`
  started_ = false;
}

void mpi::abort(int status) noexcept {
  // relaxed: only who comes first matters. The others wait for the first one to end the process.
  if (ending_.exchange(true, std::memory_order_relaxed)) {
    std::this_thread::sleep_for(abort_gate_limit + abort_limit);
    std::_Exit(status);
  }
  try {
    std::thread([status] {  // MPI_Abort talks to the launcher, which may not answer
      std::this_thread::sleep_for(abort_gate_limit + abort_limit);
      std::_Exit(status);
    })
        .detach();
  } catch (...) {  // no thread to be had: MPI_Abort's own promise must do
  }
  urgent_.fetch_add(1, std::memory_order_relaxed);  // relaxed: as in beat()
  const auto limit = clock::now() + abort_gate_limit;
  while (!gate_.try_lock()) {
    // A thread that holds the gate for so long hangs inside MPI. Ending without MPI_Finalize is what the
    // launcher takes as failure, and it ends the other ranks.
    if (clock::now() > limit) std::_Exit(status == 0 ? EXIT_FAILURE : status);
    std::this_thread::sleep_for(milliseconds(1));
  }
  MPI_Abort(MPI_COMM_WORLD, status);
  std::_Exit(status);
}

/// "Open MPI 4.1.4"
const char* library_name() noexcept {
#if defined(OPEN_MPI)
#define SHUNT_TEXT_(x) #x
#define SHUNT_TEXT(x) SHUNT_TEXT_(x)
  return "Open MPI " SHUNT_TEXT(OMPI_MAJOR_VERSION) "." SHUNT_TEXT(OMPI_MINOR_VERSION) "." SHUNT_TEXT(
      OMPI_RELEASE_VERSION);
#elif defined(MPICH_VERSION)
  return "MPICH " MPICH_VERSION;
#else
  return "an MPI";
#endif
}

}  // namespace
}  // namespace transport
}  // namespace v1
}  // namespace shunt

extern "C" __attribute__((visibility("default"))) const shunt::transport::detail::plugin*
shunt_transport_plugin() noexcept {
  using namespace shunt::transport;
  static const std::string version = detail::plugin_version();
  static const detail::plugin offer{version.c_str(), library_name(),
                                    [](const limits& waiting) -> carrier* { return new mpi(waiting); }};
  return &offer;
}
