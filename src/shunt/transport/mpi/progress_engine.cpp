#include <shunt/transport/mpi/progress_engine.hpp>

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

void progress_engine::start(const gate::pass&, MPI_Comm among, const service& settings) {
  among_ = among;
  capacity_ = settings.capacity;
  ring_size_ = settings.receive_trains;
  trains_.clear();
  receives_ = static_cast<std::size_t>(channels) * ring_size_;
  requests_.assign(receives_, MPI_REQUEST_NULL);
  for (int c = 0; c < channels; ++c) {
    auto& ring = rings_[c];
    ring.receives.assign(ring_size_, {});
    ring.first = ring.posted = 0;
    for (std::size_t i = 0; i < ring_size_; ++i) {
      trains_.push_back(make_train(ring.home, capacity_));
      post(c, *trains_.back());
    }
  }
}

/// Posts the next receive of a channel (mpi.M2).
void progress_engine::post(int channel, rail::train& t) {
  auto& ring = rings_[channel];
  const auto slot = (ring.first + ring.posted) % ring.receives.size();
  ring.receives[slot] = {&t, -1, -1};
  check(MPI_Irecv(t.freight(), static_cast<int>(sizeof(rail::train_head) + capacity_), MPI_BYTE, MPI_ANY_SOURCE,
                  channel, among_, &requests_[static_cast<std::size_t>(channel) * ring_size_ + slot]),
        "MPI_Irecv");
  ++ring.posted;
}

bool progress_engine::send_all(const gate::pass&, outbox& out) {
  rail::train* t = out.take_all();
  if (t == nullptr) return false;
  while (t != nullptr) {
    rail::train* const following = t->next;
    const int to = t->head.rank;
    leaving_.push_back(t);
    requests_.push_back(MPI_REQUEST_NULL);
    // Synchronous: it completes once the receiver has a train for it. A standard send of a short train would complete
    // at once and leave it in the receiver's memory, which nothing bounds (mpi.M3).
    check(MPI_Issend(t->freight(), static_cast<int>(t->freight_bytes()), MPI_BYTE, to, t->head.channel, among_,
                     &requests_.back()),
          "MPI_Issend", to);
    t = following;
  }
  return true;
}

bool progress_engine::progress(const gate::pass& pass, outbox& out, rail::train_list& arrived) {
  for (int c = 0; c < channels; ++c) {
    for (rail::train* t = rings_[c].home.arrivals(); t != nullptr;) {
      rail::train* const following = t->next;
      post(c, *t);
      t = following;
    }
  }
  bool moved = send_all(pass, out);
  if (test()) {
    moved = true;
    for (int c = 0; c < channels; ++c) hand_over(c, arrived);
  }
  return moved;
}

/// Moves the network on. Marks the receives that are done, and sends trains home that have left.
bool progress_engine::test() {
  const int done = test_some();
  bool departed = false;
  for (int i = 0; i < done; ++i) {
    const auto index = static_cast<std::size_t>(indices_[static_cast<std::size_t>(i)]);
    if (index >= receives_) {
      departed = true;
    } else {
      note_receive(index, statuses_[static_cast<std::size_t>(i)]);
    }
  }
  if (departed) send_departed_home();
  return done > 0;
}

/// \return how many requests are done, 0 or more; indices_ and statuses_ say which.
int progress_engine::test_some() {
  const auto count = requests_.size();
  if (indices_.size() < count) {
    indices_.resize(count);
    statuses_.resize(count);
  }
  int done = 0;
  // Twice: Open MPI's first call makes progress but does not look again at what that completed.
  for (int attempt = 0; attempt < 2 && done == 0; ++attempt) {
    const int code = MPI_Testsome(static_cast<int>(count), requests_.data(), &done, indices_.data(), statuses_.data());
    if (code != MPI_SUCCESS) throw_first_failure(code, done);
    if (done == MPI_UNDEFINED) return 0;  // nothing is under way
  }
  return done;
}

/// MPI_Testsome returned `code`: the first of the `done` requests that failed says which call and which rank.
void progress_engine::throw_first_failure(int code, int done) const {
  for (int i = 0; done != MPI_UNDEFINED && i < done; ++i) {
    const auto index = static_cast<std::size_t>(indices_[static_cast<std::size_t>(i)]);
    const auto& status = statuses_[static_cast<std::size_t>(i)];
    if (status.MPI_ERROR == MPI_SUCCESS || status.MPI_ERROR == MPI_ERR_PENDING) continue;
    if (index < receives_) throw_failure(status.MPI_ERROR, "MPI_Irecv", status.MPI_SOURCE);
    throw_failure(status.MPI_ERROR, "MPI_Issend", leaving_[index - receives_]->head.rank);
  }
  throw_failure(code, "MPI_Testsome", -1);
}

void progress_engine::note_receive(std::size_t index, const MPI_Status& status) {
  auto& done = rings_[index / ring_size_].receives[index % ring_size_];
  check(MPI_Get_count(&status, MPI_BYTE, &done.bytes), "MPI_Get_count");
  done.source = status.MPI_SOURCE;
}

/// Sends are complete whose request MPI has set to null. From the last one down, since the last takes a removed one's
/// place.
void progress_engine::send_departed_home() {
  for (auto i = leaving_.size(); i-- > 0;) {
    if (requests_[receives_ + i] != MPI_REQUEST_NULL) continue;
    rail::train* const t = leaving_[i];
    leaving_[i] = leaving_.back();
    leaving_.pop_back();
    requests_[receives_ + i] = requests_.back();
    requests_.pop_back();
    rail::send_home(*t);
  }
}

/// Hands over the trains of a channel from the first posted on, while their receives are done (mpi.M2).
void progress_engine::hand_over(int channel, rail::train_list& arrived) {
  auto& ring = rings_[channel];
  while (ring.posted > 0 && ring.receives[ring.first].bytes >= 0) {
    const auto& r = ring.receives[ring.first];
    if (r.bytes < static_cast<int>(sizeof(rail::train_head)) ||
        r.train->freight_bytes() != static_cast<std::size_t>(r.bytes) || r.train->head.channel != channel) {
      throw error(error_number(809),
                  "rank " + std::to_string(r.source) + " sent a damaged train: " + std::to_string(r.bytes) +
                      " bytes arrived on channel " + std::to_string(channel) + ", and the head says " +
                      std::to_string(r.train->freight_bytes()) + " bytes and channel " +
                      std::to_string(r.train->head.channel) +
                      ": the ranks do not run the same program, or the network changes data",
                  {.rank = r.source});
    }
    r.train->head.rank = static_cast<std::uint16_t>(r.source);
    arrived.push_back(*r.train);
    ring.first = (ring.first + 1) % ring.receives.size();
    --ring.posted;
  }
}

void progress_engine::stop(const gate::pass&, int rank) {
  for (auto& ring : rings_) {
    while (rail::train* t = ring.home.arrivals()) {
      for (; t != nullptr; t = t->next) ++ring.posted;  // at home: counted like a posted one
    }
    if (ring.posted != ring.receives.size()) {
      throw error(
          error_number(810),
          "stop() while " + std::to_string(ring.receives.size() - ring.posted) + " received trains are not unloaded",
          {.rank = rank});
    }
  }
  for (auto& request : requests_) {
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
  trains_.clear();
}

void progress_engine::abandon(const gate::pass&) noexcept {
  for (auto& t : trains_) static_cast<void>(t.release());
}

}  // namespace mpi
}  // namespace transport
}  // namespace v1
}  // namespace shunt
