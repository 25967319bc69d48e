// The rows that a run learnt on one graph, for the nodes of another: a node has the row of the node
// of the run's graph that has its original id. So weights that go with learnt rows are used on the
// same input in other partitions, and on a graph that has grown.
//
// The rows are read where the run keeps them, in its state folder; nothing is copied, and nothing
// of them changes.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "client/stores.h"
#include "common/base/cancel.h"
#include "common/base/status.h"
#include "common/state/env.h"
#include "common/state/state_store.h"

namespace halograph {

// What a node without a row gets.
enum class NewRows : uint8_t {
  kRefuse,
  kInit,  // what the run's training would begin with, by its seed and the node's original id
};

struct RowsWanted {
  std::vector<std::string> types;  // node types whose rows were learnt
  std::string tensor;              // its name
  std::string identity;            // of the graph that they were learnt on
  NewRows new_rows = NewRows::kRefuse;
};

struct RowsGiven {
  Stores stores;  // those of the graph, with the tensors beside: pulled and listed, never changed
  int64_t rows = 0;   // nodes that have a row
  int64_t fresh = 0;  // nodes that get a new one
};

// FailedPrecondition naming the folder of a part that `state` lacks, as that of one of several
// servers does: opening the part would make it, without a row.
[[nodiscard]] Status CheckPartsAreThere(const std::filesystem::path& state, int parts);

// Opens the run's state (state.folder, on `env`), and finds a row for each node of `wanted.types`
// of the graph that `stores` are of: 8 bytes a node in memory, and while it looks 16 for each of
// the run's. The result holds all that it needs.
//   NotFound            the folder does not say which original ids its rows have (RowNames::Read);
//                       or has no such tensor
//   FailedPrecondition  the folder is of another graph than `wanted.identity`; the folder of a part
//                       is missing, as of another server: named, and not made; nodes have no row,
//                       and wanted.new_rows gives them none: their number and the first of them
//                       are named; another process has the folder
//   else                as StateStore::Open and RowStore::Pull
[[nodiscard]] StatusOr<RowsGiven> GiveRowsOfRun(const StateOptions& state, std::unique_ptr<Env> env,
                                                const RowsWanted& wanted, const Stores& stores,
                                                const CancelToken* cancel);

}  // namespace halograph
