/// The parts of the command's program.
#pragma once

#include <app.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace shunt::cli {

/// "near: histogram" for what was nearly spelt so, else "known: …" with all: the end of a line
/// about an unknown word.
[[nodiscard]] std::string near(std::string_view word, std::span<const std::string_view> known);

/// The application of that name.
/// \throws usage_error that lists near names.
[[nodiscard]] const apps::app& find_app(std::string_view name);

/// `run APP …`: calls the application, or starts the job's processes, each of which will.
/// \param arguments  from the application's name on; not empty.
/// \return the exit status, of the application or of the job.
/// \throws usage_error, error, and whatever the application throws.
[[nodiscard]] int run(std::vector<std::string> arguments);

/// Takes `--name value` or `--name=value` out of the arguments. \throws usage_error when it is there twice.
[[nodiscard]] std::optional<std::string> take(std::vector<std::string>& arguments, const std::string& name);

/// Takes all of that word out of the arguments. \return whether there was one
[[nodiscard]] bool take_flag(std::vector<std::string>& words, const std::string& name);

/// Takes `--name value` out of the arguments. \return `usual` if it is not there
/// \throws usage_error for a value that is neither `usual` nor `other`
[[nodiscard]] std::string choice(std::vector<std::string>& words, const std::string& name, const std::string& usual,
                                 const std::string& other);

/// As main() takes them, a null pointer behind them; valid as long as the words stay.
[[nodiscard]] std::vector<char*> pointers(std::vector<std::string>& words);

/// `simulate APP …`: what the application would take on a described machine.
/// \param arguments  from the application's name on; not empty.
/// \throws usage_error, error, and whatever the application throws.
int simulate(std::vector<std::string> arguments);

/// `calibrate`: measures what simulate() is told of a machine.
/// \param words  after `calibrate`. \throws usage_error, error
int calibrate(std::vector<std::string> words);

/// `doctor`: what this machine offers and what limits it.
int doctor(bool as_json);

/// `start PROGRAM …`: starts a program as the processes of a job on this machine.
/// \param arguments  after `start`; not empty.
/// \return the job's exit status. \throws usage_error, error
[[nodiscard]] int start(std::vector<std::string> arguments);

/// This process's number in the job that a launcher has started; 0 if there is none.
[[nodiscard]] int rank_by_launcher() noexcept;

}  // namespace shunt::cli
