/// Index-gather in the class form: a selector with a mailbox for requests and one for replies.
#pragma once
#include <bale/place.hpp>
#include <shunt/pgas.hpp>
#include <span>
namespace shunt::apps::class_form {
struct request { std::uint32_t spot, to; };
struct reply { std::uint32_t to; std::int64_t value; };
struct index_gather : pgas::selector<index_gather, request, reply> {
  index_gather(pgas::pe& me, std::vector<std::int64_t>& t, std::vector<std::int64_t>& g) : selector(me), table(t), target(g) {}
  void process(request r, int from) { send<1>(from, {r.to, table[r.spot]}); }
  void process(reply r) { target[r.to] = r.value; }
  void run(std::span<const place> reads) {
    for (std::uint32_t i = 0; i < reads.size(); ++i) send<0>(static_cast<int>(reads[i].pe), {reads[i].spot, i});
    finish();
  }
  std::vector<std::int64_t>&table, &target;
};
}  // namespace shunt::apps::class_form
