// A server that others attack, in this process, and a client of it. Test use.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <thread>

#include "common/base/host_port.h"
#include "halograph/v1/admin.pb.h"
#include "tests/integration/server/server_fixture.h"

namespace halograph::server {

class AttackedServerTest : public ServerTest {
 protected:
  // The sum of a metric's values, of all its series.
  double Metric(const std::string& name) {
    const RawReply reply = RawCall(channel_, kStats, "\x08\x01");
    EXPECT_TRUE(reply.status.ok()) << reply.status.error_message();
    v1::StatsReply stats;
    EXPECT_TRUE(stats.ParseFromString(reply.bytes));
    double sum = 0;
    for (const v1::Metric& metric : stats.metrics()) {
      if (metric.name() != name) continue;
      for (const v1::Series& series : metric.series()) sum += series.value();
    }
    return sum;
  }
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
