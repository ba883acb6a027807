#include <shunt/pgas/openshmem/world.hpp>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <limits>
#include <string>
#include <string_view>
#include <utility>

#include <shunt/base/environment.hpp>
#include <shunt/base/error.hpp>
#include <shunt/base/exit_status.hpp>
#include <shunt/base/parse.hpp>
#include <shunt/pgas/detail/symmetric_heap.hpp>
#include <shunt/pgas/launch.hpp>
#include <shunt/sched/fiber.hpp>
#include <shunt/sched/runtime.hpp>

namespace shunt {
inline namespace v1 {
namespace pgas {
namespace openshmem {

/// What an answer carries.
template <std::size_t Bytes>
struct some_bytes {
  std::byte bytes[Bytes];
};

/// While it exists, this process has a world.
class running_program {
 public:
  running_program(pe& me, std::span<std::byte> data) : all_(me, data) {
    world::the_one_ = &all_;
    world::near_ = all_.two_hops_ ? world::near_heap() : world::near_heap::of(*all_.heap_);
  }
  ~running_program() noexcept(false) {
    world::near_ = {};
    world::the_one_ = nullptr;
  }
  running_program(const running_program&) = delete;
  running_program& operator=(const running_program&) = delete;

 private:
  world all_;
};

namespace {

std::string text_of(const void* address) {
  char text[32];
  std::snprintf(text, sizeof text, "%p", address);
  return text;
}

/// \param call  "shmem_free()"
[[noreturn]] void refuse_block(const char* call, const void* at) {
  throw usage_error(error_number(974), std::string(call) + " of " + text_of(at) +
                                           ": no block of symmetric memory begins there, or it is free already");
}

/// Of address space; the system gives what is touched.
constexpr std::size_t usual_heap = std::size_t{1} << 30;
/// As a main thread has it.
constexpr std::size_t stack_of_program = std::size_t{8} << 20;
/// Bytes that one message of a long put carries at most, so that several of them share a train.
constexpr std::size_t most_of_a_put = 4096;
/// Bytes of an answer. The shortest trains, of 256 bytes, hold half of it with a head.
constexpr std::size_t longest_answer = 256;

/// SHMEM_SYMMETRIC_SIZE, as the standard calls it.
std::size_t heap_bytes() {
  const char* const text = std::getenv("SHMEM_SYMMETRIC_SIZE");
  if (text == nullptr) return usual_heap;
  return parse_bytes("SHMEM_SYMMETRIC_SIZE", text, memory::least_heap, std::uint64_t{1} << 46);
}

/// Runs a PE's program on a stack of its own, which is as large as that of a main thread. The PE's fiber waits.
int run_on_large_stack(const std::function<int()>& program) {
  int status = 0;
  bool over = false;
  std::exception_ptr thrown;
  const auto caller = sched::this_fiber::self();
  const auto body = [&] {
    try {
      sched::this_fiber::require_stack();
      status = program();
    } catch (...) {
      thrown = std::current_exception();
    }
    over = true;
    caller.wake();
  };
  sched::this_worker::current().spawn(body, {.worker = sched::this_worker::index(),
                                             .name = "main",
                                             .stack_bytes = stack_of_program,
                                             .even_without_stack = true});
  while (!over) sched::this_fiber::park("the program of an OpenSHMEM PE");
  if (thrown) std::rethrow_exception(thrown);
  return status;
}

int run_pe(pe& me, std::span<std::byte> data, const std::function<int()>& program) {
  if (me.count() != me.ranks()) {
    throw usage_error(error_number(970), "a PE of an OpenSHMEM program is a process: " + std::to_string(me.count()) +
                                             " PEs in " + std::to_string(me.ranks()) +
                                             " processes; start it by `shunt start --ranks N`, without SHUNT_PES");
  }
  const running_program now(me, data);
  const int status = run_on_large_stack(program);
  if (status != 0 && me.ranks() > 1) {  // the other PEs would wait for this one; a launcher ends them
    std::fflush(nullptr);
    std::_Exit(status_of_failure(status));
  }
  return status == 0 ? 0 : status_of_failure(status);
}

}  // namespace

constinit world* world::the_one_ = nullptr;
constinit world::near_heap world::near_;

world::near_heap world::near_heap::of(const detail::symmetric_heap& heap) noexcept {
  static_assert(largest_element < memory::least_heap);
  return {heap.begin(), std::min(heap.bytes(), std::size_t{1} << 32) - largest_element};
}

void memory::refuse_private(const void* at) {
  throw usage_error(error_number(968), "the address " + text_of(at) +
                                           " is not symmetric: it lies neither in what shmem_malloc() returned nor in "
                                           "a static or global variable of the program");
}

world::world(pe& me, std::span<std::byte> data)
    : me_(&me),
      pes_(static_cast<unsigned>(me.count())),
      heap_(std::make_unique<detail::symmetric_heap>(heap_bytes())),
      memory_(me, std::span(heap_->begin(), heap_->bytes()), data, me.count()),
      messages_(memory_),
      questions_(memory_),
      two_hops_(me.home().facts.hops != 1),
      sent_(static_cast<std::size_t>(me.count())),
      confirmed_(sent_) {}

world::~world() noexcept(false) = default;

void world::refuse_outside() {
  throw usage_error(error_number(971),
                    "a call of OpenSHMEM outside of openshmem::launch(): `shunt-translate loops` "
                    "writes main() so that it calls that");
}

void world::refuse_pe(int pe) const {
  throw usage_error(error_number(969),
                    "PE " + std::to_string(pe) + ": the program has PEs 0.." + std::to_string(me_->count() - 1));
}

void world::put(void* to, const void* from, std::size_t bytes, int pe) {
  if (bytes == 0) return;
  require_pe(pe);
  auto place = memory_->place_of(to, bytes);
  const auto most = std::min(most_of_a_put, me_->train_bytes() / 2);
  auto left = std::span(static_cast<const std::byte*>(from), bytes);
  while (!left.empty()) {
    const auto part = left.first(std::min(left.size(), most));
    messages_.send(pe, part, [place](memory& there, std::span<const std::byte> what) {
      std::memcpy(&there.at<std::byte>(place), what.data(), what.size());
    });
    note_sent(pe);
    place += part.size();
    left = left.subspan(part.size());
  }
}

template <std::size_t Bytes>
void world::get_exactly(void* to, std::uint64_t place, int pe) {
  const auto read = [place](const memory& there) {
    some_bytes<Bytes> found;
    std::memcpy(found.bytes, &there.at<std::byte>(place), Bytes);
    return found;
  };
  questions_.ask(pe, read, [to](memory&, const some_bytes<Bytes>& found) { std::memcpy(to, found.bytes, Bytes); });
}

template <std::size_t Most>
void world::get_at_most(void* to, std::uint64_t place, std::size_t bytes, int pe) {
  const auto read = [place, bytes](const memory& there) {
    some_bytes<Most> found;
    std::memcpy(found.bytes, &there.at<std::byte>(place), bytes);
    return found;
  };
  questions_.ask(pe, read,
                 [to, bytes](memory&, const some_bytes<Most>& found) { std::memcpy(to, found.bytes, bytes); });
}

/// Answers have a fixed length: that of an item, or one that is at most twice as long as what is read. Reads of about
/// one length then share a batch.
void world::get(void* to, const void* from, std::size_t bytes, int pe) {
  if (bytes == 0) return;
  require_pe(pe);
  auto place = memory_->place_of(from, bytes);
  switch (bytes) {
    case 1: return get_exactly<1>(to, place, pe);
    case 2: return get_exactly<2>(to, place, pe);
    case 4: return get_exactly<4>(to, place, pe);
    case 8: return get_exactly<8>(to, place, pe);
    case 16: return get_exactly<16>(to, place, pe);
    default: break;
  }
  auto* at = static_cast<std::byte*>(to);
  const std::size_t most = me_->train_bytes() < 2 * longest_answer ? longest_answer / 2 : longest_answer;
  while (bytes != 0) {
    const auto part = std::min(bytes, most);
    if (part > longest_answer / 2) {
      get_at_most<longest_answer>(at, place, part, pe);
    } else if (part > longest_answer / 4) {
      get_at_most<longest_answer / 2>(at, place, part, pe);
    } else if (part > longest_answer / 8) {
      get_at_most<longest_answer / 4>(at, place, part, pe);
    } else {
      get_at_most<longest_answer / 8>(at, place, part, pe);
    }
    at += part;
    place += part;
    bytes -= part;
  }
}

void world::answered() {
  auto& home = me_->home();
  home.out.close_batches();  // whose questions count from then on
  auto& questions = *detail::end_of::changes(questions_).of;
  home.until("answered()", [&questions] { return questions.unanswered == 0; });
  questions.end_messages_of(home.facts.local_pe(me_->index()));
}

// Trains that go straight to a worker go to its only PE.
std::uint64_t world::sent_to(int pe) noexcept {
  const auto index = static_cast<std::size_t>(pe);
  return two_hops_ ? sent_[index] : detail::end_of::changes(messages_).of->mailboxes.front().sent[0][index];
}

void world::quiet() {
  answered();
  for (int pe = 0; pe != me_->count(); ++pe) {
    auto& confirmed = confirmed_[static_cast<std::size_t>(pe)];
    while (confirmed != sent_to(pe)) {
      confirmed = questions_.fetch(pe, [asker = me_->index()](const memory& there) { return there.handled(asker); });
    }
  }
}

/// What comes between the end of finish() and its return waits, and this PE's fiber goes on: all counts begin anew at
/// the same point of the program.
void world::barrier() {
  answered();
  messages_.finish();
  memory_->note_barrier();
  std::fill(sent_.begin(), sent_.end(), 0);
  std::fill(confirmed_.begin(), confirmed_.end(), 0);
}

void world::wait_until(const char* call, const std::function<bool()>& ready) { me_->home().until(call, ready); }

/// A round trip to this PE itself, since it makes everything depart as well.
void world::progress() {
  static_cast<void>(questions_.fetch(me_->index(), [](const memory& there) { return there.handled(0); }));
}

void world::send_end(int pe) {
  messages_.send(pe, [](memory&) {
    std::fflush(nullptr);
    std::_Exit(0);
  });
}

void* world::allocate(std::size_t bytes, std::size_t alignment) {
  void* const block = heap_->allocate(bytes, alignment);
  barrier();
  return block;
}

void world::free(void* block) {
  barrier();
  if (!heap_->free(block)) refuse_block("shmem_free()", block);
}

void* world::reallocate(void* block, std::size_t bytes) {
  if (block == nullptr) return allocate(bytes, 1);
  barrier();
  const auto had = heap_->bytes_of(block);
  if (had == 0) refuse_block("shmem_realloc()", block);
  void* const larger = heap_->allocate(bytes, 1);
  if (larger != nullptr) std::memcpy(larger, block, std::min(had, bytes));
  if (larger != nullptr || bytes == 0) heap_->free(block);
  barrier();
  return larger;
}

bool world::is_symmetric(const void* at) const noexcept {
  try {
    static_cast<void>(memory_->place_of(at, 1));
    return true;
  } catch (const usage_error&) {
    return false;
  }
}

int run_program(char** argv, std::span<std::byte> data, const std::function<int()>& program) {
  try {
    auto wanted = options_from_environment();
    const std::string_view name = argv[0] == nullptr ? "" : argv[0];
    wanted.name = name.substr(name.rfind('/') + 1);
    wanted.workers = 1;
    int status = 0;
    run(wanted, [&](pe& me) { status = run_pe(me, data, program); });
    return status;
  } catch (const usage_error& bad) {
    std::fprintf(stderr, "%s\n", bad.what());
    return 2;
  } catch (const std::exception& bad) {
    std::fprintf(stderr, "%s\n", bad.what());
    return 1;
  }
}

}  // namespace openshmem
}  // namespace pgas
}  // namespace v1
}  // namespace shunt
