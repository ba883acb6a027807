#include <shunt/pgas/checkpoint.hpp>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <optional>
#include <random>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

#include <shunt/base/build_id.hpp>
#include <shunt/base/owned_descriptor.hpp>
#include <shunt/pgas/detail/checkpoint_folder.hpp>
#include <shunt/pgas/detail/checkpoint_keeper.hpp>
#include <shunt/pgas/detail/pe_worker.hpp>

namespace shunt {
inline namespace v1 {
namespace pgas {
namespace detail {

/// What a PE knows of a checkpoint. Members that change do so in collective calls, in the same way on every PE.
struct checkpoint_state {
  checkpoint_keeper& keeper;
  checkpoint_folder folder;  // where it is written
  checkpoint_head head;      // of the generation that is written, or will be
  bool pending = false;      // it has begun, and is not known to be written or to have failed
  bool failed = false;       // the last one
  std::chrono::steady_clock::time_point begun = sched::now();
};

}  // namespace detail

namespace {

using detail::checkpoint_folder;
using detail::checkpoint_keeper;

/// What a PE says in save_if_due(); the job does what any of them says.
enum checkpoint_flag : std::uint8_t {
  is_due = 1,      // PE 0, by its clock
  is_wanted = 2,   // the program
  is_stop = 4,     // a signal has come to this rank
  is_writing = 8,  // this rank is not done with the one before
  has_failed = 16  // and this has become of it
};

/// What PE 0 has found in the directories.
struct checkpoint_plan {
  std::uint64_t next = 1;  // the generation that is written first
  std::uint64_t stamp = 0;
  std::optional<detail::whole_generation> from;

  void save(checkpoint_writer& to) const {
    to.put(next);
    to.put(stamp);
    to.put(from);
  }
  void load(checkpoint_reader& reader) {
    reader.get(next);
    reader.get(stamp);
    reader.get(from);
  }
};

std::string prefix_of(const options& wanted) { return wanted.name.empty() ? "" : wanted.name + ": "; }

std::string directory_of_restart(const options& wanted) {
  return wanted.restart == "auto" ? wanted.checkpoint : wanted.restart;
}

/// A file by which the ranks find out whether they see the same directory.
std::string common_file(const options& wanted, const checkpoint_plan& plan, const std::string& name) {
  return checkpoint_folder(wanted.checkpoint, name).mark_of(plan.stamp);
}

/// PE 0, on the helper's thread. \param first  of the program: then one must be there if the user wants one
checkpoint_plan make_plan(const options& wanted, const detail::checkpoint_identity& here, bool first, bool several) {
  checkpoint_plan plan;
  std::random_device random;
  plan.stamp = std::uint64_t{random()} << 32U | random();
  if (!wanted.restart.empty()) {
    const std::string directory = directory_of_restart(wanted);
    std::vector<std::string> notes;
    plan.from = checkpoint_folder(directory, here.name).last(here, notes);
    for (const auto& note : notes) std::fprintf(stderr, "%s%s\n", prefix_of(wanted).c_str(), note.c_str());
    if (plan.from) {
      plan.next = plan.from->number + 1;
      if (plan.from->build != build_id()) {
        std::fprintf(stderr, "%s%s is of another build of this program; its parts are of the same types\n",
                     prefix_of(wanted).c_str(),
                     checkpoint_folder(directory, here.name).path_of(plan.from->number).c_str());
      }
    } else if (first && wanted.restart != "auto") {
      throw usage_error(error_number(956), "--restart " + directory + ": no whole checkpoint `" + here.name +
                                               "` is there; without --restart the job begins at its beginning");
    }
  }
  if (wanted.checkpoint.empty()) return plan;
  const checkpoint_folder folder(wanted.checkpoint, here.name);
  folder.make();
  // A life that is killed between its last file and its prune leaves one too many.
  if (plan.from && directory_of_restart(wanted) == wanted.checkpoint) folder.prune(plan.from->number, true);
  const auto there = folder.generations();
  if (!there.empty()) plan.next = std::max(plan.next, there.back() + 1);
  if (!several) return plan;
  folder.remove_marks();
  const std::string file = common_file(wanted, plan, here.name);
  const owned_descriptor mark(::open(file.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666));
  if (mark.get() < 0) {
    const int why = errno;
    throw usage_error(
        error_number(954),
        "--checkpoint " + wanted.checkpoint + ": no checkpoint can be written there: " + std::strerror(why),
        {.native = why});
  }
  return plan;
}

void check_name(std::string_view name) {
  const bool good = !name.empty() && name.size() <= 64 && std::ranges::all_of(name, [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_';
  });
  if (good) return;
  throw usage_error(error_number(953), "checkpoint `" + std::string(name) +
                                           "`: a name has 1 to 64 letters, digits, - or _, as it names folders");
}

void refuse_amid_superstep(pe& me, const std::string& name) {
  if (!me.supersteps().open) return;
  throw usage_error(error_number(965),
                    "PE " + std::to_string(me.index()) + ": checkpoint `" + name +
                        "` in a superstep, in which changes are under way: call it between two supersteps",
                    {.pe = me.index()});
}

}  // namespace

checkpoint::checkpoint(pe& me, std::string_view name, std::vector<detail::checkpoint_part> parts)
    : me_(&me), parts_(std::move(parts)) {
  check_name(name);
  me.home().refuse_in_task(me.index(), "the construction of a checkpoint");
  checkpoint_keeper& keeper = *me.home().facts.keeper;
  detail::checkpoint_head head;
  head.of = {keeper.wanted().name, std::string(name), me.count(), {}};
  for (const auto& each : parts_) head.of.layout.push_back(each.layout);
  head.first_pe = keeper.first_pe();
  head.pes_here = keeper.pes_here();
  refuse_amid_superstep(me, head.of.name);
  keeper.begin(me.index(), head.of.name);
  state_ = std::make_unique<detail::checkpoint_state>(
      detail::checkpoint_state{keeper, checkpoint_folder(keeper.wanted().checkpoint, head.of.name), std::move(head)});
}

/// PE 0 looks into the directories, and tells. No PE goes on before all have their parts.
void checkpoint::open() {
  auto& s = *state_;
  const options& wanted = s.keeper.wanted();
  if (wanted.checkpoint.empty() && wanted.restart.empty()) return;
  std::vector<std::byte> told;
  if (me_->index() == 0) {
    const bool first = s.keeper.count_of(0) == 1;
    s.keeper.thread().perform(
        [&] { told = detail::saved_bytes(make_plan(wanted, s.head.of, first, me_->ranks() > 1)); });
  }
  told = me_->broadcast(told, 0);
  const auto plan = checkpoint_reader(told, "checkpoint").get<checkpoint_plan>();
  s.head.generation = plan.next;
  s.head.stamp = plan.stamp;
  s.head.build = build_id();
  const bool asks_for_common = me_->ranks() > 1 && !wanted.checkpoint.empty();
  const std::string common = common_file(wanted, plan, s.head.of.name);
  if (asks_for_common && me_->index() == s.keeper.first_pe()) {
    bool seen = false;
    s.keeper.thread().perform([&] { seen = ::access(common.c_str(), F_OK) == 0; });
    if (!seen) {
      throw usage_error(error_number(955),
                        "--checkpoint " + wanted.checkpoint + ": rank " + std::to_string(me_->rank()) +
                            " does not see what rank 0 has written there: name a directory of a "
                            "file system that all hosts share",
                        {.rank = me_->rank()});
    }
  }
  if (plan.from) restore(*plan.from);
  me_->barrier();
  if (asks_for_common && me_->index() == 0) s.keeper.thread().begin([common] { ::unlink(common.c_str()); });
}

void checkpoint::restore(const detail::whole_generation& from) {
  auto& s = *state_;
  const int pe = me_->index();
  const auto mine = std::ranges::find_if(
      from.files, [pe](const auto& file) { return pe >= file.first_pe && pe < file.first_pe + file.pes_here; });
  std::unique_ptr<detail::checkpoint_file> file;
  s.keeper.thread().perform([&] { file = std::make_unique<detail::checkpoint_file>(mine->path); });
  const auto& head = file->head();
  if (head.stamp != from.stamp || head.generation != from.number || !head.of.difference(s.head.of).empty()) {
    throw error(error_number(959),
                mine->path +
                    ": has changed since PE 0 looked at it: one job at a time uses a "
                    "directory",
                {.pe = pe});
  }
  for (std::size_t i = 0; i != parts_.size(); ++i) {
    std::vector<std::byte> bytes;
    s.keeper.thread().perform([&] { bytes = file->part(pe, i); });
    checkpoint_reader reader(bytes, file->name_of(pe, i));
    parts_[i].load(parts_[i].object, reader);
    if (reader.left() != 0) {
      reader.refuse("load() leaves " + std::to_string(reader.left()) + " of " + std::to_string(bytes.size()) +
                    " bytes that save() has put");
    }
  }
  restored_ = from.number;
}

checkpoint::~checkpoint() {
  if (state_->pending && std::uncaught_exceptions() == 0 && !me_->home().leaving()) {
    try {
      await_all();
    } catch (...) {  // the job has failed meanwhile
    }
  }
  state_->keeper.end();
}

bool checkpoint::save_if_due() {
  auto& s = *state_;
  const options& wanted = s.keeper.wanted();
  if (wanted.checkpoint.empty()) return false;
  const bool due = me_->index() == 0 && wanted.every && sched::now() - s.begun >= *wanted.every;
  return look(due ? std::uint8_t{is_due} : std::uint8_t{0});
}

bool checkpoint::save() { return !state_->keeper.wanted().checkpoint.empty() && look(is_wanted); }

bool checkpoint::wait() {
  refuse_amid_superstep(*me_, state_->head.of.name);
  if (state_->pending) await_all();
  return !state_->failed;
}

/// \param wish  checkpoint_flag bits of this PE
bool checkpoint::look(std::uint8_t wish) {
  auto& s = *state_;
  refuse_amid_superstep(*me_, s.head.of.name);
  const auto now = s.keeper.progress_of(s.head.of.name);
  unsigned mine = wish;
  if (s.keeper.asked_to_stop()) mine |= is_stop;
  if (now.writing) mine |= is_writing;
  if (!now.failure.empty()) mine |= has_failed;
  const unsigned all = me_->reduce(mine, [](unsigned a, unsigned b) { return a | b; });
  if (s.pending && (all & is_writing) == 0) end_pending((all & has_failed) != 0);
  if ((all & is_stop) != 0) stop();
  if ((all & (is_due | is_wanted)) == 0) return false;
  if (s.pending) {
    if ((all & is_wanted) == 0) return false;  // due once more when that is written
    await_all();
  }
  begin();
  return true;
}

/// Every PE has come here, so nothing is sent any more. What was sent before has been handled, or the sums over all
/// workers of what each has sent and handled differ.
void checkpoint::begin() {
  auto& s = *state_;
  auto& home = me_->home();
  std::int64_t under_way = 0;
  if (me_->index() == home.facts.first_pe) {
    home.out.close_batches();
    under_way = home.selectors.under_way();
  }
  if (const auto sum = me_->sum(under_way); sum != 0) {
    throw usage_error(error_number(966),
                      "PE " + std::to_string(me_->index()) + ": checkpoint `" + s.head.of.name + "` while " +
                          std::to_string(sum) + " messages are under way: call finish() or quiesce() before it",
                      {.pe = me_->index()});
  }
  detail::saved_parts copies(parts_.size());
  for (std::size_t i = 0; i != parts_.size(); ++i) parts_[i].save(parts_[i].object, copies[i]);
  const std::string path =
      s.folder.path_of(s.head.generation) + "/" + detail::checkpoint_file_name(s.head.first_pe, s.head.pes_here);
  s.keeper.hand_in(me_->index(), path, s.head, std::move(copies));
  s.begun = sched::now();
  me_->barrier();
  s.pending = true;
}

void checkpoint::await_all() {
  auto& s = *state_;
  s.keeper.await(s.head.of.name);
  const unsigned mine = s.keeper.progress_of(s.head.of.name).failure.empty() ? 0U : unsigned{has_failed};
  end_pending(me_->reduce(mine, [](unsigned a, unsigned b) { return a | b; }) != 0);
}

/// The generation that was pending is whole, or never will be: then its number is not used again.
void checkpoint::end_pending(bool failed) {
  auto& s = *state_;
  s.pending = false;
  s.failed = failed;
  const auto number = s.head.generation++;
  if (me_->index() == 0) {
    s.keeper.thread().begin([folder = s.folder, number, failed] { folder.prune(number, !failed); });
  }
}

void checkpoint::stop() {
  auto& s = *state_;
  if (s.pending) await_all();
  const std::string folder = s.folder.path_of(s.head.generation);
  begin();
  await_all();
  if (s.failed) {
    throw error(error_number(963),
                folder +
                    ": a signal asks the job to stop, and its checkpoint could not be "
                    "written; the job ends, and the checkpoints before it stay",
                {.pe = me_->index()});
  }
  s.keeper.stopped_after(folder);
  throw detail::job_stop{};
}

}  // namespace pgas
}  // namespace v1
}  // namespace shunt
