#include <shunt/transport/detail/threads.hpp>

#include <cstdlib>

#include <shunt/base/error.hpp>
#include <shunt/base/exit_status.hpp>

namespace shunt {
inline namespace v1 {
namespace transport {
namespace detail {
namespace {

class threads final : public carrier {
 public:
  std::string_view name() const noexcept override { return "threads"; }
  int rank() const noexcept override { return 0; }
  int ranks() const noexcept override { return 1; }
  int ranks_here() const noexcept override { return 1; }
  std::vector<std::string> exchange(const std::string& mine) override { return {mine}; }
  void start(const service&) override {}
  void send(rail::train& loaded, int rank) override {
    throw error(error_number(818),
                "the transport `threads` has one rank; a train was sent to rank " + std::to_string(rank) + " with " +
                    std::to_string(loaded.head.bytes) + " bytes",
                {.rank = rank});
  }
  bool poll(rail::train_list&) override { return false; }
  shared_place place_of(int) const noexcept override { return {}; }
  bool has_network() const noexcept override { return false; }
  std::chrono::nanoseconds patience() const noexcept override { return std::chrono::nanoseconds::max(); }
  std::optional<loss> beat() override { return std::nullopt; }
  void stop() override {}
  void abort(int status) noexcept override { std::_Exit(status_of_failure(status)); }
};

}  // namespace

std::unique_ptr<carrier> open_threads() { return std::make_unique<threads>(); }

}  // namespace detail
}  // namespace transport
}  // namespace v1
}  // namespace shunt
