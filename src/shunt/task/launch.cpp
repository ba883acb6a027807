#include <shunt/task/launch.hpp>

#include <cerrno>
#include <cstdio>
#include <exception>

#include <shunt/base/error.hpp>

namespace shunt {
inline namespace v1 {
namespace task {
namespace {

void say(const char* what) noexcept { std::fprintf(stderr, "%s: %s\n", program_invocation_short_name, what); }

}  // namespace

int detail::launch(const std::function<int()>& root, const sched::options& how, std::source_location where) noexcept
    try {
  int status = 0;
  sched::runtime workers(how, where);
  workers.run([&] { status = root(); }, where);
  return status;
} catch (const usage_error& bad) {
  say(bad.what());
  return 2;
} catch (const std::exception& bad) {
  say(bad.what());
  return 1;
} catch (...) {
  say("ended by an exception that is no std::exception");
  return 1;
}

}  // namespace task
}  // namespace v1
}  // namespace shunt
