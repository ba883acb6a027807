// Descriptions of machines: what is read, and what is refused.
#include "machine.hpp"

#include <catch2/catch.hpp>
#include <shunt/base/error.hpp>

using namespace shunt;
using simulate::machine_from;

namespace {

const std::string line = R"({"L_ns": 1.5, "o_s_ns": 2, "o_r_ns": 3, "g_ns": 4, "G_ns_a_byte": 0.08})";

std::string described(const std::string& nodes = "2", const std::string& more = "") {
  return R"({"nodes": )" + nodes + R"(, "ranks_a_node": 3, "workers_a_rank": 4, "send_message_ns": 1.25,
    "within_rank": )" +
         line + R"(, "within_node": )" + line + R"(, "between_nodes": )" + line + more + "}";
}

std::string refusal(const std::string& text) {
  try {
    static_cast<void>(machine_from(text, "m.json"));
  } catch (const usage_error& bad) {
    return bad.what();
  }
  return "accepted";
}

}  // namespace

TEST_CASE("machine: numbers are whole picoseconds, and a description survives being written") {
  const auto m =
      machine_from(described("2", R"(, "handle_message_ns": 2.5, "injection_bytes_a_second": 1e10, "compute": 0.5,
    "groups": [{"name": "all", "first_node": 0, "last_node": 1, "bytes_a_second": 5e9}])"),
                   "m.json");
  CHECK(m.workers() == 24);
  CHECK(m.between_nodes.latency == 1'500);
  CHECK(m.between_nodes.for_bytes(1000) == 80'000);
  CHECK(m.send_message == 1'250);
  CHECK(m.to_inject(1000) == 100'000);
  CHECK(m.handle_message == 2'500);
  CHECK(m.compute_permille == 500);
  REQUIRE(m.groups.size() == 1);
  CHECK(m.groups[0].last_node == 2);
  const auto again = machine_from(text_of(m), "again.json");
  CHECK(text_of(again) == text_of(m));
  CHECK(again.between_nodes.byte_fs == m.between_nodes.byte_fs);
}

TEST_CASE("machine: a line between processes may say which trains ask first, and what the answer takes") {
  auto text = described();
  const std::string asking =
      R"({"L_ns": 1, "o_s_ns": 0, "o_r_ns": 0, "g_ns": 0, "G_ns_a_byte": 0, "eager_bytes": 65536, "R_ns": 2.5})";
  text.replace(text.rfind(line), line.size(), asking);
  const auto m = machine_from(text, "m.json");
  CHECK(m.between_nodes.for_answer(65'536) == 0);
  CHECK(m.between_nodes.for_answer(65'537) == 2'500);
  CHECK(m.within_node.for_answer(65'537) == 0);
  CHECK(machine_from(text_of(m), "again.json").between_nodes.for_answer(65'537) == 2'500);
  CHECK(text_of(machine_from(described(), "m.json")).find("R_ns") == std::string::npos);

  const auto half = asking.substr(0, asking.find(", \"R_ns\"")) + "}";
  text.replace(text.rfind(asking), asking.size(), half);
  CHECK(refusal(text) == "m.json: `between_nodes.eager_bytes`: `eager_bytes` and `R_ns` go together [SHUNT-0862]");
  text = described();  // trains within a rank are handed over, and ask nothing
  text.replace(text.find(line), line.size(), asking);
  CHECK(refusal(text) == "m.json: `within_rank.R_ns`: no such key [SHUNT-0862]");
}

TEST_CASE("machine: what is wrong is refused by file, key and reason") {
  CHECK(refusal("{") == "m.json: is no JSON: byte 2 [SHUNT-0861]");
  CHECK(refusal("[]") == "m.json: ``: expected an object [SHUNT-0862]");
  CHECK(refusal("{}") == "m.json: `nodes`: is missing [SHUNT-0862]");
  CHECK(refusal(described("0")) == "m.json: `nodes`: is 0, must be 1.0 to 65536.0 [SHUNT-0862]");
  CHECK(refusal(described("2.5")) == "m.json: `nodes`: expected a whole number [SHUNT-0862]");
  CHECK(refusal(described("\"2\"")) == "m.json: `nodes`: expected a number [SHUNT-0862]");
  CHECK(refusal(described("60000")).find("more than 65536 workers") != std::string::npos);
  CHECK(refusal(described("2", R"(, "wokers": 1)")) == "m.json: `wokers`: no such key [SHUNT-0862]");
  CHECK(refusal(described("2", R"(, "groups": [{"name": "x"}])")) ==
        "m.json: `groups[0].first_node`: is missing [SHUNT-0862]");
  auto text = described();
  text.replace(text.find("\"L_ns\""), 6, "\"l_ns\"");
  CHECK(refusal(text) == "m.json: `within_rank.l_ns`: no such key [SHUNT-0862]");
}
