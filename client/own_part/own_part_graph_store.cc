#include <memory>
#include <utility>

#include "client/own_part/own_part_store.h"
#include "client/own_part/own_parts.h"
#include "common/base/mutex.h"
#include "common/graph/owner_split.h"
#include "common/sampling/merge_picks.h"
#include "common/sampling/request.h"

namespace halograph {
namespace {

// One layer, split by who has its destinations' edges.
struct SplitLayer {
  std::vector<OwnerSplit> splits;  // per group
  std::vector<LayerGroup> own_groups;
  std::vector<LayerGroup> rest_groups;
  std::vector<NeighborPicks> own_picks;
  std::vector<NeighborPicks> rest_picks;
  CallContext rest_context;
};

// Layers that no call uses now, for the next ones to use their memory. As many as calls were under
// way at once. Thread-safe.
class IdleLayers {
 public:
  [[nodiscard]] std::shared_ptr<SplitLayer> Take() {
    const MutexLock lock(mutex_);
    if (idle_.empty()) return std::make_shared<SplitLayer>();
    std::shared_ptr<SplitLayer> layer = std::move(idle_.back());
    idle_.pop_back();
    return layer;
  }
  void Give(std::shared_ptr<SplitLayer> layer) {
    const MutexLock lock(mutex_);
    idle_.push_back(std::move(layer));
  }

 private:
  Mutex mutex_;
  std::vector<std::shared_ptr<SplitLayer>> idle_ HG_GUARDED_BY(mutex_);
};

class OwnPartGraphStore final : public GraphStore {
 public:
  OwnPartGraphStore(std::shared_ptr<const MappedGraph> own, std::shared_ptr<GraphStore> rest)
      : own_(std::move(own)),
        rest_(std::move(rest)),
        targets_(OwnTargets(*own_->parts)),
        workspaces_(&own_->info.schema) {}

  const GraphInfo& info() const override { return rest_->info(); }

  Status Sample(std::span<const SampleRequest> requests, CallContext& context,
                std::span<Minibatch> minibatches) override {
    return SampleByLayers(*this, &workspaces_, requests, context, minibatches);
  }

  void StartSample(std::span<const SampleRequest> requests, CallContext& context,
                   std::span<Minibatch> minibatches, StatusDone done) override {
    StartSampleByLayers(*this, &workspaces_, requests, context, minibatches, std::move(done));
  }

  Status SampleLayer(std::span<const LayerGroup> groups, CallContext& context,
                     std::vector<NeighborPicks>* picks) override {
    return StartAndWait<Status>(context, [&](CallContext& inner, StatusDone done) {
      StartLayer(groups, inner, picks, std::move(done));
    });
  }

  // The calls of the rest are under way while own edges are drawn.
  void StartLayer(std::span<const LayerGroup> groups, CallContext& context,
                  std::vector<NeighborPicks>* picks, StatusDone done) override {
    const std::shared_ptr<SplitLayer> layer = idle_.Take();
    const auto caught = [groups](const std::function<Status()>& work) {
      return CatchNoMemory(std::ssize(groups), "groups", work);
    };
    const Status split = caught([&] {
      HG_RETURN_IF_ERROR(context.Check());
      return Split(groups, layer.get());
    });
    layer->rest_context = InnerContext(context);
    const StatusDone give = [this, layer, done = std::move(done)](Status status) {
      layer->rest_context.post = nullptr;  // it is its caller's
      idle_.Give(layer);
      done(std::move(status));
    };
    if (!split.ok()) return give(split);
    const auto halves = std::make_shared<TwoHalves>([=, &context](Status status) {
      context.stats += layer->rest_context.stats;
      give(!status.ok() ? std::move(status) : caught([&] {
        picks->resize(groups.size());
        for (size_t g = 0; g < groups.size(); ++g) Merge(g, layer.get(), &(*picks)[g]);
        return OkStatus();
      }));
    });
    rest_->StartLayer(layer->rest_groups, layer->rest_context, &layer->rest_picks,
                      [halves](Status status) { halves->EndRest(std::move(status)); });
    halves->DoOwn([&] {
      // Looked at again: to ask the rest takes a while.
      HG_RETURN_IF_ERROR(context.Check());
      return caught([&] {
        return LocalNeighborSource(&own_->parts->topology(), own_->pool.get())
            .SampleLayer(layer->own_groups, &layer->own_picks);
      });
    });
  }

 private:
  Status Split(std::span<const LayerGroup> groups, SplitLayer* layer) const {
    layer->splits.resize(groups.size());
    layer->own_groups.assign(groups.begin(), groups.end());
    layer->rest_groups.assign(groups.begin(), groups.end());
    for (size_t g = 0; g < groups.size(); ++g) {
      const int type = own_->info.schema.DestinationType(groups[g].relation);
      OwnerSplit& split = layer->splits[g];
      const int without = split.Split(own_->info.book.NodeBoundaries(type), targets_, kOwnOrRest,
                                      groups[g].destinations);
      if (without >= 0) return Internal("partition {} is neither here nor elsewhere", without);
      layer->own_groups[g].destinations = split.share(kOwn).ids;
      layer->rest_groups[g].destinations = split.share(kRest).ids;
    }
    return OkStatus();
  }

  static void Merge(size_t g, SplitLayer* layer, NeighborPicks* picks) {
    const IdShare& own = layer->splits[g].share(kOwn);
    const IdShare& rest = layer->splits[g].share(kRest);
    if (rest.ids.empty()) return std::swap(*picks, layer->own_picks[g]);
    if (own.ids.empty()) return std::swap(*picks, layer->rest_picks[g]);
    const PicksShare shares[] = {ShareOf(own.positions, layer->own_picks[g]),
                                 ShareOf(rest.positions, layer->rest_picks[g])};
    MergePicks(own.ids.size() + rest.ids.size(), shares, picks);
  }

  const std::shared_ptr<const MappedGraph> own_;
  const std::shared_ptr<GraphStore> rest_;
  const std::vector<int> targets_;  // per part
  BuilderWorkspaces workspaces_;
  IdleLayers idle_;
};

}  // namespace

std::unique_ptr<GraphStore> MakeOwnPartGraphStore(std::shared_ptr<const MappedGraph> own,
                                                  std::shared_ptr<GraphStore> rest) {
  return std::make_unique<OwnPartGraphStore>(std::move(own), std::move(rest));
}

}  // namespace halograph
