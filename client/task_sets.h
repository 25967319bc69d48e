// TaskSets: rows of the sets of tasks, wherever they are. Implementations: local/ (mapped partition
// folder), remote/ (partition servers) and part_alone/ (the rows of one part).
//
// Thread-safe: any number of threads may call at once, each with a context of its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "client/call_context.h"
#include "client/graph_store.h"
#include "common/base/status.h"

namespace halograph {

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

class TaskSets {
 public:
  virtual ~TaskSets() = default;

  // Rows [rows.begin, rows.end) of the whole set, in the order of GraphInfo::task_rows; the result
  // is the caller's.
  //   NotFound    no such set: what exists is named
  //   OutOfRange  rows outside the set: its count is named
  //   ResourceExhausted, Unavailable, DeadlineExceeded, Cancelled  as GraphStore::Sample
  [[nodiscard]] virtual StatusOr<TaskSet> Read(const TaskSetRef& set, IdRange rows,
                                               CallContext& context) = 0;
};

// What every store checks of a Read before it asks or reads anything: where the set stands in
// info.schema. Errors: the first two of TaskSets::Read.
[[nodiscard]] StatusOr<TaskSetIndex> CheckTaskSet(const GraphInfo& info, const TaskSetRef& set,
                                                  IdRange rows);

// Calls read(part, rows of the part) for each part that has some of `rows`, in order, and returns
// its first error. `boundaries`: of info.task_rows.
[[nodiscard]] Status ForEachPart(std::span<const int64_t> boundaries, IdRange rows,
                                 const std::function<Status(int part, IdRange of_part)>& read);

}  // namespace halograph
