// Opens the graph where the options say it is.
#pragma once

#include <memory>

#include "client/graph_store.h"
#include "client/kv_store.h"
#include "common/base/status.h"
#include "trainer/launch/options.h"
#include "trainer/launch/stop_signal.h"

namespace halograph {

struct Stores {
  std::unique_ptr<GraphStore> graph;
  std::unique_ptr<KVStore> kv;

  // As the stores' own: ends calls in flight and later ones with Cancelled.
  void Shutdown() const;
};

// Errors as OpenLocalStores, OpenRemoteStores, FetchTopology and MapGraph, these with the option in
// front; FailedPrecondition naming both identities if a folder is not of the servers' graph;
// Unimplemented for --servers in a build without HALOGRAPH_REMOTE. `stop`, if not null, ends
// fetching with Cancelled; its callback is used and none is left.
[[nodiscard]] StatusOr<Stores> OpenStores(const TrainOptions& options, StopSignal* stop);

}  // namespace halograph
