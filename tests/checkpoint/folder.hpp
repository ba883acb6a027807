/// Directories for checkpoints, and jobs that use them.
#pragma once

#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <stdlib.h>

#include <support/jobs.hpp>

namespace shunt::testing {

/// A directory that goes with the object.
class folder {
 public:
  folder() {
    std::string name = (std::filesystem::temp_directory_path() / "shunt-checkpoint-XXXXXX").string();
    expect(::mkdtemp(name.data()) != nullptr, "mkdtemp");
    path_ = name;
  }
  ~folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  folder(const folder&) = delete;
  folder& operator=(const folder&) = delete;

  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  /// Names in it, in order.
  [[nodiscard]] std::vector<std::string> names(const std::string& below = {}) const {
    std::vector<std::string> all;
    for (const auto& each : std::filesystem::directory_iterator(path_ + "/" + below)) {
      all.push_back(each.path().filename().string());
    }
    std::sort(all.begin(), all.end());
    return all;
  }

 private:
  std::string path_;
};

inline std::string read_file(const std::string& path) {
  std::ifstream from(path, std::ios::binary);
  expect(from.good(), path);
  return {std::istreambuf_iterator<char>(from), {}};
}
inline void write_file(const std::string& path, const std::string& bytes) {
  std::ofstream to(path, std::ios::binary);
  to << bytes;
  expect(to.good(), path);
}

/// A job that writes checkpoints there.
inline pgas::options writing(pgas::options job, const folder& to) {
  job.checkpoint = to.path();
  job.name = "program";
  return job;
}
/// A job that takes one up from there.
inline pgas::options restarted(pgas::options job, const folder& from) {
  job.restart = from.path();
  job.name = "program";
  return job;
}

/// Writes one generation of `part`, which the PE's index fills.
template <class Part, class Fill>
void save_one(const pgas::options& job, Fill fill, const char* name = "state") {
  pgas::run(job, [&](pgas::pe& me) {
    Part part{};
    fill(me, part);
    pgas::checkpoint saved(me, name, part);
    expect(saved.save() && saved.wait(), "written");
  });
}

}  // namespace shunt::testing
