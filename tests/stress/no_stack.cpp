// No memory for the stack of a connection's fiber: the server says why, and the peer sees the end.
#include <stdexcept>
#include <string>

#include <shunt/io/net.hpp>
#include <shunt/task.hpp>

#include <support/io.hpp>
#include <support/refused_stacks.hpp>

namespace io = shunt::io;
namespace sched = shunt::sched;
using shunt::testing::with_each_stack_refused;

TEST_CASE("no stack: a server whose connection gets none says why, and its peers see the end of their connections") {
  CHECK(with_each_stack_refused([] {
          sched::runtime two({.workers = 2});
          io::reactor outside(two);
          two.run([] {
            auto door = io::listen("127.0.0.1:0");
            shunt::finish([&] {
              for (int i = 0; i < 3; ++i) {
                auto guest = io::connect(door.local());
                auto host = door.accept();
                shunt::async([peer = std::move(host)]() mutable {
                  const auto line = peer.read_until("\n", 100);
                  peer.write(line);
                });
                guest.write("hello\n");
                std::string answer;
                try {
                  answer = guest.read_until("\n", 100);
                } catch (const io::io_error&) {  // closed
                }
                if (answer != "hello\n" && !answer.empty()) throw std::logic_error("another answer");
              }
            });
          });
        }) > 0);
}
