// What calls write and read into: which bytes a view has, and what no view is made of.
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <catch2/catch.hpp>
#include <shunt/io.hpp>

using shunt::io::buffer;
using shunt::io::const_buffer;

namespace {

std::string bytes_of(const_buffer what) { return {reinterpret_cast<const char*>(what.data()), what.size()}; }

// A char[80] may hold a text that ends before, or 80 bytes: the program has to say which.
static_assert(!std::convertible_to<char (&)[80], const_buffer>);
static_assert(!std::convertible_to<wchar_t (&)[80], const_buffer>);
static_assert(!std::convertible_to<std::nullptr_t, const_buffer>);
static_assert(std::convertible_to<char (&)[80], buffer>);
static_assert(!std::convertible_to<const char (&)[80], buffer>);
static_assert(!std::convertible_to<std::string_view, buffer>);

}  // namespace

TEST_CASE("const_buffer: a literal is written without its final 0, and with those in it") {
  using namespace std::string_literals;
  CHECK(bytes_of("abc") == "abc");
  CHECK(bytes_of("") == "");
  CHECK(bytes_of("a\0b\0") == "a\0b\0"s);
  CHECK(bytes_of(u8"\u00e4") == "\xc3\xa4");
  const char no_text[] = {'a', '\0', 'b'};
  CHECK(bytes_of(no_text) == "a\0b"s);
}

TEST_CASE("const_buffer: of a pointer the text up to its first 0; of ranges and arrays all bytes") {
  using namespace std::string_literals;
  char line[8] = "a";
  const char* const constant = line;
  char* const changing = line;
  CHECK(bytes_of(constant) == "a");
  CHECK(bytes_of(changing) == "a");
  CHECK(bytes_of(std::string_view(line)) == "a");
  CHECK(bytes_of(std::span(line)) == "a\0\0\0\0\0\0\0"s);
  CHECK(bytes_of({line, 3}) == "a\0\0"s);
  CHECK(bytes_of("a\0b"s) == "a\0b"s);
  CHECK(bytes_of(std::vector<char>{'x', '\0'}) == "x\0"s);
  CHECK(bytes_of(std::array<char, 2>{'x', '\0'}) == "x\0"s);
  const std::byte key[2] = {std::byte{'k'}, std::byte{0}};
  CHECK(bytes_of(key) == "k\0"s);
  unsigned char others[2] = {'o', 0};
  CHECK(bytes_of(others) == "o\0"s);
  std::uint32_t words[2] = {1, 2};
  CHECK(const_buffer(words).size() == 8);
}

TEST_CASE("buffer: all bytes of what may be changed, and a part of them") {
  char line[8];
  CHECK(buffer(line).size() == 8);
  CHECK(buffer(line).from(3).data() == reinterpret_cast<std::byte*>(line + 3));
  CHECK(buffer(line).from(3).size() == 5);
  std::vector<int> numbers(3);
  CHECK(buffer(numbers).size() == 3 * sizeof(int));
}
