#include <algorithm>
#include <atomic>
#include <new>
#include <thread>

#include "client/local/mapped_graph.h"
#include "common/sampling/fused_sampler.h"
#include "common/sampling/minibatch_builder.h"

namespace halograph {
namespace {

// Ends a minibatch between two layers once the store is shut down.
class StoppableSource final : public NeighborSource {
 public:
  StoppableSource(const MappedGraph& graph, const std::atomic<bool>* stopped)
      : source_(&graph.parts->topology(), graph.pool.get()), stopped_(stopped) {}

  Status SampleLayer(int layer, uint64_t batch_seed, bool replace,
                     std::span<const LayerGroup> groups,
                     std::vector<NeighborPicks>* picks) override {
    if (stopped_->load(std::memory_order_relaxed)) return StoreIsShutDown();
    return source_.SampleLayer(layer, batch_seed, replace, groups, picks);
  }

 private:
  LocalNeighborSource source_;
  const std::atomic<bool>* stopped_;
};

// Minibatches under way at once without a pool of threads; more callers than cores gain nothing,
// and each costs 4 bytes a node.
int MaxWorkspaces() { return std::max(1, static_cast<int>(std::thread::hardware_concurrency())); }

// One caller makes a minibatch with the fused sampler; with a pool, its threads share the plain
// one's work, which is quicker for that minibatch only.
class LocalGraphStore final : public GraphStore {
 public:
  explicit LocalGraphStore(std::shared_ptr<const MappedGraph> graph)
      : graph_(std::move(graph)),
        fused_(&graph_->info.schema, &graph_->parts->topology()),
        workspaces_(&graph_->info.schema, MaxWorkspaces()) {}

  const GraphInfo& info() const override { return graph_->info; }

  StatusOr<Minibatch> Sample(const SampleRequest& request, CallStats* /*stats*/) override {
    if (graph_->pool == nullptr) return SampleFused(request);
    StoppableSource source(*graph_, &stopped_);
    return BuildMinibatch(graph_->info.schema, request, source);
  }

  void Shutdown() override { stopped_.store(true, std::memory_order_relaxed); }

 private:
  StatusOr<Minibatch> SampleFused(const SampleRequest& request) {
    try {
      const FusedWorkspacePool::Lease workspace = workspaces_.Take();
      Minibatch minibatch;
      HG_RETURN_IF_ERROR(fused_.Sample(request, &*workspace, &minibatch, [this] {
        return stopped_.load(std::memory_order_relaxed) ? StoreIsShutDown() : OkStatus();
      }));
      return minibatch;
    } catch (const std::bad_alloc&) {
      return ResourceExhausted("no memory to sample in; a sampling thread needs 4 bytes a node");
    }
  }

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
