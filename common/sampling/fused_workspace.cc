#include "common/sampling/fused_workspace.h"

namespace halograph {

FusedWorkspace::FusedWorkspace(const Schema& schema, int64_t max_table_nodes) {
  nodes.reserve(schema.node_types.size());
  for (const NodeType& type : schema.node_types) nodes.emplace_back(type.count, max_table_nodes);
}

FusedWorkspacePool::Lease::~Lease() {
  if (workspace_ != nullptr) pool_->Return(std::move(workspace_));
}

FusedWorkspacePool::Lease FusedWorkspacePool::Take() {
  std::unique_lock lock(mutex_);
  returned_.wait(lock, [&] { return !idle_.empty() || out_ < limit_; });
  std::unique_ptr<FusedWorkspace> workspace;
  if (idle_.empty()) {
    workspace = std::make_unique<FusedWorkspace>(*schema_, max_table_nodes_);
    idle_.reserve(static_cast<size_t>(limit_));  // so that Return cannot fail
  } else {
    workspace = std::move(idle_.back());
    idle_.pop_back();
  }
  ++out_;
  return {this, std::move(workspace)};
}

void FusedWorkspacePool::Return(std::unique_ptr<FusedWorkspace> workspace) {
  {
    std::lock_guard lock(mutex_);
    idle_.push_back(std::move(workspace));
    --out_;
  }
  returned_.notify_one();
}

}  // namespace halograph
