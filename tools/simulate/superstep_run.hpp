/// One superstep, event by event, up to where each worker has nothing left to do.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "departures.hpp"
#include "event_model.hpp"
#include "event_queue.hpp"
#include "shared_links.hpp"

namespace shunt::simulate {

class superstep_run {
 public:
  /// \param begins  by worker: when it comes out of the superstep before
  superstep_run(const machine& on, const placed_job& job, const superstep_work& work,
                const std::vector<picoseconds>& begins, std::uint64_t seed);

  /// Until all workers have ended. \throws usage_error if one never does
  void run();

  [[nodiscard]] const std::vector<picoseconds>& ends() const noexcept { return ends_; }
  [[nodiscard]] const std::vector<time_split>& splits() const noexcept { return splits_; }
  /// Adds what trains did.
  void add_to(superstep_result& sum) const;
  [[nodiscard]] std::uint64_t events() const noexcept { return queue_.added(); }

 private:
  struct train {
    departure what;
    std::int32_t from = 0;
    picoseconds handed_over = 0;
  };
  struct worker_state {
    std::array<departures, stages> plan;
    std::array<std::size_t, stages> next{};       // of plan[s].full
    std::array<std::int64_t, stages> expected{};  // messages, by stage
    std::array<std::int64_t, stages> arrived{};
    std::array<std::int64_t, 2> marks_expected{};  // of the first hop, of the second one
    std::array<std::int64_t, 2> marks_arrived{};
    std::array<bool, stages> flushed{};
    std::int64_t loaded = 0;     // messages of its program
    std::int64_t under_way = 0;  // trains of its program
    std::deque<departure> to_send;
    std::deque<std::uint32_t> inbox;  // trains
    std::optional<departure> sending;
    std::int64_t unloading = -1;  // a train
    bool program_over = false;
    bool over = false;
    picoseconds idle_since = -1;
  };

  void go_on(std::int32_t w, picoseconds now);
  bool begin_sending(std::int32_t w, picoseconds now);
  bool begin_unloading(std::int32_t w, picoseconds now);
  bool begin_slice(std::int32_t w, picoseconds now);
  bool flush(std::int32_t w);
  void send_marks(std::int32_t w, stage of);
  void end_activity(std::int32_t w, picoseconds now);
  void hand_over(std::int32_t w, picoseconds now);
  void over_the_network(std::uint32_t id, const line& by, picoseconds now);
  void unloaded(std::int32_t w, std::uint32_t id, picoseconds now);
  void let_handlers_send(worker_state& w, stage of, std::int64_t arrived, std::int64_t expected);
  void train_arrives(std::uint32_t id, picoseconds now);
  void transfers_change(picoseconds now, std::uint32_t version);
  void expect_next_end();
  [[nodiscard]] bool complete(const worker_state& w, stage of) const noexcept;
  [[nodiscard]] bool marked() const noexcept { return work_.how == ending::marks; }
  [[nodiscard]] const line& line_of(distance how) const noexcept;
  [[nodiscard]] std::uint32_t new_train();

  const machine& on_;
  const placed_job& job_;
  const superstep_work& work_;
  std::vector<worker_state> workers_;
  std::vector<time_split> splits_;
  std::vector<picoseconds> ends_;
  std::vector<picoseconds> line_free_;  // by rank: when its process may begin another train
  std::vector<picoseconds> nic_free_;   // by node
  std::vector<picoseconds> line_busy_, nic_busy_;
  std::vector<train> trains_;
  std::vector<std::uint32_t> free_trains_;
  event_queue queue_;
  shared_links links_;
  std::uint32_t links_version_ = 0;
  std::size_t over_ = 0;
  std::int64_t trains_sent_ = 0, bytes_sent_ = 0;
};

}  // namespace shunt::simulate
