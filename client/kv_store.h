// KVStore: rows of tensors by global id, and task sets, wherever they are. Implementations: local/
// (mapped partition folder), remote/ (partition servers) and own_part/ (some partitions mapped, the
// rest behind another store).
//
// Thread-safe: any number of threads may call at once, each with a context of its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "client/graph_store.h"
#include "common/base/status.h"
#include "common/graph/row_source.h"
#include "common/graph/tensor_ref.h"

namespace halograph {

// Rows of one tensor. Ids, positions and memory are borrowed.
struct RowRequest {
  TensorRef tensor;
  std::span<const int64_t> ids = {};  // global, any order, repeats allowed
  // Row ids[i] goes to row positions[i] of `out`; empty: to row i.
  std::span<const int64_t> positions = {};
  std::span<std::byte> out = {};  // rows of row_bytes bytes, in the stored dtype
};

struct TaskSetRef {
  std::string task;
  std::string set;   // "train", "valid" or "test"
  std::string type;  // node type name or relation triple
};

// One array of a task set, rows in C order.
struct TaskArray {
  TensorSpec spec;
  std::vector<std::byte> data;
};

// Rows of a task set.
struct TaskSet {
  TaskSetSpec spec;               // of the whole set
  IdRange rows;                   // which of it these are
  std::vector<TaskArray> arrays;  // as spec.arrays: "seeds" first

  // Seeds as global ids: rows.size() * dim values. Requires the set to have them (readers see to
  // it).
  [[nodiscard]] std::span<const int64_t> seeds() const;
  // NotFound naming task array and what exists.
  [[nodiscard]] StatusOr<const TaskArray*> Find(std::string_view name) const;
};

class KVStore {
 public:
  virtual ~KVStore() = default;

  [[nodiscard]] virtual const GraphInfo& info() const = 0;

  // Rows of several tensors in one exchange: rounds do not grow with their number. All requests are
  // checked before anything is asked. Their outputs must not overlap. After an error they hold
  // anything. The message names the request if there are several.
  //   NotFound         unknown type or tensor
  //   OutOfRange       an id outside the tensor: id, position and count are named
  //   InvalidArgument  `out` is not as long as its rows, or positions do not fit ids or `out`
  //   ResourceExhausted, Unavailable, DeadlineExceeded, Cancelled  as GraphStore::Sample
  //   else             what a source of rows says (RowSource)
  [[nodiscard]] virtual Status Pull(std::span<const RowRequest> requests, CallContext& context) = 0;
  // One tensor.
  [[nodiscard]] Status Pull(const RowRequest& request, CallContext& context) {
    return Pull({&request, 1}, context);
  }

  // Rows [rows.begin, rows.end) of the whole set, in the order of info().task_rows.
  //   NotFound    no such set: what exists is named
  //   OutOfRange  rows outside the set: its count is named
  //   else        as Pull
  [[nodiscard]] virtual StatusOr<TaskSet> ReadTaskSet(const TaskSetRef& set, IdRange rows,
                                                      CallContext& context) = 0;
};

// What every store checks of a Pull before it asks or reads anything: the tensor of every request.
// Errors: the first three of KVStore::Pull.
[[nodiscard]] StatusOr<std::vector<const CatalogTensor*>> CheckPull(
    const TensorCatalog& tensors, std::span<const RowRequest> requests);

// The same of a ReadTaskSet: where the set stands in info.schema. Errors: the first two of
// KVStore::ReadTaskSet.
[[nodiscard]] StatusOr<TaskSetIndex> CheckTaskSet(const GraphInfo& info, const TaskSetRef& set,
                                                  IdRange rows);

// Calls read(part, rows of the part) for each part that has some of `rows`, in order, and returns
// its first error. `boundaries`: of info.task_rows.
[[nodiscard]] Status ForEachPart(std::span<const int64_t> boundaries, IdRange rows,
                                 const std::function<Status(int part, IdRange of_part)>& read);

}  // namespace halograph
