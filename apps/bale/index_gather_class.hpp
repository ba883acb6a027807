/// Index-gather in the class form: a mailbox of requests, each with a reply.
#pragma once
#include <bale/kernel.hpp>
namespace shunt::apps::class_form {
struct index_gather : pgas::actor<index_gather, pgas::asking<std::uint32_t, std::uint32_t, std::int64_t>> {
  std::int64_t process(std::uint32_t spot) const { return table[spot]; }
  void replied(std::uint32_t i, std::int64_t value) { target[i] = value; }
  void run(std::span<const place> reads) {
    for (std::uint32_t i = 0; i < reads.size(); ++i) ask(reads[i].pe, reads[i].spot, i);
    finish();
  }
  std::vector<std::int64_t>&table, &target;
};
}  // namespace shunt::apps::class_form
