#include <algorithm>
#include <cstring>
#include <shunt/graph/detail/edge_list.hpp>
#include <shunt/graph/detail/line_parser.hpp>
#include <shunt/graph/detail/matrix_market.hpp>
#include <shunt/graph/detail/text_source.hpp>
#include <shunt/graph/read.hpp>
#include <string_view>

namespace shunt {
inline namespace v1 {
namespace graph {
namespace {

using detail::text_source;

/// A first line of %% and a word with "matrix" in it is a banner, or meant to be one: were a
/// misspelt banner taken for a comment, the sizes would be taken for an edge.
bool looks_like_banner(std::string_view text) {
  if (!text.starts_with("%%")) return false;
  text = text.substr(2, text.find_first_of(" \t\r\n", 2) - 2);
  const auto has = [text](std::string_view key) {
    return std::search(text.begin(), text.end(), key.begin(), key.end(),
                       [](char x, char y) { return detail::lower(x) == y; }) != text.end();
  };
  return has("matrix") || detail::same_word(text, "mastermarket");
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
  return matrix ? parse<detail::matrix_market>(path, source, block, options)
                : parse<detail::edge_list>(path, source, block, options);
}

matrix_entries read_matrix(const std::string& path, const read_options& options) {
  text_source source(path, options.longest_line);
  const std::string_view block = first_block(path, source, "a Matrix Market matrix");
  return parse<detail::whole_matrix>(path, source, block, options);
}

}  // namespace graph
}  // namespace v1
}  // namespace shunt
