/// TLS over streams, by OpenSSL 3.
///
/// ```cpp
/// namespace io = shunt::io;
/// io::tls_stream peer(io::connect("example.org:443", 5s), io::tls_context::client(), "example.org", 5s);
/// peer.write("GET / HTTP/1.0\r\nHost: example.org\r\n\r\n", 5s);
/// io::buffered_reader in(peer);           // read_until() and the like; buffered_writer as well
/// ```
///
/// OpenSSL encrypts and decrypts in memory, on the fiber's worker; the stream below moves the bytes, so fibers wait as
/// they do for a plain stream, with the same deadlines and errors.
///
/// Not part of <shunt/io.hpp>. Empty where OpenSSL's headers are not installed (Debian: libssl-dev). A program that
/// includes it links OpenSSL: -lssl -lcrypto, or OpenSSL::SSL in CMake.
///
/// Source: RFC 8446 (TLS 1.3), RFC 5246 (TLS 1.2), RFC 6125 (whom a certificate names), RFC 7301 (protocols).
#pragma once

#if __has_include(<openssl/ssl.h>)

#include <algorithm>
#include <climits>
#include <cstddef>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <shunt/base/error.hpp>
#include <shunt/base/spin_lock.hpp>
#include <shunt/io/net.hpp>
#include <shunt/sync/mutex.hpp>

namespace shunt {
inline namespace v1 {
namespace io {

/// The category of OpenSSL's codes; its name is "shunt.io.tls".
[[nodiscard]] inline const std::error_category& tls_category() noexcept {
  class category final : public std::error_category {
   public:
    [[nodiscard]] const char* name() const noexcept override { return "shunt.io.tls"; }
    [[nodiscard]] std::string message(int code) const override {
      if (code == 0) return "unknown";
      char text[256];
      ERR_error_string_n(static_cast<unsigned long>(static_cast<unsigned>(code)), text, sizeof text);
      return text;
    }
  };
  static const category the_one;
  return the_one;
}

namespace detail {

/// The first error of OpenSSL's queue, which is emptied.
inline std::error_code take_tls_error() noexcept {
  const auto code = ERR_get_error();
  ERR_clear_error();
  return {static_cast<int>(code), tls_category()};
}

[[noreturn]] inline void throw_tls_error(const std::string& call) { throw io_error(call, take_tls_error()); }

}  // namespace detail

/// What several connections share: certificates, whom they trust, the protocols that they offer. A handle: copies are
/// of the same settings. Set up by one thread, before its first connection; then any thread may use it.
class tls_context {
 public:
  /// For connections that this side begins: TLS 1.2 and later, peers whose certificate the system's authorities vouch
  /// for, and that names the host. \throws io_error of tls_category().
  [[nodiscard]] static tls_context client() {
    tls_context made(TLS_client_method());
    if (SSL_CTX_set_default_verify_paths(made.native()) != 1) detail::throw_tls_error("tls_context::client");
    SSL_CTX_set_verify(made.native(), SSL_VERIFY_PEER, nullptr);
    return made;
  }
  /// For connections that this side accepts: TLS 1.2 and later, any peer.
  /// \param chain  a PEM file: the certificate, and those that vouch for it
  /// \param key    a PEM file: the certificate's private key
  /// \throws io_error of tls_category() that names the file.
  [[nodiscard]] static tls_context server(const std::string& chain, const std::string& key) {
    tls_context made(TLS_server_method());
    made.identify(chain, key);
    return made;
  }

  /// This side shows that certificate: a server's, or a client's where the server asks for one. \throws as server().
  void identify(const std::string& chain, const std::string& key) {
    if (SSL_CTX_use_certificate_chain_file(native(), chain.c_str()) != 1) {
      detail::throw_tls_error("tls_context: certificate " + chain);
    }
    if (SSL_CTX_use_PrivateKey_file(native(), key.c_str(), SSL_FILETYPE_PEM) != 1 ||
        SSL_CTX_check_private_key(native()) != 1) {
      detail::throw_tls_error("tls_context: key " + key);
    }
  }
  /// Peers are trusted, too, for whom an authority of this PEM file vouches. \throws as server().
  void trust(const std::string& authorities) {
    if (SSL_CTX_load_verify_file(native(), authorities.c_str()) != 1) {
      detail::throw_tls_error("tls_context: authorities " + authorities);
    }
  }
  /// A server: clients must show a certificate for which a trusted authority vouches. \throws as server().
  void require_client_certificates(const std::string& authorities) {
    trust(authorities);
    SSL_CTX_set_verify(native(), SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
  }
  /// The protocols above TLS that this side speaks, the dearest first: {"h2", "http/1.1"}. A server chooses the first
  /// of its own that the client offers. \param names  of 1..255 bytes each. \throws usage_error for others.
  void offer(const std::vector<std::string>& names) {
    std::string wire;
    for (const auto& name : names) {
      if (name.empty() || name.size() > 255) {
        throw usage_error(error_number(324), "tls_context::offer: a protocol's name of " + std::to_string(name.size()) +
                                                 " bytes; 1 to 255 are possible");
      }
      wire += static_cast<char>(name.size());
      wire += name;
    }
    *protocols_ = wire;
    SSL_CTX_set_alpn_protos(native(), reinterpret_cast<const unsigned char*>(wire.data()),
                            static_cast<unsigned>(wire.size()));
    SSL_CTX_set_alpn_select_cb(native(), &select_protocol, protocols_.get());
  }

  /// For settings that this class does not have.
  [[nodiscard]] SSL_CTX* native() const noexcept { return context_.get(); }

 private:
  explicit tls_context(const SSL_METHOD* method) : context_(SSL_CTX_new(method), &SSL_CTX_free) {
    if (context_ == nullptr) detail::throw_tls_error("tls_context");
    SSL_CTX_set_min_proto_version(native(), TLS1_2_VERSION);
    SSL_CTX_set_mode(native(), SSL_MODE_RELEASE_BUFFERS);
    // It would make a write wait for bytes of the peer, beside the fiber that reads. TLS 1.3 has none.
    SSL_CTX_set_options(native(), SSL_OP_NO_RENEGOTIATION);
  }
  static int select_protocol(SSL*, const unsigned char** out, unsigned char* size, const unsigned char* offered,
                             unsigned offered_size, void* own) {
    const auto& mine = *static_cast<const std::string*>(own);
    unsigned char* chosen = nullptr;
    const int how = SSL_select_next_proto(&chosen, size, reinterpret_cast<const unsigned char*>(mine.data()),
                                          static_cast<unsigned>(mine.size()), offered, offered_size);
    *out = chosen;
    return how == OPENSSL_NPN_NEGOTIATED ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_ALERT_FATAL;
  }

  std::shared_ptr<SSL_CTX> context_;
  std::shared_ptr<std::string> protocols_ = std::make_shared<std::string>();  // as offer() was given; OpenSSL reads it
};

/// A stream that is encrypted. As with io::stream, one fiber may read while another writes. Moves, does not copy; not
/// while a call is under way.
class tls_stream {
 public:
  /// A fiber: this side begins. Takes the connection over, and ends when both sides are ready.
  /// \param host  whom the peer's certificate must name; the peer learns it, too (SNI)
  /// \throws io_error: as a read and a write of `base`; of tls_category(), as where the certificate is not trusted: the
  ///         connection is closed then.
  tls_stream(stream base, const tls_context& how, const std::string& host, const deadline& until = {})
      : tls_stream(std::move(base), how) {
    if (SSL_set_tlsext_host_name(ssl(), host.c_str()) != 1 || SSL_set1_host(ssl(), host.c_str()) != 1) {
      detail::throw_tls_error("tls_stream: host " + host);
    }
    SSL_set_connect_state(ssl());
    shake_hands(until);
  }
  /// A fiber: the other side begins. \throws as above.
  tls_stream(stream base, const tls_context& how, const deadline& until) : tls_stream(std::move(base), how) {
    SSL_set_accept_state(ssl());
    shake_hands(until);
  }

  /// Waits for at least one byte. \return bytes read; 0: the peer sends no more, and said so, or `into` is empty.
  /// \throws io_error: as io::stream::read_some(); of tls_category(); end_of_stream if the connection ended without the
  ///         peer's word: then a part of what it sent may be missing.
  std::size_t read_some(buffer into, const deadline& until = {}) {
    std::error_code ec;
    const auto moved = read_some(into, ec, until);
    if (ec) fail("read_some from", ec, 0, until);
    return moved;
  }
  /// Sets `ec` instead of throwing io_error. \return bytes read; 0: an error, the end, or `into` is empty.
  std::size_t read_some(buffer into, std::error_code& ec, const deadline& until = {}) {
    ec.clear();
    if (into.size() == 0) return 0;
    const int room = static_cast<int>(std::min<std::size_t>(into.size(), INT_MAX));
    return run([&] { return SSL_read(ssl(), into.data(), room); }, ec, until);
  }

  /// Writes all of it, to the system: not to the peer. A failure, also of a deadline, closes the connection.
  /// \throws io_error: as io::stream::write(); of tls_category(). moved() says how many bytes were encrypted before.
  void write(const_buffer what, const deadline& until = {}) {
    std::error_code ec;
    const auto moved = write(what, ec, until);
    if (ec) fail("write to", ec, moved, until);
  }
  /// Sets `ec` instead of throwing io_error. \return bytes written; with an error, those encrypted before it.
  std::size_t write(const_buffer what, std::error_code& ec, const deadline& until = {}) {
    ec.clear();
    std::size_t moved = 0;
    while (moved != what.size()) {
      const auto left = what.from(moved);
      const int some = static_cast<int>(std::min<std::size_t>(left.size(), record));
      const auto now = run([&] { return SSL_write(ssl(), left.data(), some); }, ec, until);
      if (ec) break;
      moved += now;
    }
    return moved;
  }

  /// Tells the peer that no more will be written; reading goes on. \throws io_error as write().
  void shutdown(const deadline& until = {}) {
    std::error_code ec;
    {
      const std::lock_guard held(parts_->guard);
      SSL_shutdown(ssl());
      ERR_clear_error();
    }
    flush(ec, until);
    if (ec) fail("shutdown of", ec, 0, until);
  }
  /// Any thread. As io::stream::close(): the peer is not told that this was the end; call shutdown() before.
  void close() noexcept { parts_->base.close(); }

  /// The address of the other end.
  [[nodiscard]] const address& peer() const noexcept { return parts_->base.peer(); }
  /// The stream below. Its bytes are TLS's: a program does not read or write there.
  [[nodiscard]] const stream& base() const noexcept { return parts_->base; }
  /// Which of the protocols both sides speak: see tls_context::offer(); "": none was offered.
  [[nodiscard]] std::string protocol() const {
    const unsigned char* name = nullptr;
    unsigned size = 0;
    SSL_get0_alpn_selected(ssl(), &name, &size);
    return {reinterpret_cast<const char*>(name), size};
  }
  /// "TLSv1.3".
  [[nodiscard]] std::string version() const { return SSL_get_version(ssl()); }
  /// For what this class does not have, while no call is under way.
  [[nodiscard]] SSL* native() const noexcept { return ssl(); }

 private:
  static constexpr std::size_t record = 16 * 1024;  // bytes of the longest record

  // In one place, so that a stream moves although fibers hold its locks' addresses.
  struct parts {
    stream base;
    std::unique_ptr<SSL, decltype(&SSL_free)> ssl{nullptr, &SSL_free};
    BIO* arrived = nullptr;  // what has come and is to be decrypted; the SSL's
    BIO* leaving = nullptr;  // what is encrypted and is to be written; the SSL's
    spin_lock guard;         // guards the SSL and its BIOs: a reader and a writer may be on two workers
    sync::mutex sending;     // records leave in the order in which they were encrypted
  };

  tls_stream(stream base, const tls_context& how) : parts_(std::make_unique<parts>()) {
    parts_->base = std::move(base);
    parts_->ssl.reset(SSL_new(how.native()));
    parts_->arrived = BIO_new(BIO_s_mem());
    parts_->leaving = BIO_new(BIO_s_mem());
    if (ssl() == nullptr || parts_->arrived == nullptr || parts_->leaving == nullptr) {
      BIO_free(parts_->arrived);
      BIO_free(parts_->leaving);
      throw std::bad_alloc();
    }
    BIO_set_mem_eof_return(parts_->arrived, -1);  // empty: more will come
    SSL_set_bio(ssl(), parts_->arrived, parts_->leaving);
  }

  [[nodiscard]] SSL* ssl() const noexcept { return parts_->ssl.get(); }
  [[noreturn]] void fail(const char* call, std::error_code ec, std::size_t moved, const deadline& until) const {
    const std::string what = std::string(call) + " " + peer().text() + " (TLS)";
    if (ec == errc::end_of_stream) throw end_of_stream(what, ec, moved, until.where());
    throw io_error(what, ec, moved, until.where());
  }

  void shake_hands(const deadline& until) {
    std::error_code ec;
    run([this] { return SSL_do_handshake(ssl()); }, ec, until);
    if (!ec) return;
    const auto verdict = SSL_get_verify_result(ssl());
    std::string why = "handshake with " + peer().text();
    if (verdict != X509_V_OK) why += std::string(": ") + X509_verify_cert_error_string(verdict);
    std::error_code ignored;
    flush(ignored, until);  // the alert that says why
    close();
    throw io_error(why, ec, 0, until.where());
  }

  /// Repeats a call of OpenSSL until it has done something: writes what it wants to send, and gives it what comes.
  /// \return its result, if that is positive; 0 for the end of what the peer sends, or with `ec`.
  template <typename Call>
  std::size_t run(const Call& call, std::error_code& ec, const deadline& until) {
    for (;;) {
      int done, why;
      {
        const std::lock_guard held(parts_->guard);
        ERR_clear_error();
        done = call();
        why = done > 0 ? SSL_ERROR_NONE : SSL_get_error(ssl(), done);
        if (why == SSL_ERROR_SSL) ec = detail::take_tls_error();
      }
      if (ec) return 0;
      flush(ec, until);
      if (ec) return 0;
      switch (why) {
        case SSL_ERROR_NONE: return static_cast<std::size_t>(done);
        case SSL_ERROR_ZERO_RETURN: return 0;
        case SSL_ERROR_WANT_WRITE: continue;
        case SSL_ERROR_WANT_READ: break;
        default: ec = errc::end_of_stream; return 0;
      }
      fill(ec, until);
      if (ec) return 0;
    }
  }

  /// Waits for bytes of the peer.
  void fill(std::error_code& ec, const deadline& until) {
    char room[record + 512];
    const auto came = parts_->base.read_some(buffer(room, sizeof room), ec, until);
    if (ec) return;
    if (came == 0) {
      ec = errc::end_of_stream;
      return;
    }
    const std::lock_guard held(parts_->guard);
    if (BIO_write(parts_->arrived, room, static_cast<int>(came)) != static_cast<int>(came)) {
      ec = std::make_error_code(std::errc::not_enough_memory);
    }
  }

  /// Writes all that is encrypted by now. A write that failed, or was cut off by a deadline, leaves a gap in the
  /// records: the connection is of no more use, and is closed.
  void flush(std::error_code& ec, const deadline& until) {
    for (;;) {
      {
        const std::lock_guard held(parts_->guard);
        if (BIO_ctrl_pending(parts_->leaving) == 0) return;
      }
      const std::lock_guard alone(parts_->sending);
      std::string out;
      {
        const std::lock_guard held(parts_->guard);
        out.resize(BIO_ctrl_pending(parts_->leaving));
        if (!out.empty()) BIO_read(parts_->leaving, out.data(), static_cast<int>(out.size()));
      }
      if (out.empty()) continue;
      parts_->base.write(out, ec, until);
      if (ec) return close();
    }
  }

  std::unique_ptr<parts> parts_;
};

}  // namespace io
}  // namespace v1
}  // namespace shunt

#endif
