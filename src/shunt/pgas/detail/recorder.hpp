/// Fills a recording while a job runs. One thread, the job's only worker, calls all of it.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <shunt/pgas/recording.hpp>
#include <shunt/wire.hpp>

namespace shunt {
inline namespace v1 {
namespace pgas {
namespace detail {

class recorder {
 public:
  /// \return what a record_next_job has announced; null: nothing is recorded.
  static std::unique_ptr<recorder> of_next_job();
  /// \param into  null: what was announced is withdrawn
  static void announce(recording* into) noexcept;

  explicit recorder(recording& into) : into_(into) {}

  /// Before the first call of any other function. \param pes  of the job
  void job_begins(int pes);
  /// A batch has been closed: its messages are on their way. They have routes, unless they are replies.
  void sent(wire::batch_head& batch, bool by_handlers);
  /// A batch has been handled. \param spent  ticks
  void handled(const wire::batch_head& batch, std::uint64_t spent);
  /// A PE has come to a collective call.
  void arrived(int pe);
  /// The superstep that is going on, and those after it, are measured, or are not.
  void mark(bool measured) noexcept { now_.measured = measured; }
  void superstep_ended(std::string_view call);
  void job_ended();

 private:
  struct cost {
    std::uint64_t ticks;  // of a batch
    std::uint32_t count;
  };
  /// A flow under construction.
  struct open_flow {
    std::uint16_t handler = 0;
    bool by_handlers = false;
    recording::flow done;
    std::vector<std::uint32_t> messages;  // by row (a kept PE), then by destination
    std::vector<std::uint64_t> touched;   // places of `messages` that are not 0
  };
  /// What batches for a handler cost in this superstep, a sample of them.
  struct handler_costs {
    std::vector<cost> sample;
    std::uint64_t seen = 0;
  };

  open_flow& flow_of(const wire::batch_head& batch, bool by_handlers);
  void count(open_flow& flow, const wire::route& way);
  [[nodiscard]] recording::flow finished(open_flow& flow) const;
  [[nodiscard]] double median_ticks(std::uint16_t handler) const;
  /// What a tick has taken since the job began.
  [[nodiscard]] double tick_ns() const noexcept;

  recording& into_;
  int pes_ = 0;
  std::vector<recording::block> kept_;
  std::vector<std::int32_t> row_of_;     // by PE; -1: not kept
  std::vector<std::int32_t> pe_of_row_;  // kept PEs
  std::vector<open_flow> flows_;
  std::size_t used_ = 0;  // of flows_, in this superstep
  std::unordered_map<std::uint16_t, handler_costs> costs_;
  std::vector<recording::superstep> supersteps_;
  recording::superstep now_;
  std::int64_t border_ns_ = 0;       // the thread's time at the last border
  std::uint64_t handler_ticks_ = 0;  // since then
  std::uint64_t first_ticks_ = 0;
  std::int64_t first_ns_ = 0;
};

}  // namespace detail
}  // namespace pgas
}  // namespace v1
}  // namespace shunt
