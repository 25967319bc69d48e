// What a page of a program's HTTP port is asked, and what it answers. Plain values.
#pragma once

#include <algorithm>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace halograph {

inline constexpr const char* kPlainText = "text/plain; charset=utf-8";
inline constexpr const char* kJsonText = "application/json";

// What a page may load and ask: nothing but its own port. Every reply has it.
inline constexpr const char* kContentSecurityPolicy =
    "default-src 'none'; connect-src 'self'; script-src 'self'; style-src 'self'; img-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

struct HttpRequest {
  std::string path;  // "/status", as it was sent: nothing is decoded
  // What stands after the question mark, decoded, in order: "?a=1&b" is {a, 1} and {b, ""}.
  std::vector<std::pair<std::string, std::string>> query;

  [[nodiscard]] bool Has(std::string_view name) const {
    return std::any_of(query.begin(), query.end(),
                       [name](const auto& field) { return field.first == name; });
  }
};

struct HttpReply {
  int status = 200;
  std::string content_type = kPlainText;
  std::string text;  // the body; if empty, static_text is
  // Lives as long as the program.
  std::string_view static_text;
  // Beside those that every reply has (http_server.h).
  std::vector<std::pair<std::string, std::string>> headers;

  [[nodiscard]] std::string_view body() const { return text.empty() ? static_text : text; }
};

// A text for people, which ends with a line feed.
[[nodiscard]] inline HttpReply HttpText(int status, std::string text) {
  HttpReply reply;
  reply.status = status;
  reply.text = std::move(text) + "\n";
  return reply;
}

// Who may read a page: everybody, or who is let in (http_access.h).
enum class HttpAccess { kOpen, kGuarded };

// Where a page's handler runs. kAtOnce: in the thread that serves all connections, for what takes
// microseconds and never waits. kApart: in one thread beside it, one at a time (page_worker.h).
enum class HttpWork { kAtOnce, kApart };

struct HttpRoute {
  std::string path;  // exact: "/status" does not stand for "/status/"
  HttpAccess access = HttpAccess::kGuarded;
  HttpWork work = HttpWork::kApart;
  // Names in the query by which its handler tells requests apart: whether they are there, whatever
  // their values. It sees these alone, each once and without its value, so that a page has no more
  // forms than these give it.
  std::vector<std::string> query_flags = {};
  // What it throws becomes status 500 with its text.
  std::function<HttpReply(const HttpRequest&)> handler;
};

}  // namespace halograph
