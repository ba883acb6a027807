/// Fuzzes the readers of graphs: any bytes are a graph that keeps its invariants, or one line of complaint.
///
/// Each input is read as a file, with its header decided, through a pipe, in blocks of 64 bytes, and as two members of
/// gzip: all of them agree.
#include <sys/mman.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <optional>
#include <shunt/base/error.hpp>
#include <string>
#include <string_view>
#include <vector>

#include <shunt/graph/read.hpp>

namespace {

using namespace shunt::graph;

/// Ends the process where a property does not hold, in every build.
void expect(bool holds, const char* property) {
  if (holds) return;
  std::fprintf(stderr, "does not hold: %s\n", property);
  std::abort();
}

struct outcome {
  std::optional<graph> made;  ///< nothing: refused
  std::vector<std::uint64_t> names;
  text_facts facts;
  std::string complaint;  ///< less the path
};

using header = read_options::first_line;

outcome read_path(const std::string& path, std::size_t longest_line, header first = header::tell_by_content) {
  outcome found;
  read_options how;
  how.facts = &found.facts;
  how.header = first;
  how.names = &found.names;
  how.longest_line = longest_line;
  try {
    found.made = read(path, how);
  } catch (const shunt::usage_error& refused) {
    const std::string_view line = refused.what();
    expect(line.starts_with(path + ":"), "a complaint starts with the path");
    expect(line.size() < path.size() + 400, "a complaint is short");
    expect(std::none_of(line.begin(), line.end(), [](unsigned char c) { return c < 0x20 || c == 0x7f; }),
           "a complaint is one line of text");
    found.complaint = line.substr(path.size());
  }
  return found;
}

std::string path_of(int descriptor) { return "/proc/self/fd/" + std::to_string(descriptor); }

void write_whole(int descriptor, std::string_view bytes) {
  while (!bytes.empty()) {
    const auto n = ::write(descriptor, bytes.data(), bytes.size());
    expect(n > 0, "the fuzzer's own write");
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
}

/// A file without a place in a folder, closed at the end.
class memory_file {
 public:
  explicit memory_file(std::string_view bytes) : descriptor_(::memfd_create("fuzz", MFD_CLOEXEC)) {
    expect(descriptor_ >= 0, "the fuzzer's own file");
    write_whole(descriptor_, bytes);
  }
  memory_file(const memory_file&) = delete;
  memory_file& operator=(const memory_file&) = delete;
  ~memory_file() { ::close(descriptor_); }

  [[nodiscard]] std::string path() const { return path_of(descriptor_); }

 private:
  int descriptor_;
};

const std::size_t usual_line = read_options().longest_line;
constexpr std::size_t pipe_bytes = 65'536;  // what a pipe takes while none reads: pipe(7)

outcome read_from_pipe(std::string_view bytes) {
  int ends[2];
  expect(::pipe(ends) == 0, "the fuzzer's own pipe");
  write_whole(ends[1], bytes);
  ::close(ends[1]);
  outcome found = read_path(path_of(ends[0]), usual_line);
  ::close(ends[0]);
  return found;
}

/// One member, with the least memory and work: the fuzzer makes very many.
void append_gzip(std::string_view bytes, std::string& to) {
  z_stream stream{};
  expect(deflateInit2(&stream, 1, Z_DEFLATED, 16 + 9, 1, Z_DEFAULT_STRATEGY) == Z_OK, "the fuzzer's own deflate");
  std::string in(bytes);
  std::string out(deflateBound(&stream, in.size()) + 32, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(in.data());
  stream.avail_in = static_cast<uInt>(in.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  expect(deflate(&stream, Z_FINISH) == Z_STREAM_END, "the fuzzer's own deflate");
  to.append(out, 0, stream.total_out);
  deflateEnd(&stream);
}

void expect_same(const outcome& a, const outcome& b, const char* property) {
  expect(a.made.has_value() == b.made.has_value(), property);
  expect(a.names == b.names || !a.made, property);
  if (!a.made) return;
  expect(std::ranges::equal(a.made->offsets(), b.made->offsets()), property);
  expect(std::ranges::equal(a.made->columns(), b.made->columns()), property);
  expect(a.made->cleaned() == b.made->cleaned(), property);
}

void expect_invariants(const outcome& found) {
  const graph& g = *found.made;
  expect(g.offsets().size() == std::size_t{g.vertices()} + 1, "offsets: one more than there are vertices");
  expect(g.offsets().back() == g.edges(), "offsets: they end where the columns do");
  for (vertex v = 0; v < g.vertices(); ++v) {
    const auto row = g.row(v);
    expect(row.empty() || row.back() < v, "Y2: a row lists what is below its vertex");
    expect(std::ranges::adjacent_find(row, std::greater_equal<>()) == row.end(), "Y2: a row ascends");
  }
  expect(found.names.size() == g.vertices(), "names: one for each vertex");
  expect(std::ranges::adjacent_find(found.names, std::greater_equal<>()) == found.names.end(), "names: they ascend");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const memory_file file(bytes);
  const outcome found = read_path(file.path(), usual_line);
  if (found.made) {
    expect_invariants(found);
    const header decided = found.facts.header_line != 0 ? header::yes : header::no;
    expect_same(found, read_path(file.path(), usual_line, decided), "what is told of a header decides it");
  }
  if (bytes.size() <= pipe_bytes) {
    const outcome piped = read_from_pipe(bytes);
    expect_same(found, piped, "a pipe is read as a file is");
    expect(found.complaint == piped.complaint, "of a pipe, the same complaint is made");
  }

  // In small blocks everything that lies across two of them does so often. Only lines that are too long make a
  // difference.
  constexpr std::size_t short_line = 64;
  const outcome in_pieces = read_path(file.path(), short_line);
  const bool too_long = in_pieces.complaint.find("found a line of more than") != std::string::npos;
  if (!too_long) {
    expect_same(found, in_pieces, "a text is the same in small blocks");
    expect(found.complaint == in_pieces.complaint, "in small blocks the same complaint is made");
  }

  if (bytes.empty() || bytes.starts_with("\x1f\x8b")) return 0;
  std::string packed;
  append_gzip(bytes.substr(0, bytes.size() / 3), packed);
  append_gzip(bytes.substr(bytes.size() / 3), packed);
  expect_same(found, read_path(memory_file(packed).path(), usual_line), "a text is the same when it is compressed");
  return 0;
}
