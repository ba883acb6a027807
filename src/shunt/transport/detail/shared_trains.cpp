#include <shunt/transport/detail/shared_trains.hpp>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <mutex>
#include <new>
#include <system_error>
#include <utility>

#include <shunt/base/block.hpp>
#include <shunt/base/cache_line.hpp>
#include <shunt/base/error.hpp>
#include <shunt/base/sanitizers.hpp>

namespace shunt {
inline namespace v1 {
namespace transport {
namespace detail {
namespace {

// Far from what the system maps by itself: programs and their heaps lie above, or just above 0. A sanitizer's own maps
// leave other gaps: AddressSanitizer's shadow ends at 0x1000'7fff'8000; ThreadSanitizer knows memory below 512 GiB.
#if defined(SHUNT_TSAN)
constexpr std::uintptr_t first_address = std::uintptr_t{64} << 30;
constexpr std::uintptr_t address_step = std::uintptr_t{64} << 30;
constexpr int addresses = 6;
#else
constexpr std::uintptr_t first_address = std::uintptr_t{0x2000} << 32;
constexpr std::uintptr_t address_step = std::uintptr_t{4} << 40;
constexpr int addresses = 12;
#endif

std::string reason(const std::string& what, int code) { return what + ": " + std::generic_category().message(code); }

/// What this process has ever mapped, by address: it stays mapped, and a later map takes its place.
class region_table {
 public:
  struct region {
    std::uintptr_t address;
    std::size_t bytes;
    int users = 0;  // one; more where several ranks of a job are threads of one process, as in tests
    file_identity file{};
  };

  /// \return why not; empty: mapped.
  std::string map(std::uintptr_t address, std::size_t bytes, int file) {
    const std::lock_guard lock(guard_);
    const auto known = find(address);
    if (known != all_.end() && known->users > 0) {
      if (known->file != identity_of(file) || known->bytes < bytes) return "an earlier map is in use";
      ++known->users;
      return {};
    }
    const std::size_t had = known == all_.end() ? 0 : known->bytes;
    if (bytes > had) {
      // What lies behind it must be free. Before Linux 4.17 the flag is unknown, and the address a wish.
      void* const wanted = at(address + had);
      void* const got =
          mmap(wanted, bytes - had, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | no_replace, -1, 0);
      if (got == MAP_FAILED) return reason("its address is taken", errno);
      if (got != wanted) {
        munmap(got, bytes - had);
        return "its address is taken";
      }
    }
    const std::size_t whole = std::max(bytes, had);
    if (known == all_.end()) {
      all_.push_back({address, whole});
    } else {
      known->bytes = whole;
    }
    if (mmap(at(address), bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED | MAP_NORESERVE, file, 0) ==
        MAP_FAILED) {
      return reason("it cannot be mapped", errno);
    }
    const auto now = find(address);
    now->users = 1;
    now->file = identity_of(file);
    return {};
  }
  void leave(std::uintptr_t address) noexcept {
    const std::lock_guard lock(guard_);
    --find(address)->users;
  }

 private:
#if defined(MAP_FIXED_NOREPLACE)
  static constexpr int no_replace = MAP_FIXED_NOREPLACE;
#else
  static constexpr int no_replace = 0;
#endif
  static void* at(std::uintptr_t address) noexcept { return reinterpret_cast<void*>(address); }
  std::vector<region>::iterator find(std::uintptr_t address) noexcept {
    return std::find_if(all_.begin(), all_.end(), [address](const region& r) { return r.address == address; });
  }

  std::mutex guard_;
  std::vector<region> all_;
};

region_table& train_regions() {
  static region_table of_process;
  return of_process;
}

}  // namespace

/// What a worker has there, beside its yard.
struct shared_trains::place {
  place() noexcept : inbox(token) {}
  alignas(quiet_distance) std::atomic<std::uint32_t> token{0};
  rail::train_inbox inbox;
};

std::size_t shared_trains::yards_at() const noexcept {
  const std::size_t heads = places_ * sizeof(place);
  return (heads + huge_page - 1) / huge_page * huge_page;
}

void shared_trains::open(const std::vector<bool>& near, int rank, const service& settings, const exchange& talk) {
  leave();
  why_not_.clear();
  const auto is_near = [&near](int r) { return near[static_cast<std::size_t>(r)]; };
  place_of_.assign(settings.rank_of.size(), -1);
  places_ = 0;
  for (std::size_t w = 0; w < place_of_.size(); ++w) {
    if (is_near(settings.rank_of[w])) place_of_[w] = static_cast<int>(places_++);
  }
  yard_ = (settings.yard + huge_page - 1) / huge_page * huge_page;
  const auto first = static_cast<int>(std::find(near.begin(), near.end(), true) - near.begin());
  const bool alone = std::count(near.begin(), near.end(), true) == 1 || places_ == 0;
  first_ = rank == first;

  // Each text begins with '+'; or it says why not behind '-', if another address may do, and behind '!' if none will.
  const auto refused = [&](const std::vector<std::string>& said, char how) {
    for (std::size_t r = 0; r < said.size(); ++r) {
      if (!near[r] || said[r][0] != how) continue;
      why_not_ = "rank " + std::to_string(r) + ": " + said[r].substr(1);
      return true;
    }
    return false;
  };
  const auto offered = talk(!alone && first_ ? make_file() : "+");
  bool settled = alone || refused(offered, '!');
  const std::string opened = settled || first_ ? "+" : open_file(offered[static_cast<std::size_t>(first)]);
  for (int k = 0; k < addresses; ++k) {
    const auto address = first_address + static_cast<std::uintptr_t>(k) * address_step;
    const auto said = talk(settled ? "+" : opened[0] == '!' ? opened : map_at(address));
    if (!settled && !refused(said, '!') && !refused(said, '-')) {
      why_not_.clear();
      settled = true;
    } else if (!settled) {
      leave();
      settled = refused(said, '!');
    }
    // Ranks of other machines may need further addresses: all go on together.
    if (std::all_of(said.begin(), said.end(), [](const std::string& s) { return s[0] == '+'; })) break;
  }
  if (first_ && is_open()) build();
  static_cast<void>(talk("+"));
}

/// \return what the others need to open it, behind '+'; or why there is none, behind '!'.
std::string shared_trains::make_file() {
  int fd = inherited_.get();
  if (fd < 0) {
    file_ = memory_file("shunt trains");
    fd = file_.get();
    if (fd < 0) return "!" + reason("no file in memory (memfd)", errno);
  }
  // Never shorter: what an earlier map covers stays readable.
  const auto size = ::lseek(fd, 0, SEEK_END);
  const auto wanted = static_cast<off_t>(bytes());
  rlimit of_files{};
  if (::getrlimit(RLIMIT_FSIZE, &of_files) == 0 && of_files.rlim_cur < bytes()) {  // else a signal would say it
    return "!a file may have " + std::to_string(of_files.rlim_cur) + " bytes (ulimit -f), not " +
           std::to_string(bytes());
  }
  if (size < 0 || (size < wanted && ::ftruncate(fd, wanted) != 0))
    return "!" + reason("a file in memory of " + std::to_string(bytes()) + " bytes", errno);
  return "+/proc/" + std::to_string(::getpid()) + "/fd/" + std::to_string(fd);
}

std::string shared_trains::open_file(const std::string& offered) {
  if (inherited_.get() >= 0) return "+";
  const std::string path = offered.substr(1);
  file_ = owned_descriptor(::open(path.c_str(), O_RDWR | O_CLOEXEC));
  return file_.get() < 0 ? "!" + reason(path, errno) : "+";
}

std::string shared_trains::map_at(std::uintptr_t address) {
  if (bytes() > address_step) {
    return "!" + std::to_string(places_) + " workers may own " + std::to_string(bytes()) + " bytes of trains, and " +
           std::to_string(address_step) + " is the most that processes share: lower --budget";
  }
  const auto why = train_regions().map(address, bytes(), inherited_.get() >= 0 ? inherited_.get() : file_.get());
  if (!why.empty()) return "-" + why;
  base_ = reinterpret_cast<std::byte*>(address);
  return "+";
}

void shared_trains::leave() noexcept {
  if (base_ == nullptr) return;
  train_regions().leave(reinterpret_cast<std::uintptr_t>(base_));
  base_ = nullptr;
}

/// All ranks are in open(): what an earlier map has left is of no use.
void shared_trains::build() noexcept {
  give_pages_back();
  for (std::size_t p = 0; p < places_; ++p) ::new (static_cast<void*>(base_ + p * sizeof(place))) place;
}

shared_place shared_trains::place_of(int worker) const noexcept {
  if (base_ == nullptr) return {};
  const int at = place_of_[static_cast<std::size_t>(worker)];
  if (at < 0) return {};
  const auto p = static_cast<std::size_t>(at);
  auto& head = *std::launder(reinterpret_cast<place*>(base_ + p * sizeof(place)));
  return {&head.inbox, &head.token, base_ + yards_at() + p * yard_};
}

void shared_trains::give_pages_back() noexcept {
#if defined(MADV_REMOVE)
  // Where the system cannot, the pages stay until the processes end.
  static_cast<void>(::madvise(base_, bytes(), MADV_REMOVE));
#endif
}

void shared_trains::close() noexcept {
  if (first_ && is_open()) give_pages_back();
  leave();
}

}  // namespace detail
}  // namespace transport
}  // namespace v1
}  // namespace shunt
