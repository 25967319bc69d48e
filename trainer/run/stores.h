// Opens the graph where the options say it is.
#pragma once

#include <memory>

#include "client/graph_store.h"
#include "client/kv_store.h"
#include "common/base/status.h"
#include "trainer/run/options.h"

namespace halograph {

struct Stores {
  std::unique_ptr<GraphStore> graph;
  std::unique_ptr<KVStore> kv;

  // As the stores' own: ends calls in flight and later ones with Cancelled.
  void Shutdown() const;
};

// Errors as OpenLocalStores and OpenRemoteStores; Unimplemented for --servers in a build without
// HALOGRAPH_REMOTE.
[[nodiscard]] StatusOr<Stores> OpenStores(const TrainOptions& options);

// What the sage model can train on: one node type with one relation and a matrix of features.
//   Unimplemented  a typed graph: its types and relations are counted
//   NotFound       no features, or none of that name
// Returns the features: those named, the only ones, else `feat`.
[[nodiscard]] StatusOr<TensorSpec> ChooseFeatures(const Schema& schema, const std::string& name);

}  // namespace halograph
