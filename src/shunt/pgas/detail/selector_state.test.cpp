// What a worker knows of its selectors, and of the requests that it has sent.
#include <shunt/pgas/detail/selector_state.hpp>

#include <array>
#include <string>
#include <typeinfo>
#include <vector>

#include <catch2/catch.hpp>

#include <shunt/base/error.hpp>
#include <shunt/pgas/detail/pending_replies.hpp>
#include <shunt/pgas/detail/validation.hpp>

using namespace shunt;
using namespace shunt::pgas::detail;

namespace {

struct reply_of_a_test {};
struct other_reply_of_a_test {};
const wire::handler replies(typeid(reply_of_a_test), "a reply", [](void*) {}, 0, wire::replies, {8, 12, 0});
const wire::handler other_replies(typeid(other_reply_of_a_test), "another reply", [](void*) {}, 0, wire::replies,
                                  {8, 12, 0});

constexpr int pes_here = 2, first_pe = 6, workers = 3;

wire::batch_head batch(unsigned flags, std::uint32_t count, std::uint8_t mailbox = 0) {
  wire::batch_head b;
  b.flags = static_cast<std::uint8_t>(flags);
  b.count = count;
  b.mailbox = mailbox;
  return b;
}

}  // namespace

// --- selector_table ---

TEST_CASE("selector_table: the first PE of a worker makes the state, the others find it, the last one ends it") {
  selector_table all(pes_here, first_pe, workers);
  CHECK(all.find(3) == nullptr);
  const auto first = all.construct(3, 2, "histogram");
  CHECK(first.first);
  CHECK(all.find(3) == &first.state);
  CHECK(all.find(2) == nullptr);  // PEs may construct in any order of numbers
  CHECK(all.find(4) == nullptr);
  CHECK(first.state.parts.size() == pes_here);
  REQUIRE(first.state.mailboxes.size() == 2);
  CHECK(first.state.mailboxes[1].sent[1].size() == workers);
  const auto second = all.construct(3, 2, "histogram");
  CHECK_FALSE(second.first);
  CHECK(&second.state == &first.state);
  CHECK(first.state.built == 2);

  CHECK_FALSE(all.forget(3, first_pe + 1));
  CHECK(all.find(3) != nullptr);
  CHECK(all.forget(3, first_pe));
  all.drop(3);
  CHECK(all.find(3) == nullptr);
}

TEST_CASE("selector_table: PEs that construct another selector of that number are told which") {
  selector_table all(pes_here, first_pe, workers);
  const auto& s = all.construct(1, 1, "histogram").state;
  CHECK_THROWS_WITH(all.construct(1, 1, "queue"),
                    "PEs disagree: one constructs queue where another constructed histogram; every PE must construct "
                    "the same selectors in the same order, with the same mailbox_order [SHUNT-0924]");
  CHECK_THROWS_AS(all.construct(1, 2, "histogram"), error);
  CHECK(s.built == 1);
  CHECK_THAT(selector_table::disagreement_about(s, {}), Catch::StartsWith("PEs disagree: one constructs another sel"));
  // Other processes are compared by the digest: of the name, and of the number of mailboxes.
  selector_table other(pes_here, first_pe, workers);
  CHECK(other.construct(1, 1, "histogram").state.digest == s.digest);
  CHECK(other.construct(2, 2, "histogram").state.digest != s.digest);
  CHECK(other.construct(3, 1, "queue").state.digest != s.digest);
}

TEST_CASE("selector_table: deferred batches are retried once all PEs of the worker are ready") {
  selector_table all(pes_here, first_pe, workers);
  auto& s = all.construct(1, 1, "histogram").state;
  static_cast<void>(all.construct(1, 1, "histogram"));
  int parts[2] = {};
  all.part_ready(s, first_pe + 1, &parts[1]);
  CHECK_FALSE(all.all_ready(s));
  CHECK_FALSE(all.take_retry());
  all.part_ready(s, first_pe, &parts[0]);
  CHECK(all.all_ready(s));
  CHECK(s.parts == std::vector<void*>{&parts[0], &parts[1]});
  CHECK(all.take_retry());
  CHECK_FALSE(all.take_retry());

  CHECK_FALSE(all.forget(1, first_pe));
  CHECK(s.parts == std::vector<void*>{nullptr, &parts[1]});
  CHECK(s.ready == 1);
}

TEST_CASE("selector_table: an object under construction becomes ready when its own PE comes back to the library") {
  selector_table all(pes_here, first_pe, workers);
  auto& s = all.construct(1, 1, "histogram").state;
  auto& t = all.construct(2, 1, "queue").state;
  static_cast<void>(all.construct(1, 1, "histogram"));
  int parts[3] = {};
  all.part_announced(s, first_pe, &parts[0]);
  all.part_announced(s, first_pe + 1, &parts[1]);
  all.part_announced(t, first_pe, &parts[2]);
  CHECK(s.ready == 0);
  all.finish_construction(first_pe);
  CHECK(s.parts == std::vector<void*>{&parts[0], nullptr});
  CHECK(t.parts[0] == &parts[2]);
  CHECK_FALSE(all.forget(1, first_pe + 1));  // before it was complete: by an exception of its constructor, say
  all.finish_construction(first_pe + 1);
  CHECK(s.parts == std::vector<void*>{&parts[0], nullptr});
  CHECK(s.ready == 1);
}

TEST_CASE("selector_state: counts a message once on each hop, and a request until its reply is handled") {
  selector_table all(pes_here, first_pe, workers);
  auto& s = all.construct(1, 2, "histogram").state;
  auto& box = s.mailboxes[1];
  s.count_sent(batch(wire::requests, 5, 1), 2);
  CHECK(s.sent == 5);
  CHECK(s.started == 5);
  CHECK(s.unanswered == 5);
  CHECK(box.sent[0] == std::vector<std::uint64_t>{0, 0, 5});
  CHECK(box.sent[1] == std::vector<std::uint64_t>{0, 0, 0});

  s.count_sent(batch(wire::forwarded | wire::requests, 3, 1), 0);  // of another worker: it is that one's request
  CHECK(s.sent == 5);
  CHECK(s.unanswered == 5);
  CHECK(box.sent[1] == std::vector<std::uint64_t>{3, 0, 0});

  s.count_sent(batch(wire::replies, 4, 1), 1);  // its requests announce it
  CHECK(s.sent == 9);
  CHECK(s.started == 5);
  CHECK(box.sent[0] == std::vector<std::uint64_t>{0, 0, 5});

  s.count_unloaded(batch(wire::mixed, 7, 1), 2);  // five of them go on
  CHECK(box.arrived[0] == 7);
  CHECK(s.handled == 2);
  s.count_unloaded(batch(wire::forwarded, 6, 1), 6);
  CHECK(box.arrived[1] == 6);
  CHECK(s.handled == 8);
  s.count_unloaded(batch(wire::replies, 4, 1), 4);
  CHECK(s.unanswered == 1);
  CHECK(s.handled == 12);
  CHECK(box.arrived[0] == 7);
  CHECK(s.mailboxes[0].arrived[0] == 0);
}

// --- pending_replies ---

TEST_CASE("pending_replies: the train comes back with the last reply, and its id serves again") {
  pending_replies all;
  std::array<rail::train, 3> kept;
  const auto first = all.open(kept[0], &replies, 1);
  const auto second = all.open(kept[1], &replies, 1);
  CHECK(first != second);
  CHECK(all.continuations(first) == kept[0].goods());
  CHECK(all.continuations(second) == kept[1].goods());
  all.close(first, 3);
  all.close(second, 1);
  CHECK(all.answered(first, 2) == nullptr);
  CHECK(all.answered(second, 1) == &kept[1]);
  CHECK(all.open(kept[2], &replies, 1) == second);
  CHECK(all.answered(first, 1) == &kept[0]);
}

TEST_CASE("pending_replies: replies of another process must answer requests that are under way") {
  pending_replies all;
  rail::train kept;
  const auto id = all.open(kept, &replies, 7);
  all.close(id, 5);
  const auto said = [&](std::uint32_t request_id, std::uint16_t selector, std::uint32_t first, std::uint32_t count,
                        const wire::handler& how = replies) {
    auto head = batch(wire::replies, count);
    head.request_id = request_id;
    head.selector = selector;
    head.first = first;
    try {
      all.check(head, how);
    } catch (const damage& d) {
      return d.what;
    }
    return std::string();
  };
  const auto none = "replies to requests " + std::to_string(id) + ", which are not under way";
  CHECK(said(id, 7, 0, 5).empty());
  CHECK(said(id, 7, 4, 1).empty());
  CHECK(said(id + 1, 7, 0, 1) == "replies to requests " + std::to_string(id + 1) + ", which are not under way");
  CHECK(said(id, 8, 0, 1) == none);
  CHECK(said(id, 7, 0, 1, other_replies) == none);
  CHECK(said(id, 7, 1, 5) == "replies 1 and 5 following to 5 requests, of which 5 wait for one");
  CHECK_FALSE(said(id, 7, 0xffff'ffff, 2).empty());  // no wrap
  CHECK(all.answered(id, 3) == nullptr);
  CHECK(said(id, 7, 3, 2).empty());
  CHECK(said(id, 7, 0, 3) == "replies 0 and 3 following to 5 requests, of which 2 wait for one");
  CHECK(all.answered(id, 2) == &kept);
  CHECK(said(id, 7, 0, 1) == none);
}
