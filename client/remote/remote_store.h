// The remote stores: both interfaces over a set of partition servers. No gRPC type shows here.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "client/partial_stores.h"

namespace halograph {

struct RemoteOptions {
  std::vector<std::string> servers;                             // HOST:PORT in any order
  std::chrono::nanoseconds timeout = std::chrono::seconds(30);  // of every call, retries included
  int64_t max_message_bytes = 4194304;  // what this client receives and sends at most
  int channels_per_server = 2;
  int calls_in_flight = 4;  // per server and Pull or Sample
  int rank = -1;            // travels in metadata `halograph-rank` if >= 0
  // Whether the servers must also serve every partition's topology: false where the caller has it
  // by itself and only pulls features (hybrid mode).
  bool needs_topology = true;

  // InvalidArgument naming the field: no servers, one listed twice, not HOST:PORT, out of range.
  [[nodiscard]] Status Validate() const;
};

struct RemoteStores {
  std::unique_ptr<LayeredGraphStore> graph;
  std::unique_ptr<ScatteringKVStore> kv;
};

// Connects, reads every server's description and checks that together they serve the whole graph.
//   Unavailable, DeadlineExceeded  a server does not answer: named
//   FailedPrecondition  identities, schemas or sampling contracts differ (both servers named), or
//                       a partition that no server serves (named): its features, or with
//                       `needs_topology` its topology
// A partition served by several servers is asked at the first listed that serves what is asked
// for. Without `needs_topology` Sample is FailedPrecondition, naming the partitions, where it
// needs topology that no server has.
[[nodiscard]] StatusOr<RemoteStores> OpenRemoteStores(const RemoteOptions& options);

}  // namespace halograph
