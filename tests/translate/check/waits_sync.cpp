// Locks and channels in handlers.
#include <shunt/pgas.hpp>
#include <shunt/sync.hpp>

#include <mutex>
#include <shared_mutex>

namespace pgas = shunt::pgas;

namespace {

shunt::mutex lock;
shunt::shared_mutex readers;
shunt::channel<long> numbers(10);
shunt::semaphore permits(1);
shunt::latch ready(1);
std::mutex another;
long guarded = 0;

void wait(pgas::pe& me) {
  pgas::symmetric<long> table(me);
  pgas::actor_of updates(table);
  updates.send(0, [](long& x) {
    const std::lock_guard hold(lock);  // wrong: a handler calls the lock, which waits
    x += guarded;
  });
  updates.send(0, [](long& x) {
    const std::shared_lock hold(readers);  // wrong: a handler calls the lock, which waits
    x += guarded;
  });
  updates.send(0, [](long& x) {
    lock.lock();  // wrong: a handler calls lock()
    x += guarded;
    lock.unlock();
  });
  updates.send(0, [](long& x) { static_cast<void>(numbers.send(x)); });  // wrong: a handler calls send()
  updates.send(0, [](long& x) { x = numbers.receive().value_or(0); });   // wrong: a handler calls receive()
  updates.send(0, [](long& x) {
    for (const long n : numbers) x += n;  // wrong: a handler calls a loop over a channel
  });
  updates.send(0, [](long&) { permits.acquire(); });  // wrong: a handler calls acquire()
  updates.send(0, [](long&) { ready.wait(); });       // wrong: a handler calls wait()

  // Right: what takes only what is free, and what wakes others.
  updates.send(0, [](long& x) {
    const std::unique_lock hold(lock, std::try_to_lock);
    if (hold) x += guarded;
  });
  updates.send(0, [](long& x) {
    if (lock.try_lock()) lock.unlock();
    x += numbers.try_receive().value_or(0);
    static_cast<void>(numbers.try_send(std::move(x)));
    if (permits.try_acquire()) permits.release();
    ready.count_down();
  });
  updates.send(0, [](long& x) {
    const std::lock_guard hold(another);  // not a lock of Shunt's
    x += guarded;
  });
  updates.finish();
  const std::lock_guard hold(lock);
  guarded += *table;
}

}  // namespace

int main(int argc, char** argv) { return pgas::launch(argc, argv, wait); }
