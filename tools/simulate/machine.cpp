#include "machine.hpp"

#include <cmath>
#include <cstddef>
#include <fstream>
#include <initializer_list>
#include <iterator>
#include <nlohmann/json.hpp>
#include <shunt/base/error.hpp>

namespace shunt::simulate {
namespace {

using nlohmann::json;

constexpr double most_workers = 65'536;
constexpr double most_ns = 1e12;

/// Reads one object, and refuses what it does not know.
class reader {
 public:
  reader(const json& from, std::string file, std::string where)
      : from_(from), file_(std::move(file)), where_(std::move(where)) {
    if (!from_.is_object()) refuse("", "expected an object");
  }
  [[noreturn]] void refuse(const std::string& key, const std::string& why) const {
    throw usage_error(error_number(862), file_ + ": `" + where_ + key + "`: " + why);
  }
  /// What is not among them is refused: a key that is misspelt would be left out in silence.
  void expect_only(std::initializer_list<std::string_view> known) const {
    for (const auto& [key, value] : from_.items()) {
      bool found = false;
      for (const auto name : known) found = found || key == name;
      if (!found) refuse(key, "no such key");
    }
  }
  [[nodiscard]] double number(const std::string& key, double least, double most) const {
    const auto at = from_.find(key);
    if (at == from_.end()) refuse(key, "is missing");
    if (!at->is_number()) refuse(key, "expected a number");
    const auto value = at->get<double>();
    if (!(value >= least && value <= most)) {
      refuse(key, "is " + at->dump() + ", must be " + json(least).dump() + " to " + json(most).dump());
    }
    return value;
  }
  [[nodiscard]] double number_or(const std::string& key, double otherwise, double least, double most) const {
    return from_.contains(key) ? number(key, least, most) : otherwise;
  }
  [[nodiscard]] int count(const std::string& key, double least = 1, double most = most_workers) const {
    const double value = number(key, least, most);
    if (value != std::floor(value)) refuse(key, "expected a whole number");
    return static_cast<int>(value);
  }
  [[nodiscard]] std::string words(const std::string& key) const {
    const auto at = from_.find(key);
    if (at == from_.end()) return {};
    if (!at->is_string()) refuse(key, "expected text");
    return at->get<std::string>();
  }
  [[nodiscard]] reader inside(const std::string& key) const {
    const auto at = from_.find(key);
    if (at == from_.end()) refuse(key, "is missing");
    return {*at, file_, where_ + key + "."};
  }
  /// \param asks  whether long trains of such a line may ask first
  [[nodiscard]] line line_of(const std::string& key, bool asks = true) const {
    const reader in = inside(key);
    if (asks) {
      in.expect_only({"L_ns", "o_s_ns", "o_r_ns", "g_ns", "G_ns_a_byte", "eager_bytes", "R_ns"});
    } else {
      in.expect_only({"L_ns", "o_s_ns", "o_r_ns", "g_ns", "G_ns_a_byte"});
    }
    const auto time = [&](const char* name) { return std::llround(in.number(name, 0, most_ns) * 1e3); };
    line l{time("L_ns"), time("o_s_ns"), time("o_r_ns"), time("g_ns"),
           std::llround(in.number("G_ns_a_byte", 0, 1e6) * 1e6)};
    if (in.has("eager_bytes") != in.has("R_ns")) {
      in.refuse(in.has("R_ns") ? "R_ns" : "eager_bytes", "`eager_bytes` and `R_ns` go together");
    }
    if (in.has("R_ns")) {
      l.eager = std::llround(in.number("eager_bytes", 0, 1e12));
      l.answer = time("R_ns");
    }
    return l;
  }
  [[nodiscard]] bool has(const std::string& key) const { return from_.contains(key); }

 private:
  const json& from_;
  std::string file_, where_;
};

std::vector<link_group> groups_of(const json& all, const std::string& file, int nodes) {
  std::vector<link_group> groups;
  if (!all.contains("groups")) return groups;
  const json& listed = all["groups"];
  if (!listed.is_array()) throw usage_error(error_number(862), file + ": `groups`: expected a list");
  for (std::size_t i = 0; i < listed.size(); ++i) {
    const reader in(listed[i], file, "groups[" + std::to_string(i) + "].");
    in.expect_only({"name", "first_node", "last_node", "bytes_a_second"});
    link_group g;
    g.name = in.words("name");
    g.first_node = in.count("first_node", 0, nodes - 1);
    g.last_node = in.count("last_node", g.first_node, nodes - 1) + 1;
    g.bytes_a_second = std::llround(in.number("bytes_a_second", 1, 1e18));
    groups.push_back(g);
  }
  return groups;
}

json json_of(const line& l) {
  const auto ns = [](picoseconds t) { return static_cast<double>(t) / 1e3; };
  json all{{"L_ns", ns(l.latency)},
           {"o_s_ns", ns(l.send)},
           {"o_r_ns", ns(l.receive)},
           {"g_ns", ns(l.gap)},
           {"G_ns_a_byte", static_cast<double>(l.byte_fs) / 1e6}};
  if (l.answer != 0) {
    all["eager_bytes"] = l.eager;
    all["R_ns"] = ns(l.answer);
  }
  return all;
}

}  // namespace

void machine::make_network_ideal() noexcept {
  within_rank = within_node = between_nodes = {};
  injection = 0;
  groups.clear();
}

machine machine_from(std::string_view text, const std::string& file) {
  json all;
  try {
    all = json::parse(text);
  } catch (const json::parse_error& bad) {
    throw usage_error(error_number(861), file + ": is no JSON: byte " + std::to_string(bad.byte));
  }
  const reader in(all, file, "");
  in.expect_only({"name", "source", "nodes", "ranks_a_node", "workers_a_rank", "within_rank", "within_node",
                  "between_nodes", "injection_bytes_a_second", "send_message_ns", "handle_message_ns", "compute",
                  "groups"});
  machine m;
  m.name = in.words("name");
  m.source = in.words("source");
  m.nodes = in.count("nodes");
  m.ranks_a_node = in.count("ranks_a_node");
  m.workers_a_rank = in.count("workers_a_rank");
  if (static_cast<double>(m.nodes) * m.ranks_a_node * m.workers_a_rank > most_workers) {
    in.refuse("nodes", "with `ranks_a_node` and `workers_a_rank` more than 65536 workers");
  }
  m.within_rank = in.line_of("within_rank", false);
  m.within_node = in.line_of("within_node");
  m.between_nodes = in.line_of("between_nodes");
  m.injection = std::llround(in.number_or("injection_bytes_a_second", 0, 1, 1e18));
  m.send_message = std::llround(in.number("send_message_ns", 0, 1e9) * 1e3);
  m.handle_message = std::llround(in.number_or("handle_message_ns", 0, 0, 1e9) * 1e3);
  m.compute_permille = std::llround(in.number_or("compute", 1, 0.001, 1000) * 1e3);
  m.groups = groups_of(all, file, m.nodes);
  return m;
}

machine machine_in(const std::string& file) {
  std::ifstream from(file, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(from), {}};
  if (!from) throw usage_error(error_number(860), "--machine " + file + ": cannot be read");
  return machine_from(text, file);
}

std::string text_of(const machine& m) {
  nlohmann::ordered_json all{{"name", m.name},
                             {"source", m.source},
                             {"nodes", m.nodes},
                             {"ranks_a_node", m.ranks_a_node},
                             {"workers_a_rank", m.workers_a_rank},
                             {"within_rank", json_of(m.within_rank)},
                             {"within_node", json_of(m.within_node)},
                             {"between_nodes", json_of(m.between_nodes)},
                             {"send_message_ns", static_cast<double>(m.send_message) / 1e3},
                             {"handle_message_ns", static_cast<double>(m.handle_message) / 1e3},
                             {"compute", static_cast<double>(m.compute_permille) / 1e3}};
  if (m.injection != 0) all["injection_bytes_a_second"] = m.injection;
  for (const auto& g : m.groups) {
    all["groups"].push_back({{"name", g.name},
                             {"first_node", g.first_node},
                             {"last_node", g.last_node - 1},
                             {"bytes_a_second", g.bytes_a_second}});
  }
  return all.dump(2) + "\n";
}

}  // namespace shunt::simulate
