#include <shunt/pgas/detail/start_agreement.hpp>

#include <algorithm>
#include <cstddef>
#include <utility>

namespace shunt {
inline namespace v1 {
namespace pgas {
namespace detail {
namespace {

/// What a rank says in place of what the others wait for: "!2 --pes 0: must be 1..65536".
constexpr char mark_of_failure = '!';
constexpr std::size_t before_failure = 3;

bool tells_failure(const std::string& text) { return text.size() >= before_failure && text[0] == mark_of_failure; }

/// \param said  by rank, what it has said; one has failed at least
start_failure agreed_by(const std::vector<std::string>& said, int rank) {
  const auto lowest = std::ranges::find_if(said, tells_failure);
  const auto& mine = said[static_cast<std::size_t>(rank)];
  start_failure all;
  all.everywhere = std::ranges::count(said, *lowest) == static_cast<std::ptrdiff_t>(said.size());
  all.status = (*lowest)[1] - '0';
  all.what =
      (all.everywhere ? "" : "rank " + std::to_string(lowest - said.begin()) + ": ") + lowest->substr(before_failure);
  all.here = tells_failure(mine) && std::ranges::find(said, mine) - said.begin() == rank;
  return all;
}

}  // namespace

std::vector<std::string> exchange_at_start(transport::carrier& over, const std::string& mine) {
  SHUNT_ASSERT(!tells_failure(mine));
  auto all = over.exchange(mine);
  if (std::ranges::any_of(all, tells_failure)) throw failed_elsewhere(agreed_by(all, over.rank()));
  return all;
}

start_failure tell_failure(transport::carrier& over, const std::string& what, int status) {
  SHUNT_ASSERT(status >= 1 && status <= 9);
  return agreed_by(over.exchange(std::string{mark_of_failure, static_cast<char>('0' + status), ' '} + what),
                   over.rank());
}

start_progress& start_progress::of_process() {
  static start_progress& only = *new start_progress;  // never destroyed: a thread may look while the process ends
  return only;
}

void start_progress::come_to(phase now) {
  const std::lock_guard lock(guard_);
  now_ = now;
}

void start_progress::agree(start_failure known) {
  const std::lock_guard lock(guard_);
  now_ = phase::agreed;
  agreed_ = std::move(known);
}

start_progress::phase start_progress::now() {
  const std::lock_guard lock(guard_);
  return now_;
}

start_failure start_progress::agreed() {
  const std::lock_guard lock(guard_);
  return agreed_;
}

}  // namespace detail
}  // namespace pgas
}  // namespace v1
}  // namespace shunt
