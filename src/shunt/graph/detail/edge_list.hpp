/// The parser of edge lists: see shunt/graph/read.hpp for the format.
#pragma once

#include <algorithm>
#include <cstdint>
#include <shunt/base/quoted.hpp>
#include <shunt/graph/detail/line_parser.hpp>
#include <shunt/graph/detail/ranks.hpp>
#include <shunt/graph/graph.hpp>
#include <shunt/graph/read.hpp>
#include <string>
#include <vector>

namespace shunt {
inline namespace v1 {
namespace graph {
namespace detail {

class edge_list : public line_parser {
 public:
  using line_parser::line_parser;

  /// \param at, end  whole lines.
  void lines(const char* at, const char* end) {
    while (at != end) {
      ++line_;
      at = skip_blanks(at);
      if (!is_digit(*at)) {
        if (*at != '#' && *at != '%' && *at != '\n' && *at != '\r') {
          fail_at(at, "a vertex number, " + range());
        }
        at = next_line(at, end);
        continue;
      }
      const char* const first = at;
      std::uint64_t a = 0;
      at = number(at, a);
      if (a > max_number) [[unlikely]]
        fail_at(first, "a vertex number, " + range());
      if (!is_blank(*at)) [[unlikely]] {
        const bool alone = *at == '\n' || *at == '\r';
        if (alone) fail(quoted({first, at}) + " alone on a line", "two vertex numbers");
        fail_at(first, "two vertex numbers set apart by blanks or tabs");
      }
      at = skip_blanks(at);
      const char* const second = at;
      std::uint64_t b = 0;
      if (!is_digit(*at)) [[unlikely]]
        fail_at(second, "a second vertex number, " + range());
      at = number(at, b);
      if (b > max_number) [[unlikely]]
        fail_at(second, "a second vertex number, " + range());
      if (first_line_ == 0) [[unlikely]] {
        first_line_ = line_;
        first_ = {a, b};
        const char* const more = skip_blanks(at);
        first_is_two_ = *more == '\n' || *more == '\r';
      }
      if (*at == '\n') [[likely]] {
        ++at;
      } else if (is_blank(*at) || *at == '\r') {
        at = next_line(at, end);
      } else {
        fail_at(second, "a second vertex number, " + range());
      }
      greatest_ = std::max({greatest_, a, b});
      if (((a | b) >> 32) == 0) [[likely]] {
        narrow_.push_back({static_cast<vertex>(a), static_cast<vertex>(b)});
      } else {
        wide_.push_back({a, b});
      }
    }
  }

  /// Once, after the last line.
  graph finish(std::vector<std::uint64_t>* names) {
    expect_edges();
    using header = read_options::first_line;
    if (options_.header == header::yes) {
      take_header();
      expect_edges();
    } else if (options_.header == header::tell_by_content && first_is_two_ && first_.b > 0 &&
               first_.b + 1 == entries()) {
      const std::uint64_t greatest = greatest_;
      take_header();
      if (distinct() > first_.a) give_header_back(greatest);
    }
    facts_.entries = entries();
    return dense() ? renumbered<dense_ranks>(names) : renumbered<sparse_ranks>(names);
  }

 private:
  struct wide_edge {
    std::uint64_t a;
    std::uint64_t b;
  };

  static std::string range() { return "0.." + std::to_string(max_number); }

  [[nodiscard]] std::uint64_t entries() const noexcept { return narrow_.size() + wide_.size(); }

  void expect_edges() {
    if (entries() != 0) return;
    ++line_;
    fail("the end of the file and no edge in it", "two vertex numbers on a line");
  }

  [[nodiscard]] bool first_is_narrow() const noexcept { return ((first_.a | first_.b) >> 32) == 0; }

  /// The first line is no edge. Order does not matter, so the last edge takes the place of the first.
  void take_header() {
    facts_.header_line = first_line_;
    facts_.header_vertices = first_.a;
    facts_.header_edges = first_.b;
    const auto drop_first = [](auto& edges) {
      edges.front() = edges.back();
      edges.pop_back();
    };
    first_is_narrow() ? drop_first(narrow_) : drop_first(wide_);
    greatest_ = 0;
    for (const edge& e : narrow_) greatest_ = std::max({greatest_, std::uint64_t{e.a}, std::uint64_t{e.b}});
    for (const wide_edge& e : wide_) greatest_ = std::max({greatest_, e.a, e.b});
  }

  void give_header_back(std::uint64_t greatest) {
    facts_.header_line = facts_.header_vertices = facts_.header_edges = 0;
    if (first_is_narrow()) {
      narrow_.push_back({static_cast<vertex>(first_.a), static_cast<vertex>(first_.b)});
    } else {
      wide_.push_back(first_);
    }
    greatest_ = greatest;
  }

  /// Bits are quicker, and smaller too as long as there are not more than some 30 to an edge.
  [[nodiscard]] bool dense() const noexcept {
    constexpr std::uint64_t always_dense = std::uint64_t{1} << 22;  // 1 MiB
    return greatest_ < std::max(always_dense, 32 * entries());
  }

  template <class Ranks>
  void add_all(Ranks& ranks) const {
    for (const edge& e : narrow_) {
      ranks.add(e.a);
      ranks.add(e.b);
    }
    for (const wide_edge& e : wide_) {
      ranks.add(e.a);
      ranks.add(e.b);
    }
  }

  /// How many vertices the edges name.
  [[nodiscard]] std::uint64_t distinct() const {
    const auto count = [this](auto ranks) {
      add_all(ranks);
      return ranks.finish(nullptr);
    };
    return dense() ? count(dense_ranks(greatest_)) : count(sparse_ranks(greatest_));
  }

  template <class Ranks>
  graph renumbered(std::vector<std::uint64_t>* names) {
    if (names != nullptr) names->clear();
    Ranks ranks(greatest_);
    add_all(ranks);
    const std::uint64_t vertices = ranks.finish(names);
    if (vertices > max_vertices) {
      fail(std::to_string(vertices) + " different vertex numbers up to here",
           "at most " + std::to_string(max_vertices));
    }
    for (edge& e : narrow_) e = {ranks.rank(e.a), ranks.rank(e.b)};
    narrow_.reserve(narrow_.size() + wide_.size());
    for (const wide_edge& e : wide_) narrow_.push_back({ranks.rank(e.a), ranks.rank(e.b)});
    return graph::from_edges(vertices, narrow_);
  }

  std::vector<edge> narrow_;  ///< as in the file, both numbers below 2^32; in any order with wide_
  std::vector<wide_edge> wide_;
  std::uint64_t greatest_ = 0;
  std::uint64_t first_line_ = 0;  ///< with numbers: it may be a header, and first_ its numbers
  wide_edge first_{};
  bool first_is_two_ = false;  ///< numbers, and nothing behind them
};

}  // namespace detail
}  // namespace graph
}  // namespace v1
}  // namespace shunt
