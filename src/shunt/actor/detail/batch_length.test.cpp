#include <shunt/actor/detail/batch_length.hpp>

#include <chrono>

#include <catch2/catch.hpp>

using shunt::actor::detail::batch_length;
using namespace std::chrono_literals;

namespace {

/// A length, and a clock that only batches move.
class arrangement {
 public:
  /// A batch that takes so long. \return how often the clock was read
  int batch(std::chrono::nanoseconds takes, bool full = true) {
    int readings = 0;
    const auto clock = [&] {
      ++readings;
      return now_;
    };
    length_.begin(clock);
    now_ += takes;
    length_.end(full, clock);
    return readings;
  }
  [[nodiscard]] int messages() const { return length_.messages(); }

 private:
  batch_length length_;
  batch_length::clock::time_point now_{};
};

}  // namespace

TEST_CASE("batch_length: full batches that take long are halved, down to one message") {
  arrangement a;
  a.batch(1ms);  // nothing is known of the batch before it
  CHECK(a.messages() == batch_length::most);
  for (int wanted = batch_length::most / 2; wanted != 0; wanted /= 2) {
    a.batch(batch_length::longest + 1ns);
    CHECK(a.messages() == wanted);
  }
  a.batch(1s);
  CHECK(a.messages() == 1);
}

TEST_CASE("batch_length: full batches that are short are doubled, up to the most") {
  arrangement a;
  for (int i = 0; i != 12; ++i) a.batch(1ms);
  CHECK(a.messages() == 1);
  for (int wanted = 2; wanted <= batch_length::most; wanted *= 2) {
    a.batch(batch_length::longest / 2 - 1ns);
    CHECK(a.messages() == wanted);
  }
  a.batch(0ns);
  CHECK(a.messages() == batch_length::most);
}

TEST_CASE("batch_length: between the two it stays as it is") {
  arrangement a;
  a.batch(1ms);
  a.batch(1ms);
  const int before = a.messages();
  a.batch(batch_length::longest);
  a.batch(batch_length::longest / 2);
  CHECK(a.messages() == before);
}

TEST_CASE("batch_length: a batch that ran out of messages says nothing, and costs no reading of the clock") {
  arrangement a;
  CHECK(a.batch(1ms, false) == 0);
  CHECK(a.batch(1ms, true) == 0);
  CHECK(a.batch(1ms, false) == 1);
  CHECK(a.messages() == batch_length::most);
  CHECK(a.batch(1ms, true) == 0);
  CHECK(a.batch(1ms, true) == 2);
  CHECK(a.messages() == batch_length::most / 2);
}
