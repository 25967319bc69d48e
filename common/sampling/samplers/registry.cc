#include "common/sampling/samplers/registry.h"

#include <algorithm>
#include <cassert>
#include <string>

namespace halograph {
namespace {

constexpr std::string_view kOfNeighbor[] = {"fanouts"};
constexpr std::string_view kOfLabor[] = {"fanouts", "labor-shared"};
constexpr std::string_view kOfLadies[] = {"layer-nodes", "layer-probability", "layer-estimate"};
constexpr std::string_view kOfFastGcn[] = {"layer-nodes", "layer-estimate"};

constexpr std::string_view kOfCluster[] = {"clusters-per-batch", "cluster-weights"};
constexpr std::string_view kOfSaintNode[] = {"saint-nodes"};
constexpr std::string_view kOfSaintEdge[] = {"saint-edges"};
constexpr std::string_view kOfSaintWalk[] = {"saint-roots", "walk-length", "saint-coverage"};

constexpr SamplerKind kKinds[] = {
    {"neighbor", "in-edges of each node by itself, --fanouts", DrawKind::kNeighbor, MakeNodeWise,
     kOfNeighbor},
    {"labor", "--fanouts in-edges on average, of sources that the nodes of a layer share",
     DrawKind::kLabor, MakeNodeWise, kOfLabor},
    {"ladies", "--layer-nodes sources for all nodes of a layer together, by their edges",
     DrawKind::kLadies, MakeLayerWise, kOfLadies},
    {"fastgcn", "the same of all nodes, by their out-degrees", DrawKind::kFastGcn, MakeLayerWise,
     kOfFastGcn},
    {"cluster", "--clusters-per-batch of the partitioner's clusters, whole", DrawKind::kCluster,
     MakeCluster, kOfCluster},
    {"saint-node", "the subgraph of --saint-nodes nodes, by degree", DrawKind::kSaintNode,
     MakeSaintNode, kOfSaintNode},
    {"saint-edge", "the subgraph of the ends of --saint-edges edges", DrawKind::kSaintEdge,
     MakeSaintEdge, kOfSaintEdge},
    {"saint-walk", "the subgraph of walks from --saint-roots nodes", DrawKind::kSaintWalk,
     MakeSaintWalk, kOfSaintWalk},
};

}  // namespace

std::span<const SamplerKind> SamplerKinds() { return kKinds; }

StatusOr<const SamplerKind*> FindSampler(std::string_view name) {
  std::string known;
  for (const SamplerKind& kind : kKinds) {
    if (kind.name == name) return &kind;
    known += (known.empty() ? "" : ", ") + std::string(kind.name);
  }
  return NotFound("sampler '{}' is unknown; there are: {}", name, known);
}

const SamplerKind& SamplerOf(DrawKind kind) {
  const auto* const found =
      std::find_if(std::begin(kKinds), std::end(kKinds),
                   [kind](const SamplerKind& sampler) { return sampler.kind == kind; });
  assert(found != std::end(kKinds));
  return *found;
}

}  // namespace halograph
