// KVStore: rows of tensors by global id, and task sets, wherever they are. Implementations: local/
// (mapped partition folder), remote/ (partition servers) and own_part/ (some partitions mapped, the
// rest behind another store).
//
// Thread-safe: any number of threads may pull at once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "client/graph_store.h"
#include "common/base/status.h"
#include "common/graph/tensor_ref.h"

namespace halograph {

// One array of a task set over all partitions, rows in C order.
struct TaskArray {
  TensorSpec spec;
  std::vector<std::byte> data;
};

// Rows of all partitions, in order of part, within a part in input order.
struct TaskSet {
  TaskSetSpec spec;
  std::vector<TaskArray> arrays;         // as spec.arrays: "seeds" first
  std::vector<int64_t> part_boundaries;  // parts + 1 row offsets

  // Seeds as global ids: spec.rows * dim values. Requires the set to have them (readers see to it).
  [[nodiscard]] std::span<const int64_t> seeds() const;
  // NotFound naming task array and what exists.
  [[nodiscard]] StatusOr<const TaskArray*> Find(std::string_view name) const;
};

class KVStore {
 public:
  virtual ~KVStore() = default;

  [[nodiscard]] virtual const GraphInfo& info() const = 0;

  // Writes row ids[i] to destination + i * row_bytes, in the stored dtype. Any order, repeats
  // allowed, empty allowed. `stats`, if not null, is added to. On error the destination holds
  // anything.
  //   NotFound         unknown type or tensor
  //   OutOfRange       an id outside the tensor: id, position and count are named
  //   InvalidArgument  destination is not ids.size() * row_bytes long
  //   Unavailable, DeadlineExceeded, Cancelled  as GraphStore::Sample
  [[nodiscard]] virtual Status Pull(const TensorRef& tensor, std::span<const int64_t> ids,
                                    std::span<std::byte> destination, CallStats* stats) = 0;

  // `set`: "train", "valid" or "test"; `type`: node type name or relation triple.
  // NotFound naming what exists.
  [[nodiscard]] virtual StatusOr<TaskSet> ReadTaskSet(const std::string& task,
                                                      const std::string& set,
                                                      const std::string& type) = 0;

  // Ends calls in flight and every later one with Cancelled, soon. Idempotent.
  virtual void Shutdown() = 0;
};

}  // namespace halograph
