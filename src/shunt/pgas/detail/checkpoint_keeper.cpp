#include <shunt/pgas/detail/checkpoint_keeper.hpp>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

#include <sys/stat.h>

#include <shunt/base/error.hpp>

namespace shunt {
inline namespace v1 {
namespace pgas {
namespace detail {

checkpoint_keeper::checkpoint_keeper(const options& wanted, int first_pe, int pes_here, bool explored)
    : wanted_(wanted),
      first_pe_(first_pe),
      pes_here_(pes_here),
      explored_(explored),
      begun_(static_cast<std::size_t>(pes_here)),
      thread_(explored) {}

void checkpoint_keeper::begin(int pe, const std::string& name) {
  const std::scoped_lock held(lock_);
  auto& mine = begun_[static_cast<std::size_t>(pe - first_pe_)];
  const bool counts = !wanted_.checkpoint.empty() || !wanted_.restart.empty();
  if (counts && std::ranges::find(mine, name) != mine.end()) {
    throw usage_error(error_number(953),
                      "PE " + std::to_string(pe) + ": checkpoint `" + name +
                          "` is made for the second time in this job: give each a name of its own",
                      {.pe = pe});
  }
  if (counts) mine.push_back(name);
  auto& of_rank = names_[name];
  of_rank.parts.resize(static_cast<std::size_t>(pes_here_));
  if (++alive_ == 1 && !explored_ && !wanted_.checkpoint.empty()) {
    signal_ = std::make_unique<stop_signal>(wanted_.checkpoint_signal);
  }
}

void checkpoint_keeper::end() noexcept {
  const std::scoped_lock held(lock_);
  if (--alive_ != 0 || signal_ == nullptr) return;
  stop_unheard_ = signal_->came();
  signal_.reset();
}

int checkpoint_keeper::count_of(int pe) const {
  const std::scoped_lock held(lock_);
  return static_cast<int>(begun_[static_cast<std::size_t>(pe - first_pe_)].size());
}

void checkpoint_keeper::hand_in(int pe, const std::string& path, const checkpoint_head& head, saved_parts parts) {
  {
    const std::scoped_lock held(lock_);
    one_name& of_rank = names_[head.of.name];
    of_rank.now = {true, {}};
    of_rank.parts[static_cast<std::size_t>(pe - first_pe_)] = std::move(parts);
    if (++of_rank.handed_in != pes_here_) return;
    of_rank.handed_in = 0;
  }
  thread_.begin([this, path, about = head] { write(path, about); });
}

/// On the thread. The folder is made by the first rank that comes there.
void checkpoint_keeper::write(const std::string& path, const checkpoint_head& head) noexcept {
  std::string failure;
  try {
    std::vector<saved_parts> parts;
    {
      const std::scoped_lock held(lock_);
      auto& of_rank = names_[head.of.name].parts;
      parts = std::exchange(of_rank, std::vector<saved_parts>(static_cast<std::size_t>(pes_here_)));
    }
    const std::string folder = path.substr(0, path.rfind('/'));
    if (::mkdir(folder.c_str(), 0777) != 0 && errno != EEXIST) {
      failure = folder + ": mkdir: " + std::strerror(errno);
    } else {
      failure = write_checkpoint_file(path, head, parts);
    }
  } catch (const std::exception& thrown) {  // no memory
    failure = path + ": " + thrown.what();
  }
  if (!failure.empty()) {
    std::fprintf(stderr, "%s%scheckpoint not written: %s; those before it stay\n", wanted_.name.c_str(),
                 wanted_.name.empty() ? "" : ": ", failure.c_str());
  }
  const std::scoped_lock held(lock_);
  names_[head.of.name].now = {false, std::move(failure)};
}

auto checkpoint_keeper::progress_of(const std::string& name) const -> progress {
  const std::scoped_lock held(lock_);
  return names_.at(name).now;
}

void checkpoint_keeper::await(const std::string& name) {
  thread_.wait_until("a checkpoint", [this, &name] { return !progress_of(name).writing; });
}

bool checkpoint_keeper::used() const {
  const std::scoped_lock held(lock_);
  return !names_.empty();
}

bool checkpoint_keeper::asked_to_stop() const {
  const std::scoped_lock held(lock_);
  return signal_ != nullptr && signal_->came();
}

bool checkpoint_keeper::stop_unheard() const {
  const std::scoped_lock held(lock_);
  return stop_unheard_;
}

/// The calling PE has a checkpoint, so the signal is still waited for.
void checkpoint_keeper::stopped_after(const std::string& folder) {
  const std::scoped_lock held(lock_);
  if (signal_ != nullptr) signal_->obeyed();
  stopped_after_ = folder;
}
std::string checkpoint_keeper::stopped_after() const {
  const std::scoped_lock held(lock_);
  return stopped_after_;
}

}  // namespace detail
}  // namespace pgas
}  // namespace v1
}  // namespace shunt
