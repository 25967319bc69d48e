#include "server/handlers/task_set.h"

#include <algorithm>

namespace halograph::server {
namespace {

// Bytes of a reply beside its data, at most: tags, lengths, shapes and names.
int64_t OverheadBytes(const TaskSetSpec& spec) {
  int64_t bytes = 64;
  for (const TensorSpec& array : spec.arrays) bytes += 64 + static_cast<int64_t>(array.name.size());
  return bytes;
}

int64_t RowsOf(const Partition& partition, const TaskSetSpec& spec, const TaskSetIndex& index) {
  return spec.arrays.empty() ? 0 : partition.TaskArray(index.task, index.set, 0).rows();
}

}  // namespace

std::vector<TaskSetRows> RowsOfTaskSets(const ServedGraph& graph) {
  std::vector<TaskSetRows> all;
  if (!graph.contents().features) return all;
  for (size_t t = 0; t < graph.schema().tasks.size(); ++t) {
    const Task& task = graph.schema().tasks[t];
    for (size_t s = 0; s < task.sets.size(); ++s) {
      const TaskSetIndex index{static_cast<int>(t), static_cast<int>(s)};
      for (const auto& partition : graph.parts()) {
        all.push_back({.task = &task,
                       .set = &task.sets[s],
                       .part = partition->part(),
                       .rows = RowsOf(*partition, task.sets[s], index)});
      }
    }
  }
  return all;
}

StatusOr<TaskSetPage> TaskSetHandler::Read(const TaskSetRequest& request) const {
  HG_ASSIGN_OR_RETURN(const TaskSetIndex index,
                      FindTaskSet(graph_->schema(), request.task, request.set, request.type));
  const Partition* partition = graph_->Find(request.part);
  if (partition == nullptr) {
    return OutOfRange("part {} is not served here; this server serves {} of {}", request.part,
                      graph_->parts_text(), graph_->book().num_parts());
  }
  const TaskSetSpec& spec = graph_->schema().tasks[index.task].sets[index.set];
  TaskSetPage page;
  page.total_rows = RowsOf(*partition, spec, index);
  if (request.first_row < 0 || request.first_row > page.total_rows) {
    return OutOfRange("first_row {} is outside [0, {}], the rows of set {} of {} in part {}",
                      request.first_row, page.total_rows, request.set, request.type, request.part);
  }
  if (request.max_rows < 0) {
    return OutOfRange("max_rows {} is below 0: ask for a number of rows, or 0 for all",
                      request.max_rows);
  }
  int64_t row_bytes = 0;
  for (const TensorSpec& array : spec.arrays) row_bytes += static_cast<int64_t>(array.row_bytes());
  const int64_t room = max_reply_bytes_ - OverheadBytes(spec);
  page.rows = page.total_rows - request.first_row;
  if (request.max_rows > 0) page.rows = std::min(page.rows, request.max_rows);
  if (row_bytes > 0) page.rows = std::min(page.rows, std::max<int64_t>(0, room / row_bytes));
  if (page.rows == 0 && request.first_row < page.total_rows) {
    return ResourceExhausted(
        "one row of set {} of {} takes {} bytes, a message at most {}: start the server with a "
        "larger --max-message-bytes",
        request.set, request.type, row_bytes, max_reply_bytes_);
  }
  for (size_t a = 0; a < spec.arrays.size(); ++a) {
    const size_t bytes = spec.arrays[a].row_bytes();
    const auto data = partition->TaskArray(index.task, index.set, static_cast<int>(a)).data();
    page.arrays.push_back(
        {&spec.arrays[a], data.subspan(request.first_row * bytes, page.rows * bytes)});
  }
  return page;
}

}  // namespace halograph::server
