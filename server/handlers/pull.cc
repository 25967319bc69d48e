#include "server/handlers/pull.h"

#include "common/graph/owner_split.h"

namespace halograph::server {

StatusOr<PullPlan> PullHandler::Plan(const PullRequest& request) const {
  PullPlan plan;
  plan.ref = request.tensor;
  const TensorCatalog* const catalog = states_ == nullptr
                                           ? &graph_->tensors()
                                           : static_cast<const TensorCatalog*>(&states_->catalog());
  HG_ASSIGN_OR_RETURN(plan.tensor, catalog->Find(request.tensor));
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
  plan.changing = MutableCatalog::AsMutable(plan.tensor);
  if (plan.changing != nullptr) {
    HG_RETURN_IF_ERROR(PlanChanging(request, &plan));
  } else if (request.min_lsn != 0) {
    return InvalidArgument("{}: min_lsn {}: a feature of the graph never changes",
                           request.tensor.ToString(), request.min_lsn);
  } else {
    HG_RETURN_IF_ERROR(
        graph_->CheckOwned(plan.tensor->boundaries, request.ids, request.tensor.ToString()));
  }
  plan.shape.push_back(rows);
  if (spec.rank == 2) plan.shape.push_back(spec.dim);
  plan.bytes = static_cast<size_t>(rows * row_bytes);
  return plan;
}

Status PullHandler::PlanChanging(const PullRequest& request, PullPlan* plan) const {
  const std::string name = request.tensor.ToString();
  HG_RETURN_IF_ERROR(CheckIdRange(request.ids, plan->tensor->resolved.rows, name));
  plan->min_lsn = request.min_lsn;
  if (request.min_lsn == 0 || request.ids.empty()) return OkStatus();
  plan->part = states_->OnlyPart(*plan->changing, request.ids);
  if (request.min_lsn > 0 && plan->part >= 0) return OkStatus();
  return InvalidArgument(
      "{}: min_lsn {} for {} ids: give a number above 0, and ids of one part at a time, as parts "
      "have numbers of their own",
      name, request.min_lsn, request.ids.size());
}

bool PullHandler::Ready(const PullPlan& plan) const {
  if (plan.changing == nullptr || plan.part < 0) return true;
  const StateStore* const store = states_->Find(plan.part);
  if (store == nullptr) return true;  // Gather says so
  const auto shows = store->Shows(plan.changing->spec.ref, plan.min_lsn);
  return !shows.ok() || *shows;
}

bool PullHandler::MayBecomeReady(const PullPlan& plan) const {
  if (plan.changing == nullptr || plan.part < 0) return true;
  const StateStore* const store = states_->Find(plan.part);
  if (store == nullptr) return true;
  const auto stats = store->Describe(plan.changing->spec.ref);
  return !stats.ok() || stats->last_lsn >= plan.min_lsn;
}

bool PullHandler::MayWaitForDisk(const PullPlan& plan) const {
  if (plan.changing == nullptr || plan.shape.front() == 0) return false;
  return states_->MayWaitForDisk(*plan.changing);
}

Status PullHandler::Gather(const PullPlan& plan, std::span<const int64_t> ids,
                           std::byte* destination, const WorkLimits& limits) const {
  Status status = CopyRows(plan, ids, destination, limits);
  if (status.ok() && counters_ != nullptr) {
    counters_->Pulled(plan.ref, std::ssize(ids), static_cast<int64_t>(plan.bytes));
  }
  return status;
}

Status PullHandler::CopyRows(const PullPlan& plan, std::span<const int64_t> ids,
                             std::byte* destination, const WorkLimits& limits) const {
  if (plan.changing != nullptr) {
    std::vector<int64_t> after;  // by part
    if (plan.part >= 0) {
      after.resize(static_cast<size_t>(plan.part) + 1);
      after.back() = plan.min_lsn;
    }
    return states_->Pull(*plan.changing, ids, {}, after, destination, limits);
  }
  return GatherRowsOf(*plan.tensor, ids, {}, destination);
}

}  // namespace halograph::server
