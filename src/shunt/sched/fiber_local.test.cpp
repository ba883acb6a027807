#include <shunt/sched.hpp>

#include <memory>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

using namespace shunt;
namespace this_fiber = sched::this_fiber;

namespace {

sched::options one_worker() {
  sched::options o;
  o.workers = 1;
  return o;
}

}  // namespace

TEST_CASE("fiber_local: each fiber has its own, made at first use, kept across waits") {
  sched::runtime rt(one_worker());
  int made = 0;
  const sched::fiber_local<int> own([&] { return 100 * ++made; });
  std::vector<int> seen(3, 0);
  rt.run([&] {
    for (int i = 0; i < 3; ++i) {
      rt.spawn(
          [&, i] {
            *own += i;
            this_fiber::yield();
            seen[static_cast<std::size_t>(i)] = *own;
          },
          {.worker = 0});
    }
  });
  CHECK(seen == std::vector<int>{100, 201, 302});
  CHECK(made == 3);
}

TEST_CASE("fiber_local: values end with their fiber, the last made first, on that fiber") {
  sched::runtime rt(one_worker());
  std::string order;
  struct noisy {
    std::string* to = nullptr;
    char letter = 0;
    noisy(std::string* t, char l) : to(t), letter(l) {}
    noisy(noisy&& other) noexcept : to(std::exchange(other.to, nullptr)), letter(other.letter) {}
    noisy(const noisy&) = delete;
    ~noisy() {
      if (to != nullptr) *to += this_fiber::inside() ? letter : '?';
    }
  };
  auto a = std::make_unique<sched::fiber_local<noisy>>([&] { return noisy(&order, 'a'); });
  const sched::fiber_local<noisy> b([&] { return noisy(&order, 'b'); });
  rt.run([&] {
    rt.spawn(
        [&] {
          CHECK((*a)->letter == 'a');
          CHECK(b->letter == 'b');
          a = nullptr;  // the fiber keeps its value all the same
          order += '.';
        },
        {.worker = 0});
    rt.spawn([&] { order += '|'; }, {.worker = 0});
  });
  CHECK(order == ".ba|");
}

TEST_CASE("fiber_local: a fiber that ends by an exception leaves no value behind; a new one starts anew") {
  sched::runtime rt(one_worker());
  const auto alive = std::make_shared<int>(0);
  const sched::fiber_local<std::shared_ptr<int>> own([&] { return alive; });
  for (int round = 0; round < 2; ++round) {
    CHECK_THROWS_AS(rt.run([&] {
      CHECK(alive.use_count() == 1);
      CHECK(**own == round);
      ++**own;
      CHECK(alive.use_count() == 2);
      throw 1;
    }),
                    int);
    CHECK(alive.use_count() == 1);
  }
}

TEST_CASE("fiber_local: outside a fiber is an error") {
  const sched::fiber_local<int> own;
  CHECK_THROWS_WITH(*own, Catch::Contains("outside a fiber"));
}
