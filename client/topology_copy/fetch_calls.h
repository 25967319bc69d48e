// The calls of a fetch of topology: manifests, then the chunks that are missing, many at once.
#pragma once

#include "client/remote/cluster.h"
#include "client/topology_copy/fetch_folder.h"
#include "client/topology_copy/fetch_lock.h"

namespace halograph {

// Every read that fits into one reply has the timeout of one call for all of it, in however many
// pieces the server answers: so a fetch ends, with a least rate of a message in that time.

// Gives the folder the manifest of every part. Errors as RpcClient::Run and
// TopologyFetchFolder::AddManifest; DataLoss: replies that do not fit each other.
// FailedPrecondition: nobody serves a part's topology.
[[nodiscard]] Status FetchManifests(Cluster* cluster, CallContext& context,
                                    TopologyFetchFolder* folder);

// Fetches what folder.Missing says, shows progress, and notes it in `lock`.
//   DataLoss  a chunk that was wrong twice, or a reply that does not fit its request: server, file
//             and byte range are named
//   else      as RpcClient::Run and TopologyFetchFolder::Write
[[nodiscard]] Status FetchChunks(Cluster* cluster, CallContext& context,
                                 const TopologyFetchFolder& folder, TopologyFetchLock* lock);

}  // namespace halograph
