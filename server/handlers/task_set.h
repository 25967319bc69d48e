// KVService/ReadTaskSet (and GraphService/ReadTaskSet, its first name) without its wire: a range of
// the rows of a task set that one part owns, a message at a time. Immutable; thread-safe. Data are
// views of the mapped files: nothing is copied.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "server/handlers/served_graph.h"

namespace halograph::server {

// How many rows of a task set one part has.
struct TaskSetRows {
  const Task* task = nullptr;        // of the graph's schema, as is
  const TaskSetSpec* set = nullptr;  // the set
  int part = 0;
  int64_t rows = 0;
};
// Of every set in every part served here: tasks and sets in the order of the schema, parts
// ascending. Empty where task sets are not served. Points into `graph`.
[[nodiscard]] std::vector<TaskSetRows> RowsOfTaskSets(const ServedGraph& graph);

struct TaskSetRequest {
  std::string task;
  std::string set;   // train, valid, test
  std::string type;  // node type or relation triple
  int64_t part = 0;
  int64_t first_row = 0;  // counted within the part
  int64_t max_rows = 0;   // 0: all from first_row on
};

struct TaskSetArray {
  const TensorSpec* spec = nullptr;
  std::span<const std::byte> data;  // the page's rows
};

struct TaskSetPage {
  int64_t total_rows = 0;  // of the set in the part
  int64_t rows = 0;        // of the page, from first_row on; 0 at the end
  std::vector<TaskSetArray> arrays;
};

class TaskSetHandler {
 public:
  // `graph` must outlive the handler and the pages. `max_reply_bytes`: of a whole reply.
  TaskSetHandler(const ServedGraph* graph, int64_t max_reply_bytes)
      : graph_(graph), max_reply_bytes_(max_reply_bytes) {}

  //   NotFound           unknown task, set or type: names what exists
  //   OutOfRange         a part not served here; first_row outside [0, rows of the part]; max_rows
  //                      below 0
  //   ResourceExhausted  one row is larger than a message may be
  [[nodiscard]] StatusOr<TaskSetPage> Read(const TaskSetRequest& request) const;

 private:
  const ServedGraph* graph_;
  int64_t max_reply_bytes_;
};

}  // namespace halograph::server
