#include <shunt/io/tls.hpp>

#if __has_include(<openssl/ssl.h>)

#include <cstdio>
#include <filesystem>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include <unistd.h>

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include <catch2/catch.hpp>
#include <shunt/io.hpp>
#include <shunt/io/http.hpp>
#include <shunt/sync/latch.hpp>
#include <support/io.hpp>

namespace io = shunt::io;
namespace sched = shunt::sched;
using namespace io::testing;
using namespace std::chrono_literals;

namespace {

using key_holder = std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)>;
using certificate_holder = std::unique_ptr<X509, decltype(&X509_free)>;

/// A key and a certificate that vouches for itself and names `host`, as files.
class identity {
 public:
  explicit identity(const std::string& host)
      : folder_(std::filesystem::temp_directory_path() / ("shunt-tls-" + std::to_string(getpid()) + "-" + host)) {
    std::filesystem::create_directories(folder_);
    const key_holder key(EVP_EC_gen("P-256"), &EVP_PKEY_free);
    const certificate_holder made(X509_new(), &X509_free);
    X509_set_version(made.get(), X509_VERSION_3);
    ASN1_INTEGER_set(X509_get_serialNumber(made.get()), 1);
    X509_gmtime_adj(X509_getm_notBefore(made.get()), -3600);
    X509_gmtime_adj(X509_getm_notAfter(made.get()), 3600);
    X509_set_pubkey(made.get(), key.get());
    X509_NAME* const name = X509_get_subject_name(made.get());
    X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, reinterpret_cast<const unsigned char*>(host.c_str()), -1, -1,
                               0);
    X509_set_issuer_name(made.get(), name);
    extend(made.get(), NID_subject_alt_name, "DNS:" + host);
    extend(made.get(), NID_basic_constraints, "critical,CA:TRUE");
    X509_sign(made.get(), key.get(), EVP_sha256());
    write(certificate(), [&](std::FILE* to) { PEM_write_X509(to, made.get()); });
    write(this->key(),
          [&](std::FILE* to) { PEM_write_PrivateKey(to, key.get(), nullptr, nullptr, 0, nullptr, nullptr); });
  }
  ~identity() { std::filesystem::remove_all(folder_); }
  identity(const identity&) = delete;
  identity& operator=(const identity&) = delete;

  [[nodiscard]] std::string certificate() const { return folder_ / "certificate.pem"; }
  [[nodiscard]] std::string key() const { return folder_ / "key.pem"; }

 private:
  static void extend(X509* of, int what, const std::string& value) {
    X509V3_CTX context;
    X509V3_set_ctx_nodb(&context);
    X509V3_set_ctx(&context, of, of, nullptr, nullptr, 0);
    X509_EXTENSION* const made = X509V3_EXT_conf_nid(nullptr, &context, what, value.c_str());
    X509_add_ext(of, made, -1);
    X509_EXTENSION_free(made);
  }
  template <typename Print>
  static void write(const std::string& path, const Print& print) {
    std::FILE* const to = std::fopen(path.c_str(), "w");
    print(to);
    std::fclose(to);
  }

  std::filesystem::path folder_;
};

/// A server that is shunt.test, and a client that trusts it.
struct sides {
  sides() { client.trust(me.certificate()); }

  const identity me{"shunt.test"};
  io::tls_context server = io::tls_context::server(me.certificate(), me.key());
  io::tls_context client = io::tls_context::client();

  [[nodiscard]] io::tls_stream accept(io::stream base) const { return {std::move(base), server, 5min}; }
  [[nodiscard]] io::tls_stream begin(io::stream base) const { return {std::move(base), client, "shunt.test", 5min}; }
};

/// Two sides on two workers: the server accepts one connection, the client makes it.
template <typename Server, typename Client>
void talk(const Server& server, const Client& client) {
  sched::runtime rt({.workers = 2});
  rt.run([&] {
    auto ends = io::connected_pair();
    rt.spawn([&server, mine = std::make_shared<io::stream>(std::move(ends.first))] { server(std::move(*mine)); },
             {.worker = 1});
    client(std::move(ends.second));
  });
}

std::string text_of(std::size_t bytes) {
  std::string all(bytes, '\0');
  std::iota(all.begin(), all.end(), '\0');
  return all;
}

}  // namespace

TEST_CASE("tls: what is written at one side is read at the other, in both directions, and the end too") {
  const sides two;
  const auto sent = text_of(300'000);  // more than a socket's buffer: the writer waits for the reader
  std::string got, version;
  bool ended = false;
  talk(
      [&](io::stream base) {
        io::tls_stream peer = two.accept(std::move(base));
        std::string all(sent.size(), '\0');
        io::buffered_reader in(peer);
        in.read_exactly(all, 5min);
        peer.write(all, 5min);
        peer.shutdown(5min);
      },
      [&](io::stream base) {
        io::tls_stream peer = two.begin(std::move(base));
        version = peer.version();
        peer.write(sent, 5min);
        std::string part(10'000, '\0');
        while (const auto moved = peer.read_some(part, 5min)) got.append(part, 0, moved);
        ended = true;
      });
  CHECK(got == sent);
  CHECK(ended);
  CHECK(version == "TLSv1.3");
}

TEST_CASE("tls: one fiber reads while another writes") {
  const sides two;
  const auto sent = text_of(200'000);
  const auto both_ways = [&](io::tls_stream& peer) {
    bool written = false;
    const auto waits = sched::this_fiber::self();
    sched::this_worker::current().spawn(
        [&] {
          peer.write(sent, 5min);
          written = true;
          waits.wake();
        },
        {.worker = sched::this_worker::index()});
    std::string all(sent.size(), '\0');
    io::buffered_reader in(peer);
    in.read_exactly(all, 5min);
    while (!written) sched::this_fiber::park("the writer");
    expect(all == sent, "what was sent");
  };
  talk(
      [&](io::stream base) {
        io::tls_stream peer = two.accept(std::move(base));
        both_ways(peer);
      },
      [&](io::stream base) {
        io::tls_stream peer = two.begin(std::move(base));
        both_ways(peer);
      });
}

TEST_CASE("tls: a peer that no authority vouches for, or that is another host, is refused") {
  const sides two;
  const auto [trusted, host, why] = GENERATE(table<bool, std::string, std::string>({
      {false, "shunt.test", "certificate"},
      {true, "other.test", "hostname mismatch"},
  }));
  auto of = io::tls_context::client();
  if (trusted) of.trust(two.me.certificate());
  std::string said;
  bool server_failed = false;
  talk(
      [&](io::stream base) {
        try {
          io::tls_stream peer = two.accept(std::move(base));
          char one[1];
          peer.read_some(one, 5min);
        } catch (const io::io_error&) {
          server_failed = true;
        }
      },
      [&of, &said, &name = host](io::stream base) {
        try {
          const io::tls_stream peer(std::move(base), of, name, 5min);
        } catch (const io::io_error& refused) {
          said = refused.what();
          expect(refused.code().category() == io::tls_category());
        }
      });
  CHECK_THAT(said, Catch::StartsWith("handshake with ") && Catch::Contains(why) && Catch::Contains("SHUNT-0308"));
  CHECK(server_failed);
}

TEST_CASE("tls: a connection that is cut off is an error, not an end") {
  const sides two;
  std::error_code code;
  talk(
      [&](io::stream base) {
        io::tls_stream peer = two.accept(std::move(base));
        peer.write("half", 5min);
        peer.close();
      },
      [&](io::stream base) {
        io::tls_stream peer = two.begin(std::move(base));
        char part[16];
        while (peer.read_some(part, code, 5min) != 0) continue;
      });
  CHECK(code == io::errc::end_of_stream);
}

TEST_CASE("tls: a deadline ends a read, and the connection goes on") {
  const sides two;
  std::error_code first;
  std::string got(4, '\0');
  talk(
      [&](io::stream base) {
        io::tls_stream peer = two.accept(std::move(base));
        char go[1];
        peer.read_some(go, 5min);
        peer.write("late", 5min);
        peer.shutdown(5min);
      },
      [&](io::stream base) {
        io::tls_stream peer = two.begin(std::move(base));
        peer.read_some(got, first, 1ms);
        peer.write("!", 5min);
        peer.read_some(got, 5min);
        char rest[1];
        expect(peer.read_some(rest, 5min) == 0);  // the end: a client that left before it would fail the shutdown
      });
  CHECK(first == io::errc::timed_out);
  CHECK(got == "late");
}

TEST_CASE("tls: both sides agree on a protocol, and a client shows its certificate where it must") {
  const identity client("client.test");
  sides two;
  two.server.offer({"h2", "http/1.1"});
  two.server.require_client_certificates(client.certificate());
  two.client.identify(client.certificate(), client.key());
  two.client.offer({"http/1.1"});
  std::string here, there;
  talk(
      [&](io::stream base) {
        io::tls_stream peer = two.accept(std::move(base));
        there = peer.protocol();
        peer.write("x", 5min);
      },
      [&](io::stream base) {
        io::tls_stream peer = two.begin(std::move(base));
        here = peer.protocol();
        char one[1];
        peer.read_some(one, 5min);
      });
  CHECK(here == "http/1.1");
  CHECK(there == "http/1.1");
}

TEST_CASE("tls: a file that is not there, or not a key, is named") {
  const identity me("shunt.test");
  CHECK_THROWS_WITH(io::tls_context::server("/no/such/file", me.key()), Catch::Contains("certificate /no/such/file"));
  CHECK_THROWS_WITH(io::tls_context::server(me.certificate(), me.certificate()), Catch::Contains("key "));
  CHECK_THROWS_AS(io::tls_context::client().offer({""}), shunt::usage_error);
}

#if __has_include(<boost/beast/http/parser.hpp>)
TEST_CASE("tls: HTTP over it, from both sides; a peer that speaks no TLS is only its own loss") {
  const sides two;
  std::string got;
  int status = 0;
  sched::runtime rt({.workers = 2});
  rt.run([&] {
    auto door = io::listen("127.0.0.1:0");
    std::stop_source stop;
    shunt::sync::latch over(1);
    rt.spawn([&] {
      io::http::serve_over(
          door, [&](io::stream peer) { return two.accept(std::move(peer)); },
          [](const io::http::request& asked) { return "secret of " + asked.target; }, {}, stop.get_token());
      over.count_down();
    });
    auto plain = io::connect(door.local(), 5min);
    plain.write("GET / HTTP/1.1\r\nHost: a\r\n\r\n", 5min);
    std::error_code ec;
    char room[1000];
    while (plain.read_some(io::buffer(room, sizeof room), ec, 5min) != 0) {  // an alert, at most
    }
    io::http::basic_client<io::tls_stream> peer(
        door.local().text(),
        [&](const std::string& host, const io::deadline& until) { return two.begin(io::connect(host, until)); });
    got = peer.get("/a", 5min).body + ", " + peer.get("/b", 5min).body;
    status = peer.send({.method = "POST"}, 5min).status;
    peer.close();
    stop.request_stop();
    over.wait();
  });
  CHECK(got == "secret of /a, secret of /b");
  CHECK(status == 200);
}
#endif

#endif
