// Who may read what of an HTTP port. By the address that is listened at, never by where a
// connection comes from: behind a proxy, a sidecar or a forwarded port strangers come from loopback
// too.
//
//   listening at loopback, without a token   every page
//   listening beyond it, without a token     open pages; guarded ones: 403, which says what to do
//   with a token, anywhere                   open pages; guarded ones with the token, else 401
//
// At loopback the header Host must name loopback: a page of another site that gets its own name
// resolved to 127.0.0.1 (DNS rebinding) would read everything with the browser of who opens it.
// Pure functions.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/http/http_message.h"

namespace halograph {

// What of a request's headers says who asks.
struct HttpCaller {
  std::vector<std::string> hosts = {};           // each header Host
  std::vector<std::string> authorizations = {};  // each header Authorization
  // The password of "Authorization: Basic", by which a browser can send a token; empty: none.
  std::string password = {};
};

// The reply that refuses any page, or nullopt. 400: more than one Host or Authorization; 403: a
// Host that is not loopback's, where `at_loopback`.
[[nodiscard]] std::optional<HttpReply> RefuseCaller(const HttpCaller& caller, bool at_loopback);

// 400 if a token stands in the query: by its name (token, access_token, ...), or because it is
// `token` itself (may be empty). The text says where it belongs, and does not have it.
[[nodiscard]] std::optional<HttpReply> RefuseTokenInQuery(const HttpRequest& request,
                                                          std::string_view token);

// The reply that refuses a guarded page, or nullopt. `token`: nullopt where there is none.
[[nodiscard]] std::optional<HttpReply> RefuseGuarded(const HttpCaller& caller,
                                                     std::string_view path, bool at_loopback,
                                                     const std::optional<std::string>& token);

// "localhost", "127.0.0.2:7000", "[::1]": an address, not a name that begins like one.
[[nodiscard]] bool NamesLoopback(std::string_view host_header);

// Whether both are the same, in a time that depends on `given` alone.
[[nodiscard]] bool SameSecret(std::string_view given, std::string_view secret);

// What stands after the question mark, decoded. At most kMostQueryFields; the rest is left out.
inline constexpr size_t kMostQueryFields = 64;
[[nodiscard]] std::vector<std::pair<std::string, std::string>> ParseQuery(std::string_view text);

}  // namespace halograph
