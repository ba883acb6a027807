#include <shunt/transport/detail/job_memory.hpp>

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <mutex>
#include <new>
#include <system_error>

#include <shunt/base/clock.hpp>
#include <shunt/base/error.hpp>
#include <shunt/base/futex.hpp>

namespace shunt {
inline namespace v1 {
namespace transport {
namespace detail {
namespace {

/// Looks at the round before a rank sleeps: another one is often as near.
constexpr int looks_before_sleep = 200;

[[noreturn]] void refuse(const std::string& what, int code) {
  throw error(error_number(830), what + ": " + std::generic_category().message(code), error::facts{-1, -1, code});
}

/// A file is mapped once in a process: ranks that are threads of one, as in tests, must see the same words.
class meeting_memory {
 public:
  void* enter(int file, std::size_t bytes) {
    const auto which = identity_of(file);
    const std::lock_guard lock(guard_);
    for (auto& m : all_) {
      if (m.file != which) continue;
      ++m.users;
      return m.memory;
    }
    void* const memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (memory == MAP_FAILED) refuse("the memory in which processes of a job meet cannot be mapped", errno);
    all_.push_back({memory, bytes, which, 1});
    return memory;
  }
  void leave(const void* memory) noexcept {
    const std::lock_guard lock(guard_);
    const auto m = std::find_if(all_.begin(), all_.end(), [memory](const map& one) { return one.memory == memory; });
    if (--m->users > 0) return;
    munmap(m->memory, m->bytes);
    all_.erase(m);
  }

 private:
  struct map {
    void* memory;
    std::size_t bytes;
    file_identity file;
    int users;
  };
  std::mutex guard_;
  std::vector<map> all_;
};

meeting_memory& meeting_maps() {
  static meeting_memory of_process;
  return of_process;
}

}  // namespace

owned_descriptor job_memory::make(int ranks, int trains) {
  auto file = memory_file("shunt job");
  if (file.get() < 0) refuse("no memory in which the processes of a job could meet (memfd)", errno);
  if (::ftruncate(file.get(), static_cast<off_t>(bytes_for(ranks))) != 0) {
    refuse("the memory in which " + std::to_string(ranks) + " processes meet", errno);
  }
  void* const memory = meeting_maps().enter(file.get(), bytes_for(ranks));
  auto* const top = ::new (memory) head;
  top->kind = kind_of_file;
  top->ranks = static_cast<std::uint32_t>(ranks);
  top->launcher = static_cast<std::uint32_t>(::getpid());
  top->trains = identity_of(trains);
  auto* const slots = reinterpret_cast<slot*>(top + 1);
  for (int r = 0; r < ranks; ++r) ::new (static_cast<void*>(slots + r)) slot;
  meeting_maps().leave(memory);
  return file;
}

job_memory::job_memory(int file, int rank, int ranks) : rank_(rank), ranks_(ranks) {
  struct stat about{};
  const bool there = ::fstat(file, &about) == 0 && about.st_size == static_cast<off_t>(bytes_for(ranks));
  if (there) {
    memory_ = meeting_maps().enter(file, bytes_for(ranks));
    head_ = std::launder(reinterpret_cast<head*>(memory_));
    slots_ = std::launder(reinterpret_cast<slot*>(head_ + 1));
  }
  if (!there || head_->kind != kind_of_file || head_->ranks != static_cast<std::uint32_t>(ranks)) {
    if (memory_ != nullptr) meeting_maps().leave(memory_);
    throw usage_error(
        error_number(831),
        "SHUNT_JOB: its descriptor is not the memory of a job of " + std::to_string(ranks) +
            " processes: a program between has closed the launcher's descriptors, or a rank of a job has started this "
            "program; leave SHUNT_RANK and SHUNT_JOB to the launcher");
  }
}

job_memory::~job_memory() { meeting_maps().leave(memory_); }

void job_memory::say_opened() noexcept {
  auto& mine = slot_of(rank_);
  mine.process.store(static_cast<std::uint32_t>(::getpid()), std::memory_order_relaxed);  // relaxed: the meeting's edge
  mine.left.store(0, std::memory_order_relaxed);                                          // relaxed: likewise
  mine.opened.fetch_add(1, std::memory_order_relaxed);                                    // relaxed: likewise
}

bool job_memory::has_opened(int rank) const noexcept {
  const auto times = [this](int r) {
    return slot_of(r).opened.load(std::memory_order_relaxed);  // relaxed: for messages to people
  };
  return times(rank) >= times(rank_);
}

int job_memory::process_of(int rank) const noexcept {
  return static_cast<int>(slot_of(rank).process.load(std::memory_order_relaxed));  // relaxed: the meeting's edge
}

// relaxed, all of these: looked at again and again, and they carry nothing.
void job_memory::say_left() noexcept { slot_of(rank_).left.store(1, std::memory_order_relaxed); }  // relaxed: as above
int job_memory::find_left() const noexcept {
  for (int r = 0; r < ranks_; ++r) {
    if (r != rank_ && slot_of(r).left.load(std::memory_order_relaxed) != 0) return r;  // relaxed: as above
  }
  return -1;
}
void job_memory::note_start(int rank, int process) noexcept {
  slot_of(rank).started.store(static_cast<std::uint32_t>(process), std::memory_order_relaxed);  // relaxed: as above
}
int job_memory::started_process(int rank) const noexcept {
  return static_cast<int>(slot_of(rank).started.load(std::memory_order_relaxed));  // relaxed: as above
}
void job_memory::note_end(int rank) noexcept {
  slot_of(rank).ended.store(1, std::memory_order_relaxed);  // relaxed: as above
}
bool job_memory::has_ended(int rank) const noexcept {
  return slot_of(rank).ended.load(std::memory_order_relaxed) != 0;  // relaxed: as above
}
void job_memory::note_over() noexcept { head_->over.store(1, std::memory_order_relaxed); }  // relaxed: as above
bool job_memory::is_over() const noexcept {
  return head_->over.load(std::memory_order_relaxed) != 0;  // relaxed: as above
}

bool job_memory::is_file_of_trains(int descriptor) const noexcept { return identity_of(descriptor) == head_->trains; }

bool job_memory::meet_at(meeting& where, look at_look) noexcept {
  const auto round = where.round.load(std::memory_order_relaxed);  // relaxed: it cannot change before this rank comes
  // acq_rel: edge `met`, from the ranks that came before, to the last.
  if (where.arrived.fetch_add(1, std::memory_order_acq_rel) + 1 == static_cast<std::uint32_t>(ranks_)) {
    where.arrived.store(0, std::memory_order_relaxed);        // relaxed: before the round, which others acquire
    where.round.store(round + 1, std::memory_order_release);  // release: edge `met`, to the waiting ranks
    futex_wake(where.round, futex_all, futex_scope::machine);
    return true;
  }
  const auto met = [&] { return where.round.load(std::memory_order_acquire) != round; };  // acquire: edge `met`
  for (int i = 0; i < looks_before_sleep; ++i) {
    if (met()) return true;
    relax();
  }
  const auto start = std::chrono::steady_clock::now();
  for (auto last_look = start; !met();) {
    // By the clock: a signal ends the sleep, and a thread that gets one again and again would never look.
    const auto now = std::chrono::steady_clock::now();
    if (const auto since = now - last_look; since < look_interval) {
      futex_wait(where.round, round, look_interval - since, futex_scope::machine);
      continue;
    }
    last_look = now;
    // Between the look and its answer the others may have come, and even have ended.
    if (!at_look(now - start) && !met()) return false;
  }
  return true;
}

/// In pieces, as many as the longest text needs.
std::vector<std::string> job_memory::exchange(const std::string& mine, const look& at_look) {
  std::vector<std::string> all(static_cast<std::size_t>(ranks_));
  const auto go_on = [&] {
    if (!meet(at_look))
      throw error(error_number(832), "a rank of the job did not come to an exchange", {.rank = rank_});
  };
  auto& own = slot_of(rank_);
  bool more = true;
  for (std::size_t at = 0; more; at += slot::piece) {
    own.bytes = mine.size();
    if (at < mine.size()) std::memcpy(own.text, mine.data() + at, std::min(slot::piece, mine.size() - at));
    go_on();
    more = false;
    for (int r = 0; r < ranks_; ++r) {
      const auto& theirs = slot_of(r);
      const auto whole = static_cast<std::size_t>(theirs.bytes);
      if (at < whole) {
        all[static_cast<std::size_t>(r)].append(reinterpret_cast<const char*>(theirs.text),
                                                std::min(slot::piece, whole - at));
      }
      more = more || at + slot::piece < whole;
    }
    go_on();  // all have read
  }
  return all;
}

}  // namespace detail
}  // namespace transport
}  // namespace v1
}  // namespace shunt
