#include "partitioner/plan/graph_sizes.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "common/base/rng.h"
#include "common/base/stopwatch.h"
#include "partitioner/stream/union_nodes.h"

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

namespace {

// Pairs of nodes of which this many are watched, chosen by their hash, so that both directions of
// one are.
constexpr int64_t kWatchedPairs = 1 << 16;

class Reciprocity {
 public:
  explicit Reciprocity(int64_t edges)
      : divisor_(static_cast<uint64_t>(std::max<int64_t>(1, edges / kWatchedPairs))) {}

  void Add(int64_t u, int64_t v) {
    if (u == v) return;
    const auto low = static_cast<uint64_t>(std::min(u, v));
    const auto high = static_cast<uint64_t>(std::max(u, v));
    if (Mix(Mix(low) + high) % divisor_ != 0) return;
    Counts& counts = pairs_[{low, high}];
    ++(u < v ? counts.forward : counts.backward);
  }
  [[nodiscard]] double Share() const {
    int64_t both = 0, all = 0;
    for (const auto& [pair, counts] : pairs_) {
      all += counts.forward + counts.backward;
      both += 2 * std::min(counts.forward, counts.backward);
    }
    return all == 0 ? 0 : static_cast<double>(both) / static_cast<double>(all);
  }

 private:
  struct Counts {
    int64_t forward = 0, backward = 0;
  };
  const uint64_t divisor_;
  absl::flat_hash_map<std::pair<uint64_t, uint64_t>, Counts> pairs_;
};

}  // namespace

StatusOr<EdgeSample> SampleEdges(const Dataset& dataset, int64_t most_edges) {
  int64_t total = 0;
  for (const InputRelation& relation : dataset.relations) total += relation.edges->max_edges();
  const double share = std::min(
      1.0, static_cast<double>(most_edges) / static_cast<double>(std::max<int64_t>(total, 1)));
  const UnionNodes nodes(dataset);
  Reciprocity reciprocity(std::min(total, most_edges));
  EdgeSample sample;
  double seconds = 0;
  EdgeChunk chunk;
  for (const InputRelation& relation : dataset.relations) {
    const auto wanted =
        static_cast<int64_t>(share * static_cast<double>(relation.edges->max_edges()));
    const int64_t source_offset = nodes.offset(dataset.NodeTypeIndex(relation.source));
    const int64_t destination_offset = nodes.offset(dataset.NodeTypeIndex(relation.destination));
    HG_ASSIGN_OR_RETURN(const auto cursor, relation.edges->Open());
    for (int64_t read = 0; read < wanted;) {
      const Stopwatch watch;
      HG_ASSIGN_OR_RETURN(const bool more, cursor->Next(&chunk));
      seconds += watch.Seconds();
      if (!more) break;
      for (size_t i = 0; i < chunk.size(); ++i) {
        reciprocity.Add(chunk.sources[i] + source_offset,
                        chunk.destinations[i] + destination_offset);
      }
      read += static_cast<int64_t>(chunk.size());
      sample.edges += static_cast<int64_t>(chunk.size());
    }
  }
  if (sample.edges > 0) sample.read_ns = seconds * 1e9 / static_cast<double>(sample.edges);
  sample.reciprocity = reciprocity.Share();
  return sample;
}

}  // namespace halograph
