#include <shunt/graph/read.hpp>

#include <stdlib.h>
#include <sys/stat.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <optional>
#include <shunt/base/error.hpp>
#include <shunt/base/random.hpp>
#include <string>
#include <string_view>
#include <support/expect.hpp>
#include <thread>
#include <utility>
#include <vector>

#include <shunt/graph/generate.hpp>

#ifdef SHUNT_ZLIB
#include <zlib.h>
#endif

using namespace shunt::graph;
using Catch::Contains;
using shunt::testing::expect_thrown;
using shunt::testing::thrown_by;
using namespace std::string_literals;
using format = read_options::format;

namespace {

/// A directory that is gone after the test.
class scratch {
 public:
  scratch() {
    std::string name = (std::filesystem::temp_directory_path() / "graph-test-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("mkdtemp");
    directory_ = name;
  }
  scratch(const scratch&) = delete;
  scratch& operator=(const scratch&) = delete;
  ~scratch() {
    std::error_code ignored;
    std::filesystem::remove_all(directory_, ignored);
  }

  [[nodiscard]] std::string name(const std::string& file) const { return directory_ / file; }
  [[nodiscard]] std::string file(std::string_view content, const std::string& as = "g") const {
    std::ofstream out(name(as), std::ios::binary | std::ios::trunc);
    out.write(content.data(), static_cast<std::streamsize>(content.size()));
    return name(as);
  }

 private:
  std::filesystem::path directory_;
};

#ifdef SHUNT_ZLIB
constexpr bool has_zlib = true;

/// One gzip member.
std::string gzipped(std::string_view content) {
  z_stream s{};
  if (deflateInit2(&s, 9, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY) != Z_OK) {
    throw std::runtime_error("deflateInit2");
  }
  std::string out(deflateBound(&s, content.size()) + 32, '\0');
  std::string in(content);
  s.next_in = reinterpret_cast<Bytef*>(in.data());
  s.avail_in = static_cast<uInt>(in.size());
  s.next_out = reinterpret_cast<Bytef*>(out.data());
  s.avail_out = static_cast<uInt>(out.size());
  const int outcome = deflate(&s, Z_FINISH);
  out.resize(s.total_out);
  deflateEnd(&s);
  if (outcome != Z_STREAM_END) throw std::runtime_error("deflate");
  return out;
}
#else
constexpr bool has_zlib = false;

/// Plain: what is tested with both kinds of text is tested with plain text alone.
std::string gzipped(std::string_view content) { return std::string(content); }
#endif

/// Nothing when the text is refused.
std::optional<graph> graph_of(std::string_view content) {
  const scratch here;
  const std::string path = here.file(content);
  try {
    return read(path);
  } catch (const shunt::usage_error&) {
    return std::nullopt;
  }
}

graph read_text(std::string_view content, const read_options& options = {}) {
  const scratch here;
  return read(here.file(content), options);
}

/// The message, less the path: ":line: found ...". Empty when the text is read without complaint.
std::string complaint(std::string_view content, const read_options& options = {}) {
  const scratch here;
  const std::string path = here.file(content);
  const auto what = thrown_by<shunt::usage_error>([&] { static_cast<void>(read(path, options)); });
  if (what.empty()) return what;
  if (!what.starts_with(path)) return "does not start with the path: " + what;
  if (what.find('\n') != std::string::npos) return "more than a line: " + what;
  return what.substr(path.size());
}

graph simple(std::uint64_t vertices, const std::vector<edge>& edges) { return graph::from_edges(vertices, edges); }

const std::vector<edge> three_edges = {{0, 1}, {1, 2}, {0, 3}};

std::string edge_list_of(const graph& g, std::uint64_t factor = 1) {
  std::string out = "# a comment\n";
  for (vertex v = 0; v < g.vertices(); ++v) {
    out += std::to_string(v * factor) + " " + std::to_string(v * factor) + "\n";  // to keep it
    for (const vertex u : g.row(v)) {
      out += std::to_string(u * factor) + "\t" + std::to_string(v * factor) + "\n";
    }
  }
  return out;
}

std::string matrix_of(const graph& g) {
  std::string out = "%%MatrixMarket matrix coordinate pattern symmetric\n% a comment\n";
  const std::string n = std::to_string(g.vertices());
  out += n + " " + n + " " + std::to_string(g.edges()) + "\n";
  for (vertex v = 0; v < g.vertices(); ++v) {
    for (const vertex u : g.row(v)) {
      out += std::to_string(v + 1) + " " + std::to_string(u + 1) + "\n";
    }
  }
  return out;
}

}  // namespace

// --- edge lists ---

TEST_CASE("read: a first line of vertices and edges is a header, and the caller is told") {
  using header = read_options::first_line;
  const std::string star = "4 3\n1 2\n1 3\n1 4\n";
  const std::vector<edge> three = {{0, 1}, {0, 2}, {0, 3}};
  text_facts facts;
  std::vector<std::uint64_t> names;
  CHECK(read_text(star, {.facts = &facts, .names = &names}) == simple(4, three));
  CHECK(names == std::vector<std::uint64_t>{1, 2, 3, 4});
  CHECK(facts.header_line == 1);
  CHECK(facts.header_vertices == 4);
  CHECK(facts.header_edges == 3);
  CHECK(facts.entries == 3);
  CHECK(read_text("# c\n\n4 3 \r\n1 2\r\n% d\r\n1 3 9\r\n1 4", {.facts = &facts}) == simple(4, three));
  CHECK(facts.header_line == 3);
  // The caller decides otherwise, either way.
  CHECK(count_triangles_serial(read_text(star, {.header = header::no, .facts = &facts})) == 1);
  CHECK(facts.header_line == 0);
  CHECK(facts.entries == 4);
  CHECK(read_text("9 9 9\n1 2\n1 3\n1 4\n", {.header = header::yes, .facts = &facts}) == simple(4, three));
  CHECK(facts.header_edges == 9);
  CHECK(facts.entries == 3);
  // Numbers of 2^32 and more lie elsewhere.
  CHECK(read_text("8589934592 2\n1 2\n1 3\n") == simple(3, {{0, 1}, {0, 2}}));
  CHECK_THAT(complaint("4 3\n", {.header = header::yes}),
             Catch::StartsWith(":2: found the end of the file and no edge"));
  CHECK_THAT(complaint("%%MatrixMarket matrix coordinate pattern general\n2 2 0\n", {.header = header::yes}),
             Catch::StartsWith(":1: found the banner of a matrix, expected an edge list"));
}

TEST_CASE("read: a first line that only looks like a header is an edge") {
  text_facts facts;
  // Another count; a third column; no lines that follow; more vertices than it says: a triangle, and far numbers.
  const auto [text, edges] = GENERATE(table<std::string, std::uint64_t>({{"4 5\n1 2\n1 3\n1 4\n", 4},
                                                                         {"4 3 1\n1 2\n1 3\n1 4\n", 4},
                                                                         {"5 0\n", 1},
                                                                         {"1 2\n2 3\n3 1\n", 3},
                                                                         {"3 2\n8589934592 2\n8589934593 9\n", 3},
                                                                         {"1 8589934592\n2 3\n", 2}}));
  CAPTURE(text);
  CHECK(read_text(text, {.facts = &facts}).edges() == edges);
  CHECK(facts.header_line == 0);
  CHECK(facts.entries == edges);
}

TEST_CASE("read: the same edges in any dress are the same graph") {
  const auto text =
      GENERATE("0 1\n1 2\n0 3\n"s,                // bare
               "0 1\n1 2\n0 3"s,                  // no newline at the end
               "0\t1\n1\t2\n0\t3\n"s,             // tabs
               "  0 \t 1  \n\t1   2\t\n0 3 \n"s,  // blanks everywhere
               "0 1\r\n1 2\r\n0 3\r\n"s,          // CR LF
               "0 1\r\n1 2\n0 3\r"s,              // mixed, and a CR that ends the file
               "0 1\r\r\n1 2\r\r\n0 3\r\r\n"s,    // converted twice
               "# Nodes: 4\n% too\n0 1\n  # in between\n1 2\n0 3\n#"s, "#\r\n0 1\r\n\r\n1 2\r\n0 3\r\n"s,
               "\n\n0 1\n \n\t\n1 2\n0 3\n\n"s, "0 1 0.5\n1 2 -3e5 1082040961\n0 3 weight, time # and \"more\"\n"s,
               "\xef\xbb\xbf"
               "0 1\n1 2\n0 3\n"s,                            // a byte order mark
               "00 01\n0000000000000000000000001 2\n0 3\n"s,  // leading zeros
               "1 0\n2 1\n3 0\n"s,                            // the other direction
               "10 20\n20 35\n10 400\n"s,                     // gaps
               "% a comment like those of Matrix Market\n%%and another\n0 1\n1 2\n0 3\n"s);
  const graph expected = simple(4, three_edges);
  CAPTURE(text);
  CHECK(read_text(text) == expected);
  CHECK(read_text(gzipped(text)) == expected);
  CHECK(read_text(text, {.as = format::edge_list}) == expected);
}

TEST_CASE("read: self-loops and duplicates in either direction are dropped and counted") {
  const graph g = read_text("1 1\n1 2\n2 1\n1 2\n3 2\n9 9\n9 9\n");
  CHECK(g == simple(4, {{0, 1}, {1, 2}}));  // 9 occurs, if only on self-loops
  CHECK(g.cleaned() == dropped{3, 2});
}

TEST_CASE("read: vertex numbers up to 2^63 keep their order, and their names on request") {
  std::vector<std::uint64_t> names = {1, 2, 3};
  const graph g = read_text("9223372036854775808 4294967296\n0 4294967295\n4294967296 0\n7 9223372036854775808\n",
                            {.names = &names});
  CHECK(g == simple(5, {{4, 3}, {0, 2}, {3, 0}, {1, 4}}));
  CHECK(names == std::vector<std::uint64_t>{0, 7, 4294967295, 4294967296, max_number});
}

TEST_CASE("read: names of dense numbers are what the file says") {
  std::vector<std::uint64_t> names;
  CHECK(read_text("63 64\n128 1000\n", {.names = &names}) == simple(4, {{0, 1}, {2, 3}}));
  CHECK(names == std::vector<std::uint64_t>{63, 64, 128, 1000});
}

TEST_CASE("read: numbers far apart give the same graph as numbers close together") {
  const graph g = rmat({.scale = 12, .edge_factor = 4}, 6).whole();
  const auto factor = GENERATE(std::uint64_t{1}, std::uint64_t{3}, std::uint64_t{1} << 16, std::uint64_t{1} << 20,
                               (std::uint64_t{1} << 50) + 7);
  CHECK(read_text(edge_list_of(g, factor)) == g);
}

TEST_CASE("read: a longest line that no block could hold is refused") {
  for (const std::size_t bytes : {std::size_t{0}, std::size_t{15}, (std::size_t{1} << 30) + 1, ~std::size_t{0}}) {
    read_options how;
    how.longest_line = bytes;
    CHECK_THROWS_WITH(read_text("0 1\n", how), Contains("expected longest_line from 16 to 1073741824"));
  }
}

TEST_CASE("read: what is not an edge list is refused, with its line, what was found and expected") {
  const auto [text, expected] = GENERATE(table<std::string, std::string>({
      {"0 1\n-1 2\n", ":2: found \"-1\", expected a vertex number, 0..9223372036854775808"},
      {"0 1\n1 -2\n", ":2: found \"-2\", expected a second vertex number"},
      {"0 1\n9223372036854775809 1\n", ":2: found \"9223372036854775809\", expected a vertex number"},
      {"0 9223372036854775809\n", ":1: found \"9223372036854775809\", expected a second"},
      {"18446744073709551616 1\n", ":1: found \"18446744073709551616\", expected a vertex number"},
      {"0 99999999999999999999999999\n", ":1: found \"99999999999999999999999999\", expected"},
      {"0 18446744073709551615\n", ":1: found \"18446744073709551615\", expected"},
      {"0 1\n17\n", ":2: found \"17\" alone on a line, expected two vertex numbers"},
      {"0 1\n17\r\n", ":2: found \"17\" alone on a line, expected two vertex numbers"},
      {"0 1\n\n17 \n", ":3: found the end of the line, expected a second vertex number"},
      {"0 1\n17 \t\r\n", ":2: found the end of the line, expected a second vertex number"},
      {"1,2\n", ":1: found \"1,2\", expected two vertex numbers set apart by blanks or tabs"},
      {"1 2,3\n", ":1: found \"2,3\", expected a second vertex number"},
      {"1.0 2.0\n", ":1: found \"1.0\", expected two vertex numbers set apart"},
      {"1 2.0\n", ":1: found \"2.0\", expected a second vertex number"},
      {"1 x\n", ":1: found \"x\", expected a second vertex number"},
      {"# ok\nsource target\n1 2\n", ":2: found \"source\", expected a vertex number"},
      {"<html>\"\\\n", ":1: found \"<html>\\\"\\\\\", expected a vertex number"},
      {"+1 2\n", ":1: found \"+1\", expected a vertex number"},
      {"0 1\n\x01\x02\xff\n", ":2: found \"\\x01\\x02\\xff\", expected a vertex number"},
      {"0 1\n"s + std::string(100, 'y') + "\n", ":2: found \"" + std::string(40, 'y') + "\"..., exp"},
      {"0 1\r2 3\r", ":1: found a CR within a line, expected lines that end with LF"},
      {"# c\r0 1\r", ":1: found a CR within a line, expected lines that end with LF"},
      {"0 1 x\ry\n", ":1: found a CR within a line, expected lines that end with LF"},
      {"0 1\n \r 2\n", ":2: found a CR within a line, expected lines that end with LF"},
      {"0 1\n2 3\0 4\n"s, ":2: found a NUL byte after \"2 3\", expected text (is this a binary or"},
      {"0 1\n# c\n\0\0"s, ":3: found a NUL byte, expected text"},
      {"0 1\n2 3 4 \0\n"s, ":2: found a NUL byte after \"2 3 4 \", expected text"},
      {"0 1\n# x\0\n"s, ":2: found a NUL byte after \"# x\", expected text"},
      {"0 1\nbad\n2 3\0\n"s, ":2: found \"bad\", expected a vertex number"},
      {"0\0 \0001\0\n\0"s, ":1: found a NUL byte after \"0\", expected text"},
      {"# only\n% comments\n", ":3: found the end of the file and no edge in it, expected two"},
      {"\n\n", ":3: found the end of the file and no edge in it, expected two"},
      {"\xef\xbb\xbf", ":2: found the end of the file and no edge in it, expected two"},
      {"\xef\xbb", ":1: found \"\\xef\\xbb\", expected a vertex number"},
      {"\x1f", ":1: found \"\\x1f\", expected a vertex number"},
  }));
  CHECK_THAT(complaint(text), Catch::StartsWith(expected));
  if (text == "\x1f") return;  // compressed, that is gzip's first byte no longer
  CHECK_THAT(complaint(gzipped(text)), Catch::StartsWith(expected));
}

// --- Matrix Market ---

TEST_CASE("read: all supported kinds of matrix give the same graph") {
  const auto text =
      GENERATE("%%MatrixMarket matrix coordinate pattern symmetric\n4 4 3\n2 1\n3 2\n4 1\n"s,
               "%%MatrixMarket matrix coordinate pattern symmetric\n4 4 3\n1 2\n2 3\n1 4\n"s,
               "%%MatrixMarket matrix coordinate pattern general\n4 4 3\n1 2\n2 3\n4 1\n"s,
               "%%MatrixMarket matrix coordinate real symmetric\n4 4 3\n2 1 0.5\n3 2 -1e-7\n4 1 +1.E+300\n"s,
               "%%MatrixMarket matrix coordinate real general\n4 4 3\n2 1 0\n3 2 nan\n4 1 -Infinity\n"s,
               "%%MatrixMarket matrix coordinate integer symmetric\n4 4 3\n2 1 5\n3 2 -7\n4 1 0\n"s,
               "%%MatrixMarket matrix coordinate integer general\n4 4 3\n2 1 5\n3 2 -7\n4 1 0"s,
               "%%matrixmarket MATRIX Coordinate Pattern Symmetric\n4 4 3\n2 1\n3 2\n4 1\n"s,
               "%%MatrixMarket\tmatrix  coordinate pattern symmetric \r\n%\r\n\r\n"
               "4 4 3\r\n2 1\r\n3 2\r\n4 1\r\n"s,
               "%%MatrixMarket matrix coordinate pattern symmetric\n% c\n%%c\n\n"
               " 4\t4 3 \n\n 2 1 \n% c\n3 2\n4 1\n\n%"s);
  const graph expected = simple(4, three_edges);
  CAPTURE(text);
  CHECK(read_text(text) == expected);
  CHECK(read_text(gzipped(text)) == expected);
  CHECK(read_text(text, {.as = format::matrix_market}) == expected);
}

TEST_CASE("read: a matrix has the vertices that its header says, named from 1") {
  std::vector<std::uint64_t> names = {9};
  const graph g = read_text(
      "%%MatrixMarket matrix coordinate integer general\n5 5 6\n"
      "1 1 1\n2 2 1\n2 1 1\n1 2 1\n2 1 1\n5 2 1\n",
      {.names = &names});
  CHECK(g == simple(5, {{0, 1}, {4, 1}}));
  CHECK(g.cleaned() == dropped{2, 2});
  CHECK(names == std::vector<std::uint64_t>{1, 2, 3, 4, 5});
  CHECK(read_text("%%MatrixMarket matrix coordinate real general\n0 0 0\n").vertices() == 0);
  CHECK(read_text("%%MatrixMarket matrix coordinate real general\n3 3 0\n").vertices() == 3);
}

TEST_CASE("read: what is not a supported matrix is refused, with its line, found and expected") {
  const std::string good = "%%MatrixMarket matrix coordinate pattern general\n";
  const std::string real = "%%MatrixMarket matrix coordinate real general\n";
  const std::string integer = "%%MatrixMarket matrix coordinate integer general\n";
  const auto [text, expected] = GENERATE_COPY(table<std::string, std::string>({
      {"%%MatrixMarkt matrix coordinate pattern general\n2 2 0\n",
       ":1: found \"%%MatrixMarkt\", expected the banner %%MatrixMarket"},
      {"%%MatrixMarket\n2 2 0\n", ":1: found the end of the banner, expected the object \"matrix\""},
      {"%%MatrixMarket vector coordinate real general\n", ":1: found \"vector\", expected the object"},
      {"%%MatrixMarket matrix array real general\n2 2\n",
       ":1: found \"array\", expected the format \"coordinate\" (a sparse matrix)"},
      {"%%MatrixMarket matrix coordinate complex general\n2 2 0\n",
       ":1: found \"complex\", expected a field that is supported: pattern, real or integer"},
      {"%%MatrixMarket matrix coordinate real skew-symmetric\n2 2 0\n",
       ":1: found \"skew-symmetric\", expected a symmetry that is supported: general or symmetric"},
      {"%%MatrixMarket matrix coordinate real Hermitian\n2 2 0\n",
       ":1: found \"Hermitian\", expected a symmetry that is supported: general or symmetric"},
      {"%%MatrixMarket matrix coordinate position\n2 2 0\n",
       ":1: found \"position\", expected a field that is supported: pattern, real or integer"},
      {"%%MasterMarket matrix coordinate complex\n2 2 0\n",
       ":1: found \"complex\", expected a field that is supported: pattern, real or integer"},
      {"%%MatrixMarket matrix coordinate real general x\n", ":1: found \"x\", expected the end of the"},
      {good, ":2: found the end of the file, expected a line with rows, columns and entries"},
      {good + "% c\n", ":3: found the end of the file, expected a line with rows, columns and entr"},
      {good + "2 3 1\n1 1\n", ":2: found a matrix of 2 x 3, expected a square one"},
      {good + "2 2\n1 1\n", ":2: found the end of the line, expected the number of entries"},
      {good + "2\n", ":2: found the end of the line, expected the number of columns"},
      {good + "2 2 1 1\n", ":2: found \"1\", expected the end of the line"},
      {good + "-2 2 1\n", ":2: found \"-2\", expected the number of rows, at most 4294967295"},
      {good + "4294967296 4294967296 0\n", ":2: found \"4294967296\", expected the number of rows"},
      {good + "2 2 99999999999999999999\n", ":2: found \"99999999999999999999\", expected the numb"},
      {good + "2 2 1e3\n", ":2: found \"1e3\", expected the number of entries"},
      {good + "3 3 3\n1 2\n2 3\n", ":5: found the end of the file after 2 entries, expected the 3 that were announced"},
      {good + "3 3 1\n1 2\n\n2 3\n",
       ":5: found another entry, \"2\", expected the end of the file after the 1 entries"},
      {good + "3 3 1\n1 2\nx\n", ":4: found another entry, \"x\", expected the end of the file"},
      {good + "3 3 2\n1 2\n0 3\n", ":4: found \"0\", expected an index of 1..3"},
      {good + "3 3 2\n1 2\n3 0\n", ":4: found \"0\", expected an index of 1..3"},
      {good + "3 3 2\n1 2\n4 1\n", ":4: found \"4\", expected an index of 1..3"},
      {good + "3 3 2\n1 2\n1 4\n", ":4: found \"4\", expected an index of 1..3"},
      {good + "3 3 2\n1 2\n1 4294967297\n", ":4: found \"4294967297\", expected an index of 1..3"},
      {good + "3 3 2\n1 2\n1 18446744073709551617\n", ":4: found \"18446744073709551617\", expected"},
      {good + "3 3 2\n1 2\n-1 2\n", ":4: found \"-1\", expected an index of 1..3"},
      {good + "3 3 1\n1\n", ":3: found the end of the line, expected an index of 1..3"},
      {good + "3 3 1\n1 2.5\n", ":3: found \"2.5\", expected an index of 1..3"},
      {good + "3 3 1\n1 2 7\n", ":3: found \"7\", expected the end of the line"},
      {good + "3 3 1\n1 2\r3 3\n", ":3: found a CR within a line"},
      {good + "3 3 1\n1 2\0\n"s, ":3: found a NUL byte after \"1 2\", expected text"},
      {real + "3 3 1\n1 2\n", ":3: found the end of the line, expected a real value"},
      {real + "3 3 1\n1 2 z\n", ":3: found \"z\", expected a real value"},
      {real + "3 3 1\n1 2 1.0 2.0\n", ":3: found \"2.0\", expected the end of the line"},
      {integer + "3 3 1\n1 2 1.5\n", ":3: found \"1.5\", expected an integer value"},
      {integer + "3 3 1\n1 2\r\n", ":3: found the end of the line, expected an integer value"},
  }));
  CHECK_THAT(complaint(text), Catch::StartsWith(expected));
  CHECK_THAT(complaint(gzipped(text)), Catch::StartsWith(expected));
}

TEST_CASE("read: bale's banners, without a symmetry, are those of general matrices") {
  using kind = text_facts::kind;
  const auto* const banner =
      GENERATE("%%MasterMarket matrix coordinate position\n", "%%MasterMarket matrix coordinate pattern \r\n",
               "%%MatrixMarket matrix coordinate pattern\n");
  text_facts facts;
  CHECK(read_text(banner + "4 4 4\n2 1\n1 2\n3 2\n1 4\n"s, {.facts = &facts}) == simple(4, three_edges));
  CHECK(facts.is == kind::matrix_without_symmetry);
  CHECK(facts.entries == 4);
  CHECK(read_text("%%MasterMarket matrix coordinate real\n2 2 1\n2 1 0.5\n") == simple(2, {{0, 1}}));
  CHECK_THAT(complaint(banner + "4 4 4\n2 1\n"s), Contains("found the end of the file after 1 entries"));
  static_cast<void>(read_text("%%MatrixMarket matrix coordinate pattern symmetric\n2 2 0\n", {.facts = &facts}));
  CHECK(facts.is == kind::symmetric_matrix);
  static_cast<void>(read_text("%%MatrixMarket matrix coordinate pattern general\n2 2 0\n", {.facts = &facts}));
  CHECK(facts.is == kind::general_matrix);
}

TEST_CASE("read: rows out of proportion to the entries are refused with their line, unless the caller takes them") {
  const std::string banner = "%%MatrixMarket matrix coordinate pattern symmetric\n";
  CHECK_THAT(
      complaint(banner + "1000000000 1000000000 1\n2 1\n"),
      Catch::StartsWith(":2: found a matrix of 1000000000 rows for 1 entries, expected at most 16 rows an entry: "
                        "the rows alone take 20000 MB of memory (option rows-ok"));
  // What is announced and does not come is an error before any row takes memory.
  CHECK_THAT(complaint(banner + "4294967295 4294967295 9223372036854775808\n2 1\n"),
             Catch::StartsWith(":4: found the end of the file after 1 entries"));
  const auto rows = [&](std::uint64_t count) {
    return banner + std::to_string(count) + " " + std::to_string(count) + " 1\n2 1\n";
  };
  CHECK(read_text(rows(always_rows)).vertices() == always_rows);
  CHECK_THAT(complaint(rows(always_rows + 1)), Contains("rows for 1 entries"));
  CHECK(read_text(rows(always_rows + 1), {.rows_ok = true}).vertices() == always_rows + 1);
}

TEST_CASE("read: a file that is not what the caller says is an error") {
  CHECK_THAT(complaint("0 1\n", {.as = format::matrix_market}),
             Catch::StartsWith(":1: found \"0\", expected the banner %%MatrixMarket"));
  // Taken for an edge list, a banner is a comment: that is what was asked for.
  CHECK(read_text("%%MatrixMarket matrix coordinate pattern general\n2 2 1\n1 2\n", {.as = format::edge_list}) ==
        simple(2, {{0, 1}}));
}

// --- matrices as matrices ---

TEST_CASE("read_matrix: keeps direction, duplicates, the diagonal and both sizes") {
  const scratch here;
  const auto matrix = [&](const std::string& banner, const std::string& rest) {
    return read_matrix(here.file("%%MatrixMarket matrix coordinate " + banner + "\n% c\n" + rest));
  };
  CHECK(matrix("real general", "2 3 4\n1 3 0.5\n2 1 0\n2 2 1e3\n2 1 7\n") ==
        matrix_entries{2, 3, {{0, 2}, {1, 0}, {1, 1}, {1, 0}}});
  CHECK(matrix("pattern general", "3 2 1\n3 1\n") == matrix_entries{3, 2, {{2, 0}}});
  CHECK(matrix("pattern symmetric", "3 3 3\n2 1\n3 3\n1 3\n") ==
        matrix_entries{3, 3, {{1, 0}, {2, 2}, {0, 2}, {0, 1}, {2, 0}}});
  CHECK(matrix("integer general", "0 0 0\n") == matrix_entries{});
  std::ofstream(here.name("z"), std::ios::binary)
      << gzipped("%%MatrixMarket matrix coordinate pattern general\n1 2 1\n1 2\n");
  CHECK(read_matrix(here.name("z")) == matrix_entries{1, 2, {{0, 1}}});
}

TEST_CASE("read_matrix: what is no matrix is an error that names file and line") {
  const scratch here;
  const auto complaint_of = [&](const std::string& content) {
    const std::string path = here.file(content);
    const auto what = thrown_by<shunt::usage_error>([&] { static_cast<void>(read_matrix(path)); });
    return what.starts_with(path) ? what.substr(path.size()) : "does not start with the path: " + what;
  };
  const std::string good = "%%MatrixMarket matrix coordinate pattern general\n";
  using Catch::StartsWith;
  CHECK_THAT(complaint_of(""), StartsWith(":1: found an empty file"));
  CHECK_THAT(complaint_of("0 1\n"), StartsWith(":1: found \"0\", expected the banner %%MatrixMarket"));
  CHECK_THAT(complaint_of(good + "2 3 1\n2 4\n"), StartsWith(":3: found \"4\", expected an index of 1..3"));
  CHECK_THAT(complaint_of(good + "2 3 1\n3 2\n"), StartsWith(":3: found \"3\", expected an index of 1..2"));
  CHECK_THAT(complaint_of(good + "2 4294967296 1\n1 1\n"),
             StartsWith(":2: found \"4294967296\", expected the number of columns, at most 4294967295"));
  CHECK_THAT(complaint_of(good + "2 3000000 1\n1 1\n"),
             StartsWith(":2: found a matrix of 3000000 columns for 1 entries, expected at most 16 columns an entry"));
  CHECK_THAT(complaint_of("%%MatrixMarket matrix coordinate pattern symmetric\n2 3 1\n2 1\n"),
             Contains("found a symmetric matrix of 2 x 3, expected a square one"));
  CHECK_THAT(complaint_of(good + "2 2 2\n1 1\n"), StartsWith(":4: found the end of the file after 1 entries"));
}

// --- files ---

TEST_CASE("read: a path that cannot be read is an error that says why") {
  const scratch here;
  CHECK_THROWS_AS(read(here.name("none")), shunt::usage_error);
  CHECK_THROWS_WITH(read(here.name("none")), Contains(here.name("none") + ": cannot open: No such"));
  CHECK_THROWS_WITH(read(here.name("")), Contains(": cannot read: Is a directory"));
  CHECK_THROWS_WITH(read(""), Contains("\"\": cannot open: No such file"));
  CHECK_THROWS_WITH(read("a\0b"s), Contains("a\\x00b: cannot open: Invalid argument"));
  CHECK_THROWS_WITH(read(here.name("a\nb")), Contains("a\\nb: cannot open"));
  CHECK_THROWS_WITH(read(here.file("") + "/x"), Contains("cannot open: Not a directory"));
  expect_thrown<shunt::usage_error>([&] { static_cast<void>(read(here.name("none"))); },
                                    [](const shunt::usage_error& e) { CHECK(e.known().native == ENOENT); });
}

TEST_CASE("read: an empty file, plain or compressed, is an error") {
  CHECK_THAT(complaint(""), Catch::StartsWith(":1: found an empty file, expected an edge list or"));
  if (has_zlib) CHECK_THAT(complaint(gzipped("")), Catch::StartsWith(":1: found a file without text, expected"));
}

TEST_CASE("read: data compressed with something else are named") {
  const auto [bytes, name] = GENERATE(table<std::string, std::string>({{"BZh91AY&SY", "bzip2 data"},
                                                                       {"\xfd"
                                                                        "7zXZ\0\0"s,
                                                                        "xz data"},
                                                                       {"\x28\xb5\x2f\xfd...", "zstd data"},
                                                                       {"PK\x03\x04...", "a zip archive"},
                                                                       {"\xff\xfe"
                                                                        "0\0 \0001\0"s,
                                                                        "UTF-16 text"},
                                                                       {"\x7f"
                                                                        "ELF\x02\x01",
                                                                        "a program"}}));
  CHECK_THAT(complaint(bytes), Catch::StartsWith(":1: found " + name + ", expected plain text"));
}

#ifdef SHUNT_ZLIB
TEST_CASE("read: gzip members in a row are one text, wherever it is cut, and zeros may follow") {
  const std::string text = "0 1\n1 2\n0 3\n";
  const graph expected = simple(4, three_edges);
  for (std::size_t cut = 0; cut <= text.size(); ++cut) {
    const std::string two = gzipped(text.substr(0, cut)) + gzipped(text.substr(cut));
    REQUIRE(read_text(two) == expected);
    REQUIRE(read_text(two + gzipped("") + std::string(700, '\0')) == expected);
  }
}

TEST_CASE("read: bytes after the gzip data that are no member are an error, not an end") {
  const std::string text = "0 1\n1 2\n0 3\n";
  CHECK_THAT(complaint(gzipped(text) + "0 4\n"),
             Catch::StartsWith(":4: found corrupt gzip data (bytes that are not gzip after"));
  CHECK_THAT(complaint(gzipped(text) + "\0\0x"s), Catch::StartsWith(":4: found corrupt gzip data"));
  CHECK_THAT(complaint(gzipped(text) + "\0"s + gzipped(text)), Catch::StartsWith(":4: found corrupt gzip data"));
  CHECK_THAT(complaint(gzipped(text) + "\x1f\x8c"), Catch::StartsWith(":4: found corrupt gzip data"));
}

TEST_CASE("read: gzip data that are cut off at any byte are an error") {
  const std::string text = edge_list_of(rmat({.scale = 5, .edge_factor = 4}, 2).whole());
  const std::string first = gzipped(text.substr(0, text.size() / 2));
  const std::string whole = first + gzipped(text.substr(text.size() / 2));
  REQUIRE(complaint(whole).empty());
  for (std::size_t size = 2; size < whole.size(); ++size) {
    if (size == first.size()) continue;  // what is left is a member, and cannot be told from a file
    REQUIRE_THAT(complaint(whole.substr(0, size)), Contains("found the end of the gzip data within a member"));
  }
}

TEST_CASE("read: gzip data with any byte changed give the same graph or an error") {
  const graph g = rmat({.scale = 5, .edge_factor = 4}, 2).whole();
  const std::string whole = gzipped(edge_list_of(g));
  const graph expected = read_text(whole);
  unsigned refused = 0;
  for (std::size_t at = 0; at < whole.size(); ++at) {
    for (const char flip : {'\x01', '\x80', '\xff'}) {
      std::string changed = whole;
      changed[at] = static_cast<char>(changed[at] ^ flip);
      const auto found = graph_of(changed);
      if (found) {
        REQUIRE(*found == expected);  // a time stamp, a name of a system
      } else {
        ++refused;
      }
    }
  }
  CHECK(refused > 3 * (whole.size() - 10));  // all but the header's idle bytes
}
#else
TEST_CASE("read: without zlib, a file that gzip has compressed is refused by name") {
  const auto refused = complaint("\x1f\x8b\x08\0\0\0\0\0\0\x03"s);
  CHECK_THAT(refused,
             Catch::StartsWith(":1: found gzip data, expected plain text: this library was built without zlib"));
}
#endif

TEST_CASE("read: a matrix that is cut off at any byte is an error") {
  const std::string text =
      "%%MatrixMarket matrix coordinate real general\n% c\n10 10 3\n"
      "1 2 0.5\n10 9 1\n10 10 2";
  REQUIRE(complaint(text).empty());
  for (std::size_t size = 0; size < text.size(); ++size) {
    // A cut number is a number too: nothing tells "10 10 2" from "10 10 23".
    const std::string cut = text.substr(0, size);
    CAPTURE(cut);
    REQUIRE_FALSE(complaint(cut).empty());
  }
}

TEST_CASE("read: an edge list that is cut off at any byte keeps the edges of its whole lines") {
  const std::string text = "# c\n10 11\r\n11 12 0.5\n\n9223372036854775808 10\n12 10\n";
  for (std::size_t size = 0; size <= text.size(); ++size) {
    const std::string cut = text.substr(0, size);
    CAPTURE(cut);
    const auto whole_lines = graph_of(cut.substr(0, cut.rfind('\n') + 1));
    const std::uint64_t sure = whole_lines ? whole_lines->edges() : 0;
    const auto found = graph_of(cut);
    if (found) {  // a cut number is a number too
      REQUIRE(found->edges() >= sure);
      REQUIRE(found->edges() <= sure + 1);
    } else {
      REQUIRE_THAT(complaint(cut), Catch::StartsWith(":"));
    }
  }
  CHECK(graph_of(text)->edges() == 4);
}

TEST_CASE("read: whatever bytes a file has, it is a graph or one line of complaint") {
  const std::string seeds[] = {
      "# c\n10 11\r\n11 12 0.5\n\n9223372036854775808 10\n12 12\n",
      "%%MatrixMarket matrix coordinate real general\n% c\n10 10 3\n1 2 0.5\n10 9 1\n10 10 2\n",
      gzipped("0 1\n1 2\n0 3\n") + gzipped("4 5\n")};
  const std::string likely = "0123456789 \t\r\n#%-.\0\xff\x1f\x8b"s;
  const shunt::counter_random numbers(2024);
  const scratch here;
  std::uint64_t drawn = 0;
  unsigned graphs = 0;
  unsigned complaints = 0;
  for (unsigned round = 0; round < 6'000; ++round) {
    std::string text = seeds[round % 3];
    for (auto changes = 1 + numbers.below(drawn++, 4); changes != 0; --changes) {
      const auto at = numbers.below(drawn++, text.size());
      const auto what = numbers.below(drawn++, 3);
      const char byte = likely[numbers.below(drawn++, likely.size())];
      // The sizes of a matrix are left alone: a header may well ask for 4,000,000,000 rows.
      const bool header = round % 3 == 1 && at >= 46 && at < 60;
      if (what == 0) text[at] = header ? '1' : byte;
      if (what == 1 && !header) text.insert(at, 1, byte);
      if (what == 2 && text.size() > 1) text.erase(at, 1);
    }
    const std::string path = here.file(text);
    try {
      static_cast<void>(read(path));
      ++graphs;
    } catch (const shunt::usage_error& e) {
      const std::string_view what = e.what();
      REQUIRE(what.find('\n') == std::string_view::npos);
      REQUIRE(what.find(", expected ") != std::string_view::npos);
      REQUIRE(std::ranges::all_of(what, [](char c) { return c >= 0x20 && c < 0x7f; }));
      REQUIRE(what.size() < path.size() + 250);
      ++complaints;
    }
  }
  CHECK(graphs > 100);
  CHECK(complaints > 100);
}

TEST_CASE("read: texts of many blocks are read whole, plain or compressed, in either format") {
  const graph g = rmat({.scale = 16, .edge_factor = 6}, 4).whole();
  const std::string list = edge_list_of(g);
  const std::string matrix = matrix_of(g);
  REQUIRE(list.size() > 4'000'000);
  CHECK(read_text(list) == g);
  CHECK(read_text(matrix) == g);
  CHECK(read_text(gzipped(list)) == g);
  CHECK(read_text(gzipped(matrix)) == g);

  // A complaint far behind the first block names the right line.
  const auto lines = std::ranges::count(list, '\n');
  const std::string where = ":"s + std::to_string(lines + 1);
  CHECK_THAT(complaint(list + "oops"), Catch::StartsWith(where + ": found \"oops\""));
  if (has_zlib) CHECK_THAT(complaint(gzipped(list) + "x"), Catch::StartsWith(where + ": found corrupt gzip data"));
}

TEST_CASE("read: lines that end just before, at and behind the end of a block are whole") {
  constexpr std::size_t block = std::size_t{1} << 20;
  for (std::size_t size = block - 24; size <= block; ++size) {
    // One long comment of that size, so that the edges behind it straddle the end of the block.
    std::string text(size, 'c');
    text.front() = '#';
    text.back() = '\n';
    text += "0 1\n1 2\n0 3\n4 5\n6 7";
    REQUIRE(read_text(text) == simple(8, {{0, 1}, {1, 2}, {0, 3}, {4, 5}, {6, 7}}));
  }
}

TEST_CASE("read: a line that fits in a block is read, a longer one is an error") {
  constexpr std::size_t block = std::size_t{1} << 20;
  CHECK(read_text("0 1\n#"s + std::string(block - 2, 'c') + "\n1 2\n").edges() == 2);
  CHECK_THAT(complaint("0 1\n#"s + std::string(block, 'c') + "\n1 2\n"),
             Catch::StartsWith(":2: found a line of more than 1048576 bytes that starts with"));
}

TEST_CASE("read: progress grows to the size of the file, and what it throws ends the reading") {
  const scratch here;
  const bool compressed = GENERATE(false, true);
  const std::string text = edge_list_of(rmat({.scale = 14, .edge_factor = 16}, 4).whole());
  const std::string bytes = has_zlib && compressed ? gzipped(text) + std::string(9, '\0') : text;
  const std::string path = here.file(bytes);
  std::vector<std::uint64_t> done;
  read_options options;
  options.progress = [&](std::uint64_t now, std::uint64_t total) {
    done.push_back(now);
    REQUIRE(total == bytes.size());
  };
  static_cast<void>(read(path, options));
  CHECK(std::ranges::is_sorted(done));
  CHECK(done.size() >= text.size() >> 20);
  CHECK(done.back() == bytes.size());

  struct enough {};
  options.progress = [](std::uint64_t, std::uint64_t) { throw enough(); };
  CHECK_THROWS_AS(read(path, options), enough);
}

TEST_CASE("read: a pipe is read like a file, of unknown size, in pieces of any length") {
  const scratch here;
  const std::string path = here.name("pipe");
  REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
  const bool compressed = GENERATE(false, true);
  const std::string text = "0 1\n1 2\n0 3\n";
  std::jthread writer([&] {
    std::ofstream out(path, std::ios::binary);
    for (const char c : compressed ? gzipped(text) : text) out.put(c).flush();
  });
  std::optional<std::uint64_t> total;
  read_options options;
  options.progress = [&](std::uint64_t, std::uint64_t size) { total = size; };
  CHECK(read(path, options) == simple(4, three_edges));
  CHECK(total == std::optional<std::uint64_t>(0));
}
