#include "client/open/open_stores.h"

#include "client/local/mapped_graph.h"

namespace halograph {

Status StoreOptions::Validate() const {
  if (graph.empty() == remote.servers.empty()) {
    return InvalidArgument(
        "give exactly one of --graph DIR (map a partition folder) and --servers HOST:PORT,... (ask "
        "partition servers)");
  }
  if (remote.servers.empty() && !(topology.empty() && local.empty() && cache_dir.empty())) {
    return InvalidArgument("--topology, --local and --cache-dir go with --servers only");
  }
  if (topology == kTopologyLocal && cache_dir.empty()) {
    return InvalidArgument("--topology local needs --cache-dir DIR to fetch the topology into");
  }
  if (topology != kTopologyLocal && !cache_dir.empty()) {
    return InvalidArgument("--cache-dir goes with --topology local only");
  }
  return OkStatus();
}

StatusOr<Stores> OpenStores(const StoreOptions& options, const CancelToken* cancel) {
  HG_RETURN_IF_ERROR(options.Validate());
  if (!options.remote.servers.empty()) return OpenServedStores(options, cancel);
  HG_ASSIGN_OR_RETURN(const auto mapped, MapGraph(options.graph, {.verify = options.verify,
                                                                  .threads = options.threads,
                                                                  .sampling = options.sampling}));
  return Stores{MakeLocalGraphStore(mapped), MakeLocalKVStore(mapped)};
}

}  // namespace halograph
