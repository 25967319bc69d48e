#include "server/handlers/pull.h"

#include <algorithm>

#include "common/storage/row_gather.h"

namespace halograph::server {

StatusOr<PullPlan> PullHandler::Plan(const PullRequest& request) const {
  PullPlan plan;
  HG_ASSIGN_OR_RETURN(plan.tensor, ResolveTensor(graph_->schema(), request.tensor));
  const auto rows = static_cast<int64_t>(request.ids.size());
  const auto row_bytes = static_cast<int64_t>(plan.tensor.spec.row_bytes());
  const int64_t room = max_reply_bytes_ - kHeaderBytes;
  // Divided, not multiplied: a product of two values from outside could overflow.
  if (row_bytes > 0 && rows > room / row_bytes) {
    return ResourceExhausted(
        "{}: {} rows of {} bytes do not fit in a message of {} bytes: ask for at most {} rows at a "
        "time, or start the server with a larger --max-message-bytes",
        request.tensor.ToString(), rows, row_bytes, max_reply_bytes_, room / row_bytes);
  }
  HG_RETURN_IF_ERROR(graph_->CheckOwned(Boundaries(graph_->book(), plan.tensor), request.ids,
                                        request.tensor.ToString()));
  plan.shape.push_back(rows);
  if (plan.tensor.spec.rank == 2) plan.shape.push_back(plan.tensor.spec.dim);
  plan.bytes = static_cast<size_t>(rows * row_bytes);
  return plan;
}

void PullHandler::Gather(const PullPlan& plan, std::span<const int64_t> ids,
                         std::byte* destination) const {
  const size_t row_bytes = plan.tensor.spec.row_bytes();
  if (row_bytes == 0) return;
  if (graph_->parts().size() == 1) {
    const TensorRows rows = RowsOf(*graph_->parts()[0], plan.tensor);
    GatherRows(rows.bytes, row_bytes, rows.ids.begin, ids, destination);
    return;
  }
  const std::span<const int64_t> boundaries = Boundaries(graph_->book(), plan.tensor);
  std::vector<std::vector<int64_t>> part_ids(boundaries.size() - 1);
  std::vector<std::vector<int64_t>> part_positions(boundaries.size() - 1);
  for (size_t i = 0; i < ids.size(); ++i) {
    const int part = FindRange(boundaries, ids[i]);
    part_ids[part].push_back(ids[i]);
    part_positions[part].push_back(static_cast<int64_t>(i));
  }
  for (const auto& partition : graph_->parts()) {
    const int part = partition->part();
    if (part_ids[part].empty()) continue;
    const TensorRows rows = RowsOf(*partition, plan.tensor);
    GatherRowsTo(rows.bytes, row_bytes, rows.ids.begin, part_ids[part], part_positions[part],
                 destination);
  }
}

}  // namespace halograph::server
