#include <shunt/pgas/detail/collectives.hpp>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <utility>

#include <shunt/base/error.hpp>
#include <shunt/pgas/detail/recorder.hpp>
#include <shunt/pgas/detail/refusals.hpp>
#include <shunt/pgas/detail/validation.hpp>

namespace shunt {
inline namespace v1 {
namespace pgas {
namespace detail {

collectives::collectives(const worker_facts& facts, job_link& job, outbound& out, selector_table& selectors,
                         waiting& waits)
    : facts_(facts),
      job_(job),
      out_(out),
      selectors_(selectors),
      waits_(waits),
      agreement_(facts, out),
      tree_(facts, out, waits),
      contributed_(static_cast<std::size_t>(facts.pes_here)) {}

// --- what all calls have in common ---

bool collectives::arrive(const collective_call& what, int pe) {
  waits_.refuse_in_handler(what.name().data());
  waits_.leave_if_failed();
  selectors_.finish_construction(pe);
  if (facts_.recorded != nullptr) [[unlikely]]
    facts_.recorded->arrived(pe);
  caller_ = pe;
  if (at_call_ > 0 && call_ != what) disagree(what.text(), call_.text());
  if (constructing_ != nullptr) {
    disagree(what.text(), "in the construction of " + std::string(constructing_->name));
  }
  call_ = what;
  ++at_call_;
  compare_with_neighbour();
  waits_.leave_if_failed();
  if (at_call_ == facts_.pes_here) return true;
  waits_.until(completed_, what.name().data(), [this, now = calls_] { return calls_ != now; });
  return false;
}

void collectives::complete() {
  if (facts_.recorded != nullptr) [[unlikely]]
    facts_.recorded->superstep_ended(call_.name());
  at_call_ = 0;
  ++calls_;
  past_.add(call_);
  agreement_.came_to(calls_);
  completed_.notify_all();
}

void collectives::complete_locally() {
  if (facts_.workers > 1) agreement_.passed(calls_, call_);
  complete();
}

void collectives::disagree(const std::string& mine, const std::string& theirs) {
  const error apart(error_number(903), "PE " + std::to_string(caller_) + ": " + disagreement(mine, theirs),
                    {.pe = caller_});
  job_.fail(apart.what());
  throw apart;
}

void collectives::disagree_about_the_past(const std::string& call) {
  disagree(call + " after other collective calls", call);
}

void collectives::await_construction(selector_state& s, const std::function<bool()>& built) {
  // A PE that is in a collective call has not constructed it, or would not be there.
  if (at_call_ > 0)
    throw error(error_number(904), disagreement("in the construction of " + std::string(s.name), call_.text()));
  constructing_ = &s;
  waits_.until(s.changed, "construction", built);
}

bool collectives::announce() noexcept {
  if (facts_.workers == 1 || job_.failed()) return false;
  const bool passed = agreement_.announce_passed();
  return (at_call_ == facts_.pes_here && agreement_.announce(calls_, call_)) || passed;
}

void collectives::notice_arrived(int from, std::uint64_t number, const collective_call& what) {
  agreement_.notice_arrived(from, number, what, calls_);
  compare_with_neighbour();
}

void collectives::compare_with_neighbour() {
  const auto fail = [this](const collective_call& mine, const collective_call& theirs) {
    job_.fail(error_number(903).added_to("PE " + std::to_string(facts_.first_pe) + ": " +
                                         disagreement(mine.text(), theirs.text())));
  };
  if (const auto passed = agreement_.other_call_passed()) fail(passed->mine, passed->theirs);
  if (at_call_ == 0) return;
  if (const auto other = agreement_.other_call(calls_, call_)) fail(call_, *other);
}

// --- barrier, end ---

void collectives::token_arrived(int from, const barrier_token& token) {
  const unsigned round = token.round;
  const std::uint64_t number = token.number;
  const int distance = round < std::size(tokens_) - 1 ? 1 << round : facts_.workers;
  if (distance >= facts_.workers || from != (facts_.index + facts_.workers - distance) % facts_.workers ||
      number == 0 || number > barriers_ + 1 || token.kind > collective_call::last_kind) {
    throw damage{"barrier: round " + std::to_string(round) + " of barrier " + std::to_string(number) + " of worker " +
                 std::to_string(from) + ", while barrier " + std::to_string(barriers_) + " is the last"};
  }
  tokens_[round].arrived(number, {token.kind, token.past});
}

/// Dissemination barrier (Hensgen, Finkel, Manber, IJPP 17, 1988): in round k a worker tells the one 2^k further on.
void collectives::worker_barrier(collective_call::kind kind) {
  ++barriers_;
  std::uint8_t round = 0;
  for (int distance = 1; distance < facts_.workers; distance *= 2, ++round) {
    out_.send_control((facts_.index + distance) % facts_.workers, control_key<barrier_token>(),
                      bytes_of(barrier_token{barriers_, round, kind, {}, past_.sum()}));
    out_.flush();
    waits_.until(collective_call::name_of(kind).data(), [&] { return tokens_[round].reached(barriers_); });
    if (const auto theirs = tokens_[round].kind_of(barriers_)) {
      if (theirs->kind != kind) disagree(collective_call{kind}.text(), collective_call{theirs->kind}.text());
      if (theirs->past != past_.sum()) disagree_about_the_past(collective_call{kind}.text());
    }
  }
}

void collectives::barrier(int pe) {
  if (!arrive({collective_call::kind::barrier}, pe)) return;
  worker_barrier(collective_call::kind::barrier);
  complete();
}

void collectives::end(int pe) {
  if (!arrive({collective_call::kind::end}, pe)) return;
  worker_barrier(collective_call::kind::end);
  if (facts_.workers > 1) {
    agreement_.leave();
    waits_.until("the end", [this] { return agreement_.neighbour_has_left(); });
  }
  complete();
}

// --- gather, reduce ---

std::vector<std::vector<std::byte>> collectives::worker_gather(std::vector<std::byte> mine) {
  std::vector<std::vector<std::byte>> bytes;
  for (auto& one : tree_.gather({call_, past_.sum(), std::move(mine)})) {
    if (one.call != call_) disagree(call_.text(), one.call.text());
    if (one.past != past_.sum()) disagree_about_the_past(call_.text());
    bytes.push_back(std::move(one.bytes));
  }
  return bytes;
}

std::vector<std::byte> collectives::bundle_of_pes() const {
  std::vector<std::byte> bundle;
  for (const auto& one : contributed_) {
    const std::uint64_t length = one.size();
    const auto b = bytes_of(length);
    bundle.insert(bundle.end(), b.begin(), b.end());
    bundle.insert(bundle.end(), one.begin(), one.end());
  }
  return bundle;
}

auto collectives::by_pe(const std::vector<std::vector<std::byte>>& of_workers) const -> bytes_by_pe {
  const auto refuse = [this](const std::string& what) { refuse_collected(call_.name(), what); };
  auto all = std::make_shared<std::vector<std::vector<std::byte>>>();
  all->reserve(static_cast<std::size_t>(facts_.pes));
  for (const auto& one : of_workers) {
    for (std::size_t p = 0; p < one.size();) {
      std::uint64_t length;
      if (one.size() - p < sizeof length) refuse("a part ends amid a length");
      std::memcpy(&length, one.data() + p, sizeof length);
      p += sizeof length;
      if (length > one.size() - p) refuse("a PE has " + std::to_string(length) + " bytes");
      all->emplace_back(one.begin() + static_cast<std::ptrdiff_t>(p),
                        one.begin() + static_cast<std::ptrdiff_t>(p + length));
      p += length;
    }
  }
  if (all->size() != static_cast<std::size_t>(facts_.pes)) {
    refuse("it has the bytes of " + std::to_string(all->size()) + " PEs, not of " + std::to_string(facts_.pes));
  }
  return all;
}

auto collectives::gather(int pe, std::span<const std::byte> mine) -> bytes_by_pe {
  contributed_[static_cast<std::size_t>(facts_.local_pe(pe))].assign(mine.begin(), mine.end());
  if (arrive({collective_call::kind::gather}, pe)) {
    gathered_ = by_pe(worker_gather(bundle_of_pes()));
    complete();
  }
  return gathered_;
}

auto collectives::combined(std::span<const std::vector<std::byte>> values, combine_bytes combine)
    -> std::vector<std::byte> {
  if (values.empty()) return {};
  auto result = values.front();
  for (const auto& value : values.subspan(1)) {
    if (value.size() != result.size()) {
      const auto with = "in " + std::string(call_.name()) + " of ";
      disagree(with + std::to_string(value.size()) + " bytes", with + std::to_string(result.size()) + " bytes");
    }
    combine(result.data(), value.data());
  }
  return result;
}

/// First over the PEs of each worker, then over the workers, in order.
void collectives::reduce(int pe, std::span<std::byte> mine, combine_bytes combine) {
  contributed_[static_cast<std::size_t>(facts_.local_pe(pe))].assign(mine.begin(), mine.end());
  if (arrive({collective_call::kind::reduce}, pe)) {
    reduced_ = combined(worker_gather(combined(contributed_, combine)), combine);
    complete();
  }
  std::copy(reduced_.begin(), reduced_.end(), mine.begin());
}

/// As reduce(), over the workers before this one; then on over this worker's PEs, each of which keeps what came before.
bool collectives::scan(int pe, std::span<std::byte> mine, combine_bytes combine) {
  const auto local = static_cast<std::size_t>(facts_.local_pe(pe));
  contributed_[local].assign(mine.begin(), mine.end());
  if (arrive({collective_call::kind::scan}, pe)) {
    auto of_workers = worker_gather(combined(contributed_, combine));
    // All workers' values are compared, and not only those before this one: where sizes differ, every worker says so.
    static_cast<void>(combined(of_workers, combine));
    scanned_.assign(1, combined(std::span(of_workers).first(static_cast<std::size_t>(facts_.index)), combine));
    for (std::size_t l = 1; l < contributed_.size(); ++l) {
      const std::vector<std::byte> before_and_last[] = {scanned_.back(), contributed_[l - 1]};
      scanned_.push_back(combined(std::span(before_and_last).subspan(scanned_.back().empty() ? 1 : 0), combine));
    }
    complete();
  }
  const auto& before = scanned_[local];
  std::copy(before.begin(), before.end(), mine.begin());
  return !before.empty();
}

}  // namespace detail
}  // namespace pgas
}  // namespace v1
}  // namespace shunt
