#include "trainer/options/subgraph_options.h"

#include <algorithm>
#include <cmath>

#include "common/sampling/samplers/registry.h"
#include "trainer/options/option_marks.h"

namespace halograph {
namespace {

void AddDraws(OptionTable& rows, const char* name, int32_t* draws, const char* help) {
  rows.Add(name, draws, help)
      .Range(0, kMaxFanout)
      .DefaultText("--batch-size")
      .AllRanks()
      .Mark(kOfNeighbors | kOfTraining);
}

int32_t DrawsOf(int32_t asked, int64_t batch_size) {
  return asked > 0 ? asked : static_cast<int32_t>(std::min<int64_t>(batch_size, kMaxFanout));
}

Status CheckOneRelation(DrawKind kind, const Schema& schema) {
  if (schema.node_types.size() == 1 && schema.relations.size() == 1) return OkStatus();
  return InvalidArgument(
      "--sampler {} draws subgraphs of one node type and one relation, and this graph has {} and "
      "{}; give --sampler neighbor, labor or ladies",
      SamplerOf(kind).name, schema.node_types.size(), schema.relations.size());
}

}  // namespace

void AddSubgraphRows(OptionTable& rows, SubgraphOptions* o) {
  AddDraws(rows, "saint-nodes", &o->saint_nodes,
           "nodes that saint-node draws for a subgraph, by degree, some more than once");
  AddDraws(rows, "saint-edges", &o->saint_edges,
           "edges that saint-edge draws for a subgraph, which has their ends");
  AddDraws(rows, "saint-roots", &o->saint_roots,
           "nodes at which saint-walk begins the walks of a subgraph");
  rows.Add("walk-length", &o->walk_length, "steps of each walk of saint-walk")
      .Range(1, kMaxWalkLength)
      .AllRanks()
      .Mark(kOfNeighbors | kOfTraining);
  rows.Add(
          "saint-coverage", &o->saint_coverage,
          "how many subgraphs with it a node has on average, of those that saint-walk draws before "
          "the first step to find the chances of nodes and edges; of small graphs these are exact, "
          "and nothing is drawn")
      .Range(1, 1 << 20)
      .AllRanks()
      .Mark(kOfNeighbors | kOfTraining);
  rows.Add("clusters-per-batch", &o->clusters_per_batch,
           "clusters of the partition folder that a minibatch has, drawn without replacement")
      .Range(0, kMaxFanout)
      .DefaultText("so many that --batch-size training nodes are in them")
      .AllRanks()
      .Mark(kOfNeighbors | kOfTraining);
  rows.Add("cluster-weights", &o->cluster_weights,
           "edges between clusters count for those whose other cluster is not in the minibatch, "
           "which makes sums unbiased")
      .AllRanks()
      .Mark(kOfNeighbors | kOfTraining);
}

int64_t ClustersOfBatch(const SubgraphOptions& options, const SubgraphPlace& place) {
  const int64_t most = std::clamp<int64_t>(place.clusters, 1, kMaxFanout);
  if (options.clusters_per_batch > 0) {
    return std::min<int64_t>(options.clusters_per_batch, most);
  }
  const double share = static_cast<double>(place.batch_size) /
                       static_cast<double>(std::max<int64_t>(place.training_rows, 1));
  const double clusters = std::round(share * static_cast<double>(place.clusters));
  const int64_t least = options.cluster_weights ? 2 : 1;
  return std::min(std::max(static_cast<int64_t>(std::min(clusters, 1e9)), least), most);
}

Status CheckClusters(const SubgraphOptions& options, const SubgraphPlace& place) {
  if (place.clusters == 0) {
    return FailedPrecondition(
        "--sampler cluster: the partition folder has no clusters; make them with "
        "'halograph-partition run --batch-clusters N', or give another --sampler");
  }
  const bool one = ClustersOfBatch(options, place) == 1 && place.clusters > 1;
  if (!options.cluster_weights || !one) return OkStatus();
  return InvalidArgument(
      "--cluster-weights: a minibatch has one of {} clusters, and edges between clusters, which "
      "are to be weighed, are in none; give --clusters-per-batch 2 or more",
      place.clusters);
}

StatusOr<SamplingSpec> SubgraphSpec(const SubgraphOptions& options, DrawKind kind, int64_t layers,
                                    const SubgraphPlace& place) {
  HG_RETURN_IF_ERROR(CheckOneRelation(kind, place.schema));
  DrawRule rule{.kind = kind};
  switch (kind) {
    case DrawKind::kSaintNode:
      rule.fanout = DrawsOf(options.saint_nodes, place.batch_size);
      break;
    case DrawKind::kSaintEdge:
      rule.fanout = DrawsOf(options.saint_edges, place.batch_size);
      break;
    case DrawKind::kSaintWalk:
      rule.fanout = DrawsOf(options.saint_roots, place.batch_size);
      rule.walk_length = options.walk_length;
      break;
    default:
      rule.fanout = static_cast<int32_t>(ClustersOfBatch(options, place));
      rule.cluster_weights = options.cluster_weights;
  }
  SamplingSpec spec;
  spec.layers.assign(static_cast<size_t>(layers), {{0, rule}});
  return spec;
}

}  // namespace halograph
