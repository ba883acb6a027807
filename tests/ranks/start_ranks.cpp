/// Jobs whose start fails, on all ranks or on one: what is wrong is said once.
///
///   start_ranks option         every rank is given a wrong option
///   start_ranks option_of_1    rank 1 is
///   start_ranks variable_of_1  rank 1 has a wrong variable, which it reads once the ranks know of each other
///   start_ranks few            fewer PEs than ranks: they find that together
///   start_ranks transport      every rank is told of a transport that there is not
///   start_ranks input          the program of every PE finds that its input is not there
///   start_ranks error_of_1     rank 1 fails before it calls launch(), and reports that itself
///   start_ranks again          a job that goes well, and another one in the same processes: networks begin once
///   start_ranks after_threads  a job of threads that goes well, then every rank is given a wrong option
///
/// The status is that of the last launch(); 3 where a job begins all the same.
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include <shunt/pgas.hpp>
#include <shunt/transport/processes.hpp>

using namespace shunt;

namespace {

std::vector<char*> pointers_to(std::vector<std::string>& words) {
  std::vector<char*> all;
  for (auto& w : words) all.push_back(w.data());
  all.push_back(nullptr);
  return all;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "";
  const char* const rank = transport::rank_by_launcher();
  const bool is_1 = rank != nullptr && std::string(rank) == "1";
  std::vector<std::string> words{argv[0]};
  if (what == "option" || (what == "option_of_1" && is_1)) words.insert(words.end(), {"--pes", "none"});
  if (what == "few") words.insert(words.end(), {"--pes", "1"});
  if (what == "transport") words.insert(words.end(), {"--transport", "pigeons"});
  if (what == "variable_of_1" && is_1) ::setenv("SHUNT_CHECK", "7", 1);
  if (what == "error_of_1" && is_1) return pgas::report_failure("start_ranks: ", "no such file", 2, argc, argv);
  auto pointers = pointers_to(words);
  int count = static_cast<int>(words.size());
  const auto run_job = [&] {
    return pgas::launch(count, pointers.data(), [&what](pgas::pe& me) {
      me.barrier();
      if (what == "input") throw usage_error("no such file");
    });
  };
  if (what == "again" && run_job() != 0) return 4;
  if (what == "after_threads") {
    pgas::run({.pes = 2, .transport = "threads", .workers = 1}, [](pgas::pe& me) { me.barrier(); });
    words.insert(words.end(), {"--pes", "none"});
    pointers = pointers_to(words);
    count = static_cast<int>(words.size());
  }
  const int status = run_job();
  return status == 0 ? 3 : status;
}
