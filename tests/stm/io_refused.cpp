/// Input and output in the body of a transaction is refused before anything has moved, whether it would wait or not: a
/// body may be undone, and called again. on_commit() is the place for it.
#include <array>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <shunt/io.hpp>
#include <shunt/sched.hpp>
#include <shunt/stm.hpp>
#include <string>
#include <support/expect.hpp>
#include <utility>
#include <vector>

namespace {

namespace io = shunt::io;
using shunt::testing::expect;

/// `call` is refused in a body, the transaction leaves no trace, and the call works after it.
void check(const std::string& what, const std::function<void()>& call) {
  shunt::tvar<int> changed{0};
  bool refused = false;
  try {
    shunt::atomically([&](shunt::tx& t) {
      t.write(changed, 1);
      call();
    });
  } catch (const shunt::blocking_in_transaction&) {
    refused = true;
  }
  expect(refused, what + " was not refused in a transaction");
  expect(changed.load() == 0, what + ": the transaction has committed");
  call();
}

void check_all() {
  auto [mine, theirs] = io::connected_pair();
  std::array<char, 64> bytes{};
  check("stream::write", [&] { mine.write("one line\nrest\n"); });
  check("stream::read_until", [&] { expect(theirs.read_until("\n", 64) == "one line\n"); });
  check("stream::read_some of what is buffered", [&] { expect(theirs.read_some(bytes) > 0); });
  mine.write("12345678");
  check("stream::read_some", [&] { expect(theirs.read_some({bytes.data(), 4}) == 4); });
  check("stream::read_exactly", [&] { theirs.read_exactly({bytes.data(), 4}); });
  expect(std::string(bytes.data(), 4) == "5678", "bytes have gone that a refused read took");

  auto ends = io::pipe();
  check("sink::write", [&] { ends.in.write("x"); });
  check("source::read_some", [&] { expect(ends.out.read_some(bytes) == 1); });

  auto door = io::listen("127.0.0.1:0");
  std::vector<io::stream> kept;
  check("connect", [&] { kept.push_back(io::connect(door.local())); });
  check("accept", [&] { kept.push_back(door.accept()); });

  const auto path = std::filesystem::temp_directory_path() / ("shunt_io_refused_" + std::to_string(::getpid()));
  io::file file;
  check("file::open", [&] { file = io::file(path.string(), io::file::mode::create); });
  check("file::write_at", [&] { file.write_at(0, "text"); });
  check("file::read_at", [&] { expect(file.read_at(0, bytes) == 4); });
  std::filesystem::remove(path);

  int written = 0;
  shunt::atomically([&](shunt::tx& t) {
    t.on_commit([&] {
      mine.write("late");
      ++written;
    });
  });
  expect(written == 1 && theirs.read_some(bytes) == 4, "on_commit");
}

}  // namespace

int main() {
  shunt::sched::runtime rt({.workers = 2});
  const io::reactor reactor(rt);
  rt.run([] { check_all(); });
  std::puts("1 passed, 0 failed");
}
