// Draws in-edges of nodes outside a part, as far as its halo has them.
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "client/part_alone/halo_columns.h"
#include "client/part_alone/part_alone.h"
#include "common/base/rng.h"
#include "common/sampling/kernel/rows.h"
#include "common/sampling/pick_drawer.h"
#include "common/sampling/request.h"

namespace halograph {
namespace {

// The halo's in-edges as a topology whose destinations are numbered by their position among those
// that the halo knows.
Topology RowsOf(const Halo& halo, const Schema& schema) {
  Topology rows;
  for (int r = 0; r < static_cast<int>(schema.relations.size()); ++r) {
    const Halo::InEdges& edges = halo.Edges(r);
    const int64_t known = std::ssize(halo.Destinations(schema.DestinationType(r)));
    const CscSegment all = {.nodes = {0, known},
                            .indptr = edges.indptr.data(),
                            .indices32 = edges.indices32,
                            .indices64 = edges.indices64};
    rows.emplace_back(std::vector<int64_t>{0, known}, std::vector<CscSegment>{all});
  }
  return rows;
}

// What a group draws out of the halo: what the kernel draws for the same destinations, since keys
// are made of the nodes' global ids.
class HaloDraws {
 public:
  HaloDraws(const Halo& halo, const Schema& schema, const Topology& rows, const LayerGroup& group)
      : halo_(halo),
        group_(group),
        relation_(schema.relations[static_cast<size_t>(group.relation)]),
        rows_(rows[static_cast<size_t>(group.relation)]),
        edges_(halo.Edges(group.relation)),
        known_(halo.Destinations(schema.DestinationType(group.relation))),
        layer_key_(LayerKey(group.batch_seed, group.layer,
                            static_cast<int>(schema.relations.size()), group.relation)) {}

  // `cut`: the destinations that the halo does not know.
  Status Draw(NeighborPicks* picks, int64_t* cut) {
    *picks = {.offsets = {0}, .sources = {}};
    picks->offsets.reserve(group_.destinations.size() + 1);
    *cut = 0;
    for (const int64_t node : group_.destinations) {
      const int64_t row = PositionOf(known_, node);
      if (group_.degrees) picks->degrees.push_back(0);  // as the part alone has none of its edges
      if (row < 0) {
        ++*cut;
      } else if (!group_.nothing()) {
        HG_RETURN_IF_ERROR(DrawRow(node, row, picks));
      }
      picks->offsets.push_back(picks->size());
    }
    return OkStatus();
  }

 private:
  Status DrawRow(int64_t node, int64_t position, NeighborPicks* picks) {
    const PickRow row = FindPickRow(rows_, position);
    if (row.degree < 0) {
      return DataLoss(
          "halo of part {}, relation {}: damaged offsets; open it with --verify contents",
          halo_.manifest().part, relation_.triple());
    }
    if (group_.degrees) picks->degrees.back() = row.degree;
    if (row.degree == 0 || group_.rule.nothing()) return OkStatus();
    if (drawer_ == nullptr) HG_RETURN_IF_ERROR(Make());
    drawer_->Draw(SubKey(layer_key_, static_cast<uint64_t>(node)), row, &scratch_);
    const int64_t first_edge = edges_.first_edges[static_cast<size_t>(position)];
    for (const int64_t pick : scratch_.positions) {
      picks->sources.push_back(edges_.Source(row.begin + pick));
      if (group_.edge_ids) picks->edge_ids.push_back(first_edge + pick);
    }
    return OkStatus();
  }

  // Only once there is an edge to draw: halos of 1 hop have none.
  Status Make() {
    auto drawer = MakeDrawer(group_.rule, rows_, layer_key_);
    if (absl::IsFailedPrecondition(drawer.status())) {
      return FailedPrecondition(
          "sampling by weight ends at the part's border: a halo has no tables for it. Make halos "
          "of 1 hop, beyond which nothing is sampled, or leave out --sampling-weights");
    }
    HG_ASSIGN_OR_RETURN(drawer_, std::move(drawer));
    return OkStatus();
  }

  const Halo& halo_;
  const LayerGroup& group_;
  const Relation& relation_;
  const RelationTopology& rows_;
  const Halo::InEdges& edges_;
  const std::span<const int64_t> known_;
  const uint64_t layer_key_;
  std::shared_ptr<const PickDrawer> drawer_;
  PickScratch scratch_;
};

class HaloGraphStore final : public GraphStore {
 public:
  explicit HaloGraphStore(std::shared_ptr<const PartAlone> part)
      : part_(std::move(part)),
        rows_(RowsOf(*part_->halo, part_->own->info.schema)),
        workspaces_(&part_->own->info.schema, part_->own->info.book.num_parts(),
                    part_->own->info.clusters) {}

  const GraphInfo& info() const override { return part_->own->info; }

  Status Sample(std::span<const SampleRequest> requests, CallContext& context,
                std::span<Minibatch> minibatches) override {
    return SampleByAsking(*this, &workspaces_, requests, context, minibatches);
  }

  Status Ask(const TopologyQuestions& questions, CallContext& context,
             TopologyAnswers* answers) override {
    HG_RETURN_IF_ERROR(context.Check());
    return CatchNoMemory(static_cast<int64_t>(questions.size()), "groups", [&]() -> Status {
      HG_RETURN_IF_ERROR(Draw(questions.draws, context, &answers->draws));
      const HaloColumns columns(*part_->halo, part_->own->info.schema, rows_,
                                part_->own->columns.get());
      HG_RETURN_IF_ERROR(columns.Sum(questions.sums, &answers->sums, &context.stats.cut_nodes));
      return columns.Extract(questions.edges, &answers->edges);
    });
  }

 private:
  Status Draw(std::span<const LayerGroup> groups, CallContext& context,
              std::vector<NeighborPicks>* picks) const {
    const Schema& schema = part_->own->info.schema;
    // Relations with one destination type ask for the same nodes, which count once.
    std::set<std::tuple<uint64_t, int, int>> counted;
    picks->resize(groups.size());
    for (size_t g = 0; g < groups.size(); ++g) {
      const LayerGroup& group = groups[g];
      int64_t cut = 0;
      HaloDraws draws(*part_->halo, schema, rows_, group);
      HG_RETURN_IF_ERROR(draws.Draw(&(*picks)[g], &cut));
      if (cut == 0 || group.rule.nothing()) continue;
      const int type = schema.DestinationType(group.relation);
      if (counted.emplace(group.batch_seed, group.layer, type).second) {
        context.stats.cut_nodes += cut;
      }
    }
    return OkStatus();
  }

  const std::shared_ptr<const PartAlone> part_;
  const Topology rows_;
  BuilderWorkspaces workspaces_;
};

}  // namespace

std::unique_ptr<GraphStore> MakeHaloGraphStore(std::shared_ptr<const PartAlone> part) {
  return std::make_unique<HaloGraphStore>(std::move(part));
}

}  // namespace halograph
