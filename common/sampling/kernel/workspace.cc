#include "common/sampling/kernel/workspace.h"

#include <cassert>

namespace halograph {

FusedWorkspace::FusedWorkspace(const Schema& schema, int64_t max_table_nodes) {
  nodes.reserve(schema.node_types.size());
  for (const NodeType& type : schema.node_types) nodes.emplace_back(type.count, max_table_nodes);
}

FusedWorkspacePool::Lease::~Lease() {
  if (workspace_ != nullptr) pool_->Return(std::move(workspace_));
}

StatusOr<std::vector<FusedWorkspacePool::Lease>> FusedWorkspacePool::Take(
    int count, const WorkLimits& limits) {
  assert(count >= 1 && count <= limit_);
  {
    const MutexLock lock(mutex_);
    if (HasLeft(count)) return LendLocked(count);
  }
  const CancelToken::Registration wake(limits.cancel, [this] {
    // Not between the look and the wait of somebody who waits.
    { const MutexLock lock(mutex_); }
    returned_.NotifyAll();
  });
  const MutexLock lock(mutex_);
  const auto ends = [&]() HG_REQUIRES(mutex_) {
    return HasLeft(count) || (limits.cancel != nullptr && limits.cancel->cancelled());
  };
  if (limits.deadline.has_value()) {
    returned_.WaitUntil(mutex_, *limits.deadline, ends);
  } else {
    returned_.Wait(mutex_, ends);
  }
  if (!HasLeft(count)) return limits.Check();
  return LendLocked(count);
}

std::vector<FusedWorkspacePool::Lease> FusedWorkspacePool::LendLocked(int count) {
  idle_.reserve(static_cast<size_t>(limit_));  // so that Return cannot fail
  std::vector<Lease> leases;
  leases.reserve(static_cast<size_t>(count));
  while (std::ssize(idle_) < count) {
    idle_.push_back(std::make_unique<FusedWorkspace>(*schema_, max_table_nodes_));
  }
  for (int i = 0; i < count; ++i) {
    leases.emplace_back(this, std::move(idle_.back()));
    idle_.pop_back();
  }
  out_ += count;
  return leases;
}

void FusedWorkspacePool::Return(std::unique_ptr<FusedWorkspace> workspace) {
  {
    const MutexLock lock(mutex_);
    idle_.push_back(std::move(workspace));
    --out_;
  }
  returned_.NotifyAll();  // those who wait may need several
}

// ---- lists -----------------------------------------------------------------------------------

MinibatchLists::MinibatchLists(const Schema* schema, FusedWorkspace* workspace)
    : schema_(schema), workspace_(workspace) {
  for (FusedNodes& nodes : workspace->nodes) nodes.Restart();
}

Status MinibatchLists::AddSeeds(const SampleRequest& request,
                                std::vector<std::vector<int32_t>>* positions) {
  positions->resize(request.seeds.size());
  for (size_t i = 0; i < request.seeds.size(); ++i) {
    const auto& [type, ids] = request.seeds[i];
    (*positions)[i].clear();
    if (!of(type).Compact(ids, &(*positions)[i])) {
      return Internal("a seed outside its type came through validation");
    }
    HG_RETURN_IF_ERROR(CheckLength(type));
  }
  return OkStatus();
}

Status MinibatchLists::CheckLength(int type) const {
  return CheckListLength(*schema_, type, of(type).size);
}

void MinibatchLists::GetSizes(std::vector<int64_t>* sizes) const {
  sizes->clear();
  for (const FusedNodes& nodes : workspace_->nodes) sizes->push_back(nodes.size);
}

void MinibatchLists::CopyTo(std::vector<std::vector<int64_t>>* nodes) const {
  nodes->resize(workspace_->nodes.size());
  for (size_t t = 0; t < nodes->size(); ++t) {
    const FusedNodes& list = workspace_->nodes[t];
    (*nodes)[t].assign(list.ids.data(), list.ids.data() + list.size);
  }
}

}  // namespace halograph
