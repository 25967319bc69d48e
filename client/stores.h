// The stores of one graph that were opened together. Each holds what it stands on (mapped files,
// connections, another store), so that they end in any order, and copies share them: what is
// composed over some of them takes a share of those.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "client/graph_store.h"
#include "client/row_store.h"
#include "client/task_sets.h"
#include "client/tensor_admin.h"

namespace halograph {

struct Stores {
  std::shared_ptr<GraphStore> graph = nullptr;  // its info() is of all of them
  std::shared_ptr<RowStore> rows = nullptr;
  std::shared_ptr<TaskSets> tasks = nullptr;
  std::shared_ptr<TensorAdmin> admin = nullptr;  // null: nothing can change here
  // The addresses at which the servers were found, by their number in CallStats::server_seconds;
  // empty: there are none.
  std::vector<std::string> servers = {};

  // `admin`, to be asked about `what`; NoMutableTensors where it is null.
  [[nodiscard]] StatusOr<TensorAdmin*> AdminFor(std::string_view what) const {
    if (admin == nullptr) return NoMutableTensors(what);
    return admin.get();
  }
};

}  // namespace halograph
