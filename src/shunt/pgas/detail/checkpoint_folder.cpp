#include <shunt/pgas/detail/checkpoint_folder.hpp>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <filesystem>
#include <system_error>

#include <unistd.h>

#include <shunt/base/error.hpp>

namespace shunt {
inline namespace v1 {
namespace pgas {
namespace detail {
namespace {

namespace files = std::filesystem;

/// "PE 3", "PEs 2..5".
std::string pes_text(int first, int behind) {
  return behind - first == 1 ? "PE " + std::to_string(first)
                             : "PEs " + std::to_string(first) + ".." + std::to_string(behind - 1);
}

/// The paths of a folder's files, in order; a folder that is not there has none. One that cannot be listed is an error:
/// taken for empty, a generation would look unfinished, and be removed.
/// \throws error that names it
std::vector<std::string> paths_in(const std::string& folder) {
  std::vector<std::string> all;
  std::error_code failed;
  for (files::directory_iterator at(folder, failed); !failed && at != files::directory_iterator();
       at.increment(failed)) {
    all.push_back(at->path().string());
  }
  if (failed && failed != std::errc::no_such_file_or_directory) {
    throw error(error_number(961), folder + ": cannot be listed: " + failed.message(), {.native = failed.value()});
  }
  std::ranges::sort(all);
  return all;
}

/// Those of a folder and the folders above it that are not there.
std::vector<std::string> missing_folders(const std::string& folder) {
  std::vector<std::string> all;
  std::error_code ignored;
  for (files::path at(folder); !at.empty() && !files::exists(at, ignored); at = at.parent_path()) {
    all.push_back(at.string());
  }
  return all;
}

bool is_checkpoint_file(const std::string& path) {
  const std::string_view name = std::string_view(path).substr(path.rfind('/') + 1);
  return name.starts_with("pes-") && !name.ends_with(".unfinished");
}

}  // namespace

void whole_generation::save(checkpoint_writer& to) const {
  to.put(number);
  to.put(stamp);
  to.put(build);
  to.put(std::uint64_t{files.size()});
  for (const file& each : files) {
    to.put(each.path);
    to.put(each.first_pe);
    to.put(each.pes_here);
  }
}
void whole_generation::load(checkpoint_reader& from) {
  from.get(number);
  from.get(stamp);
  from.get(build);
  const auto count = from.get<std::uint64_t>();
  for (std::uint64_t i = 0; i != count; ++i) {
    file& one = files.emplace_back();
    from.get(one.path);
    from.get(one.first_pe);
    from.get(one.pes_here);
  }
}

checkpoint_folder::checkpoint_folder(std::string directory, std::string name)
    : directory_(std::move(directory)), name_(std::move(name)) {}

/// The names of new folders are on the disk before a generation lies below them.
void checkpoint_folder::make() const {
  const auto refuse = [this](const std::string& why, int native) {
    throw usage_error(error_number(954),
                      "--checkpoint " + directory_ + ": no checkpoint can be written there: " + why +
                          "; name a directory that the job may write to",
                      {.native = native});
  };
  const auto made = missing_folders(directory_);
  std::error_code failed;
  files::create_directories(directory_, failed);
  if (!failed && ::access(directory_.c_str(), R_OK | W_OK | X_OK) != 0)
    failed = std::error_code(errno, std::generic_category());
  if (failed) refuse(failed.message(), failed.value());
  for (const std::string& each : made) {
    if (const auto why = sync_folder_of(each); !why.empty()) refuse(each + ": " + why, 0);
  }
}

std::string checkpoint_folder::path_of(std::uint64_t generation) const {
  return directory_ + "/" + name_ + "." + std::to_string(generation);
}

std::string checkpoint_folder::mark_of(std::uint64_t stamp) const {
  return directory_ + "/" + name_ + ".seen-" + std::to_string(stamp);
}

void checkpoint_folder::remove_marks() const {
  for (const std::string& path : paths_in(directory_)) {
    if (path.starts_with(directory_ + "/" + name_ + ".seen-")) ::unlink(path.c_str());
  }
}

std::vector<std::uint64_t> checkpoint_folder::generations() const {
  std::vector<std::uint64_t> all;
  const std::string prefix = name_ + ".";
  for (const std::string& path : paths_in(directory_)) {
    const std::string_view name = std::string_view(path).substr(path.rfind('/') + 1);
    if (!name.starts_with(prefix)) continue;
    const auto digits = name.substr(prefix.size());
    std::uint64_t number = 0;
    const auto [end, problem] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
    if (problem == std::errc() && end == digits.data() + digits.size()) all.push_back(number);
  }
  std::ranges::sort(all);
  return all;
}

auto checkpoint_folder::look_at(std::uint64_t generation, const checkpoint_identity* here) const -> look {
  whole_generation all;
  all.number = generation;
  int pes = 0;
  for (const std::string& path : paths_in(path_of(generation))) {
    if (!is_checkpoint_file(path)) continue;
    const checkpoint_file one(path);
    const checkpoint_head& head = one.head();
    if (here != nullptr) {
      if (const auto other = head.of.difference(*here); !other.empty())
        throw usage_error(error_number(957), path + ": not a checkpoint of this job: " + other);
    }
    if (all.files.empty()) all.stamp = head.stamp, all.build = head.build, pes = head.of.pes;
    if (head.generation != generation || head.stamp != all.stamp || head.of.pes != pes) {
      throw error(error_number(959), path + ": a file of generation " + std::to_string(head.generation) +
                                         " of a job, among files of " +
                                         (head.generation == generation ? "another job" : "another generation") +
                                         ": they do not belong together. Remove the folder, or put the files back");
    }
    all.files.push_back({path, head.first_pe, head.pes_here});
  }
  std::ranges::sort(all.files, {}, &whole_generation::file::first_pe);
  int next = 0;
  for (const auto& file : all.files) {
    if (file.first_pe != next) return {std::nullopt, pes_text(next, std::max(next + 1, file.first_pe)) + " missing"};
    next += file.pes_here;
  }
  if (all.files.empty()) return {std::nullopt, "all PEs missing"};
  if (next != pes) return {std::nullopt, pes_text(next, pes) + " missing"};
  return {std::move(all), {}};
}

std::optional<whole_generation> checkpoint_folder::last(const checkpoint_identity& here,
                                                        std::vector<std::string>& notes) const {
  auto numbers = generations();
  for (; !numbers.empty(); numbers.pop_back()) {
    auto [found, missing] = look_at(numbers.back(), &here);
    if (found) return std::move(found);
    notes.push_back(path_of(numbers.back()) + " is not whole (" + missing + "): passed over");
  }
  return std::nullopt;
}

/// A generation that cannot be read stays: a person has to look at it. What cannot be removed stays as well.
/// The files of `current` are not looked at: this host may not see yet what another one has written, and a file of
/// which fsync() has failed looks like others.
void checkpoint_folder::prune(std::uint64_t current, bool is_whole) const noexcept {
  try {
    auto numbers = generations();
    std::ranges::reverse(numbers);
    int whole = 0;
    for (const std::uint64_t number : numbers) {
      if (number > current) continue;
      bool keep = true;
      try {
        keep = (number == current ? is_whole : look_at(number, nullptr).found.has_value()) && ++whole <= 2;
      } catch (const error&) {
      }
      std::error_code ignored;
      if (!keep) files::remove_all(path_of(number), ignored);
    }
  } catch (const std::exception&) {  // no memory, or no list: then nothing more is removed
  }
}

}  // namespace detail
}  // namespace pgas
}  // namespace v1
}  // namespace shunt
