// What attackers send that know HTTP/2 (docs/security.md), and a process of theirs that sends it.
// Test use.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <sys/types.h>

namespace halograph::server {

struct Attack {
  const char* name;
  // What a connection sends in its n-th round, after the preface.
  std::function<std::string(int round)> send;
  bool is_shut;  // by a rule, and soon
  // Whether what many connections of an address do together is bounded (docs/security.md).
  bool from_many;
  bool with_preface = true;
};
[[nodiscard]] const std::vector<Attack>& Attacks();

// 1,000 frames PING.
[[nodiscard]] std::string Pings(int round);

// A process whose connections attack this port from 127.0.0.2, each made again when it is ended,
// until the destructor. A process of its own: what it takes is not what the server takes.
class Attackers {
 public:
  Attackers(const Attack& attack, int connections, int port);
  ~Attackers();
  Attackers(const Attackers&) = delete;
  Attackers& operator=(const Attackers&) = delete;

 private:
  pid_t process_;
};

}  // namespace halograph::server
