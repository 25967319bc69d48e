// The remote stores: both interfaces over a set of partition servers. No gRPC type shows here.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "client/graph_store.h"
#include "client/kv_store.h"

namespace halograph {

struct RemoteOptions {
  std::vector<std::string> servers;                             // HOST:PORT in any order
  std::chrono::nanoseconds timeout = std::chrono::seconds(30);  // of every call, retries included
  int64_t max_message_bytes = 4194304;  // what this client receives and sends at most
  int channels_per_server = 2;
  int calls_in_flight = 4;  // per server and Pull or Sample
  int rank = -1;            // travels in metadata `halograph-rank` if >= 0

  // InvalidArgument naming the field: no servers, one listed twice, not HOST:PORT, out of range.
  [[nodiscard]] Status Validate() const;
};

struct RemoteStores {
  std::unique_ptr<GraphStore> graph;
  std::unique_ptr<KVStore> kv;
};

// Connects, reads every server's description and checks that together they serve the whole graph.
//   Unavailable, DeadlineExceeded  a server does not answer: named
//   FailedPrecondition  identities, schemas or sampling contracts differ (both servers named), or
//                       a partition that no server serves (named)
// A partition served by several servers is asked at the first listed.
[[nodiscard]] StatusOr<RemoteStores> OpenRemoteStores(const RemoteOptions& options);

}  // namespace halograph
