// A server that others attack, in this process, and a client of it. Test use.
#pragma once

#include <chrono>
#include <memory>
#include <thread>

#include "common/base/host_port.h"
#include "tests/integration/server/server_fixture.h"

namespace halograph::server {

class AttackedServerTest : public ServerTest {
 protected:
  double Shut() { return Metric("halograph_server_connections_shut_total"); }

  // As clients do, whose default this is: asked again while gRPC says UNAVAILABLE. It may end a
  // connection for want of memory, until a rule has ended those that took it.
  static constexpr std::chrono::seconds kDeadline{30};
  static RawReply CallWithin(const std::shared_ptr<grpc::Channel>& channel,
                             std::chrono::steady_clock::duration deadline) {
    const auto until = std::chrono::steady_clock::now() + deadline;
    for (;;) {
      RawReply reply = RawCall(channel, kDescribe, "");
      const bool again = reply.status.error_code() == grpc::StatusCode::UNAVAILABLE;
      if (!again || std::chrono::steady_clock::now() >= until) return reply;
      std::this_thread::yield();
    }
  }

  // The attackers' address, which is loopback's, is bounded as a stranger's is.
  static ServerOptions AttackedOptions() {
    ServerOptions options = Options();
    options.loopback_is_free = false;
    return options;
  }

  int Port() const { return ParseHostPort(server_->address())->port; }
};

}  // namespace halograph::server
