/// HTTP/1.1 from fibers: a server and a client, over shunt::io's own streams.
///
/// ```cpp
/// namespace http = shunt::io::http;
/// auto door = shunt::io::listen("127.0.0.1:8080");
/// shunt::fiber server([&](std::stop_token stop) {
///   http::serve(door, [](const http::request& asked) {
///     if (asked.path() == "/health") return http::response("up\n");
///     return http::response(404, "no such page\n");
///   }, {}, stop);
/// });
/// const auto page = http::get("http://localhost:8080/health", 5s);   // page.status, page.headers, page.body
/// ```
///
/// Boost.Beast parses what arrives; reading, writing and waiting are shunt::io's, so a fiber that waits leaves its
/// worker to others, with the deadlines, stop tokens and errors of every other stream. Over TLS: serve_over() and
/// basic_client.
///
/// Not part of <shunt/io.hpp>: Beast's parser takes seconds to compile. Server and client are empty where Boost's
/// headers are not installed (Debian: libboost-dev). Nothing of Boost is linked.
#pragma once

#include <shunt/io/http/client.hpp>
#include <shunt/io/http/message.hpp>
#include <shunt/io/http/server.hpp>
