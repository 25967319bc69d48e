// A copy of a graph's whole topology in a folder of this host, fetched from the servers: what a
// hybrid trainer samples from. No gRPC type shows here.
//
// CACHE/<identity>/          the copy: a partition folder without features (common/graph/FORMAT.md)
// CACHE/<identity>.partial/  what a fetch has so far; renamed when all of it is checked and synced
// CACHE/<identity>.lock      held (flock) by the one that fetches; stays
//
// A broken fetch leaves its .partial folder: the next one checks what is there by the manifests'
// checksums and fetches only the chunks that are missing. A copy that turns out to be damaged
// becomes such a folder. Nothing removes copies of graphs that are not used any more.
#pragma once

#include <filesystem>

#include "client/remote_options.h"
#include "common/base/cancel.h"
#include "common/base/status.h"
#include "common/graph/partition.h"

namespace halograph {

// The copy's folder: PartitionSet::Open(it, {}, VerifyLevel::kHeaders, {.features = false}) takes
// it, as it was checked at level `verify`. If it is there already no byte of it is moved. If
// another process or thread fetches it this call waits, saying for whom, as long as that one makes
// progress. Connects to options.servers in any case (options.needs_topology is ignored). Ends soon
// after `cancel`, if given, was cancelled. Every chunk is checked as it comes; a wrong one is
// fetched once more.
//   ResourceExhausted   the disk is too small or full: bytes and folder are named
//   DataLoss            a chunk that is wrong twice (server, file and byte range are named)
//   FailedPrecondition  no server serves the topology of a partition (named); manifests that are
//                       not of the graph that the servers describe; a folder that cannot be
//                       written, or another code of ErrnoStatus: with the option that names another
//   DeadlineExceeded    the one that fetches has made no progress for a while (named); or a server
//                       takes longer for what fits into one reply than a call may take
//   else                as OpenRemoteStores and RpcClient::Run
// A copy in the cache that is damaged, as far as `verify` looks, is mended: a warning names the
// file, and the chunks that are wrong are fetched. After an error nothing is at CACHE/<identity>
// that was not there before.
[[nodiscard]] StatusOr<std::filesystem::path> FetchTopology(
    const RemoteOptions& options, const std::filesystem::path& cache_dir,
    VerifyLevel verify = VerifyLevel::kContents, const CancelToken* cancel = nullptr);

}  // namespace halograph
