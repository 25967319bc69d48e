#include "client/graph_store.h"

#include <memory>
#include <optional>
#include <utility>

namespace halograph {
namespace {

// A Sample that goes on when what it asked was answered, until all is built.
class StartedSample : public std::enable_shared_from_this<StartedSample> {
 public:
  StartedSample(GraphStore& store, BuilderWorkspaces* workspaces,
                std::span<const SampleRequest> requests, CallContext& context,
                std::span<Minibatch> minibatches, StatusDone done)
      : store_(store), context_(context), done_(std::move(done)) {
    making_.emplace(store.info().schema, requests, workspaces, minibatches, context.limits());
  }

  void GoOn(Status answered) {
    if (!answered.ok()) return End(std::move(answered));
    const StatusOr<bool> asks = making_->Next();
    if (!asks.ok() || !*asks) return End(asks.status());
    store_.StartAsk(making_->questions(), context_, making_->answers(),
                    [self = shared_from_this()](Status status) { self->GoOn(std::move(status)); });
  }

 private:
  void End(Status status) {
    making_.reset();  // gives its memory back before others are told
    done_(std::move(status));
  }

  GraphStore& store_;
  CallContext& context_;
  const StatusDone done_;
  std::optional<MinibatchesInMaking> making_;
};

}  // namespace

Status AskForDraws(GraphStore& store, std::span<const LayerGroup> groups, CallContext& context,
                   std::vector<NeighborPicks>* picks) {
  const TopologyQuestions questions{
      .draws = {groups.begin(), groups.end()}, .sums = {}, .edges = {}};
  TopologyAnswers answers{.draws = std::move(*picks), .sums = {}, .edges = {}};
  Status status = store.Ask(questions, context, &answers);
  *picks = std::move(answers.draws);
  return status;
}

void StartSampleByAsking(GraphStore& store, BuilderWorkspaces* workspaces,
                         std::span<const SampleRequest> requests, CallContext& context,
                         std::span<Minibatch> minibatches, StatusDone done) {
  const auto sample = std::make_shared<StartedSample>(store, workspaces, requests, context,
                                                      minibatches, std::move(done));
  sample->GoOn(context.Check());
}

Status SampleByAsking(GraphStore& store, BuilderWorkspaces* workspaces,
                      std::span<const SampleRequest> requests, CallContext& context,
                      std::span<Minibatch> minibatches) {
  return StartAndWait<Status>(context, [&](CallContext& inner, StatusDone done) {
    StartSampleByAsking(store, workspaces, requests, inner, minibatches, std::move(done));
  });
}

}  // namespace halograph
