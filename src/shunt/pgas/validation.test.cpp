// Trains that come from another process are compared before they are used: what a sound program sends passes, what
// cannot be ends the job with a message that names rank, train and field.
#include <array>
#include <catch2/catch.hpp>
#include <cstring>
#include <map>
#include <set>
#include <shunt/pgas.hpp>
#include <shunt/pgas/detail/validation.hpp>
#include <string>
#include <support/jobs.hpp>
#include <support/ranks.hpp>
#include <utility>
#include <vector>

using namespace shunt;
using namespace shunt::testing;
using Catch::Contains;
using Catch::StartsWith;
using pgas::detail::validator;

namespace {

struct shape {
  const char* name;
  int ranks, pes, workers, hops;
  std::size_t budget;
};

/// A send buffer for each PE, the same but for requests, one for each worker, and the grid of two hops.
const shape shapes[] = {
    {"plain", 2, 2, 1, 1, 1 << 20},
    {"plain but requests", 2, 66, 1, 1, 1 << 20},
    {"routed", 2, 12, 2, 1, 24 << 10},
    {"two hops", 4, 8, 2, 2, 1 << 20},
};

pgas::options options_of(const shape& s) {
  auto o = tiny(s.pes, s.workers, s.hops);
  o.budget = s.budget;
  return o;
}

struct chain : pgas::selector<chain, int, pgas::varying<char>> {
  explicit chain(pgas::pe& me) : selector(me) {}
  void process(int n, int from) {
    sum += n + from;
    send<1>((me().index() + n) % me().count(),
            std::string("text of a length that differs").substr(0, static_cast<std::size_t>(n % 29)));
  }
  void process(std::string_view text) { sum += static_cast<long>(text.size()); }
  long sum = 0;
};

/// Every kind of message: captures, payloads, requests and replies, values, marks, tokens, pieces.
void everything(pgas::pe& me) {
  pgas::symmetric<std::vector<long>> part(me, 16);
  pgas::actor_of adder(part);
  for (int epoch = 0; epoch < 2; ++epoch) {
    for (int i = 0; i < 60; ++i) {
      const int to = (me.index() + i) % me.count();
      adder.send(to, [i](auto& p) { p[static_cast<std::size_t>(i) % 16] += 1; });
      adder.send(to, std::string_view("four"),
                 [](auto& p, std::string_view text) { p[0] += static_cast<long>(text.size()); });
      adder.ask(
          to, [i](auto& p) { return p[static_cast<std::size_t>(i) % 16]; },
          [](auto& p, long value) { p[1] += value < 0; });
    }
    expect(adder.fetch((me.index() + 1) % me.count(), [](auto& p) { return p.size(); }) == 16);
    adder.finish();
  }
  chain c(me);
  for (int i = 0; i < 60; ++i) c.send((me.index() + i) % me.count(), i);
  c.finish();
  c.quiesce();
  c.send(0, 1);
  const auto end = c.ending();
  expect(me.sum(1) == me.count());
  expect(static_cast<int>(me.gather(std::string(300, 'x')).size()) == me.count());
  me.barrier();
  end.get();
}

/// What rank `rank` knows of the job.
struct rank_facts {
  pgas::detail::job_layout layout;
  validator known;
  rank_facts(const shape& s, int rank)
      : layout(pgas::detail::job_layout::over(s.pes, std::vector<int>(static_cast<std::size_t>(s.ranks), s.workers),
                                              rank)),
        known({rank, layout.pes, layout.workers, s.hops, layout.columns, std::string_view(s.name).starts_with("plain"),
               std::string_view(s.name) == "plain but requests", layout.worker_of, layout.rank_of}) {}
};

struct seen_train {
  int at_rank;
  std::vector<std::byte> freight;
  std::uint16_t from_rank;
};

/// Trains of a batch of everything(), each with a kind of batch that those before it do not have, or in another place.
std::vector<seen_train> trains_of(const shape& s) {
  std::vector<seen_train> seen;
  std::set<std::array<std::size_t, 3>> kinds;
  long empty_trains = 0;
  memory_network net(s.ranks, [&](rail::train& t, int rank) {
    if (t.head.bytes == 0) ++empty_trains;
    bool is_new = false;
    std::size_t place = 0;
    for (std::size_t at = 0; at < t.head.bytes; place = 1) {
      wire::batch_head batch;
      std::memcpy(&batch, t.goods() + at, sizeof batch);
      is_new |= kinds.insert({batch.handler, batch.flags, place}).second;
      at = wire::round_up(at + sizeof batch + batch.bytes, wire::batch_alignment);
    }
    if (is_new) seen.push_back({rank, {t.freight(), t.freight() + t.freight_bytes()}, t.head.rank});
  });
  net.run(options_of(s), everything);
  CHECK(empty_trains == 0);
  return seen;
}

}  // namespace

TEST_CASE("validator: every head of a sound train passes, and no head with one bit changed does") {
  const shape& s = GENERATE(from_range(std::begin(shapes), std::end(shapes)));
  CAPTURE(s.name);
  const auto trains = trains_of(s);
  REQUIRE(trains.size() > 8);
  std::map<std::string, long> flips;
  for (const auto& seen : trains) {
    const rank_facts here(s, seen.at_rank);
    const train_copy copy(512, seen.freight, nullptr);
    rail::train& t = *copy;
    t.head.rank = seen.from_rank;
    REQUIRE(here.known.fault_of(t) == "");
    const auto flip_all = [&](const char* kind, void* where, std::size_t bytes) {
      for (std::size_t bit = 0; bit < 8 * bytes; ++bit) {
        auto& byte = static_cast<std::byte*>(where)[bit / 8];
        const auto mask = std::byte(1 << bit % 8);
        byte ^= mask;
        const auto fault = here.known.fault_of(t);
        byte ^= mask;
        ++flips[kind];
        if (fault.empty()) FAIL_CHECK(kind << ": bit " << bit << " was not seen");
        if (fault.rfind("rank " + std::to_string(seen.from_rank) + " sent a damaged train (", 0) != 0)
          FAIL_CHECK(fault);
      }
    };
    // The transport vouches for bytes, channel and rank.
    flip_all("from", &t.head.from, sizeof t.head.from);
    flip_all("to", &t.head.to, sizeof t.head.to);
    flip_all("empty", &t.head.empty, sizeof t.head.empty);
    for (std::size_t at = 0; at < t.head.bytes;) {
      auto& batch = *reinterpret_cast<wire::batch_head*>(t.goods() + at);
      flip_all("batch", &batch, sizeof batch);
      if (batch.mailbox == pgas::detail::control) {
        std::byte* message = batch.messages();
        for (std::uint32_t i = 0; i < batch.count; ++i) {
          const auto bytes = reinterpret_cast<const wire::span_head*>(message)->bytes;
          flip_all("control", message, sizeof(wire::route));
          flip_all("control", message + sizeof(wire::span_head), wire::handler_table::at(batch.handler).layout().least);
          message += wire::round_up(sizeof(wire::span_head) + bytes, wire::span_alignment);
        }
      }
      at = wire::round_up(at + sizeof batch + batch.bytes, wire::batch_alignment);
    }
    REQUIRE(here.known.fault_of(t) == "");
  }
  CHECK(flips["batch"] > 100);
  CHECK(flips["control"] > 100);
}

TEST_CASE("validator: messages are from PEs of the sender's rank; what is passed on asks for no PE of this worker") {
  const shape& s = GENERATE(from_range(std::begin(shapes), std::end(shapes)));
  CAPTURE(s.name);
  std::map<std::string, long> seen_so_far;
  for (const auto& seen : trains_of(s)) {
    const rank_facts here(s, seen.at_rank);
    const train_copy copy(512, seen.freight, nullptr);
    rail::train& t = *copy;
    t.head.rank = seen.from_rank;
    for (std::size_t at = 0; at < t.head.bytes;) {
      auto& batch = *reinterpret_cast<wire::batch_head*>(t.goods() + at);
      at = wire::round_up(at + sizeof batch + batch.bytes, wire::batch_alignment);
      if (batch.mailbox == pgas::detail::control || (batch.flags & wire::routed) == 0 || batch.stride == 0) continue;
      const bool passed_on = (batch.flags & wire::forwarded) != 0;
      const bool asks = (wire::handler_table::at(batch.handler).flags() & wire::requests) != 0;
      wire::route way;
      std::memcpy(&way, batch.messages(), sizeof way);
      const auto original = way;
      for (int pe = 0; pe < s.pes; ++pe) {
        way.from = static_cast<std::uint16_t>(pe);
        std::memcpy(batch.messages(), &way, sizeof way);
        const int home = here.layout.worker_of[static_cast<std::size_t>(pe)];
        const bool good = passed_on ? !asks || home != t.head.to
                                    : here.layout.rank_of[static_cast<std::size_t>(home)] == seen.from_rank;
        const auto fault = here.known.fault_of(t);
        CHECK(fault.empty() == good);
        if (!good) CHECK_THAT(fault, Contains("is from PE " + std::to_string(pe) + ", which does not send by worker"));
        ++seen_so_far[good ? "good" : passed_on ? "passed on" : "of another rank"];
      }
      std::memcpy(batch.messages(), &original, sizeof original);
    }
  }
  if (std::string_view(s.name).starts_with("plain")) return;  // its heads name the PEs
  CHECK(seen_so_far["good"] > 0);
  CHECK(seen_so_far["of another rank"] > 0);
  CHECK((seen_so_far["passed on"] > 0) == (s.hops == 2));
}

TEST_CASE("validator: a train cut anywhere reads nothing behind its end") {
  const shape& s = GENERATE(from_range(std::begin(shapes), std::end(shapes)));
  long told = 0;
  for (const auto& seen : trains_of(s)) {
    const rank_facts here(s, seen.at_rank);
    for (std::size_t bytes = sizeof(rail::train_head); bytes < seen.freight.size(); ++bytes) {
      const std::span<const std::byte> front(seen.freight.data(), bytes);
      // No byte behind the end is there: a sanitizer sees an access.
      const train_copy copy(bytes - sizeof(rail::train_head), front, nullptr);
      copy->head.bytes = static_cast<std::uint32_t>(bytes - sizeof(rail::train_head));
      copy->head.rank = seen.from_rank;
      told += here.known.fault_of(*copy).empty() ? 0 : 1;
    }
  }
  CHECK(told > 100);
}

namespace {

/// A change that the checks do not betray: as a program would make it that differs, or is wrong.
struct forgery {
  const char* name;
  const char* handler;                      ///< of the batch, by the start of its name; "": any batch of a mailbox
  void (*change)(wire::batch_head& batch);  ///< of the first such batch
  const char* said;
};

template <class Int>
void add_to(wire::batch_head& batch, std::size_t captures_offset, long by) {
  std::byte* const at = batch.messages() + sizeof(wire::span_head) + captures_offset;
  Int value;
  std::memcpy(&value, at, sizeof value);
  value = static_cast<Int>(value + by);
  std::memcpy(at, &value, sizeof value);
}

const forgery forgeries[] = {
    {"handler", "", [](wire::batch_head& r) { r.handler = 60'000; }, "handler 60000, but the program has"},
    {"count", "", [](wire::batch_head& r) { ++r.count; }, "count is"},
    {"bytes", "", [](wire::batch_head& r) { r.bytes = 100'000; }, "bytes are 100000"},
    {"stride", "", [](wire::batch_head& r) { r.stride = static_cast<std::uint16_t>(r.stride + 8); }, "stride is"},
    {"mailbox", "", [](wire::batch_head& r) { r.mailbox = 3; }, "mailbox 3"},
    {"flags", "", [](wire::batch_head& r) { r.flags ^= wire::replies; }, "flags"},
    {"selector 0", "", [](wire::batch_head& r) { r.selector = 0; }, "selector 0"},
    {"to", "", [](wire::batch_head& r) { r.to = 0xfff0; }, "to is PE 65520"},
    {"from", "", [](wire::batch_head& r) { r.from = 0xfff0; }, "from is PE 65520"},
    {"end mark's mailbox", "end mark", [](wire::batch_head& r) { add_to<std::uint8_t>(r, 14, 40); },
     "end mark: mailbox"},
    {"end mark's hop", "end mark", [](wire::batch_head& r) { add_to<std::uint8_t>(r, 15, 1); }, "end mark: of hop 1"},
    {"token's round", "barrier", [](wire::batch_head& r) { add_to<std::uint8_t>(r, 8, 16); }, "barrier: round 16"},
    {"token's number", "barrier", [](wire::batch_head& r) { add_to<std::uint64_t>(r, 0, 5); },
     "barrier: round 0 of barrier"},
    {"piece's offset", "collective", [](wire::batch_head& r) { add_to<std::uint32_t>(r, 8, 1'000'000); },
     "collective: bytes 1000000"},
    {"piece's total", "collective", [](wire::batch_head& r) { add_to<std::uint32_t>(r, 4, -8); },
     "collective: bytes 0"},
    {"piece's sequence", "collective", [](wire::batch_head& r) { add_to<std::uint32_t>(r, 0, 7); },
     "collective: bytes"},
    {"piece's worker", "collective", [](wire::batch_head& r) { add_to<std::uint16_t>(r, 12, 9); },
     "collective: a piece of worker"},
    {"replies' request id", "replies", [](wire::batch_head& r) { r.request_id += 1000; }, "replies to requests 1"},
    {"replies' first", "replies", [](wire::batch_head& r) { r.first += 1000; }, "replies 10"},
};

bool concerns(const forgery& f, const wire::batch_head& batch) {
  const auto& how = wire::handler_table::at(batch.handler);
  const std::string_view wanted = f.handler;
  if (wanted == "replies") return (batch.flags & wire::replies) != 0;
  if (wanted.empty())
    return batch.mailbox != pgas::detail::control && batch.stride != 0 &&
           (batch.flags & (wire::replies | wire::requests)) == 0;
  return batch.mailbox == pgas::detail::control && how.name() == wanted;
}

/// The checks that belong to what is there now.
void renew_checks(wire::batch_head& batch, const rail::train& t) {
  if (batch.mailbox == pgas::detail::control) {
    auto& head = *reinterpret_cast<wire::span_head*>(batch.messages());
    head.way = pgas::detail::control_check(
        {batch.messages() + sizeof head, wire::handler_table::at(batch.handler).layout().least});
  }
  batch.check = wire::head_check(batch, t.head.from, t.head.to);
}

}  // namespace

TEST_CASE("a train with an impossible field ends the job with a message that names rank, train and field") {
  const forgery& f = GENERATE(from_range(std::begin(forgeries), std::end(forgeries)));
  CAPTURE(f.name);
  const auto out = output_of_child([&f] {
    bool done = false;
    memory_network net(2, [&](rail::train& t, int rank) {
      if (rank != 0 || done) return;
      for (std::size_t at = 0; !done && at < t.head.bytes;) {
        auto& batch = *reinterpret_cast<wire::batch_head*>(t.goods() + at);
        at = wire::round_up(at + sizeof batch + batch.bytes, wire::batch_alignment);
        if (!concerns(f, batch)) continue;
        f.change(batch);
        renew_checks(batch, t);
        done = true;
      }
    });
    net.run(options_of(shapes[0]), everything);
    std::fprintf(stderr, "the job ended well\n");
  });
  CHECK(out.status == 1);
  CHECK_THAT(out.text, StartsWith("rank 1 sent a damaged train (") && Contains("batch at byte ") && Contains(f.said));
}

TEST_CASE("a bundle of a collective with impossible parts ends the job, and is not read behind its end") {
  struct part {
    const char* name;
    std::size_t word;  // of the bundle's head: worker, call, bytes
    std::uint64_t value;
    const char* said;
  };
  const auto p =
      GENERATE(part{"worker", 0, 77, "a part is of worker 77"}, part{"call", 1, 99ull << 16, "a part is of call 99"},
               part{"bytes", 2, 1'000'000, "a part has 1000000 bytes"});
  CAPTURE(p.name);
  const auto out = output_of_child([&p] {
    bool done = false;
    memory_network net(2, [&](rail::train& t, int rank) {
      for (std::size_t at = 0; rank == 0 && !done && at < t.head.bytes;) {
        auto& batch = *reinterpret_cast<wire::batch_head*>(t.goods() + at);
        at = wire::round_up(at + sizeof batch + batch.bytes, wire::batch_alignment);
        if (wire::handler_table::at(batch.handler).name() != "collective") continue;
        std::memcpy(batch.messages() + sizeof(wire::span_head) + 16 + 8 * p.word, &p.value, 8);
        done = true;
      }
    });
    net.run(options_of(shapes[0]), [](pgas::pe& me) { static_cast<void>(me.sum(1)); });
  });
  CHECK(out.status == 1);
  CHECK_THAT(out.text, Contains("reduce(): what the workers gathered is damaged") && Contains(p.said));
}

TEST_CASE("fetch over two hops: a value that comes back to another place is refused") {
  const auto out = output_of_child([] {
    bool done = false;
    memory_network net(4, [&](rail::train& t, int) {
      for (std::size_t at = 0; !done && at < t.head.bytes;) {
        auto& batch = *reinterpret_cast<wire::batch_head*>(t.goods() + at);
        at = wire::round_up(at + sizeof batch + batch.bytes, wire::batch_alignment);
        if ((batch.flags & wire::replies) == 0) continue;
        std::uint64_t place;  // behind the stop: what the request took along
        std::memcpy(&place, batch.messages() + 8, sizeof place);
        place += 64;
        std::memcpy(batch.messages() + 8, &place, sizeof place);
        done = true;
      }
    });
    net.run(options_of(shapes[3]), [](pgas::pe& me) {
      pgas::symmetric<std::vector<long>> part(me, 16);
      pgas::actor_of reader(part);
      static_cast<void>(reader.fetch((me.index() + 3) % me.count(), [](auto& p) { return p.size(); }));
      reader.finish();
    });
  });
  CHECK(out.status == 1);
  CHECK_THAT(out.text, Contains("a value that no fetch() of this worker waits for"));
}
