#include "partitioner/plan/graph_sizes.h"

namespace halograph {
namespace {

int64_t RowBytes(const std::vector<InputTensor>& features) {
  int64_t bytes = 0;
  for (const InputTensor& feature : features) {
    bytes += static_cast<int64_t>(feature.spec.row_bytes());
  }
  return bytes;
}

}  // namespace

GraphSizes GraphSizes::Of(const Dataset& dataset) {
  GraphSizes sizes;
  sizes.counts = GraphCounts::Of(dataset);
  for (const InputNodeType& type : dataset.node_types) {
    sizes.node_row_bytes.push_back(RowBytes(type.features));
  }
  for (const InputRelation& relation : dataset.relations) {
    sizes.edge_row_bytes.push_back(RowBytes(relation.features));
  }
  for (const InputTask& task : dataset.tasks) {
    for (const InputTaskSet& set : task.sets) {
      for (const InputTensor& array : set.arrays) {
        sizes.task_bytes += array.array->rows() * static_cast<int64_t>(array.spec.row_bytes());
      }
    }
  }
  return sizes;
}

GraphSizes GraphSizes::Of(int64_t nodes, int64_t edges, int64_t feature_bytes) {
  GraphSizes sizes;
  sizes.counts.nodes = {nodes};
  sizes.counts.relations = {{.source_type = 0, .destination_type = 0, .edges = edges}};
  sizes.node_row_bytes = {feature_bytes};
  sizes.edge_row_bytes = {0};
  return sizes;
}

int64_t GraphSizes::node_feature_bytes() const {
  int64_t bytes = 0;
  for (size_t type = 0; type < counts.nodes.size(); ++type) {
    bytes += counts.nodes[type] * node_row_bytes[type];
  }
  return bytes;
}

int64_t GraphSizes::edge_feature_bytes() const {
  int64_t bytes = 0;
  for (size_t r = 0; r < counts.relations.size(); ++r) {
    bytes += counts.relations[r].edges * edge_row_bytes[r];
  }
  return bytes;
}

}  // namespace halograph
