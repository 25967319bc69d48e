#include "partitioner/halo/reach.h"

namespace halograph {

int64_t NodeBits::Count() const {
  int64_t count = 0;
  for (const uint64_t word : words_) count += std::popcount(word);
  return count;
}

HaloReach::HaloReach(const PartitionSet& graph) : graph_(graph) {
  for (const NodeType& type : graph.schema().node_types) {
    nodes_.emplace_back(type.count);
    destinations_.emplace_back(type.count);
    frontier_.emplace_back(type.count);
  }
}

int64_t HaloReach::Bytes(const std::vector<int64_t>& nodes_of_types) {
  int64_t bytes = 0;
  for (const int64_t nodes : nodes_of_types) bytes += 3 * (nodes / 8 + 8);
  return bytes;
}

void HaloReach::Compute(int part, int hops) {
  const int types = static_cast<int>(nodes_.size());
  for (int t = 0; t < types; ++t) {
    const auto type = static_cast<size_t>(t);
    nodes_[type].Clear();
    destinations_[type].Clear();
    for (const int64_t node : graph_.Find(part)->HaloIds(t)) nodes_[type].Set(node);
  }
  for (int hop = 2; hop <= hops; ++hop) {
    frontier_ = nodes_;
    for (int t = 0; t < types; ++t) {
      const auto type = static_cast<size_t>(t);
      frontier_[type].ForEach([&](int64_t node) {
        if (!destinations_[type].Has(node)) Expand(part, t, node);
      });
    }
    destinations_ = frontier_;
  }
}

void HaloReach::Expand(int part, int node_type, int64_t node) {
  const Schema& schema = graph_.schema();
  for (int r = 0; r < static_cast<int>(schema.relations.size()); ++r) {
    if (schema.DestinationType(r) != node_type) continue;
    const int source = schema.SourceType(r);
    const IdRange own = graph_.book().NodeRange(source, part);
    const CscSegment& segment = graph_.topology()[static_cast<size_t>(r)].Owner(node);
    const int64_t* const offsets = segment.indptr + (node - segment.nodes.begin);
    for (int64_t position = offsets[0]; position < offsets[1]; ++position) {
      const int64_t id = segment.Source(position);
      if (!own.contains(id)) nodes_[static_cast<size_t>(source)].Set(id);
    }
  }
}

}  // namespace halograph
