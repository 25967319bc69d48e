#include "client/graph_store.h"

#include <functional>
#include <utility>

namespace halograph {
namespace {

// The layers of one Sample, of which the caller's own work goes beside the first.
class LayersOfACall final : public NeighborSource {
 public:
  LayersOfACall(GraphStore& store, CallContext& context)
      : store_(store), context_(InnerContext(context, std::move(context.meanwhile))) {}

  Status SampleLayer(std::span<const LayerGroup> groups,
                     std::vector<NeighborPicks>* picks) override {
    Status status = store_.SampleLayer(groups, context_, picks);
    if (meanwhile_ == nullptr) meanwhile_ = std::exchange(context_.meanwhile, nullptr);
    return status;
  }

  // Gives the caller's context its work back, and the figures.
  void End(CallContext* context) {
    context->stats += context_.stats;
    context->meanwhile = std::move(context_.meanwhile ? context_.meanwhile : meanwhile_);
  }

 private:
  GraphStore& store_;
  CallContext context_;
  std::function<void()> meanwhile_;  // after the first layer
};

}  // namespace

Status SampleByLayers(GraphStore& store, BuilderWorkspaces* workspaces,
                      std::span<const SampleRequest> requests, CallContext& context,
                      std::span<Minibatch> minibatches) {
  HG_RETURN_IF_ERROR(context.Check());
  LayersOfACall layers(store, context);
  Status status = BuildMinibatches(store.info().schema, requests, layers, workspaces, minibatches,
                                   context.limits());
  layers.End(&context);
  return status;
}

}  // namespace halograph
