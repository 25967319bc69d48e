#include "server/handlers/pull.h"

namespace halograph::server {

StatusOr<PullPlan> PullHandler::Plan(const PullRequest& request) const {
  PullPlan plan;
  HG_ASSIGN_OR_RETURN(plan.tensor, graph_->tensors().Find(request.tensor));
  const TensorSpec& spec = plan.tensor->resolved.spec;
  const auto rows = static_cast<int64_t>(request.ids.size());
  const auto row_bytes = static_cast<int64_t>(spec.row_bytes());
  const int64_t room = max_reply_bytes_ - kHeaderBytes;
  // Divided, not multiplied: a product of two values from outside could overflow.
  if (row_bytes > 0 && rows > room / row_bytes) {
    return ResourceExhausted(
        "{}: {} rows of {} bytes do not fit in a message of {} bytes: ask for at most {} rows at a "
        "time, or start the server with a larger --max-message-bytes",
        request.tensor.ToString(), rows, row_bytes, max_reply_bytes_, room / row_bytes);
  }
  HG_RETURN_IF_ERROR(
      graph_->CheckOwned(plan.tensor->boundaries, request.ids, request.tensor.ToString()));
  plan.shape.push_back(rows);
  if (spec.rank == 2) plan.shape.push_back(spec.dim);
  plan.bytes = static_cast<size_t>(rows * row_bytes);
  return plan;
}

Status PullHandler::Gather(const PullPlan& plan, std::span<const int64_t> ids,
                           std::byte* destination) const {
  return GatherRowsOf(*plan.tensor, ids, {}, destination);
}

}  // namespace halograph::server
