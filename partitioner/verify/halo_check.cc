#include <cstring>
#include <memory>

#include "common/graph/halo.h"
#include "partitioner/halo/reach.h"
#include "partitioner/verify/checks.h"

namespace halograph {
namespace {

// One part's halo against the whole graph.
class HaloCheck {
 public:
  HaloCheck(const PartitionSet& graph, const Halo& halo, Findings* findings)
      : graph_(graph), schema_(graph.schema()), halo_(halo), findings_(*findings) {}

  void Nodes(const HaloReach& reach) {
    for (int t = 0; t < static_cast<int>(schema_.node_types.size()); ++t) {
      Ids(t, "nodes", reach.Nodes(t), halo_.Nodes(t));
      Ids(t, "destinations", reach.Destinations(t), halo_.Destinations(t));
      for (int f = 0; f < static_cast<int>(TypeOf(t).features.size()); ++f) Feature(t, f);
    }
    for (int r = 0; r < static_cast<int>(schema_.relations.size()); ++r) InEdges(r);
  }

 private:
  const NodeType& TypeOf(int type) const { return schema_.node_types[static_cast<size_t>(type)]; }
  int part() const { return halo_.manifest().part; }

  // Both ascend.
  void Ids(int type, const char* what, const NodeBits& expected, std::span<const int64_t> found) {
    size_t next = 0;
    const auto surplus = [&](int64_t id) {
      findings_.Add("halo of part {}, {} of type `{}`: {} is there, but not within its {} hops",
                    part(), what, TypeOf(type).name, id, halo_.manifest().hops);
    };
    expected.ForEach([&](int64_t id) {
      while (next < found.size() && found[next] < id) surplus(found[next++]);
      if (next < found.size() && found[next] == id) {
        ++next;
        return;
      }
      findings_.Add("halo of part {}, {} of type `{}`: {} is missing, though within its {} hops",
                    part(), what, TypeOf(type).name, id, halo_.manifest().hops);
    });
    while (next < found.size()) surplus(found[next++]);
  }

  void Feature(int type, int feature) {
    const NpyArray& rows = halo_.NodeFeature(type, feature);
    const std::span<const int64_t> ids = halo_.Nodes(type);
    const size_t row_bytes = rows.row_bytes();
    for (size_t i = 0; i < ids.size(); ++i) {
      const Partition& owner = *graph_.Find(graph_.book().NodeOwner(type, ids[i]));
      const int64_t row = ids[i] - graph_.book().NodeRange(type, owner.part()).begin;
      if (std::memcmp(
              rows.data().data() + i * row_bytes,
              owner.NodeFeature(type, feature).data().data() + static_cast<size_t>(row) * row_bytes,
              row_bytes) == 0) {
        continue;
      }
      findings_.Add("halo of part {}, feature `{}` of type `{}`: the row of {} is not its owner's",
                    part(), TypeOf(type).features[static_cast<size_t>(feature)].name,
                    TypeOf(type).name, ids[i]);
    }
    findings_.report().feature_rows += rows.rows();
  }

  void InEdges(int relation) {
    const Halo::InEdges& edges = halo_.Edges(relation);
    const std::span<const int64_t> ids = halo_.Destinations(schema_.DestinationType(relation));
    for (size_t i = 0; i < ids.size(); ++i) {
      const CscSegment& owner = graph_.topology()[static_cast<size_t>(relation)].Owner(ids[i]);
      const int64_t* const offsets = owner.indptr + (ids[i] - owner.nodes.begin);
      const int64_t degree = offsets[1] - offsets[0];
      bool same = edges.indptr[i + 1] - edges.indptr[i] == degree &&
                  edges.first_edges[i] == owner.first_edge + offsets[0];
      for (int64_t e = 0; same && e < degree; ++e) {
        same = edges.Source(edges.indptr[i] + e) == owner.Source(offsets[0] + e);
      }
      if (same) continue;
      findings_.Add("halo of part {}, relation `{}`: the in-edges of {} are not its owner's",
                    part(), schema_.relations[static_cast<size_t>(relation)].triple(), ids[i]);
    }
  }

  const PartitionSet& graph_;
  const Schema& schema_;
  const Halo& halo_;
  Findings& findings_;
};

}  // namespace

void VerifyHalos(const PartitionSet& graph, const std::filesystem::path& folder,
                 Findings* findings) {
  std::unique_ptr<HaloReach> reach;
  for (const auto& part : graph.parts()) {
    const std::filesystem::path of_part = folder / PartFolderName(part->part());
    if (!HasHalo(of_part)) continue;
    const auto halo = Halo::Open(of_part, *part, VerifyLevel::kContents);
    if (!halo.ok()) {
      findings->Add("halo of part {}: {}", part->part(), Message(halo.status()));
      continue;
    }
    if (reach == nullptr) reach = std::make_unique<HaloReach>(graph);
    reach->Compute(part->part(), (*halo)->manifest().hops);
    HaloCheck(graph, **halo, findings).Nodes(*reach);
  }
}

}  // namespace halograph
