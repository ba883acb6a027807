#include <shunt/pgas/detail/buffer_plan.hpp>

#include <algorithm>
#include <bit>
#include <string>

#include <shunt/base/error.hpp>
#include <shunt/pgas/detail/job_layout.hpp>
#include <shunt/rail/train.hpp>
#include <shunt/wire.hpp>

namespace shunt {
inline namespace v1 {
namespace pgas {
namespace detail {
namespace {

/// Below it the handing over of a train costs more than what it carries.
constexpr std::size_t useful_train = 1024;
constexpr std::size_t least_train = 512;
/// Trains a send buffer, as far as the budget goes and those under way stay within some rings: one is filled, one
/// travels, one is unloaded, one comes home.
constexpr std::size_t trains_a_buffer = 4;
/// Bytes of open trains. With a thousand buffers no cache near the core holds them: better full trains than none in it.
constexpr std::size_t open_trains = std::size_t{8} << 20;
/// A send buffer for each PE pays while its trains are no shorter.
constexpr std::size_t useful_plain_train = 2 * useful_train;
/// With more PEs requests share buffers. Each batch of them holds a train for continuations besides its own, so that
/// with many destinations all trains are out before one is full. Measured with two workers, a read each: 64 PEs 2.9 and
/// 3.7 ns, plain and routed, 128 PEs 5.8 and 3.6, 2,048 PEs 120 and 9.
constexpr int most_plain_requests = 64;
/// Bytes of trains in turn, where the budget allows: train_pool::take says why so many.
constexpr std::size_t deep_ring = std::size_t{2} << 20;

}  // namespace

buffer_plan buffer_plan::of(std::size_t budget, int pes, int workers, std::size_t wanted_capacity, int wanted_hops,
                            int buffers_of_two_hops, std::size_t longest) {
  const std::size_t share = budget / 4;  // regular trains of programs; as much for handlers; half to spare
  const auto affordable = [&](std::size_t buffers) {
    const std::size_t each = std::min(share / trains_a_buffer, open_trains) / buffers;
    return each < sizeof(rail::train) ? std::size_t{0} : std::bit_floor(each);
  };
  const auto by_worker = static_cast<std::size_t>(workers);
  const auto by_hop = static_cast<std::size_t>(buffers_of_two_hops != 0 ? buffers_of_two_hops
                                                                        : 2 * job_layout::square_columns(workers));
  const auto by_pe = static_cast<std::size_t>(pes);
  buffer_plan t;
  t.hops = wanted_hops != 0 ? wanted_hops : affordable(by_worker) < useful_train && workers > 4 ? 2 : 1;
  t.plain = t.hops == 1 && (pes == workers || affordable(by_pe) >= useful_plain_train);
  t.requests_routed = t.plain && pes > std::max(workers, most_plain_requests);
  const std::size_t buffers = t.plain ? by_pe : t.hops == 1 ? by_worker : by_hop;
  t.capacity = wanted_capacity != 0 ? wire::round_up(wanted_capacity, cache_line)
                                    : std::clamp(affordable(buffers), least_train, longest);
  const std::size_t each = t.capacity + sizeof(rail::train);
  const std::size_t under_way = std::min((trains_a_buffer - 1) * buffers, (trains_a_buffer - 1) * deep_ring / each);
  t.regular = std::min(share / each, buffers + std::max(under_way, deep_ring / each));
  t.resting = std::max<std::size_t>(1, deep_ring / each);
  t.limit = budget / each;
  if (t.regular < 2) {
    throw usage_error(error_number(902), "--budget: " + std::to_string(budget) +
                                             " bytes a worker are too few for trains of " + std::to_string(t.capacity) +
                                             " bytes, at least " + std::to_string(8 * each) + " are needed");
  }
  return t;
}

buffer_plan buffer_plan::of(const job_layout& layout, std::size_t budget_of_pe, std::size_t wanted_capacity,
                            int wanted_hops, std::size_t longest) {
  const auto least_pes = static_cast<std::size_t>(layout.pes / std::max(1, layout.workers));
  return of(budget_of_pe * std::max<std::size_t>(1, least_pes), layout.pes, layout.workers, wanted_capacity,
            wanted_hops, layout.buffers_of_two_hops(), longest);
}

}  // namespace detail
}  // namespace pgas
}  // namespace v1
}  // namespace shunt
