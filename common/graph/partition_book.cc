#include "common/graph/partition_book.h"

#include <algorithm>
#include <cassert>

#include <fmt/format.h>

namespace halograph {
namespace {

Status CheckBoundaries(std::span<const int64_t> boundaries, size_t expected, int64_t count,
                       std::string_view what) {
  if (boundaries.size() != expected || boundaries.size() < 2) {
    return InvalidArgument("{}: {} boundaries, expected one more than parts ({})", what,
                           boundaries.size(), std::max<size_t>(expected, 2));
  }
  if (boundaries.front() != 0) {
    return InvalidArgument("{}: boundaries start at {}, expected 0", what, boundaries.front());
  }
  for (size_t p = 1; p < boundaries.size(); ++p) {
    if (boundaries[p] < boundaries[p - 1]) {
      return InvalidArgument("{}: boundary {} is {}, below the one before ({})", what, p,
                             boundaries[p], boundaries[p - 1]);
    }
  }
  if (boundaries.back() != count) {
    return InvalidArgument("{}: boundaries end at {}, expected the count {}", what,
                           boundaries.back(), count);
  }
  return OkStatus();
}

}  // namespace

StatusOr<PartitionBook> PartitionBook::Create(const Schema& schema,
                                              std::vector<std::vector<int64_t>> node_boundaries,
                                              std::vector<std::vector<int64_t>> edge_boundaries) {
  if (node_boundaries.empty() || node_boundaries.size() != schema.node_types.size() ||
      edge_boundaries.size() != schema.relations.size()) {
    return InvalidArgument(
        "partition book: boundaries of {} node types and {} relations, expected {} (at least 1) "
        "and {}",
        node_boundaries.size(), edge_boundaries.size(), schema.node_types.size(),
        schema.relations.size());
  }
  const size_t expected = node_boundaries[0].size();
  for (size_t t = 0; t < node_boundaries.size(); ++t) {
    HG_RETURN_IF_ERROR(
        CheckBoundaries(node_boundaries[t], expected, schema.node_types[t].count,
                        fmt::format("partition book: nodes '{}'", schema.node_types[t].name)));
  }
  for (size_t r = 0; r < edge_boundaries.size(); ++r) {
    HG_RETURN_IF_ERROR(
        CheckBoundaries(edge_boundaries[r], expected, schema.relations[r].count,
                        fmt::format("partition book: edges '{}'", schema.relations[r].triple())));
  }
  PartitionBook book;
  book.num_parts_ = static_cast<int>(expected) - 1;
  book.nodes_ = std::move(node_boundaries);
  book.edges_ = std::move(edge_boundaries);
  return book;
}

int PartitionBook::NodeOwner(int node_type, int64_t id) const {
  return FindRange(nodes_[node_type], id);
}
IdRange PartitionBook::NodeRange(int node_type, int part) const {
  return {nodes_[node_type][part], nodes_[node_type][part + 1]};
}
IdRange PartitionBook::EdgeRange(int relation, int part) const {
  return {edges_[relation][part], edges_[relation][part + 1]};
}
std::span<const int64_t> PartitionBook::NodeBoundaries(int node_type) const {
  return nodes_[node_type];
}
std::span<const int64_t> PartitionBook::EdgeBoundaries(int relation) const {
  return edges_[relation];
}

int PartOfRank(int rank, int num_parts, int world_size) {
  return static_cast<int>(static_cast<int64_t>(rank) * num_parts / world_size);
}

int FindRange(std::span<const int64_t> boundaries, int64_t id) {
  assert(id >= 0 && id < boundaries.back());
  const auto above = std::upper_bound(boundaries.begin(), boundaries.end(), id);
  return static_cast<int>(above - boundaries.begin()) - 1;
}

Json ToJson(const PartitionBook& book, const Schema& schema) {
  Json nodes = Json::object();
  for (size_t t = 0; t < schema.node_types.size(); ++t) {
    const auto boundaries = book.NodeBoundaries(static_cast<int>(t));
    nodes[schema.node_types[t].name] = std::vector<int64_t>(boundaries.begin(), boundaries.end());
  }
  Json edges = Json::object();
  for (size_t r = 0; r < schema.relations.size(); ++r) {
    const auto boundaries = book.EdgeBoundaries(static_cast<int>(r));
    edges[schema.relations[r].triple()] =
        std::vector<int64_t>(boundaries.begin(), boundaries.end());
  }
  return {{"nodes", nodes}, {"edges", edges}};
}

StatusOr<PartitionBook> PartitionBookFromJson(const Json& value, const Schema& schema,
                                              std::string_view where) {
  HG_ASSIGN_OR_RETURN(const Json nodes, GetObject(value, "nodes", where));
  HG_ASSIGN_OR_RETURN(const Json edges, GetObject(value, "edges", where));
  std::vector<std::vector<int64_t>> node_boundaries;
  for (const NodeType& type : schema.node_types) {
    HG_ASSIGN_OR_RETURN(std::vector<int64_t> boundaries,
                        GetInts(nodes, type.name, fmt::format("{}: nodes", where)));
    node_boundaries.push_back(std::move(boundaries));
  }
  std::vector<std::vector<int64_t>> edge_boundaries;
  for (const Relation& relation : schema.relations) {
    HG_ASSIGN_OR_RETURN(std::vector<int64_t> boundaries,
                        GetInts(edges, relation.triple(), fmt::format("{}: edges", where)));
    edge_boundaries.push_back(std::move(boundaries));
  }
  auto book = PartitionBook::Create(schema, std::move(node_boundaries), std::move(edge_boundaries));
  if (!book.ok()) return DataLoss("{}: {}", where, Message(book.status()));
  return book;
}

}  // namespace halograph
