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

}  // namespace

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
  if (!spec.arrays.empty()) {
    page.total_rows = partition->TaskArray(index.task, index.set, 0).rows();
  }
  if (request.first_row < 0 || request.first_row > page.total_rows) {
    return OutOfRange("first_row {} is outside [0, {}], the rows of set {} of {} in part {}",
                      request.first_row, page.total_rows, request.set, request.type, request.part);
  }
  int64_t row_bytes = 0;
  for (const TensorSpec& array : spec.arrays) row_bytes += static_cast<int64_t>(array.row_bytes());
  const int64_t room = max_reply_bytes_ - OverheadBytes(spec);
  page.rows = page.total_rows - request.first_row;
  if (row_bytes > 0 && page.rows > room / row_bytes)
    page.rows = std::max<int64_t>(0, room / row_bytes);
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
