// What every GraphStore, RowStore and TaskSets must do, whatever is behind it: one suite,
// registered for each kind of store. The reference is the embedded store on the caller's thread
// alone, and for rows the input that the folder was written from.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include "client/stores.h"
#include "common/base/status.h"

namespace halograph {

struct OpenedStores {
  std::shared_ptr<void> backing;  // outlives the stores: servers, say
  Stores stores;
};

struct StoreKind {
  std::string name;  // "Local", "Remote2Servers"
  // Opens stores over all parts of a partition folder.
  std::function<StatusOr<OpenedStores>(const std::filesystem::path& graph)> open;
  bool in_place = false;     // RowStore::InPlace offers all tensors; else none
  bool opened_anew = false;  // for every case: what it was asked before changes what it does
};

// Registers the suites GraphStoreConformance/<name>, EdgesConformance/<name>,
// SubgraphConformance/<name> and RowStoreConformance/<name>; of stores that keep mutable tensors
// MutableConformance/<name>. Call before RUN_ALL_TESTS.
void RegisterGraphStoreConformance(const StoreKind& kind);
void RegisterEdgesConformance(const StoreKind& kind);
void RegisterSubgraphConformance(const StoreKind& kind);
void RegisterRowStoreConformance(const StoreKind& kind);
void RegisterMutableConformance(const StoreKind& kind);

}  // namespace halograph
