#include "partitioner/stream/graph_counts.h"

#include <numeric>

namespace halograph {

GraphCounts GraphCounts::Of(const Dataset& dataset) {
  GraphCounts counts;
  for (const InputNodeType& type : dataset.node_types) counts.nodes.push_back(type.count);
  for (const InputRelation& relation : dataset.relations) {
    counts.relations.push_back({.source_type = dataset.NodeTypeIndex(relation.source),
                                .destination_type = dataset.NodeTypeIndex(relation.destination),
                                .edges = relation.edges->max_edges()});
  }
  for (const InputTask& task : dataset.tasks) {
    for (const InputTaskSet& set : task.sets) {
      counts.train |= set.set == "train";
      counts.valid |= set.set == "valid";
      counts.test |= set.set == "test";
    }
  }
  return counts;
}

int64_t GraphCounts::num_nodes() const {
  return std::accumulate(nodes.begin(), nodes.end(), int64_t{0});
}

int64_t GraphCounts::num_edges() const {
  int64_t edges = 0;
  for (const RelationCounts& relation : relations) edges += relation.edges;
  return edges;
}

}  // namespace halograph
