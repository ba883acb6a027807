// Files that are damaged, missing, of others, or cannot be written.
#include <shunt/pgas/checkpoint.hpp>

#include <csignal>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include <sys/resource.h>

#include <catch2/catch.hpp>
#include <shunt/base/crc32c.hpp>
#include <shunt/pgas/detail/checkpoint_file.hpp>
#include <shunt/pgas/detail/checkpoint_folder.hpp>

#include "folder.hpp"

using namespace shunt;
using namespace shunt::testing;
using Catch::Contains;

namespace {

using numbers = std::vector<long>;

void fill(pgas::pe& me, numbers& part) { part.assign(3, me.index() + 1); }

/// How a restart of two PEs with one part of that type ends; empty: well, with what fill() made.
template <class Part = numbers>
std::string restart(const pgas::options& job, const char* name = "state") {
  return failure_of(job, [&](pgas::pe& me) {
    Part part{};
    const pgas::checkpoint saved(me, name, part);
    if constexpr (std::is_same_v<Part, numbers>) {
      numbers wanted;
      fill(me, wanted);
      expect(saved.restored() && part == wanted, "as it was saved");
    }
  });
}
std::string restart(const folder& there) { return restart(restarted(small(2, 2), there)); }

void save_two_generations(const folder& there) {
  for (int i = 0; i != 2; ++i) save_one<numbers>(writing(small(2, 2), there), fill);
}

}  // namespace

TEST_CASE("checkpoint file: a flipped bit in any byte is refused, and the file named") {
  const folder there;
  save_one<numbers>(writing(small(2, 2), there), fill);
  const std::string path = there.path() + "/state.1/pes-0-1";
  const auto whole = read_file(path);
  REQUIRE(restart(there).empty());
  for (std::size_t at = 0; at != whole.size(); ++at) {
    auto damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ (1 << (at % 8)));
    write_file(path, damaged);
    const auto said = restart(there);
    INFO("byte " << at << ": " << said);
    REQUIRE_THAT(said, Contains(path) && Contains("SHUNT-0958") && Contains("Remove the folder of this generation"));
  }
  write_file(path, whole);
  CHECK(restart(there).empty());
}

TEST_CASE("checkpoint file: damage in a part names the PE and the part") {
  const folder there;
  save_one<numbers>(writing(small(2, 2), there), fill);
  const std::string path = there.path() + "/state.1/pes-0-1";
  auto bytes = read_file(path);
  bytes.back() = static_cast<char>(bytes.back() ^ 1);
  write_file(path, bytes);
  CHECK_THAT(restart(there), Contains(path + ": PE 1, part 1 (std::vector<long") && Contains("is damaged"));
}

TEST_CASE("checkpoint file: one that is truncated anywhere, or longer, is refused") {
  const folder there;
  save_one<numbers>(writing(small(2, 2), there), fill);
  const std::string path = there.path() + "/state.1/pes-0-1";
  const auto whole = read_file(path);
  for (std::size_t length = 0; length != whole.size(); ++length) {
    write_file(path, whole.substr(0, length));
    REQUIRE_THAT(restart(there), Contains(path) && Contains("SHUNT-0958"));
  }
  write_file(path, whole + '\0');
  CHECK_THAT(restart(there), Contains(std::to_string(whole.size() + 1) + " bytes, and should have"));
}

TEST_CASE("checkpoint: files of two generations, or of two jobs, do not belong together") {
  const folder there, other;
  for (const auto* each : {&there, &other}) save_two_generations(*each);
  // As if each PE were a rank: a file for each.
  const auto split = [](const folder& of, const std::string& generation) {
    pgas::detail::checkpoint_file whole(of.path() + "/" + generation + "/pes-0-1");
    for (int pe = 0; pe != 2; ++pe) {
      auto head = whole.head();
      head.table.clear();
      head.first_pe = pe;
      head.pes_here = 1;
      pgas::detail::saved_parts parts(1);
      parts[0].put_bytes(whole.part(pe, 0));
      const std::string path = of.path() + "/" + generation + "/" + pgas::detail::checkpoint_file_name(pe, 1);
      REQUIRE(pgas::detail::write_checkpoint_file(path, head, std::span(&parts, 1)).empty());
    }
    std::filesystem::remove(of.path() + "/" + generation + "/pes-0-1");
  };
  for (const auto* each : {&there, &other}) {
    split(*each, "state.1");
    split(*each, "state.2");
  }
  REQUIRE(restart(there).empty());  // two files, and ranks that wrote them are not those that read them
  const auto mine = read_file(there.path() + "/state.2/pes-1-1");
  std::filesystem::copy_file(there.path() + "/state.1/pes-1-1", there.path() + "/state.2/pes-1-1",
                             std::filesystem::copy_options::overwrite_existing);
  CHECK_THAT(restart(there), Contains("/state.2/pes-1-1: a file of generation 1") && Contains("another generation") &&
                                 Contains("SHUNT-0959"));
  std::filesystem::copy_file(other.path() + "/state.2/pes-1-1", there.path() + "/state.2/pes-1-1",
                             std::filesystem::copy_options::overwrite_existing);
  CHECK_THAT(restart(there), Contains("/state.2/pes-1-1") && Contains("files of another job"));
  write_file(there.path() + "/state.2/pes-1-1", mine);
  CHECK(restart(there).empty());
}

TEST_CASE("checkpoint: a later generation that is not whole is passed over") {
  const folder there;
  save_two_generations(there);
  std::filesystem::rename(there.path() + "/state.2/pes-0-1", there.path() + "/state.2/pes-0-1.unfinished");
  CHECK(restart(there).empty());
  // Its number is not used again, and the next job removes it.
  save_one<numbers>(writing(small(2, 2), there), fill);
  CHECK(there.names() == std::vector<std::string>{"state.1", "state.3"});
}

TEST_CASE("checkpoint: the last two generations are kept") {
  const folder there;
  pgas::run(writing(small(2, 2), there), [](pgas::pe& me) {
    numbers part;
    fill(me, part);
    pgas::checkpoint saved(me, "state", part);
    for (int i = 0; i != 5; ++i) expect(saved.save());
  });
  CHECK(there.names() == std::vector<std::string>{"state.4", "state.5"});
  CHECK(restart(there).empty());
  save_one<numbers>(writing(small(2, 2), there), fill);
  CHECK(there.names() == std::vector<std::string>{"state.5", "state.6"});
}

TEST_CASE("checkpoint: a restart removes what a job has left that was killed before it could") {
  const folder there, aside;
  save_two_generations(there);
  std::filesystem::copy(there.path() + "/state.1", aside.path() + "/state.1");
  save_one<numbers>(writing(small(2, 2), there), fill);
  std::filesystem::copy(aside.path() + "/state.1", there.path() + "/state.1");
  // Later than the last whole one: whether a rank's file is only not seen yet, the next whole generation decides.
  std::filesystem::create_directory(there.path() + "/state.4");
  CHECK(restart(there).empty());  // it writes nowhere
  CHECK(there.names() == std::vector<std::string>{"state.1", "state.2", "state.3", "state.4"});
  CHECK(restart(restarted(writing(small(2, 2), there), there)).empty());
  CHECK(there.names() == std::vector<std::string>{"state.2", "state.3", "state.4"});
}

TEST_CASE("checkpoint folder: one that cannot be listed is not taken for an empty one") {
  const folder there;
  save_two_generations(there);
  const std::string round = there.path() + "/state.3";
  std::filesystem::create_symlink(round, round);  // to itself
  CHECK_THAT(restart(there), Contains(round + ": cannot be listed") && Contains("SHUNT-0961"));
  // Otherwise it would be one that is not whole, which goes when a later one is.
  save_one<numbers>(writing(small(2, 2), there), fill);
  CHECK(there.names() == std::vector<std::string>{"state.2", "state.3", "state.4"});
  const pgas::detail::checkpoint_folder nowhere(round, "state");
  CHECK_THAT(thrown_by<error>([&] { static_cast<void>(nowhere.generations()); }), Contains("cannot be listed"));
  const pgas::detail::checkpoint_folder none(there.path() + "/none", "state");
  CHECK(none.generations().empty());
}

TEST_CASE("checkpoint folder: a generation whose writing has failed does not drive out one that is whole") {
  const folder there;
  for (int i = 0; i != 3; ++i) save_one<numbers>(writing(small(2, 2), there), fill);
  REQUIRE(there.names() == std::vector<std::string>{"state.2", "state.3"});
  const pgas::detail::checkpoint_folder all(there.path(), "state");
  std::filesystem::copy(there.path() + "/state.3", there.path() + "/state.4");  // as where fsync() has failed
  all.prune(4, false);
  CHECK(there.names() == std::vector<std::string>{"state.2", "state.3"});
}

TEST_CASE("checkpoint folder: a generation that all ranks have written stays, seen by this host or not") {
  const folder there;
  save_two_generations(there);
  std::filesystem::create_directory(there.path() + "/state.3");
  const pgas::detail::checkpoint_folder all(there.path(), "state");
  all.prune(3, true);
  CHECK(there.names() == std::vector<std::string>{"state.2", "state.3"});
}

TEST_CASE("checkpoint folder: it is made with those above it") {
  const folder there;
  auto job = writing(small(2, 2), there);
  job.checkpoint += "/a/b";
  save_one<numbers>(job, fill);
  CHECK(there.names("a/b") == std::vector<std::string>{"state.1"});
}

TEST_CASE("checkpoint file: one of another format is refused as that, and stays") {
  const folder there;
  save_one<numbers>(writing(small(2, 2), there), fill);
  const std::string path = there.path() + "/state.1/pes-0-1";
  auto bytes = read_file(path);
  // | magic, 8 | format, 4 | check, 4 | bytes of the head, 8 | bytes of the file, 8 | head |
  const std::uint32_t format = 2;
  std::memcpy(bytes.data() + 8, &format, sizeof format);
  std::uint64_t head_bytes = 0;
  std::memcpy(&head_bytes, bytes.data() + 16, sizeof head_bytes);
  const auto all = std::as_bytes(std::span(bytes));
  crc32c check;
  check.add(all.subspan(8, 4));
  check.add(all.subspan(16, 16 + head_bytes));
  const std::uint32_t value = check.value();
  std::memcpy(bytes.data() + 12, &value, sizeof value);
  write_file(path, bytes);
  CHECK_THAT(restart(there), Contains(path + ": has format 2, and this program reads and writes format 1") &&
                                 Contains("SHUNT-0967") && !Contains("Remove"));
  for (int i = 0; i != 3; ++i) save_one<numbers>(writing(small(2, 2), there), fill);
  CHECK(there.names() == std::vector<std::string>{"state.1", "state.3", "state.4"});
}

TEST_CASE("checkpoint: one of another program, number of PEs or parts is refused, and what differs named") {
  const folder there;
  save_one<numbers>(writing(small(2, 2), there), fill);
  auto job = restarted(small(2, 2), there);
  job.name = "other";
  CHECK_THAT(restart(job), Contains("it is of program `program`, and this is `other`") && Contains("SHUNT-0957"));
  CHECK_THAT(restart(restarted(small(3, 2), there)),
             Contains("it is of a job of 2 PEs, and this one has 3; start it with --pes 2"));
  CHECK_THAT(restart<std::vector<int>>(restarted(small(2, 2), there)),
             Contains("its part 1 is `std::vector<long") && Contains("the program's is `std::vector<int"));
  CHECK_THAT(failure_of(restarted(small(2, 2), there),
                        [](pgas::pe& me) {
                          numbers one, two;
                          const pgas::checkpoint saved(me, "state", one, two);
                        }),
             Contains("it has 1 parts, and the program's has 2"));
}

TEST_CASE("checkpoint: named parts of one type cannot change places") {
  const folder there;
  const auto job = [&](const pgas::options& how, bool changed) {
    return failure_of(how, [&](pgas::pe& me) {
      long width = 1, height = 2;
      auto a = pgas::named("width", width);
      auto b = pgas::named("height", height);
      pgas::checkpoint saved(me, "state", changed ? b : a, changed ? a : b);
      static_cast<void>(saved.save());
    });
  };
  REQUIRE(job(writing(small(1, 1), there), false).empty());
  CHECK(job(restarted(small(1, 1), there), false).empty());
  CHECK_THAT(job(restarted(small(1, 1), there), true),
             Contains("its part 1 is `width: long") && Contains("the program's is `height: long"));
}

TEST_CASE("checkpoint: where one is wanted and none is there, the job does not begin") {
  const folder there;
  CHECK_THAT(restart(there), Contains("no whole checkpoint `state` is there") && Contains("SHUNT-0956"));
  auto either = writing(small(2, 2), there);
  either.restart = "auto";
  int began = 0;
  pgas::run(either, [&](pgas::pe& me) {
    numbers part;
    const pgas::checkpoint saved(me, "state", part);
    if (me.index() == 0 && !saved.restored()) ++began;
  });
  CHECK(began == 1);
  // A second checkpoint of the program may not have been reached when the first was written.
  save_one<numbers>(writing(small(2, 2), there), fill);
  CHECK(failure_of(restarted(small(2, 2), there), [](pgas::pe& me) {
          numbers one, two;
          const pgas::checkpoint first(me, "state", one), second(me, "later", two);
          expect(first.restored() && !second.restored());
        }).empty());
}

TEST_CASE("checkpoint: a directory that cannot be made is refused at once") {
  const folder there;
  write_file(there.path() + "/file", "");
  auto job = writing(small(2, 2), there);
  job.checkpoint += "/file/below";
  CHECK_THAT(restart(job), Contains("--checkpoint " + job.checkpoint + ": no checkpoint can be written there") &&
                               Contains("SHUNT-0954"));
}

TEST_CASE("checkpoint: a file that cannot be written ends nothing, and leaves the one before it") {
  const folder there;
  save_one<numbers>(writing(small(2, 2), there), fill);
  ::rlimit before{};
  REQUIRE(::getrlimit(RLIMIT_FSIZE, &before) == 0);
  const ::rlimit small_files{4096, before.rlim_max};
  const std::string failure = failure_of(writing(small(2, 2), there), [&](pgas::pe& me) {
    numbers part(100'000);
    pgas::checkpoint saved(me, "state", part);
    if (me.index() == 0) static_cast<void>(::setrlimit(RLIMIT_FSIZE, &small_files));
    me.barrier();
    expect(saved.save(), "begun");
    expect(!saved.wait(), "has failed");
    fill(me, part);  // what fits
    expect(saved.save() && saved.wait(), "the next one");
    part.assign(100'000, 0);
    expect(saved.save() && !saved.wait(), "and not the one after that");
  });
  static_cast<void>(::setrlimit(RLIMIT_FSIZE, &before));
  CHECK(failure.empty());
  CHECK(there.names() == std::vector<std::string>{"state.1", "state.3"});
  CHECK(restart(there).empty());
}
