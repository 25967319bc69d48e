// What attackers send that know HTTP/2 (docs/security.md). Test use.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace halograph::server {

struct Attack {
  const char* name;
  // What a connection sends in its n-th round, after the preface.
  std::function<std::string(int round)> send;
  bool is_shut;  // by a rule, and soon
  bool with_preface = true;
  // Whether others are served meanwhile when many connections of an address do so
  // (docs/security.md).
  bool from_many = true;
};
[[nodiscard]] const std::vector<Attack>& Attacks();

// 1,000 frames PING.
[[nodiscard]] std::string Pings(int round);

}  // namespace halograph::server
