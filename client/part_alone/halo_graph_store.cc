// Draws in-edges of nodes outside a part, as far as its halo has them.
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "client/part_alone/part_alone.h"
#include "common/sampling/draws.h"
#include "common/sampling/request.h"

namespace halograph {
namespace {

// A group's draws out of the halo. They are those of the kernel for the same destinations: the keys
// and draws of the sampling contract, by the nodes' global ids. The memory is used again.
class HaloDraws {
 public:
  HaloDraws(const Halo& halo, const Schema& schema) : halo_(halo), schema_(schema) {}

  // `cut`: added to by the destinations that the halo does not know.
  Status Draw(const LayerGroup& group, NeighborPicks* picks, int64_t* cut) {
    *picks = {.offsets = {0}, .sources = {}};
    picks->offsets.reserve(group.destinations.size() + 1);
    const Halo::InEdges& edges = halo_.Edges(group.relation);
    const auto known = halo_.Destinations(schema_.DestinationType(group.relation));
    const uint64_t layer_key = LayerKey(group.batch_seed, group.layer,
                                        static_cast<int>(schema_.relations.size()), group.relation);
    for (const int64_t node : group.destinations) {
      const int64_t row = PositionOf(known, node);
      if (row < 0) {
        ++*cut;
      } else if (group.fanout != 0) {
        HG_RETURN_IF_ERROR(
            DrawRow(group, edges, row, SubKey(layer_key, static_cast<uint64_t>(node)), picks));
      }
      picks->offsets.push_back(picks->size());
    }
    return OkStatus();
  }

 private:
  Status DrawRow(const LayerGroup& group, const Halo::InEdges& edges, int64_t row,
                 uint64_t node_key, NeighborPicks* picks) {
    const auto at = static_cast<size_t>(row);
    const int64_t begin = edges.indptr[at], end = edges.indptr[at + 1];
    if (begin < 0 || end < begin || end > edges.indptr.back()) {
      return DataLoss(
          "halo of part {}, relation {}: damaged offsets; open it with --verify contents",
          halo_.manifest().part, schema_.relations[static_cast<size_t>(group.relation)].triple());
    }
    if (begin == end) return OkStatus();
    if (group.weight >= 0) {
      return FailedPrecondition(
          "sampling by weight ends at the part's border: a halo has no tables for it. Make halos "
          "of 1 hop, beyond which nothing is sampled, or leave out --sampling-weights");
    }
    const int64_t degree = end - begin;
    positions_.resize(static_cast<size_t>(PicksOf(degree, group.fanout, group.replace)));
    if (TakesAll(degree, group.fanout, group.replace)) {
      for (size_t i = 0; i < positions_.size(); ++i) positions_[i] = static_cast<int64_t>(i);
    } else if (group.replace) {
      DrawWithReplacement(node_key, degree, positions_);
    } else {
      floyd_.Draw(node_key, degree, positions_);
    }
    for (const int64_t position : positions_) {
      picks->sources.push_back(edges.Source(begin + position));
      if (group.edge_ids) picks->edge_ids.push_back(edges.first_edges[at] + position);
    }
    return OkStatus();
  }

  const Halo& halo_;
  const Schema& schema_;
  std::vector<int64_t> positions_;
  FloydDrawer floyd_;
};

class HaloGraphStore final : public GraphStore {
 public:
  explicit HaloGraphStore(std::shared_ptr<const PartAlone> part)
      : part_(std::move(part)), workspaces_(&part_->own->info.schema) {}

  const GraphInfo& info() const override { return part_->own->info; }

  Status Sample(std::span<const SampleRequest> requests, CallContext& context,
                std::span<Minibatch> minibatches) override {
    return SampleByLayers(*this, &workspaces_, requests, context, minibatches);
  }

  Status SampleLayer(std::span<const LayerGroup> groups, CallContext& context,
                     std::vector<NeighborPicks>* picks) override {
    HG_RETURN_IF_ERROR(context.Check());
    return CatchNoMemory(std::ssize(groups), "groups", [&]() -> Status {
      HaloDraws draws(*part_->halo, part_->own->info.schema);
      // Relations with one destination type ask for the same nodes, which count once.
      std::set<std::tuple<uint64_t, int, int>> counted;
      picks->resize(groups.size());
      for (size_t g = 0; g < groups.size(); ++g) {
        const LayerGroup& group = groups[g];
        int64_t cut = 0;
        HG_RETURN_IF_ERROR(draws.Draw(group, &(*picks)[g], &cut));
        if (cut == 0 || group.fanout == 0) continue;
        const int type = part_->own->info.schema.DestinationType(group.relation);
        if (counted.emplace(group.batch_seed, group.layer, type).second) {
          context.stats.cut_nodes += cut;
        }
      }
      return OkStatus();
    });
  }

 private:
  const std::shared_ptr<const PartAlone> part_;
  BuilderWorkspaces workspaces_;
};

}  // namespace

std::unique_ptr<GraphStore> MakeHaloGraphStore(std::shared_ptr<const PartAlone> part) {
  return std::make_unique<HaloGraphStore>(std::move(part));
}

}  // namespace halograph
