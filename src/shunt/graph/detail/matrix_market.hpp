/// The parsers of Matrix Market files: one makes a graph, the other the matrix as it is.
///
/// Source: Boisvert, Pozo, Remington, The Matrix Market Exchange Formats, NISTIR 5935 (1996).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <shunt/base/quoted.hpp>
#include <shunt/graph/detail/line_parser.hpp>
#include <shunt/graph/graph.hpp>
#include <shunt/graph/read.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace shunt {
inline namespace v1 {
namespace graph {
namespace detail {

class matrix_market : public line_parser {
 public:
  using line_parser::line_parser;

  void lines(const char* at, const char* end) {
    while (at != end) {
      ++line_;
      if (line_ == 1) {
        const char* const next = next_line(at, end);
        banner(at);
        at = next;
        continue;
      }
      at = skip_blanks(at);
      if (*at == '%' || *at == '\n' || *at == '\r') {
        at = next_line(at, end);
      } else if (!sized_) {
        at = size(at);
      } else {
        at = entry(at);
      }
    }
  }

  graph finish(std::vector<std::uint64_t>* names) {
    expect_all_entries();
    if (names != nullptr) {
      names->resize(rows_);
      for (std::size_t v = 0; v < rows_; ++v) (*names)[v] = v + 1;
    }
    return graph::from_edges(rows_, edges_);
  }

 protected:
  void expect_all_entries() {
    facts_.entries = edges_.size();
    ++line_;
    if (!sized_) fail("the end of the file", "a line with rows, columns and entries");
    if (edges_.size() != entries_) {
      fail("the end of the file after " + std::to_string(edges_.size()) + " entries",
           "the " + std::to_string(entries_) + " that were announced");
    }
  }

  bool square_ = true;  // whether it has to be
  std::uint64_t rows_ = 0;
  std::uint64_t columns_ = 0;
  std::vector<edge> edges_;

 private:
  /// One word of a line, empty at its end.
  static std::string_view word(const char*& at) noexcept {
    at = skip_blanks(at);
    const char* const start = at;
    while (!is_blank(*at) && *at != '\n' && *at != '\r') ++at;
    return {start, at};
  }

  void banner(const char* at) {
    const auto want = [&](std::initializer_list<std::string_view> choices, const std::string& expected) {
      const std::string_view found = word(at);
      for (const std::string_view choice : choices) {
        if (same_word(found, choice)) return choice;
      }
      fail(found.empty() ? "the end of the banner" : quoted(found), expected);
    };
    // bale's programs write "MasterMarket", "position", and no symmetry.
    const bool bale = want({"%%matrixmarket", "%%mastermarket"}, "the banner %%MatrixMarket") == "%%mastermarket";
    if (options_.header == read_options::first_line::yes) {
      fail("the banner of a matrix", "an edge list, which the option header=yes announces");
    }
    want({"matrix"}, "the object \"matrix\"");
    want({"coordinate"}, "the format \"coordinate\" (a sparse matrix)");
    const std::string expected = "a field that is supported: pattern, real or integer";
    const std::string_view field = bale ? want({"pattern", "real", "integer", "position"}, expected)
                                        : want({"pattern", "real", "integer"}, expected);
    value_ = field == "real" ? value::real : field == "integer" ? value::integer : value::none;
    using kind = text_facts::kind;
    const char* const end = skip_blanks(at);
    if (*end == '\n' || *end == '\r') {
      facts_.is = kind::matrix_without_symmetry;
    } else {
      const bool general =
          want({"general", "symmetric"}, "a symmetry that is supported: general or symmetric") == "general";
      facts_.is = general ? kind::general_matrix : kind::symmetric_matrix;
    }
    if (const std::string_view more = word(at); !more.empty()) {
      fail(quoted(more), "the end of the banner");
    }
  }

  /// A number of 0..limit. The expectation comes as a function, to be made only when it is needed.
  template <class Expected>
  std::uint64_t count(const char*& at, std::uint64_t least, std::uint64_t limit, const Expected& expected) const {
    at = skip_blanks(at);
    const char* const start = at;
    std::uint64_t n = 0;
    if (!is_digit(*at)) [[unlikely]]
      fail_at(start, expected());
    at = number(at, n);
    const bool ends = is_blank(*at) || *at == '\n' || *at == '\r';
    if (!ends || n < least || n > limit) [[unlikely]]
      fail_at(start, expected());
    return n;
  }

  const char* line_end(const char* at) const {
    at = skip_blanks(at);
    const char* const start = at;
    while (*at == '\r') ++at;
    if (*at != '\n') {
      if (at != start) fail("a CR within a line", "lines that end with LF or CR LF");
      fail_at(start, "the end of the line");
    }
    return at + 1;
  }

  const char* size(const char* at) {
    rows_ = count(at, 0, max_vertices, [] { return "the number of rows, at most " + std::to_string(max_vertices); });
    columns_ = square_ ? count(at, 0, max_number, [] { return "the number of columns"; })
                       : count(at, 0, max_vertices,
                               [] { return "the number of columns, at most " + std::to_string(max_vertices); });
    entries_ = count(at, 0, max_number, [] { return "the number of entries"; });
    if (square_ && rows_ != columns_) {
      fail("a matrix of " + std::to_string(rows_) + " x " + std::to_string(columns_), "a square one, as a graph's is");
    }
    expect_proportion(rows_, "rows");
    expect_proportion(columns_, "columns");
    sized_ = true;
    return line_end(at);
  }

  /// \param count, which  its rows, or its columns, which are the rows of its transpose
  void expect_proportion(std::uint64_t count, const std::string& which) const {
    if (options_.rows_ok || count <= std::max(always_rows, entries_ <= max_vertices ? rows_an_entry * entries_ : count))
      return;
    fail("a matrix of " + std::to_string(count) + " " + which + " for " + std::to_string(entries_) + " entries",
         "at most " + std::to_string(rows_an_entry) + " " + which + " an entry: the " + which + " alone take " +
             std::to_string(count * bytes_a_row / 1'000'000) +
             " MB of memory (option rows-ok takes them all the same)");
  }

  const char* entry(const char* at) {
    if (edges_.size() == entries_) [[unlikely]] {
      const char* const start = at;
      word(at);
      fail("another entry, " + quoted({start, at}),
           "the end of the file after the " + std::to_string(entries_) + " entries that were announced");
    }
    const std::uint64_t i = count(at, 1, rows_, [this] { return "an index of 1.." + std::to_string(rows_); });
    const std::uint64_t j = count(at, 1, columns_, [this] { return "an index of 1.." + std::to_string(columns_); });
    if (value_ != value::none) check_value(at);
    edges_.push_back({static_cast<vertex>(i - 1), static_cast<vertex>(j - 1)});
    return line_end(at);
  }

  /// Values are not used, so they are only looked at closely enough to see that columns are missing
  /// or swapped.
  void check_value(const char*& at) const {
    const std::string_view found = word(at);
    const bool real = value_ == value::real;
    const std::string_view legal = real ? "0123456789+-.eEdDinfatyINFATY" : "0123456789+-";
    if (found.empty() || found.find_first_not_of(legal) != std::string_view::npos) {
      fail(found.empty() ? "the end of the line" : quoted(found), real ? "a real value" : "an integer value");
    }
  }

  /// Of a graph, and of the copies that renumbering it by degree makes.
  static constexpr std::uint64_t bytes_a_row = 20;

  enum class value : std::uint8_t { none, real, integer };
  value value_ = value::none;
  bool sized_ = false;
  std::uint64_t entries_ = 0;
};

/// The same file, read as a matrix and not as a graph.
class whole_matrix : public matrix_market {
 public:
  whole_matrix(const std::string& path, const read_options& options) : matrix_market(path, options) { square_ = false; }

  matrix_entries finish(std::vector<std::uint64_t>*) {
    expect_all_entries();
    if (facts_.is == text_facts::kind::symmetric_matrix) {
      if (rows_ != columns_) {
        fail("a symmetric matrix of " + std::to_string(rows_) + " x " + std::to_string(columns_), "a square one");
      }
      const std::size_t stored = edges_.size();
      for (std::size_t i = 0; i < stored; ++i) {
        if (const auto [row, column] = edges_[i]; row != column) edges_.push_back({column, row});
      }
    }
    return {rows_, columns_, std::move(edges_)};
  }
};

}  // namespace detail
}  // namespace graph
}  // namespace v1
}  // namespace shunt
