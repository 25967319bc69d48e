// Attacks a server of this machine until it is ended.
//
// Usage: attacker NAME CONNECTIONS PORT
//   NAME: of attacks.cc. The connections come from 127.0.0.2; each is made again when it is ended.
// Exit code: 2 for wrong usage.
#include <cstdlib>
#include <string_view>
#include <thread>
#include <vector>

#include "tests/integration/server/attacks.h"
#include "tests/integration/server/raw_http2.h"

namespace halograph::server {
namespace {

void AttackForEver(const Attack& attack, int port) {
  for (;;) {
    RawConnection connection(port, "127.0.0.2");
    if (attack.with_preface && !connection.Send(RawConnection::Preface())) continue;
    for (int round = 0; connection.Send(attack.send(round)); ++round) {
    }
    std::this_thread::yield();
  }
}

int Main(int argc, char** argv) {
  if (argc != 4) return 2;
  for (const Attack& attack : Attacks()) {
    if (std::string_view(argv[1]) != attack.name) continue;
    std::vector<std::thread> threads;
    for (int i = 0; i < std::atoi(argv[2]); ++i) {
      threads.emplace_back([&] { AttackForEver(attack, std::atoi(argv[3])); });
    }
    for (std::thread& thread : threads) thread.join();
  }
  return 2;
}

}  // namespace
}  // namespace halograph::server

int main(int argc, char** argv) { return halograph::server::Main(argc, argv); }
