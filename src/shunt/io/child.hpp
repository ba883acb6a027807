/// Child processes: started, spoken to through pipes, and waited for, while their fiber waits and its
/// worker does not.
///
/// ```cpp
/// auto sort = shunt::io::spawn("sort", {"-n"}, {.in = use::pipe, .out = use::pipe});
/// sort.in().write("10\n9\n");
/// sort.in().close();
/// const auto first = sort.out().read_until("\n", 80);
/// if (!sort.wait(5s).good()) ...
/// ```
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include <sys/types.h>
#include <csignal>

#include <shunt/io/limit.hpp>
#include <shunt/io/pipe.hpp>

namespace shunt {
inline namespace v1 {
namespace io {

struct child_options {
  /// What the child finds at one of its first three descriptors.
  enum class use : std::uint8_t {
    ours,     ///< what this process has there
    nothing,  ///< /dev/null
    pipe,     ///< one to this process: child::in(), out(), err()
    as_out,   ///< for `err` only: where `out` goes
  };
  use in = use::ours;
  use out = use::ours;
  use err = use::ours;

  /// "NAME=value" each; none: this process's. (The program is looked for in this process's PATH.)
  std::optional<std::vector<std::string>> environment{};

  /// Where it begins, and where a relative path of its program counts from; "": where this process is.
  std::string folder{};
};

/// How a process ended.
struct ended {
  int status = -1;  ///< what it gave to exit(3), 0..255; -1: a signal ended it
  int signal = 0;   ///< that signal; 0: none
  [[nodiscard]] bool good() const noexcept { return status == 0; }
  [[nodiscard]] std::string text() const;  ///< "status 1", "SIGKILL"
};

/// A process that spawn() started. Moves, does not copy. One fiber waits at a time; of the pipes, as
/// source and sink say; kill() by anyone.
class child {
 public:
  child() noexcept;  ///< none

  /// Whoever was not waited for is killed (SIGKILL). Does not wait for that: what is not dead at once is
  /// taken from the system when the next child is made or destroyed.
  ~child();
  child(child&& other) noexcept;
  child& operator=(child&& other) noexcept;

  /// -1: none. A number for messages: once it was waited for, the system may give it to another process.
  [[nodiscard]] pid_t id() const noexcept;

  /// The other ends of its pipes; closed where it has none.
  [[nodiscard]] sink& in() noexcept { return in_; }
  [[nodiscard]] source& out() noexcept { return out_; }
  [[nodiscard]] source& err() noexcept { return err_; }

  /// A fiber: waits for its end. May be called again, and says the same.
  /// A limit that strikes leaves it as it is. Does not read its pipes: a child that writes more than a
  /// pipe holds (64 KiB) ends only if somebody reads.
  /// \throws io::failure: timed_out, cancelled, closed (there is none), ECHILD (the process ignores SIGCHLD, or
  /// somebody else waited for it).
  ended wait(const limit& how_long = {});
  ended wait(std::error_code& bad, const limit& how_long = {});

  /// Any thread: sends it a signal, to it alone and never to a later process with its number.
  /// \return false: it has ended and was waited for, or there is none. \throws io::failure: EPERM, EINVAL.
  bool kill(int signal = SIGTERM);

 private:
  struct life;
  friend child spawn(const std::string&, const std::vector<std::string>&, const child_options&, const limit&);
  static void bury(std::unique_ptr<life> one) noexcept;

  std::unique_ptr<life> life_;
  sink in_;
  source out_;
  source err_;
};

/// A fiber: starts a program. A helper thread does it, for that takes the
/// system a while (0.5 ms and more); the limit bounds the wait for a free helper.
/// The child holds no signal off and takes SIGPIPE as by default; other signals that this process
/// ignores it ignores too. It gets descriptors 0, 1 and 2, and those without FD_CLOEXEC: of this room's none.
/// \param program    a path; or, without `/`, a name that is looked for in PATH.
/// \param arguments  behind its name.
/// \throws io::failure that names the program: the system's (ENOENT, EACCES, EAGAIN), timed_out, cancelled;
///         usage_error for options that make no sense; std::bad_alloc.
[[nodiscard]] child spawn(const std::string& program, const std::vector<std::string>& arguments = {},
                          const child_options& how = {}, const limit& how_long = {});
/// \return none, with `bad`.
[[nodiscard]] child spawn(const std::string& program, const std::vector<std::string>& arguments,
                          const child_options& how, std::error_code& bad, const limit& how_long = {});

}  // namespace io
}  // namespace v1
}  // namespace shunt
