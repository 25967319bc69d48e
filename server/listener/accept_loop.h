// The thread that accepts a server's connections. gRPC's own listener stops for good when the
// process has no descriptor left; this one rests, and goes on when there are some.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <thread>
#include <vector>

#include "common/base/line_limit.h"
#include "server/listener/connection_table.h"

namespace halograph::server {

class AcceptLoop {
 public:
  // Between two tries while there are no descriptors.
  static constexpr std::chrono::milliseconds kRest{100};

  // Accepts from `sockets`, which listen, do not block, and are this object's from now on, into
  // `table`, which outlives it. `take` gets each connection, which is its own then, and the socket
  // that it came from, on the thread of the loop; it must not throw.
  AcceptLoop(std::vector<int> sockets, ConnectionTable* table,
             std::function<void(int socket, int fd)> take);
  // Closes the sockets: who connects from then on is refused.
  ~AcceptLoop();
  AcceptLoop(const AcceptLoop&) = delete;
  AcceptLoop& operator=(const AcceptLoop&) = delete;

 private:
  void Run();
  // Until nobody waits at this socket, or as many as one round takes. False: no descriptors.
  bool AcceptSome(int socket);
  // At most once a second each.
  void TellOfDescriptors();
  void TellOfRefused();

  const std::vector<int> sockets_;
  ConnectionTable& table_;
  const std::function<void(int, int)> take_;
  std::atomic<bool> ending_ = false;
  const int wake_;  // an eventfd, or -1 if there was none: then it looks now and then
  LineLimit of_descriptors_{1};
  LineLimit of_refused_{1};
  ConnectionCounts told_;
  std::thread thread_;
};

}  // namespace halograph::server
