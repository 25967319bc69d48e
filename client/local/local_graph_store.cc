#include <atomic>

#include "client/local/mapped_graph.h"
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

class LocalGraphStore final : public GraphStore {
 public:
  explicit LocalGraphStore(std::shared_ptr<const MappedGraph> graph) : graph_(std::move(graph)) {}

  const GraphInfo& info() const override { return graph_->info; }

  StatusOr<Minibatch> Sample(const SampleRequest& request) override {
    StoppableSource source(*graph_, &stopped_);
    return BuildMinibatch(graph_->info.schema, request, source);
  }

  void Shutdown() override { stopped_.store(true, std::memory_order_relaxed); }

 private:
  std::shared_ptr<const MappedGraph> graph_;
  std::atomic<bool> stopped_ = false;
};

}  // namespace

std::unique_ptr<GraphStore> MakeLocalGraphStore(std::shared_ptr<const MappedGraph> graph) {
  return std::make_unique<LocalGraphStore>(std::move(graph));
}

}  // namespace halograph
