// OpenStores for a run that finds out from the graph where its mutable tensors are kept: whether it
// has any depends on the graph.
#pragma once

#include <functional>
#include <memory>

#include "client/open/open_stores.h"

namespace halograph {

struct ChosenState {
  StateOptions options;  // an empty folder: there are no mutable tensors
  // Ends after the state is closed, with the last of the stores; null: nothing does.
  std::shared_ptr<const void> holds = nullptr;
};

using ChooseState = std::function<StatusOr<ChosenState>(const GraphInfo& graph)>;

// As OpenStores. Where a whole partition folder is mapped, `choose` is asked once that is done, and
// its answer stands in for options.state; elsewhere it is not asked. Errors as OpenStores and
// `choose`.
[[nodiscard]] StatusOr<Stores> OpenStoresWith(const StoreOptions& options,
                                              const ChooseState& choose,
                                              const CancelToken* cancel = nullptr);

}  // namespace halograph
