/// Child processes: a fiber starts them, writes to them and reads from them through pipes, and waits for their end;
/// its worker runs other fibers meanwhile.
///
/// ```cpp
/// using use = shunt::io::child_options::use;
/// auto sort = shunt::io::spawn("sort", {"-n"}, {.in = use::pipe, .out = use::pipe});
/// sort.in().write("10\n9\n");
/// sort.in().close();
/// const auto first = sort.out().read_until("\n", 80);
/// if (!sort.wait(5s).good()) complain();
/// ```
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <source_location>
#include <string>
#include <system_error>
#include <vector>

#include <sys/types.h>
#include <csignal>

#include <shunt/io/deadline.hpp>
#include <shunt/io/pipe.hpp>

namespace shunt {
inline namespace v1 {
namespace io {

/// How spawn() starts a program. By default the child shares descriptors, variables and folder with this process.
struct child_options {
  /// The child's end of one of its first three descriptors.
  enum class use : std::uint8_t {
    ours,     ///< the same as in this process
    nothing,  ///< /dev/null
    pipe,     ///< a pipe to this process: child::in(), out(), err()
    as_out,   ///< for `err` only: the same as `out`
  };
  use in = use::ours;   ///< its standard input; not `as_out`
  use out = use::ours;  ///< its standard output; not `as_out`
  use err = use::ours;  ///< its standard error

  /// "NAME=value" each; none: those of this process. (In any case spawn() uses this process's PATH.)
  std::optional<std::vector<std::string>> environment{};

  /// Its working directory, to which a relative path of its program refers; "": that of this process.
  std::string folder{};
};

/// How a process ended.
struct ended {
  int status = -1;  ///< the status that it gave to exit(3), 0..255; -1: a signal ended it
  int signal = 0;   ///< that signal; 0: none
  /// Whether it ended by itself with status 0.
  [[nodiscard]] bool good() const noexcept { return status == 0; }
  [[nodiscard]] std::string text() const;  ///< "status 1", "SIGKILL"
};

/// A process that spawn() started. Moves, does not copy. One fiber waits at a time, and uses each pipe as source and
/// sink say. Any thread calls kill().
class child {
 public:
  child() noexcept;  ///< none

  /// Kills the process (SIGKILL) if its end was not waited for. Does not wait for the kill: a process that is not dead
  /// at once is reaped when the next child is made or destroyed.
  ~child();
  /// `other` has no process afterwards, and its pipes are closed.
  child(child&& other) noexcept;
  /// As ~child() for the process that this object had; then takes over that of `other`, and its pipes.
  child& operator=(child&& other) noexcept;

  /// -1: none. For messages only: after wait() the system may give the number to another process.
  [[nodiscard]] pid_t id() const noexcept;

  /// This process's ends of its pipes; closed where it has none.
  [[nodiscard]] sink& in() noexcept { return in_; }
  [[nodiscard]] source& out() noexcept { return out_; }  ///< what the child writes to its standard output
  [[nodiscard]] source& err() noexcept { return err_; }  ///< what the child writes to its standard error

  /// A fiber: waits for its end. A further call returns the same. After a timeout the process runs on.
  /// Does not read its pipes: a child that writes more than a pipe holds (64 KiB) ends only if a fiber reads.
  /// \throws io_error: timed_out, cancelled, closed (there is none), ECHILD (this process ignores SIGCHLD, or other
  ///         code has waited for the child).
  ended wait(const deadline& until = {});
  /// Sets `ec` instead of throwing io_error. \return with an error: status -1 and signal 0.
  ended wait(std::error_code& ec, const deadline& until = {});

  /// Any thread: sends a signal to this process, never to a later one with the same number.
  /// \return false: its end was waited for, or there is none. \throws io_error: EPERM, EINVAL.
  bool kill(int signal = SIGTERM, std::source_location where = std::source_location::current());

 private:
  struct process;
  friend child spawn(const std::string&, const std::vector<std::string>&, const child_options&, const deadline&);
  static void reap(std::unique_ptr<process> one) noexcept;

  std::unique_ptr<process> process_;
  sink in_;
  source out_;
  source err_;
};

/// A fiber: starts a program. A helper thread makes the call, which takes 0.5 ms and more; the deadline bounds the wait
/// for a free helper.
/// The child blocks no signal, has the default action for SIGPIPE, and ignores the other signals that this process
/// ignores. It gets descriptors 0, 1 and 2, and those without FD_CLOEXEC: none of this module's.
/// \param program    a path; or, without `/`, a name in PATH.
/// \param arguments  those behind the program's name.
/// \throws io_error that names the program: the system's (ENOENT, EACCES, EAGAIN), timed_out, cancelled;
///         usage_error for options that contradict each other; std::bad_alloc.
[[nodiscard]] child spawn(const std::string& program, const std::vector<std::string>& arguments = {},
                          const child_options& how = {}, const deadline& until = {});
/// \return child() with `ec`.
[[nodiscard]] child spawn(const std::string& program, const std::vector<std::string>& arguments,
                          const child_options& how, std::error_code& ec, const deadline& until = {});

}  // namespace io
}  // namespace v1
}  // namespace shunt
