#include "trainer/seeds/subgraph_seeds.h"

#include <algorithm>

namespace halograph {
namespace {

// Nodes whose degrees are asked for at once.
constexpr size_t kNodesAtOnce = size_t{1} << 16;

// Of unique nodes.
StatusOr<std::vector<int64_t>> DegreesOf(GraphStore& graph, int relation,
                                         std::span<const int64_t> nodes,
                                         const CancelToken* cancel) {
  std::vector<int64_t> degrees;
  degrees.reserve(nodes.size());
  std::vector<NeighborPicks> picks;
  for (size_t begin = 0; begin < nodes.size(); begin += kNodesAtOnce) {
    const LayerGroup group{
        .relation = relation,
        .rule = {.fanout = 0},
        .degrees = true,
        .destinations = nodes.subspan(begin, std::min(kNodesAtOnce, nodes.size() - begin))};
    CallContext context{.cancel = cancel};
    HG_RETURN_IF_ERROR(AskForDraws(graph, {&group, 1}, context, &picks));
    if (picks.size() != 1 || picks[0].degrees.size() != group.destinations.size()) {
      return Internal("the store answered no degrees of relation {}", relation);
    }
    degrees.insert(degrees.end(), picks[0].degrees.begin(), picks[0].degrees.end());
  }
  return degrees;
}

}  // namespace

StatusOr<LabeledSeeds> RowsWithEdges(GraphStore& graph, int relation, LabeledSeeds rows,
                                     const CancelToken* cancel) {
  std::vector<int64_t> nodes = rows.seeds;
  nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
  HG_ASSIGN_OR_RETURN(const std::vector<int64_t> degrees,
                      DegreesOf(graph, relation, nodes, cancel));
  const size_t bytes = rows.labels.row_bytes();
  std::vector<std::byte>& labels = rows.labels.data;
  size_t kept = 0, node = 0;
  for (size_t row = 0; row < rows.seeds.size(); ++row) {
    while (nodes[node] != rows.seeds[row]) ++node;
    if (degrees[node] == 0) continue;
    rows.seeds[kept] = rows.seeds[row];
    std::copy_n(labels.begin() + static_cast<std::ptrdiff_t>(row * bytes), bytes,
                labels.begin() + static_cast<std::ptrdiff_t>(kept * bytes));
    ++kept;
  }
  rows.seeds.resize(kept);
  labels.resize(kept * bytes);
  return rows;
}

Status SubgraphSeeds::Collect(std::span<const int64_t> /*rows*/, uint64_t /*key*/,
                              StepSeeds* step) const {
  *step = {};
  return OkStatus();
}

FoundRows SubgraphSeeds::FindRows(const Minibatch& minibatch) const {
  FoundRows found{.type = type_,
                  .positions = {},
                  .labels = {.dtype = all_.labels.dtype, .dim = all_.labels.dim, .data = {}},
                  .weighed = !minibatch.node_weights.empty(),
                  .weights = {}};
  const std::vector<int64_t>& nodes = minibatch.nodes[static_cast<size_t>(type_)];
  const size_t bytes = all_.labels.row_bytes();
  for (size_t position = 0; position < nodes.size(); ++position) {
    const auto [first, last] =
        std::equal_range(all_.seeds.begin(), all_.seeds.end(), nodes[position]);
    const auto* const row = all_.labels.data.data() + (first - all_.seeds.begin()) * bytes;
    found.labels.data.insert(found.labels.data.end(), row, row + (last - first) * bytes);
    const auto rows = static_cast<size_t>(last - first);
    found.positions.insert(found.positions.end(), rows, static_cast<int32_t>(position));
    if (!found.weighed) continue;
    found.weights.insert(found.weights.end(), rows, minibatch.node_weights[position]);
  }
  return found;
}

}  // namespace halograph
