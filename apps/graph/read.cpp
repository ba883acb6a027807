#include "graph/read.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <shunt/base/error.hpp>
#include <string_view>
#include <utility>

#include "graph/detail/text_source.hpp"

namespace shunt::graph {
namespace {

using detail::quoted;
using detail::text_source;

constexpr bool is_blank(char c) noexcept { return c == ' ' || c == '\t'; }
constexpr bool is_digit(char c) noexcept { return static_cast<unsigned char>(c - '0') < 10; }
constexpr char lower(char c) noexcept { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool same_word(std::string_view a, std::string_view lower_case) noexcept {
  return std::equal(a.begin(), a.end(), lower_case.begin(), lower_case.end(),
                    [](char x, char y) { return lower(x) == y; });
}

/// Reads past digits, of which there is at least one. Stops by itself: every block ends with '\n'.
/// A value that does not fit becomes the greatest there is, which no caller accepts.
const char* number(const char* at, std::uint64_t& value) noexcept {
  const char* const start = at;
  std::uint64_t sum = 0;
  do {
    sum = sum * 10 + static_cast<std::uint64_t>(*at - '0');
    ++at;
  } while (is_digit(*at));
  constexpr std::ptrdiff_t always_fit = 19;  // 10^19 - 1 < 2^64
  if (at - start > always_fit) [[unlikely]] {
    const char* digit = std::find_if(start, at, [](char c) { return c != '0'; });
    for (sum = 0; digit != at; ++digit) {
      if (__builtin_mul_overflow(sum, std::uint64_t{10}, &sum) ||
          __builtin_add_overflow(sum, static_cast<std::uint64_t>(*digit - '0'), &sum)) {
        sum = ~std::uint64_t{0};
        break;
      }
    }
  }
  value = sum;
  return at;
}

const char* skip_blanks(const char* at) noexcept {
  while (is_blank(*at)) ++at;
  return at;
}

/// Where a parser stands, and how it complains. Parsers get blocks of whole lines, see text_source.
class line_parser {
 public:
  line_parser(const std::string& path, const read_options& options) : options_(options), path_(path) {}

  /// After finish().
  [[nodiscard]] const text_facts& facts() const noexcept { return facts_; }

  /// The number of the last line that was begun, from 1.
  [[nodiscard]] std::uint64_t line() const noexcept { return line_; }

  /// One NUL stands for a whole binary file, in comments and ignored columns too: it is what a disk
  /// or a sparse copy leaves where text was lost.
  [[noreturn]] void fail_nul(const char* begin, const char* nul) {
    ++line_;
    fail(begin == nul ? "a NUL byte" : "a NUL byte after " + quoted({begin, nul}),
         "text (is this a binary or UTF-16 file?)");
  }

 protected:
  [[noreturn]] void fail(const std::string& found, const std::string& expected) const {
    detail::fail(path_, line_, found, expected);
  }

  /// Complains about the word that starts at `at`.
  [[noreturn]] void fail_at(const char* at, const std::string& expected) const {
    const char* end = at;
    while (!is_blank(*end) && *end != '\n' && *end != '\r') ++end;
    fail(end == at ? "the end of the line" : quoted({at, end}), expected);
  }

  /// Past the end of the line that `at` is in, whatever stands there.
  [[nodiscard]] const char* next_line(const char* at, const char* end) const {
    const char* const stop = static_cast<const char*>(std::memchr(at, '\n', static_cast<std::size_t>(end - at)));
    const auto size = static_cast<std::size_t>(stop - at);
    if (size != 0) {
      if (const void* cr = std::memchr(at, '\r', size); cr != nullptr) {
        // Lines that end with CR alone would make one line of the whole file, and lose the rest.
        if (!std::all_of(static_cast<const char*>(cr), stop, [](char c) { return c == '\r'; })) {
          fail("a carriage return within a line", "lines that end with LF or CR LF");
        }
      }
    }
    return stop + 1;
  }

  std::uint64_t line_ = 0;
  const read_options& options_;
  text_facts facts_;

 private:
  const std::string& path_;
};

// --- vertex numbers with gaps -> 0..n-1 ---

/// Ranks among numbers below a bound that is not much greater than their count: a bit each.
class dense_ranks {
 public:
  explicit dense_ranks(std::uint64_t greatest) : words_(greatest / 64 + 1) {}
  void add(std::uint64_t x) noexcept { words_[x / 64].bits |= std::uint64_t{1} << (x % 64); }

  /// Between the last add() and the first rank(). \return how many numbers there are.
  std::uint64_t settle(std::vector<std::uint64_t>* names) {
    std::uint64_t before = 0;
    for (std::size_t i = 0; i < words_.size(); ++i) {
      words_[i].before = before;
      before += static_cast<unsigned>(std::popcount(words_[i].bits));
      if (names == nullptr) continue;
      for (std::uint64_t rest = words_[i].bits; rest != 0; rest &= rest - 1) {
        names->push_back(i * 64 + static_cast<unsigned>(std::countr_zero(rest)));
      }
    }
    return before;
  }

  [[nodiscard]] vertex rank(std::uint64_t x) const noexcept {
    const word& w = words_[x / 64];
    const std::uint64_t below = w.bits & ((std::uint64_t{1} << (x % 64)) - 1);
    return static_cast<vertex>(w.before + static_cast<unsigned>(std::popcount(below)));
  }

 private:
  struct word {
    std::uint64_t bits = 0;
    std::uint64_t before = 0;  ///< numbers in the words before this one
  };
  std::vector<word> words_;
};

/// Ranks among any numbers up to max_number: a hash table, open, at most half full.
class sparse_ranks {
 public:
  explicit sparse_ranks(std::uint64_t) : slots_(1024) {}

  void add(std::uint64_t x) {
    slot& s = find(x);
    if (s.number == x) return;
    s.number = x;
    if (++used_ * 2 > slots_.size()) grow();
  }

  std::uint64_t settle(std::vector<std::uint64_t>* names) {
    std::vector<std::uint64_t> numbers;
    numbers.reserve(used_);
    for (const slot& s : slots_) {
      if (s.number != none) numbers.push_back(s.number);
    }
    std::sort(numbers.begin(), numbers.end());
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      find(numbers[i]).rank = static_cast<vertex>(i);
    }
    if (names != nullptr) *names = std::move(numbers);
    return used_;
  }

  [[nodiscard]] vertex rank(std::uint64_t x) noexcept { return find(x).rank; }

 private:
  static constexpr std::uint64_t none = ~std::uint64_t{0};
  static_assert(none > max_number, "no vertex has this number");
  struct slot {
    std::uint64_t number = none;
    vertex rank = 0;
  };

  /// Its slot, or the free one where it belongs.
  slot& find(std::uint64_t x) noexcept {
    // The finaliser of MurmurHash3: numbers often differ in their high bits only.
    std::uint64_t h = x;
    h = (h ^ (h >> 33)) * 0xff51afd7ed558ccdU;
    h = (h ^ (h >> 33)) * 0xc4ceb9fe1a85ec53U;
    h ^= h >> 33;
    const std::size_t mask = slots_.size() - 1;
    for (std::size_t i = h & mask;; i = (i + 1) & mask) {
      if (slots_[i].number == x || slots_[i].number == none) return slots_[i];
    }
  }

  void grow() {
    std::vector<slot> old(slots_.size() * 2);
    old.swap(slots_);
    for (const slot& s : old) {
      if (s.number != none) find(s.number) = s;
    }
  }

  std::vector<slot> slots_;
  std::uint64_t used_ = 0;
};

// --- edge lists ---

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
      return ranks.settle(nullptr);
    };
    return dense() ? count(dense_ranks(greatest_)) : count(sparse_ranks(greatest_));
  }

  template <class Ranks>
  graph renumbered(std::vector<std::uint64_t>* names) {
    if (names != nullptr) names->clear();
    Ranks ranks(greatest_);
    add_all(ranks);
    const std::uint64_t vertices = ranks.settle(names);
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

// --- Matrix Market ---

/// Source: Boisvert, Pozo, Remington, The Matrix Market Exchange Formats, NISTIR 5935 (1996).
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
      fail("the banner of a matrix", "an edge list, whose header --header yes announces");
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
      if (at != start) fail("a carriage return within a line", "lines that end with LF or CR LF");
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
             std::to_string(count * bytes_a_row / 1'000'000) + " MB of memory (--rows-ok takes them all the same)");
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

/// A first line of %% and a word with "matrix" in it is a banner, or meant to be one: were a
/// misspelt banner taken for a comment, the sizes would be taken for an edge.
bool looks_like_banner(std::string_view text) {
  if (!text.starts_with("%%")) return false;
  text = text.substr(2, text.find_first_of(" \t\r\n", 2) - 2);
  const auto has = [text](std::string_view key) {
    return std::search(text.begin(), text.end(), key.begin(), key.end(),
                       [](char x, char y) { return lower(x) == y; }) != text.end();
  };
  return has("matrix") || same_word(text, "mastermarket");
}

/// What a file begins with, without a mark of its encoding.
std::string_view first_block(const std::string& path, text_source& source, const std::string& expected) {
  std::string_view block = source.block(1);
  if (block.empty()) detail::fail(path, 1, "a file without text", expected);
  constexpr std::string_view byte_order_mark = "\xef\xbb\xbf";  // some editors' "this is UTF-8"
  if (block.starts_with(byte_order_mark)) block.remove_prefix(byte_order_mark.size());
  return block;
}

template <class Parser>
auto parse(const std::string& path, text_source& source, std::string_view block, const read_options& options) {
  const auto tell = [&] {
    if (!options.progress) return;
    const bool known = source.total() != 0;
    options.progress(source.done(), known ? std::max(source.total(), source.done()) : 0);
  };
  Parser parser(path, options);
  for (; !block.empty(); block = source.block(parser.line() + 1)) {
    const char* const begin = block.data();
    const char* const end = begin + block.size();
    if (const void* found = std::memchr(begin, '\0', block.size()); found != nullptr) [[unlikely]] {
      // Lines before it may be wrong too, and are to be named first.
      const char* const nul = static_cast<const char*>(found);
      const std::size_t before = std::string_view(begin, nul).rfind('\n');
      const char* const line = before == std::string_view::npos ? begin : begin + before + 1;
      parser.lines(begin, line);
      parser.fail_nul(line, nul);
    }
    parser.lines(begin, end);
    tell();
  }
  tell();  // the end of the file may be a few bytes after the last text
  auto made = parser.finish(options.names);
  if (options.facts != nullptr) *options.facts = parser.facts();
  return made;
}

}  // namespace

graph read(const std::string& path, const read_options& options) {
  text_source source(path, options.longest_line);
  const std::string_view block = first_block(path, source, "an edge list or a Matrix Market matrix");
  using format = read_options::format;
  const bool matrix =
      options.as == format::tell_by_content ? looks_like_banner(block) : options.as == format::matrix_market;
  return matrix ? parse<matrix_market>(path, source, block, options) : parse<edge_list>(path, source, block, options);
}

matrix_entries read_matrix(const std::string& path, const read_options& options) {
  text_source source(path, options.longest_line);
  const std::string_view block = first_block(path, source, "a Matrix Market matrix");
  return parse<whole_matrix>(path, source, block, options);
}

}  // namespace shunt::graph
