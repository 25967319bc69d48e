#include <memory>
#include <utility>

#include "client/own_part/own_part_store.h"
#include "client/own_part/own_parts.h"
#include "common/base/idle_pool.h"
#include "common/graph/owner_split.h"
#include "common/sampling/kernel/add_column_sums.h"
#include "common/sampling/merge_edges.h"
#include "common/sampling/merge_picks.h"
#include "common/sampling/request.h"

namespace halograph {
namespace {

// Questions, split by who has their destinations' edges.
struct SplitQuestions {
  std::vector<OwnerSplit> draws, sums, edges;  // per group
  TopologyQuestions own, rest;
  TopologyAnswers own_answers, rest_answers;
  CallContext rest_context;
};

class OwnPartGraphStore final : public GraphStore {
 public:
  OwnPartGraphStore(std::shared_ptr<const MappedGraph> own, std::shared_ptr<GraphStore> rest)
      : own_(std::move(own)),
        rest_(std::move(rest)),
        targets_(OwnTargets(*own_->parts)),
        workspaces_(&own_->info.schema, own_->info.book.num_parts(), rest_->info().clusters) {}

  const GraphInfo& info() const override { return rest_->info(); }

  Status Sample(std::span<const SampleRequest> requests, CallContext& context,
                std::span<Minibatch> minibatches) override {
    return SampleByAsking(*this, &workspaces_, requests, context, minibatches);
  }

  void StartSample(std::span<const SampleRequest> requests, CallContext& context,
                   std::span<Minibatch> minibatches, StatusDone done) override {
    StartSampleByAsking(*this, &workspaces_, requests, context, minibatches, std::move(done));
  }

  Status Ask(const TopologyQuestions& questions, CallContext& context,
             TopologyAnswers* answers) override {
    return StartAndWait<Status>(context, [&](CallContext& inner, StatusDone done) {
      StartAsk(questions, inner, answers, std::move(done));
    });
  }

  // The calls of the rest are under way while own edges are read.
  void StartAsk(const TopologyQuestions& questions, CallContext& context, TopologyAnswers* answers,
                StatusDone done) override {
    const std::shared_ptr<SplitQuestions> split = idle_.Take();
    const auto caught = [size = questions.size()](const std::function<Status()>& work) {
      return CatchNoMemory(static_cast<int64_t>(size), "groups", work);
    };
    const Status made = caught([&] {
      HG_RETURN_IF_ERROR(context.Check());
      return Split(questions, split.get());
    });
    split->rest_context = InnerContext(context);
    const StatusDone give = [this, split, done = std::move(done)](Status status) {
      split->rest_context.post = nullptr;  // it is its caller's
      idle_.Give(split);                   // first: `done` may end the store
      done(std::move(status));
    };
    if (!made.ok()) return give(made);
    const auto halves = std::make_shared<TwoHalves>([=, this, &context, &questions](Status status) {
      context.stats += split->rest_context.stats;
      give(!status.ok() ? std::move(status)
                        : caught([&] { return Merge(questions, split.get(), answers); }));
    });
    rest_->StartAsk(split->rest, split->rest_context, &split->rest_answers,
                    [halves](Status status) { halves->EndRest(std::move(status)); });
    halves->DoOwn([&] {
      // Looked at again: to ask the rest takes a while.
      HG_RETURN_IF_ERROR(context.Check());
      return AskMapped(*own_, split->own, context.limits(), &split->own_answers);
    });
  }

 private:
  Status Split(const TopologyQuestions& questions, SplitQuestions* split) const {
    HG_RETURN_IF_ERROR(
        SplitGroups(questions.draws, &split->draws, &split->own.draws, &split->rest.draws));
    HG_RETURN_IF_ERROR(
        SplitGroups(questions.sums, &split->sums, &split->own.sums, &split->rest.sums));
    SplitPages(&split->own.sums, &split->rest.sums);
    return SplitGroups(questions.edges, &split->edges, &split->own.edges, &split->rest.edges);
  }

  // A page is asked of whoever has its part.
  void SplitPages(std::vector<ColumnGroup>* own, std::vector<ColumnGroup>* rest) const {
    for (size_t g = 0; g < own->size(); ++g) {
      if (!(*own)[g].page.has_value()) continue;
      const bool is_own = targets_[static_cast<size_t>((*own)[g].page->part)] == kOwn;
      (is_own ? *rest : *own)[g].page.reset();
    }
  }

  template <typename Group>
  Status SplitGroups(const std::vector<Group>& groups, std::vector<OwnerSplit>* splits,
                     std::vector<Group>* own, std::vector<Group>* rest) const {
    splits->resize(groups.size());
    own->assign(groups.begin(), groups.end());
    rest->assign(groups.begin(), groups.end());
    for (size_t g = 0; g < groups.size(); ++g) {
      const int type = own_->info.schema.DestinationType(groups[g].relation);
      OwnerSplit& split = (*splits)[g];
      const int without = split.Split(own_->info.book.NodeBoundaries(type), targets_, kOwnOrRest,
                                      groups[g].destinations);
      if (without >= 0) return Internal("partition {} is neither here nor elsewhere", without);
      (*own)[g].destinations = split.share(kOwn).ids;
      (*rest)[g].destinations = split.share(kRest).ids;
    }
    return OkStatus();
  }

  Status Merge(const TopologyQuestions& questions, SplitQuestions* split,
               TopologyAnswers* answers) const {
    answers->draws.resize(questions.draws.size());
    for (size_t g = 0; g < questions.draws.size(); ++g) {
      MergeDraws(split->draws[g], &split->own_answers.draws[g], &split->rest_answers.draws[g],
                 &answers->draws[g]);
    }
    answers->sums.resize(questions.sums.size());
    for (size_t g = 0; g < questions.sums.size(); ++g) {
      HG_RETURN_IF_ERROR(MergeSums(questions.sums[g].relation, split->own_answers.sums[g],
                                   split->rest_answers.sums[g], &answers->sums[g]));
    }
    answers->edges.resize(questions.edges.size());
    for (size_t g = 0; g < questions.edges.size(); ++g) {
      const OwnerSplit& by = split->edges[g];
      const EdgesShare shares[] = {
          ShareOf(by.share(kOwn).positions, split->own_answers.edges[g]),
          ShareOf(by.share(kRest).positions, split->rest_answers.edges[g])};
      MergeEdges(questions.edges[g].destinations.size(), shares, &answers->edges[g]);
    }
    return OkStatus();
  }

  static void MergeDraws(const OwnerSplit& split, NeighborPicks* own_picks,
                         NeighborPicks* rest_picks, NeighborPicks* picks) {
    const IdShare& own = split.share(kOwn);
    const IdShare& rest = split.share(kRest);
    if (rest.ids.empty()) return std::swap(*picks, *own_picks);
    if (own.ids.empty()) return std::swap(*picks, *rest_picks);
    const PicksShare shares[] = {ShareOf(own.positions, *own_picks),
                                 ShareOf(rest.positions, *rest_picks)};
    MergePicks(own.ids.size() + rest.ids.size(), shares, picks);
  }

  Status MergeSums(int relation, const ColumnSums& own, const ColumnSums& rest,
                   ColumnSums* sums) const {
    const Schema& schema = own_->info.schema;
    const ColumnSumsView views[] = {{own.sources, own.sums}, {rest.sources, rest.sums}};
    return AddColumnSums(schema.relations[static_cast<size_t>(relation)].triple(),
                         schema.node_types[schema.SourceType(relation)].count, views, sums);
  }

  const std::shared_ptr<const MappedGraph> own_;
  const std::shared_ptr<GraphStore> rest_;
  const std::vector<int> targets_;  // per part
  BuilderWorkspaces workspaces_;
  IdlePool<SplitQuestions> idle_;
};

}  // namespace

std::unique_ptr<GraphStore> MakeOwnPartGraphStore(std::shared_ptr<const MappedGraph> own,
                                                  std::shared_ptr<GraphStore> rest) {
  return std::make_unique<OwnPartGraphStore>(std::move(own), std::move(rest));
}

}  // namespace halograph
