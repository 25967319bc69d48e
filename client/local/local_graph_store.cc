#include "client/local/mapped_graph.h"
#include "common/base/processors.h"
#include "common/sampling/kernel/fused_sampler.h"
#include "common/sampling/request.h"

namespace halograph {
namespace {

// The caller makes minibatches with the fused sampler; with a pool, its threads share the work.
class LocalGraphStore final : public GraphStore {
 public:
  explicit LocalGraphStore(std::shared_ptr<const MappedGraph> graph)
      : graph_(std::move(graph)),
        fused_(&graph_->info.schema, &graph_->parts->topology(), graph_->pool.get()),
        workspaces_(&graph_->info.schema,
                    // More callers than processors gain nothing, and each costs 4 bytes a node.
                    graph_->minibatches > 0 ? graph_->minibatches : AvailableProcessors()),
        builders_(&graph_->info.schema, graph_->info.book.num_parts(), graph_->info.clusters,
                  graph_->built > 0 ? graph_->built : workspaces_.limit(),
                  // One call leaves room for those of other threads.
                  graph_->built > 0 ? graph_->built / graph_->minibatches : workspaces_.limit()) {}

  const GraphInfo& info() const override { return graph_->info; }
  const Topology* whole_topology() const override { return &graph_->parts->topology(); }

  // Node-wise draws go by the fused sampler, all others by what they ask.
  Status Sample(std::span<const SampleRequest> requests, CallContext& context,
                std::span<Minibatch> minibatches) override {
    HG_RETURN_IF_ERROR(context.Check());
    if (!FusedSampler::Takes(requests)) {
      return SampleByAsking(*this, &builders_, requests, context, minibatches);
    }
    return CatchNoMemory(CountSeeds(requests), "seeds", [&]() -> Status {
      HG_ASSIGN_OR_RETURN(const auto workspace, workspaces_.Take(1, context.limits()));
      return fused_.Sample(requests, &*workspace.front(), minibatches,
                           [&context] { return context.Check(); });
    });
  }

  Status Ask(const TopologyQuestions& questions, CallContext& context,
             TopologyAnswers* answers) override {
    HG_RETURN_IF_ERROR(context.Check());
    return AskMapped(*graph_, questions, context.limits(), answers);
  }

 private:
  std::shared_ptr<const MappedGraph> graph_;
  FusedSampler fused_;
  FusedWorkspacePool workspaces_;
  BuilderWorkspaces builders_;
};

}  // namespace

std::unique_ptr<GraphStore> MakeLocalGraphStore(std::shared_ptr<const MappedGraph> graph) {
  return std::make_unique<LocalGraphStore>(std::move(graph));
}

}  // namespace halograph
