#include <algorithm>
#include <exception>
#include <utility>

#include "client/own_part/own_part_store.h"
#include "client/own_part/owned_split.h"

namespace halograph {
namespace {

// The layers of one minibatch.
class OwnPartSource final : public NeighborSource {
 public:
  OwnPartSource(const MappedGraph& own, LayeredGraphStore& rest, CallStats* stats)
      : own_(own),
        targets_(OwnTargets(*own.parts)),
        own_source_(&own.parts->topology(), own.pool.get()),
        rest_source_(rest.NewSource([this] { SampleOwn(); }, stats)) {}

  Status SampleLayer(std::span<const LayerGroup> groups,
                     std::vector<NeighborPicks>* picks) override {
    Split(groups);
    sample_own_ = [&, this] { return own_source_.SampleLayer(own_groups_, &own_picks_); };
    own_status_ = OkStatus();
    own_failure_ = nullptr;
    HG_RETURN_IF_ERROR(rest_source_->SampleLayer(rest_groups_, &rest_picks_));
    if (own_failure_ != nullptr) std::rethrow_exception(own_failure_);
    HG_RETURN_IF_ERROR(own_status_);
    picks->resize(groups.size());
    for (size_t g = 0; g < groups.size(); ++g) Merge(g, &(*picks)[g]);
    return OkStatus();
  }

 private:
  void Split(std::span<const LayerGroup> groups) {
    splits_.resize(groups.size());
    own_groups_.assign(groups.begin(), groups.end());
    rest_groups_.assign(groups.begin(), groups.end());
    for (size_t g = 0; g < groups.size(); ++g) {
      const int type = own_.info.schema.DestinationType(groups[g].relation);
      (void)splits_[g].Split(own_.info.book.NodeBoundaries(type), targets_, 2,
                             groups[g].destinations);  // every part has a target
      own_groups_[g].destinations = splits_[g].share(kOwn).ids;
      rest_groups_[g].destinations = splits_[g].share(kRest).ids;
    }
  }

  // While calls of the rest are under way: what it throws waits until they have ended.
  void SampleOwn() {
    try {
      own_status_ = sample_own_();
    } catch (...) {
      own_failure_ = std::current_exception();
    }
  }

  // Counts, prefix sum, then both halves to their places in the caller's order.
  void Merge(size_t g, NeighborPicks* picks) {
    const IdShare& own = splits_[g].share(kOwn);
    const IdShare& rest = splits_[g].share(kRest);
    if (rest.ids.empty()) return std::swap(*picks, own_picks_[g]);
    if (own.ids.empty()) return std::swap(*picks, rest_picks_[g]);
    const std::pair<const IdShare&, const NeighborPicks&> halves[] = {{own, own_picks_[g]},
                                                                      {rest, rest_picks_[g]}};
    picks->offsets.assign(own.ids.size() + rest.ids.size() + 1, 0);
    for (const auto& [share, drawn] : halves) {
      for (size_t i = 0; i < share.positions.size(); ++i) {
        picks->offsets[share.positions[i] + 1] = drawn.offsets[i + 1] - drawn.offsets[i];
      }
    }
    for (size_t i = 1; i < picks->offsets.size(); ++i) picks->offsets[i] += picks->offsets[i - 1];
    picks->sources.resize(static_cast<size_t>(picks->offsets.back()));
    for (const auto& [share, drawn] : halves) {
      for (size_t i = 0; i < share.positions.size(); ++i) {
        std::copy(drawn.sources.begin() + drawn.offsets[i],
                  drawn.sources.begin() + drawn.offsets[i + 1],
                  picks->sources.begin() + picks->offsets[share.positions[i]]);
      }
    }
  }

  const MappedGraph& own_;
  const std::vector<int> targets_;  // per part
  LocalNeighborSource own_source_;
  // Of the layer being sampled; memory is reused over layers.
  std::vector<OwnerSplit> splits_;  // per group
  std::vector<LayerGroup> own_groups_;
  std::vector<LayerGroup> rest_groups_;
  std::vector<NeighborPicks> own_picks_;
  std::vector<NeighborPicks> rest_picks_;
  std::function<Status()> sample_own_;
  Status own_status_;
  std::exception_ptr own_failure_;
  std::unique_ptr<NeighborSource> rest_source_;
};

class OwnPartGraphStore final : public GraphStore {
 public:
  OwnPartGraphStore(std::shared_ptr<const MappedGraph> own, std::unique_ptr<LayeredGraphStore> rest)
      : own_(std::move(own)), rest_(std::move(rest)), workspaces_(&own_->info.schema) {}

  const GraphInfo& info() const override { return rest_->info(); }

  StatusOr<Minibatch> Sample(const SampleRequest& request, CallStats* stats) override {
    OwnPartSource source(*own_, *rest_, stats);
    Minibatch minibatch;
    HG_RETURN_IF_ERROR(
        BuildMinibatches(own_->info.schema, {&request, 1}, source, &workspaces_, {&minibatch, 1}));
    return minibatch;
  }

  void Shutdown() override { rest_->Shutdown(); }

 private:
  const std::shared_ptr<const MappedGraph> own_;
  const std::unique_ptr<LayeredGraphStore> rest_;
  BuilderWorkspaces workspaces_;
};

}  // namespace

std::unique_ptr<GraphStore> MakeOwnPartGraphStore(std::shared_ptr<const MappedGraph> own,
                                                  std::unique_ptr<LayeredGraphStore> rest) {
  return std::make_unique<OwnPartGraphStore>(std::move(own), std::move(rest));
}

}  // namespace halograph
