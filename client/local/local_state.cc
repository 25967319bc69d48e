#include "client/local/local_state.h"

#include <utility>

namespace halograph {

StatusOr<std::shared_ptr<LocalState>> OpenLocalState(std::shared_ptr<const MappedGraph> graph,
                                                     std::unique_ptr<Env> env,
                                                     const StateOptions& options,
                                                     std::shared_ptr<const void> holds) {
  auto state = std::make_shared<LocalState>();
  state->holds = std::move(holds);
  state->graph = std::move(graph);
  state->env = std::move(env);
  HG_ASSIGN_OR_RETURN(state->states, PartStates::Open(options, *state->graph->parts,
                                                      *state->graph->tensors, *state->env));
  return state;
}

Stores MakeLocalStores(const std::shared_ptr<LocalState>& state) {
  Stores stores = MakeLocalStores(state->graph);
  stores.rows = MakeLocalRowStore(state);
  stores.admin = MakeLocalTensorAdmin(state);
  return stores;
}

}  // namespace halograph
