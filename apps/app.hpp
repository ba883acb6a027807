/// What an application is to the command `shunt`: a name, a line about it, and a main function.
///
///   shunt run triangle --pes 8          calls triangle_main(argc, argv), argv[0] being "triangle"
///
/// Contract of an application's main function
///   - It parses with apps::parse(), so that every application words bad usage alike, and does so before it opens,
///     starts or prints anything.
///   - It throws shunt::usage_error for what the user must change (exit status 2), any other
///     shunt::error for what failed below it (exit status 1), and prints neither itself: the
///     command prints one line.
///   - It returns the exit status otherwise: 0 only if the answer was checked and right.
#pragma once

#include <span>
#include <string_view>

namespace shunt::apps {

class command_line;

struct app {
  std::string_view name;
  std::string_view summary;  ///< one line for `shunt apps`
  int (*main)(int argc, char** argv);
};

/// Every application that the command knows, in the order in which `shunt apps` lists them.
/// Defined by the command (tools/cli/apps.cpp); a program that links applications alone has none.
[[nodiscard]] std::span<const app> all();

/// Parses an application's command line.
///
///   apps::command_line options("Counts triangles in a graph.", "shunt run triangle");
///   apps::count_option(options, "--pes", pes, "processing elements", 1, 65'536);  // option.hpp
///   if (!apps::parse(options, argc, argv)) return 0;
///
/// \return false: there is nothing left to do. The user asked for help, which is now on stdout; or
/// this is a rehearsal.
/// \throws usage_error with one line for an unknown option, a missing or a bad value.
[[nodiscard]] bool parse(command_line& options, int argc, const char* const* argv);

/// Calls an application only as far as its parse(): what is wrong with the command line is said
/// once, before a job's processes are started, and not once by each of them.
/// \throws usage_error as parse() does.
void rehearse(const app& which, int argc, char** argv);

/// Bytes that may still be taken, by what limits them; infinite where nothing tells.
struct memory_left {
  double machine = 0;    ///< of the kernel, by all that it runs
  double container = 0;  ///< by this process's group of processes
  double process = 0;    ///< by this process
};
[[nodiscard]] memory_left available_memory();

/// How often the bytes are taken of what each limit counts.
struct memory_takers {
  double machine = 1, container = 1, process = 1;
};

/// Before the program takes that much memory: for what the machine cannot give, an error with both numbers, instead of
/// std::bad_alloc, or of the kernel's ending the process. Where the machine does not tell what it has, nothing is
/// refused.
/// \param cause  the options that ask for it, e.g. "--updates 1000"
/// \param bytes  of one taker
/// \throws usage_error
void require_memory(std::string_view cause, double bytes, const memory_takers& by, const memory_left& has);

/// The same, before a job begins: each process takes so many bytes, on this machine as many as the launcher has started
/// here. They begin, and ask, at about the same time, before one of them has taken much.
void require_memory(std::string_view cause, double bytes);

}  // namespace shunt::apps
