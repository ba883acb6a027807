/// Checkpoints: a long job goes on where it was, after a crash, a full queue or a move to other machines.
///
/// ```cpp
/// long step = 0;
/// pgas::array<double> heat(me, cells);
/// pgas::checkpoint saved(me, "heat", step, heat);   // a job that is restarted has its step and its heat from here on
/// for (; step != steps; ++step) {
///   saved.save_if_due();                            // between supersteps: nothing is under way
///   pgas::superstep(me, [&] { warm(heat); });
/// }
/// ```
/// ```text
/// $ ./heat --pes 8 --checkpoint /scratch/heat --every 10min --restart auto
/// ```
/// The program names the variables that make up its state, once. When a checkpoint is due, every PE copies its parts,
/// and the program goes on while a thread of each rank writes the copies. Without the option `--checkpoint` nothing is
/// written, and save_if_due() costs a look at a variable.
///
/// A cut through the whole job. save_if_due() is a collective call in which no message is under way: all PEs have come
/// there after finish() or quiesce() of everything that they had sent, and none goes on before all have copied their
/// parts. So a job that is restarted is as if it had stopped between two supersteps.
///
/// What may differ after a restart: ranks, workers, hops, machines of the same kind, and the rest of the program. What
/// may not: the program's name, the number of PEs, and the types of the parts in their order. What is refused says
/// which of them differs.
///
/// On the disk a generation is a folder, DIR/heat.7, with a file for each rank; each part has a checksum. Hosts need a
/// file system that they share. The last two whole generations are kept, so there is room for three needed. A
/// generation that a crash has left unfinished is passed over with one line; one that is damaged, or has files of
/// another, ends the restart with an error that names file, PE and part.
///
/// Memory: the copies, until they are written: the bytes of all parts, and less than a MiB a part more. A restart reads
/// part by part.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include <shunt/base/error.hpp>
#include <shunt/pgas/checkpoint_form.hpp>
#include <shunt/pgas/pe.hpp>

namespace shunt {
inline namespace v1 {
namespace pgas {

/// The exit status of a job that has ended since a signal asked for it, after it has written a checkpoint.
inline constexpr int status_of_stop = 85;

/// What run() throws when the job has ended so; launch() returns status_of_stop then.
class checkpoint_stop : public error {
 public:
  /// See error's: the text, what is known as numbers, the line.
  using error::error;
  /// The job has several processes, and its rank 0 has printed the text: a launcher ends the others, with what they
  /// still have to say, once one of them has ended with a status other than 0.
  bool told = false;
};

/// A part with a name, for messages to people, and so that two parts of one type cannot change places unseen.
template <class T>
struct named_part {
  std::string_view name;  ///< as in the program
  T& part;                ///< outlives the checkpoint
};

/// `pgas::checkpoint saved(me, "heat", pgas::named("step", step), pgas::named("heat", heat));`
template <class T>
[[nodiscard]] named_part<T> named(std::string_view name, T& part) {
  return {name, part};
}

namespace detail {

template <class T>
inline constexpr bool is_named = false;
template <class T>
inline constexpr bool is_named<named_part<T>> = true;

/// A part of a checkpoint without its type.
struct checkpoint_part {
  std::string layout;
  void* object;
  void (*save)(const void* object, checkpoint_writer& to);
  void (*load)(void* object, checkpoint_reader& from);
};

template <class T>
[[nodiscard]] checkpoint_part part_of(const named_part<T>& named) {
  static_assert(!std::is_const_v<T>, "a part of a checkpoint is a variable: a restart changes it");
  static_assert(form_of<T>() != saved_form::none,
                "a part of a checkpoint is a plain value (no pointer, no view), a container of such, a distributed "
                "object, or of a type with save(checkpoint_writer&) const and load(checkpoint_reader&)");
  const std::string name = named.name.empty() ? "" : std::string(named.name) + ": ";
  return {name + layout_text<T>(), std::addressof(named.part),
          [](const void* object, checkpoint_writer& to) { to.put(*static_cast<const T*>(object)); },
          [](void* object, checkpoint_reader& from) { from.get(*static_cast<T*>(object)); }};
}
template <class T>
  requires(!is_named<std::remove_const_t<T>>)
[[nodiscard]] checkpoint_part part_of(T& part) {
  return part_of(named_part<T>{{}, part});
}

struct checkpoint_state;
struct whole_generation;

}  // namespace detail

/// The state of a program, of which generations are written and from which one is read.
///
/// The program of each PE makes it, once for each name, after its parts, and destroys it before them.
class checkpoint {
 public:
  /// Collective. Where the job was started with `--restart`, the parts get what the last whole generation has for this
  /// PE; else they stay as they are.
  /// \param name   of letters, digits, `-` and `_`, 64 at most; its generations are DIR/name.1, DIR/name.2, …
  /// \param parts  variables, or named() ones. They outlive the checkpoint.
  /// \throws usage_error for another name, one that the PE has used before, a directory that cannot be used or that a
  ///         rank does not see, no generation where `--restart` wants one, one of another program; shunt::error for
  ///         one that is damaged; what a load() throws
  /// When it returns, other PEs may be in their first superstep, as after any collective call.
  /// Cost: without the two options nothing; with them two collective calls, and reading.
  template <class... Parts>
  checkpoint(pe& me, std::string_view name, Parts&&... parts)
      : checkpoint(me, name, std::vector<detail::checkpoint_part>{detail::part_of(parts)...}) {
    static_assert(sizeof...(Parts) != 0, "a checkpoint has at least one part");
    static_assert((... && (std::is_lvalue_reference_v<Parts> || detail::is_named<std::remove_cvref_t<Parts>>)),
                  "a part is a variable that outlives the checkpoint, or named(\"its name\", variable)");
    open();
  }
  /// Collective: what has been begun is written, everywhere. While an exception passes, or after the job has failed, it
  /// only goes.
  ~checkpoint();
  checkpoint(const checkpoint&) = delete;
  checkpoint& operator=(const checkpoint&) = delete;

  /// Local. Whether the parts come from a checkpoint.
  [[nodiscard]] bool restored() const noexcept { return restored_ != 0; }
  /// Local. The generation from which they come; 0: none.
  [[nodiscard]] std::uint64_t restored_generation() const noexcept { return restored_; }

  /// Collective, outside of supersteps and with no message under way. Begins a checkpoint if `--every` has passed since
  /// the last one began (since the constructor, for the first) and that is written. Where a signal has asked for it
  /// (`--checkpoint-signal`), it writes one, waits for the disk, and ends the job with status_of_stop: run() ends, and
  /// the objects of the programs are destroyed.
  /// \return whether one has begun: PE 0's clock decides for all
  /// \throws usage_error in a superstep, or where messages are under way; shunt::error where the checkpoint of a signal
  ///         could not be written; what a save() throws. An error while a due one is written is told on standard
  ///         error, and ends nothing: the next one is due at its time.
  /// When it returns, other PEs may be in the next superstep: what a PE reads of its own part without a barrier() after
  /// the call, it reads before it.
  /// Cost: without `--checkpoint` a look at a variable. With it a reduce(), and where one begins the copies and a
  /// barrier().
  bool save_if_due();
  /// Collective, as save_if_due(). Begins one now, when the one before is written; nothing without `--checkpoint`.
  /// \return whether one has begun
  bool save();
  /// Collective, outside of supersteps. Returns when what has been begun is on the disk.
  /// \return whether it is whole; true, too, if there was none
  bool wait();

 private:
  checkpoint(pe& me, std::string_view name, std::vector<detail::checkpoint_part> parts);
  void open();
  bool look(std::uint8_t wish);
  void begin();
  [[noreturn]] void stop();
  void await_all();
  void end_pending(bool failed);
  void restore(const detail::whole_generation& from);

  pe* me_;
  std::vector<detail::checkpoint_part> parts_;
  std::unique_ptr<detail::checkpoint_state> state_;
  std::uint64_t restored_ = 0;
};

}  // namespace pgas
}  // namespace v1
}  // namespace shunt
