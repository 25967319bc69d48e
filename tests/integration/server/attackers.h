// A process that attacks a server: what it takes is not what the server takes. Test use.
#pragma once

#include <sys/types.h>

#include "tests/integration/server/attacks.h"

namespace halograph::server {

// Runs the program `attacker` (attacker.cc) beside this one, until the destructor, which fails the
// test if it has ended before.
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
