#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

// Compiled with -include weaken.hpp, and without ThreadSanitizer (weaken.W2).
namespace weakening {
namespace {

struct {
  std::uint64_t site = 0;
  std::memory_order becomes = std::memory_order::relaxed;
  unsigned char* seen = nullptr;
} of_this_run;

[[noreturn]] void wrong(const char* variable) {
  std::fprintf(stderr, "%s: cannot be used: \"%s\"\n", variable, std::getenv(variable));
  std::_Exit(3);
}

/// PATH:LINE:COLUMN:ORDER
bool read_site(char* text) {
  unsigned numbers[2] = {};
  char* parts[3] = {};
  for (int i = 2; i >= 0; --i) {
    parts[i] = std::strrchr(text, ':');
    if (parts[i] == nullptr) return false;
    *parts[i]++ = '\0';
  }
  for (int i = 0; i < 2; ++i) numbers[i] = static_cast<unsigned>(std::strtoul(parts[i], nullptr, 10));
  const std::string_view order = parts[2];
  if (order == "acquire") {
    of_this_run.becomes = std::memory_order::acquire;
  } else if (order == "release") {
    of_this_run.becomes = std::memory_order::release;
  } else if (order != "relaxed") {
    return false;
  }
  of_this_run.site = site(text, numbers[0], numbers[1]);
  return true;
}

// Before the constructors of the program (weaken.W1).
[[gnu::constructor(101)]] void read_environment() {
  if (const char* const text = std::getenv("WEAKEN_SITE"); text != nullptr && *text != '\0') {
    char* const own = strdup(text);
    if (!read_site(own)) wrong("WEAKEN_SITE");
    std::free(own);
  }
  if (const char* const path = std::getenv("WEAKEN_SEEN"); path != nullptr && *path != '\0') {
    const int file = open(path, O_RDWR | O_CLOEXEC);  // shared, so that children, and runs that crash, are seen too
    void* const mapped = file < 0 ? MAP_FAILED : mmap(nullptr, slots, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (mapped == MAP_FAILED) wrong("WEAKEN_SEEN");
    close(file);
    of_this_run.seen = static_cast<unsigned char*>(mapped);
  }
}

/// Tells threads apart, up to eight.
unsigned char bit_of_thread() {
  static std::atomic<unsigned> threads = 0;
  thread_local const unsigned number = threads.fetch_add(1, std::memory_order::relaxed);
  return static_cast<unsigned char>(1U << (number % 8U));
}

static_assert(site("/a/src/shunt/base/spin_lock.hpp", 26, 52) == 0x90a01176fbb7e157U, "as in tools/weaken.test.py");

}  // namespace

std::memory_order chosen(std::uint64_t site, std::memory_order written) noexcept {
  if (of_this_run.seen != nullptr) of_this_run.seen[site % slots] |= bit_of_thread();
  return site == of_this_run.site ? of_this_run.becomes : written;
}

}  // namespace weakening
