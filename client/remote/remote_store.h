// The remote stores: all interfaces over a set of partition servers. No gRPC type shows here.
#pragma once

#include "client/remote_options.h"
#include "client/stores.h"

namespace halograph {

// Connects, reads every server's description and checks that together they serve the whole graph.
// A server that does not answer may be missing if others serve its parts (DescribeServers).
// `cancel`, if not null, ends the waiting.
//   Unavailable, DeadlineExceeded  a server does not answer, and without it parts are not served:
//                                  named
//   FailedPrecondition  identities, schemas or sampling contracts differ (both servers named), or
//                       a partition that no server serves (named): its features, or with
//                       `needs_topology` its topology
//   Cancelled           `cancel` was
// What several servers serve is asked of the least busy of them; when one is lost, the others are
// asked, with the same result (cluster.h, rpc.h). Without `needs_topology` Sample is
// FailedPrecondition, naming the partitions, where it needs topology that no server has.
[[nodiscard]] StatusOr<Stores> OpenRemoteStores(const RemoteOptions& options,
                                                const CancelToken* cancel = nullptr);

}  // namespace halograph
