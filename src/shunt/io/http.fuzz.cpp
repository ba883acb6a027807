/// Fuzzes HTTP: any bytes are requests that get replies, or the end of the connection; and a reply, or an error. What
/// comes of them does not depend on the pieces in which they arrive.
///
///   byte 0    bit 0: the bytes are a server's; else a client's
///   byte 1    the size of the pieces, against all at once
///   byte 2..  the bytes
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <set>
#include <shunt/io/http.hpp>
#include <stop_token>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace {

namespace io = shunt::io;
namespace http = shunt::io::http;

void expect(bool holds, const char* property, const std::string& of) {
  if (holds) return;
  std::fprintf(stderr, "does not hold: %s\n%s\n", property, of.c_str());
  std::abort();
}

/// A peer that has sent some bytes, and takes what it gets. Nothing waits.
struct fuzzed_peer {
  std::string_view sent;
  std::size_t piece;
  std::string* got;

  std::size_t read_some(io::buffer into, std::error_code& ec, const io::deadline&) {
    ec.clear();
    const auto some = std::min({piece, into.size(), sent.size()});
    std::copy_n(sent.data(), some, reinterpret_cast<char*>(into.data()));
    sent.remove_prefix(some);
    return some;
  }
  std::size_t write(io::const_buffer what, std::error_code& ec, const io::deadline&) {
    ec.clear();
    got->append(reinterpret_cast<const char*>(what.data()), what.size());
    return what.size();
  }
};

/// Of a header that is beyond its limit, the parser may know that at once or later.
constexpr std::size_t most = 4096;

/// What a message consists of, in one line.
template <typename Message>
std::string line_of(const std::string& first, const Message& of) {
  std::string all = first;
  for (const auto& [name, value] : of.headers) all.append("; ").append(name).append(": ").append(value);
  return all + "; " + std::to_string(of.body.size()) + " bytes " + of.body + "\n";
}

const std::set<std::string> reply_statuses{"100", "200", "400", "413", "431", "505"};

/// The requests as a handler gets them, and that each of them is replied to.
std::string served(std::string_view bytes, std::size_t piece) {
  std::string replies, told;
  fuzzed_peer peer{bytes, piece, &replies};
  const auto handler = [&](const http::request& asked) {
    told += line_of(asked.method + " " + asked.target, asked);
    static_cast<void>(asked.parameter("a"));
    return http::response(200, std::string(asked.body.size() % 7, 'x'));
  };
  const http::server_options how{.header = most, .body = 256};
  const std::stop_token stop;
  io::buffered_writer out(peer);
  io::buffered_reader in(peer, out, 64);
  http::detail::conversation(in, out, handler, how, stop).run();
  out.flush();
  for (std::size_t at = 0; (at = replies.find("HTTP/1.1 ", at)) != std::string::npos; at += 9) {
    // 100 is sent only to a client that waits for it. Of bytes that are no request the parser may know it at once, or
    // with the end of the header only: the peer gets 400 then, or has left.
    const auto status = replies.substr(at + 9, 3);
    if (status.find_first_not_of("0123456789") != std::string::npos) continue;  // the text of a 400 names HTTP/1.1
    expect(reply_statuses.contains(status), "a status that this server has", replies);
    if (status == "200") told += status + "\n";
  }
  return told;
}

/// The reply as a client gets it, or why there is none.
std::string asked(std::string_view bytes, std::size_t piece) {
  std::string request;
  http::basic_client<fuzzed_peer> client(
      "a:80", [&](const std::string&, const io::deadline&) { return fuzzed_peer{bytes, piece, &request}; },
      {.header = most, .body = 256});
  try {
    const auto reply = client.get("/");
    expect(reply.body.size() <= 256, "a body keeps to its limit", reply.body);
    return line_of(std::to_string(reply.status), reply);
  } catch (const io::io_error& bad) {
    return bad.code() ? "an error" : "an error without a code";
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 2, size - 2);
  const auto outcome = (data[0] & 1) != 0 ? asked : served;
  const auto whole = outcome(bytes, bytes.size() + 1);
  const auto pieces = outcome(bytes, std::size_t{data[1]} + 1);
  expect(whole == pieces, "pieces make no difference", whole + "---\n" + pieces);
  return 0;
}
