// Tasks, futures and input in handlers.
#include <shunt/io.hpp>
#include <shunt/pgas.hpp>
#include <shunt/task.hpp>

#include <chrono>
#include <string>

namespace pgas = shunt::pgas;

namespace {

using namespace std::chrono_literals;
shunt::promise<long> promised;
shunt::future<long> answer = promised.get_future();
shunt::io::stream connection;

void tasks(pgas::pe& me) {
  pgas::symmetric<long> table(me);
  pgas::actor_of updates(table);
  updates.send(0, [](long& x) { x = answer.get(); });                              // wrong: calls get()
  updates.send(0, [](long&) { answer.wait(); });                                   // wrong: calls wait()
  updates.send(0, [](long&) { shunt::finish([] { shunt::async([] {}); }); });      // wrong: calls finish()
  updates.send(0, [](long&) { connection.write("text"); });                        // wrong: calls write()
  updates.send(0, [](long& x) { x = connection.read_until("\n", 8).empty(); });    // wrong: calls read_until()
  updates.send(0, [](long&) { shunt::io::sleep_for(1ms); });                       // wrong: calls sleep_for()
  updates.send(0, [](long&) { connection = shunt::io::connect("127.0.0.1:9"); });  // wrong: calls connect()
  updates.ask(
      0, [](const long& x) { return x; },
      [](long& x, long value) { x = value + answer.get(); });  // wrong: a handler calls get()

  // Right: a handler may make tasks, which may wait, and satisfy a promise.
  updates.send(0, [](long& x) {
    promised.set_value(x);
    if (answer.ready()) x = 0;
    shunt::async([] { answer.wait(); });
  });
  updates.finish();
  *table += answer.get();
  shunt::io::sleep_for(1ms);
}

}  // namespace

int main(int argc, char** argv) { return pgas::launch(argc, argv, tasks); }
