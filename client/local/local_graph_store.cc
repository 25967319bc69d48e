#include <algorithm>
#include <atomic>
#include <thread>

#include "client/local/mapped_graph.h"
#include "common/sampling/fused_sampler.h"
#include "common/sampling/no_memory.h"

namespace halograph {
namespace {

// Minibatches under way at once; more callers than cores gain nothing, and each costs 4 bytes a
// node.
int MaxWorkspaces() { return std::max(1, static_cast<int>(std::thread::hardware_concurrency())); }

// The caller makes a minibatch with the fused sampler; with a pool, its threads share the work.
class LocalGraphStore final : public GraphStore {
 public:
  explicit LocalGraphStore(std::shared_ptr<const MappedGraph> graph)
      : graph_(std::move(graph)),
        fused_(&graph_->info.schema, &graph_->parts->topology(), graph_->pool.get()),
        workspaces_(&graph_->info.schema, MaxWorkspaces()) {}

  const GraphInfo& info() const override { return graph_->info; }

  StatusOr<Minibatch> Sample(const SampleRequest& request, CallStats* /*stats*/) override {
    return CatchNoMemory(CountSeeds({&request, 1}), "seeds", [&]() -> StatusOr<Minibatch> {
      const FusedWorkspacePool::Lease workspace = workspaces_.Take();
      Minibatch minibatch;
      HG_RETURN_IF_ERROR(fused_.Sample(request, &*workspace, &minibatch, [this] {
        return stopped_.load(std::memory_order_relaxed) ? StoreIsShutDown() : OkStatus();
      }));
      return minibatch;
    });
  }

  void Shutdown() override { stopped_.store(true, std::memory_order_relaxed); }

 private:
  std::shared_ptr<const MappedGraph> graph_;
  FusedSampler fused_;
  FusedWorkspacePool workspaces_;
  std::atomic<bool> stopped_ = false;
};

}  // namespace

std::unique_ptr<GraphStore> MakeLocalGraphStore(std::shared_ptr<const MappedGraph> graph) {
  return std::make_unique<LocalGraphStore>(std::move(graph));
}

}  // namespace halograph
