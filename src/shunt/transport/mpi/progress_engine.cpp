#include <shunt/transport/mpi/progress_engine.hpp>

#include <algorithm>
#include <cstdint>
#include <new>
#include <string>

#include <shunt/base/cache_line.hpp>
#include <shunt/base/error.hpp>
#include <shunt/transport/mpi/check.hpp>

namespace shunt {
inline namespace v1 {
namespace transport {
namespace mpi {
namespace {

/// What MPI sends at once over shared memory: a little less than btl_vader_eager_limit of Open MPI 4. The eager trains
/// of a sender take at most 84 KiB of a receiver's memory.
constexpr std::size_t eager_bytes = 4'000;
static_assert(channels * eager_trains * eager_bytes <= 84 * 1024);

/// Polls that received something, after which sends are tested all the same.
constexpr unsigned polls_between_tests = 16;

/// Whether the error fields of statuses say which request failed.
bool is_in_status(int code) {
  int of = MPI_SUCCESS;
  return MPI_Error_class(code, &of) == MPI_SUCCESS && of == MPI_ERR_IN_STATUS;
}

}  // namespace

void progress_engine::delete_train::operator()(rail::train* t) const noexcept {
  t->~train();
  ::operator delete(static_cast<void*>(t), std::align_val_t{cache_line});
}

progress_engine::owned_train progress_engine::make_train(rail::train_inbox& home, std::size_t capacity) {
  void* const memory = ::operator new(sizeof(rail::train) + capacity, std::align_val_t{cache_line});
  owned_train t(::new (memory) rail::train);
  t->home = &home;
  t->capacity = static_cast<std::uint32_t>(capacity);
  return t;
}

void progress_engine::start(const network::gate::pass&, const service& settings) {
  capacity_ = settings.capacity;
  trains_.clear();
  eager_.assign(static_cast<std::size_t>(ranks_) * channels, {});
  for (int c = 0; c < channels; ++c) {
    auto& ring = rings_[static_cast<std::size_t>(c)];
    ring.trains.assign(settings.receive_trains, nullptr);
    ring.requests.assign(settings.receive_trains, MPI_REQUEST_NULL);
    ring.first = ring.posted = 0;
    for (std::size_t i = 0; i < settings.receive_trains; ++i) {
      trains_.push_back(make_train(ring.home, capacity_));
      post(c, *trains_.back());
    }
  }
}

/// Posts the next receive of a channel (mpi.M2).
void progress_engine::post(int channel, rail::train& t) {
  auto& ring = rings_[static_cast<std::size_t>(channel)];
  const auto slot = (ring.first + ring.posted) % ring.trains.size();
  ring.trains[slot] = &t;
  check(MPI_Irecv(t.freight(), static_cast<int>(sizeof(rail::train_head) + capacity_), MPI_BYTE, MPI_ANY_SOURCE,
                  channel, among_[static_cast<std::size_t>(channel)], &ring.requests[slot]),
        "MPI_Irecv");
  ++ring.posted;
}

/// A short train goes eagerly while few such are unconfirmed: it is gone at once. Every other one goes by a synchronous
/// send, which is complete once the receiver has a train for it: then it has taken all that were sent before, too,
/// since it takes them in order. Eager sends alone would fill the receiver's memory without limit (mpi.M3). The first
/// synchronous one leaves when half of them are unconfirmed, so that its end is known before all are.
void progress_engine::send(rail::train& t) {
  const int to = t.head.rank, channel = t.head.channel;
  const auto bytes = static_cast<int>(t.freight_bytes());
  auto& count = eager_[static_cast<std::size_t>(to) * channels + static_cast<std::size_t>(channel)];
  const auto among = among_[static_cast<std::size_t>(channel)];
  // Before MPI has the train: a request that found no place would be lost.
  leaving_.push_back({&t, nullptr, 0});
  departing_.push_back(MPI_REQUEST_NULL);
  const auto unconfirmed = count.made - count.confirmed;
  if (t.freight_bytes() <= eager_bytes && unconfirmed < (count.confirming ? eager_trains : eager_trains / 2)) {
    ++count.made;
    check(MPI_Isend(t.freight(), bytes, MPI_BYTE, to, channel, among, &departing_.back()), "MPI_Isend", to);
    int done = 0;  // mostly: MPI has copied it
    check(MPI_Test(&departing_.back(), &done, MPI_STATUS_IGNORE), "MPI_Isend", to);
    if (done == 0) return;
    leaving_.pop_back();
    departing_.pop_back();
    rail::send_home(t);
  } else {
    check(MPI_Issend(t.freight(), bytes, MPI_BYTE, to, channel, among, &departing_.back()), "MPI_Issend", to);
    leaving_.back() = {&t, &count, count.made};
    count.confirming = true;
  }
}

bool progress_engine::send_all(const network::gate::pass&, network::outbox& out) {
  rail::train* t = out.take_all();
  if (t == nullptr) return false;
  while (t != nullptr) {
    rail::train* const following = t->next;
    send(*t);
    t = following;
  }
  return true;
}

bool progress_engine::progress(const network::gate::pass& pass, network::outbox& out, rail::train_list& arrived) {
  for (int c = 0; c < channels; ++c) {
    for (rail::train* t = rings_[static_cast<std::size_t>(c)].home.arrivals(); t != nullptr;) {
      rail::train* const following = t->next;
      post(c, *t);
      t = following;
    }
  }
  const bool sent = send_all(pass, out);
  const bool received = take_received(arrived);
  // While trains arrive, those that have left wait a while to be noticed: there may be many.
  bool departed = false;
  if (!leaving_.empty() && (!received || ++untested_ == polls_between_tests)) {
    untested_ = 0;
    departed = test_sends();
  }
  return sent || received || departed;
}

/// Tests the first receive of each channel, and hands over what is done. \return true: something was.
bool progress_engine::take_received(rail::train_list& arrived) {
  std::array<MPI_Request, channels> firsts;
  for (std::size_t c = 0; c < channels; ++c) {
    const auto& ring = rings_[c];
    firsts[c] = ring.posted == 0 ? MPI_REQUEST_NULL : ring.requests[ring.first];
  }
  std::array<int, channels> indices{};
  std::array<MPI_Status, channels> statuses;
  int done = 0;
  int code = MPI_SUCCESS;
  // Twice: Open MPI's first call makes progress but does not look again at what that completed.
  for (int attempt = 0; attempt < 2 && done == 0 && code == MPI_SUCCESS; ++attempt)
    code = MPI_Testsome(channels, firsts.data(), &done, indices.data(), statuses.data());
  // MPI has freed what is done, failed or not. Where this poll ends by an exception, another one must not test that.
  for (std::size_t c = 0; c < channels; ++c) {
    auto& ring = rings_[c];
    if (ring.posted != 0) ring.requests[ring.first] = firsts[c];
  }
  if (done == MPI_UNDEFINED) return false;  // no receive is posted
  if (code != MPI_SUCCESS) {
    for (int i = 0; i < done && is_in_status(code); ++i) {
      const auto& status = statuses[static_cast<std::size_t>(i)];
      if (status.MPI_ERROR != MPI_SUCCESS && status.MPI_ERROR != MPI_ERR_PENDING)
        throw_failure(status.MPI_ERROR, "MPI_Irecv", status.MPI_SOURCE);
    }
    throw_failure(code, "MPI_Testsome", -1);
  }
  for (int i = 0; i < done; ++i)
    hand_over(indices[static_cast<std::size_t>(i)], statuses[static_cast<std::size_t>(i)], arrived);
  return done > 0;
}

/// Hands over the first train of a channel, whose receive is done (mpi.M2).
void progress_engine::hand_over(int channel, const MPI_Status& status, rail::train_list& arrived) {
  auto& ring = rings_[static_cast<std::size_t>(channel)];
  rail::train& t = *ring.trains[ring.first];
  int bytes = -1;
  check(MPI_Get_count(&status, MPI_BYTE, &bytes), "MPI_Get_count");
  if (bytes < static_cast<int>(sizeof(rail::train_head)) || t.freight_bytes() != static_cast<std::size_t>(bytes) ||
      t.head.channel != channel) {
    throw error(error_number(809),
                "rank " + std::to_string(status.MPI_SOURCE) + " sent a damaged train: " + std::to_string(bytes) +
                    " bytes arrived on channel " + std::to_string(channel) + ", and the head says " +
                    std::to_string(t.freight_bytes()) + " bytes and channel " + std::to_string(t.head.channel) +
                    ": the ranks do not run the same program, or the network changes data",
                {.rank = status.MPI_SOURCE});
  }
  t.head.rank = static_cast<std::uint16_t>(status.MPI_SOURCE);
  ring.first = (ring.first + 1) % ring.trains.size();
  --ring.posted;
  arrived.push_back(t);
}

/// Sends trains home that have left. \return true: some have.
bool progress_engine::test_sends() {
  const auto count = departing_.size();
  if (indices_.size() < count) {
    indices_.resize(count);
    statuses_.resize(count);
  }
  int done = 0;
  const int code = MPI_Testsome(static_cast<int>(count), departing_.data(), &done, indices_.data(), statuses_.data());
  if (done == MPI_UNDEFINED) done = 0;
  if (code != MPI_SUCCESS) {
    for (int i = 0; i < done && is_in_status(code); ++i) {
      const auto& status = statuses_[static_cast<std::size_t>(i)];
      const auto& failed = leaving_[static_cast<std::size_t>(indices_[static_cast<std::size_t>(i)])];
      if (status.MPI_ERROR != MPI_SUCCESS && status.MPI_ERROR != MPI_ERR_PENDING)
        throw_failure(status.MPI_ERROR, failed.count ? "MPI_Issend" : "MPI_Isend", failed.train->head.rank);
    }
    throw_failure(code, "MPI_Testsome", -1);
  }
  if (done > 0) send_departed_home();
  return done > 0;
}

/// Sends are complete whose request MPI has set to null. From the last one down, since the last takes a removed one's
/// place.
void progress_engine::send_departed_home() {
  for (auto i = leaving_.size(); i-- > 0;) {
    if (departing_[i] != MPI_REQUEST_NULL) continue;
    const auto gone = leaving_[i];
    leaving_[i] = leaving_.back();
    leaving_.pop_back();
    departing_[i] = departing_.back();
    departing_.pop_back();
    if (gone.count != nullptr) {
      gone.count->confirmed = std::max(gone.count->confirmed, gone.confirms);
      gone.count->confirming = false;
    }
    rail::send_home(*gone.train);
  }
}

void progress_engine::stop(const network::gate::pass&) {
  for (auto& ring : rings_) {
    while (rail::train* t = ring.home.arrivals()) {
      for (; t != nullptr; t = t->next) ++ring.posted;  // at home: counted like a posted one
    }
    if (ring.posted != ring.trains.size()) {
      throw error(
          error_number(810),
          "stop() while " + std::to_string(ring.trains.size() - ring.posted) + " received trains are not unloaded",
          {.rank = rank_});
    }
    for (auto& request : ring.requests) {
      if (request == MPI_REQUEST_NULL) continue;
      MPI_Status status;
      int cancelled = 0;
      check(MPI_Cancel(&request), "MPI_Cancel");
      check(MPI_Wait(&request, &status), "MPI_Wait");  // local: the cancellation, or a train that is here
      check(MPI_Test_cancelled(&status, &cancelled), "MPI_Test_cancelled");
      if (cancelled == 0) {
        throw error(error_number(811),
                    "a train from rank " + std::to_string(status.MPI_SOURCE) + " arrived during stop()",
                    {.rank = status.MPI_SOURCE});
      }
    }
  }
  trains_.clear();
}

void progress_engine::abandon(const network::gate::pass&) noexcept {
  for (auto& t : trains_) static_cast<void>(t.release());
}

}  // namespace mpi
}  // namespace transport
}  // namespace v1
}  // namespace shunt
