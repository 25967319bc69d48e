#include "client/open/open_stores.h"

#include <utility>

#include "client/local/local_state.h"
#include "client/local/mapped_graph.h"
#include "client/open/chosen_state.h"
#include "client/part_alone/part_alone.h"
#include "common/state/durable/system_env.h"

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
  if (!remote.servers.empty() && !state.folder.empty()) {
    return InvalidArgument(
        "--state goes with --graph only: servers keep mutable tensors themselves, give --state DIR "
        "to them");
  }
  if (part_alone.has_value() && (!remote.servers.empty() || !state.folder.empty())) {
    return InvalidArgument("a part alone goes with --graph only, and without --state");
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
  const auto as_told = [&options](const GraphInfo& /*graph*/) -> StatusOr<ChosenState> {
    return ChosenState{options.state};
  };
  return OpenStoresWith(options, as_told, cancel);
}

StatusOr<Stores> OpenStoresWith(const StoreOptions& options, const ChooseState& choose,
                                const CancelToken* cancel) {
  HG_RETURN_IF_ERROR(options.Validate());
  if (!options.remote.servers.empty()) return OpenServedStores(options, cancel);
  if (options.part_alone.has_value()) {
    HG_ASSIGN_OR_RETURN(const auto part,
                        OpenPartAlone(options.graph, *options.part_alone, options.verify, 0));
    return MakePartAloneStores(part);
  }
  HG_ASSIGN_OR_RETURN(const auto mapped, MapGraph(options.graph, {.verify = options.verify,
                                                                  .threads = options.threads,
                                                                  .sampling = options.sampling}));
  HG_ASSIGN_OR_RETURN(ChosenState chosen, choose(mapped->info));
  if (chosen.options.folder.empty()) return MakeLocalStores(mapped);
  HG_ASSIGN_OR_RETURN(const auto state, OpenLocalState(mapped, MakeSystemEnv(), chosen.options,
                                                       std::move(chosen.holds)));
  return MakeLocalStores(state);
}

}  // namespace halograph
