/// What the applications with PEs share: the options of a job, progress on a terminal, and the report at the end.
#pragma once

#include <bale/form.hpp>
#include <chrono>
#include <cstdint>
#include <shunt/pgas.hpp>
#include <span>
#include <string>
#include <vector>

#include "app.hpp"
#include "report.hpp"

namespace shunt::apps {

/// Options that every application takes; their values are read from SHUNT_… variables first.
class job {
 public:
  /// \param name  of the application, for messages
  /// \param output  whether --output is the report's
  /// \param in  the forms in which the application is written: with none it has no --form
  job(command_line& options, std::string name, bool output = true, forms in = forms::two);

  /// For an application that makes a pgas::checkpoint: the options about it.
  void add_checkpoint_options(command_line& options);
  /// What the command line said. \throws usage_error for an --output that cannot be written.
  [[nodiscard]] const pgas::options& wanted();
  /// The job is, or will be, one of several processes.
  [[nodiscard]] bool has_processes() const;
  [[nodiscard]] form which() const noexcept {
    return form_ == "class" ? form::class_ : form_ == "natural" ? form::natural : form::lambda;
  }
  [[nodiscard]] const std::string& form_name() const noexcept { return form_; }
  [[nodiscard]] std::uint64_t seed() const noexcept { return seed_; }
  /// For refuse_with(): --seed, which not every job has a use for.
  [[nodiscard]] const command_option* seed_option() const noexcept { return seed_given_; }

  /// PE 0 only.
  void report(const std::vector<fact>& facts) const { report_.print(facts); }

 private:
  std::string name_;
  pgas::options wanted_;
  unsigned deadline_ = 5;
  unsigned start_deadline_ = 0;  // six deadlines
  std::string form_ = "lambda";
  std::uint64_t seed_ = 1;
  const command_option* seed_given_ = nullptr;
  reporter report_;
};

/// Before each process reads a file. \throws usage_error for a pipe or a device, of which each would get a part.
void expect_file(const std::string& path);

/// Of numbers, in their order. \param sum  what the result depends on too
template <class Number>
[[nodiscard]] std::uint64_t fingerprint(std::uint64_t sum, std::span<const Number> numbers) noexcept {
  for (const std::uint64_t value : numbers) {
    sum = (sum ^ value) * 0x9e3779b97f4a7c15U;
    sum ^= sum >> 29;
  }
  return sum;
}

/// Collective: two machines may have two files of one name.
/// \throws usage_error unless all processes have read what has the same fingerprint
void expect_same(pgas::pe& me, const std::string& file, std::uint64_t fingerprint);

/// Where a PE takes memory: those of one kernel share the machine's, those of one container its limit.
struct memory_place {
  std::uint64_t kernel = 0, container = 0, rank = 0;
};
/// The PEs that take of what `mine` takes of.
[[nodiscard]] memory_takers takers_beside(std::span<const memory_place> all, const memory_place& mine);

/// Collective, before each PE takes so many bytes: see require_memory() in app.hpp. All PEs of this machine count, of
/// whatever processes.
void require_memory(pgas::pe& me, const std::string& cause, double bytes);

/// A line on a terminal that says how far a PE has come; nothing when standard error is no terminal.
class progress {
 public:
  /// \param shown  whether this PE is the one that speaks
  progress(std::string what, std::uint64_t whole, bool shown);

  /// Cheap: looks at the clock every 64th call, and prints ten times a second.
  void operator()(std::uint64_t done) {
    if (line_.shown() && (++calls_ & 63) == 0) show(done);
  }
  void show(std::uint64_t done);

 private:
  std::string what_;
  std::uint64_t whole_;
  live_line line_;
  unsigned calls_ = 0;
};

/// What all PEs do together: how long it takes, and what it moves.
class measurement {
 public:
  struct outcome {
    double seconds;  ///< of the slowest PE
    pgas::traffic moved;
  };

  /// Collective. Begins when all PEs are there.
  explicit measurement(pgas::pe& me) : me_(me), before_(me.traffic()), start_(begin(me)) {}
  /// Collective. The same on every PE.
  [[nodiscard]] outcome end() const {
    pgas::mark_measured(me_, false);
    const double seconds = me_.max(std::chrono::duration<double>(clock::now() - start_).count());
    return {seconds, me_.traffic() - before_};
  }

 private:
  using clock = std::chrono::steady_clock;
  static clock::time_point begin(pgas::pe& me) {
    me.barrier();
    pgas::mark_measured(me, true);
    return clock::now();
  }

  pgas::pe& me_;
  pgas::traffic before_;
  clock::time_point start_;
};

/// Facts about what moved.
[[nodiscard]] std::vector<fact> traffic_facts(const pgas::traffic& moved, double seconds);

}  // namespace shunt::apps
