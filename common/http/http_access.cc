#include "common/http/http_access.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>

#include <arpa/inet.h>
#include <fmt/core.h>
#include <netinet/in.h>

#include "common/base/printable.h"

namespace halograph {
namespace {

std::string Lower(std::string_view text) {
  std::string lower(text);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char letter) { return static_cast<char>(std::tolower(letter)); });
  return lower;
}

std::string_view WithoutPort(std::string_view host) {
  if (host.starts_with('[')) return host.substr(0, host.find(']') + 1);
  return host.substr(0, host.find(':'));
}

std::string Decoded(std::string_view text) {
  std::string decoded;
  for (size_t i = 0; i < text.size(); ++i) {
    int byte = 0;
    const char* const digits = text.data() + i + 1;
    if (text[i] == '%' && i + 2 < text.size() &&
        std::from_chars(digits, digits + 2, byte, 16).ptr == digits + 2) {
      decoded.push_back(static_cast<char>(byte));
      i += 2;
    } else {
      decoded.push_back(text[i] == '+' ? ' ' : text[i]);
    }
  }
  return decoded;
}

// The token of "Bearer TOKEN"; empty if it is none.
std::string_view BearerOf(std::string_view authorization) {
  constexpr std::string_view kScheme = "bearer ";
  if (Lower(authorization.substr(0, kScheme.size())) != kScheme) return {};
  authorization.remove_prefix(kScheme.size());
  const size_t begin = authorization.find_first_not_of(' ');
  if (begin == std::string_view::npos) return {};
  return authorization.substr(begin, authorization.find_last_not_of(' ') + 1 - begin);
}

HttpReply WantsToken(const HttpCaller& caller) {
  HttpReply reply = HttpText(
      401, fmt::format(
               "{}: send the header \"Authorization: Bearer TOKEN\" with what is in the "
               "file of --http-token-file (a browser asks for a name, which may be any, "
               "and for a password: the token)",
               caller.authorizations.empty() ? "the token is missing" : "this is not the token"));
  reply.headers = {{"WWW-Authenticate", "Bearer"},
                   {"WWW-Authenticate", "Basic realm=\"halograph\", charset=\"UTF-8\""}};
  return reply;
}

}  // namespace

bool NamesLoopback(std::string_view host_header) {
  std::string host = Lower(WithoutPort(host_header));
  if (host == "localhost") return true;
  in6_addr ipv6{};
  if (host.size() > 2 && host.front() == '[' && host.back() == ']') {
    host = host.substr(1, host.size() - 2);
    return inet_pton(AF_INET6, host.c_str(), &ipv6) == 1 && IN6_IS_ADDR_LOOPBACK(&ipv6) != 0;
  }
  in_addr ipv4{};
  return inet_pton(AF_INET, host.c_str(), &ipv4) == 1 &&
         (ntohl(ipv4.s_addr) >> 24) == IN_LOOPBACKNET;
}

bool SameSecret(std::string_view given, std::string_view secret) {
  unsigned different = given.size() == secret.size() && !secret.empty() ? 0 : 1;
  for (size_t i = 0; i < given.size(); ++i) {
    const char other = secret.empty() ? '\0' : secret[i % secret.size()];
    different |= static_cast<unsigned char>(given[i]) ^ static_cast<unsigned char>(other);
  }
  return different == 0;
}

std::vector<std::pair<std::string, std::string>> ParseQuery(std::string_view text) {
  std::vector<std::pair<std::string, std::string>> fields;
  while (!text.empty() && fields.size() < kMostQueryFields) {
    const std::string_view field = text.substr(0, text.find('&'));
    text.remove_prefix(std::min(field.size() + 1, text.size()));
    if (field.empty()) continue;
    const size_t equals = std::min(field.find('='), field.size());
    fields.emplace_back(Decoded(field.substr(0, equals)),
                        Decoded(field.substr(std::min(equals + 1, field.size()))));
  }
  return fields;
}

std::optional<HttpReply> RefuseCaller(const HttpCaller& caller, bool at_loopback) {
  if (caller.hosts.size() > 1 || caller.authorizations.size() > 1) {
    return HttpText(400, fmt::format("the request has {} headers {}: send one",
                                     std::max(caller.hosts.size(), caller.authorizations.size()),
                                     caller.hosts.size() > 1 ? "Host" : "Authorization"));
  }
  if (!at_loopback || caller.hosts.empty() || NamesLoopback(caller.hosts.front())) {
    return std::nullopt;
  }
  return HttpText(403, fmt::format("the program listens at loopback, and answers only requests to "
                                   "localhost or a loopback address, not to '{}' (a site could "
                                   "read it with your browser): open http://localhost:PORT",
                                   Printable(caller.hosts.front(), kNameShown)));
}

std::optional<HttpReply> RefuseTokenInQuery(const HttpRequest& request, std::string_view token) {
  constexpr std::array<std::string_view, 6> kNames = {"token",         "access_token", "http-token",
                                                      "authorization", "bearer",       "auth"};
  const auto is_token = [&](const auto& field) {
    const std::string name = Lower(field.first);
    return std::find(kNames.begin(), kNames.end(), name) != kNames.end() ||
           SameSecret(field.first, token) || SameSecret(field.second, token);
  };
  if (std::none_of(request.query.begin(), request.query.end(), is_token)) return std::nullopt;
  return HttpText(
      400,
      "a token does not belong into the address, which logs and histories keep: send it in the "
      "header \"Authorization: Bearer TOKEN\"");
}

std::optional<HttpReply> RefuseGuarded(const HttpCaller& caller, std::string_view path,
                                       bool at_loopback, const std::optional<std::string>& token) {
  if (!token.has_value()) {
    if (at_loopback) return std::nullopt;
    return HttpText(
        403, fmt::format("{} is not served beyond loopback without a token: start the program with "
                         "--http-token-file FILE, or with --http-listen 127.0.0.1:PORT and come "
                         "through a tunnel (ssh -L)",
                         path));
  }
  if (!caller.authorizations.empty() &&
      (SameSecret(BearerOf(caller.authorizations.front()), *token) ||
       SameSecret(caller.password, *token))) {
    return std::nullopt;
  }
  return WantsToken(caller);
}

}  // namespace halograph
