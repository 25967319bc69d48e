// The mutable tensors of a trainer without servers: the engine of a server, in the trainer itself.
#pragma once

#include <memory>

#include "client/local/mapped_graph.h"
#include "common/base/status.h"
#include "common/state/env.h"
#include "common/state/parts/part_states.h"

namespace halograph {

// Thread-safe, as its stores are.
struct LocalState {
  std::shared_ptr<const void> holds;  // ends after the state is closed, such as its folder; or null
  std::shared_ptr<const MappedGraph> graph;
  std::unique_ptr<Env> env;
  std::unique_ptr<PartStates> states;  // of all parts
};

// Opens the state of all parts of `graph`, in options.folder, on `env` (MakeSystemEnv where RocksDB
// is). Requires the features of all parts. Errors as PartStates::Open.
[[nodiscard]] StatusOr<std::shared_ptr<LocalState>> OpenLocalState(
    std::shared_ptr<const MappedGraph> graph, std::unique_ptr<Env> env, const StateOptions& options,
    std::shared_ptr<const void> holds = nullptr);

// As MakeLocalRowStore, with mutable tensors.
[[nodiscard]] std::unique_ptr<RowStore> MakeLocalRowStore(std::shared_ptr<LocalState> state);
[[nodiscard]] std::unique_ptr<TensorAdmin> MakeLocalTensorAdmin(std::shared_ptr<LocalState> state);
// All of them.
[[nodiscard]] Stores MakeLocalStores(const std::shared_ptr<LocalState>& state);

}  // namespace halograph
