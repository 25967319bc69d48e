#include "trainer/run/stores.h"

#include <utility>

#include "client/local/local_store.h"
#ifdef HALOGRAPH_REMOTE
#include "client/remote/remote_store.h"
#endif

namespace halograph {
namespace {

#ifdef HALOGRAPH_REMOTE
StatusOr<Stores> OpenServers(const TrainOptions& options) {
  RemoteOptions remote;
  remote.servers = options.servers;
  remote.timeout = options.timeout;
  remote.rank = options.rank;
  HG_ASSIGN_OR_RETURN(RemoteStores stores, OpenRemoteStores(remote));
  return Stores{std::move(stores.graph), std::move(stores.kv)};
}
#else
StatusOr<Stores> OpenServers(const TrainOptions&) {
  return Unimplemented(
      "--servers: this build has no remote stores (configured with HALOGRAPH_REMOTE=OFF); give "
      "--graph DIR, or use a build with gRPC");
}
#endif

}  // namespace

void Stores::Shutdown() const {
  if (graph != nullptr) graph->Shutdown();
  if (kv != nullptr) kv->Shutdown();
}

StatusOr<Stores> OpenStores(const TrainOptions& options) {
  if (!options.servers.empty()) return OpenServers(options);
  // Minibatches are prepared side by side, each by one thread.
  HG_ASSIGN_OR_RETURN(LocalStores stores, OpenLocalStores(options.graph, options.verify, 0));
  return Stores{std::move(stores.graph), std::move(stores.kv)};
}

StatusOr<TensorSpec> ChooseFeatures(const Schema& schema, const std::string& name) {
  if (schema.node_types.size() != 1 || schema.relations.size() != 1) {
    return Unimplemented(
        "graph '{}' is typed: {} node types and {} relations; --model sage trains on graphs of one "
        "node type and one relation, and this version has no model for others",
        schema.graph_name, schema.node_types.size(), schema.relations.size());
  }
  const NodeType& type = schema.node_types.front();
  if (type.features.empty()) {
    return NotFound("node type '{}' has no features, which --model sage needs", type.name);
  }
  if (name.empty() && type.features.size() == 1) return type.features.front();
  const std::string wanted = name.empty() ? "feat" : name;
  auto found = FindTensor(type.features, wanted, "node type '" + type.name + "'");
  if (!found.ok()) return Annotate(found.status(), "--features");
  return **found;
}

}  // namespace halograph
