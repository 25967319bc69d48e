#include "partitioner/methods/metis/metis_call.h"

#include "common/base/log.h"
#include "common/base/rng.h"
#include "common/base/units.h"
#include "partitioner/methods/metis/rebalance.h"
#include "partitioner/methods/random_method.h"

namespace halograph {

int64_t InputBytes(const FoldedGraph& graph, const VertexWeights& weights) {
  const auto entries =
      static_cast<int64_t>(graph.xadj.size() + graph.weights.size() + weights.values.size());
  return static_cast<int64_t>(sizeof(int32_t)) * (graph.num_arcs() + entries);
}

namespace {

constexpr int kRebalanceRounds = 30;

int64_t Cut(const FoldedGraph& graph, const std::vector<int32_t>& owners) {
  int64_t cut = 0;
  for (size_t v = 0; v < owners.size(); ++v) {
    for (auto i = static_cast<size_t>(graph.xadj[v]); i < static_cast<size_t>(graph.xadj[v + 1]);
         ++i) {
      if (owners[graph.neighbours.data()[i]] == owners[v]) continue;
      cut += graph.weights.empty() ? 1 : graph.weights[i];
    }
  }
  return cut / 2;
}

}  // namespace

StatusOr<MetisAttempt> AttemptMetis(const FoldedGraph& graph, const VertexWeights& weights,
                                    int parts, uint64_t seed, const MetisImbalance& aims,
                                    int64_t room) {
  MetisAttempt result;
  const bool enough = graph.num_nodes() >= kMetisNodesPerPart * parts;
  result.dealt = graph.num_arcs() > 0 && !enough;
  if (graph.num_arcs() > 0 && enough) {
    HG_ASSIGN_OR_RETURN(result.owners, CallMetis(graph, weights, parts, seed, aims, room));
  } else {
    const std::vector<uint16_t> dealt = DealOwners(graph.num_nodes(), parts, Mix(seed));
    result.owners.assign(dealt.begin(), dealt.end());
  }
  PartLoads loads(weights, result.owners, parts);
  result.moves = Rebalance(graph, weights, parts, kRebalanceRounds, &result.owners, &loads);
  result.excess = loads.Excess();
  result.balance = loads.Balance();
  result.cut = Cut(graph, result.owners);
  return result;
}

void WarnOfDealtOwners(std::string_view method, int64_t count, std::string_view what, int parts) {
  const int64_t most = count / kMetisNodesPerPart;
  spdlog::warn(
      "{}: {} {} for {} partitions are fewer than {} each, too few for METIS: their owners are "
      "random, which cuts many edges; {}",
      method, FormatCount(count), what, parts, kMetisNodesPerPart,
      most < 2 ? "a graph as small as this is best left in one partition"
               : fmt::format("give at most {} partitions", most));
}

}  // namespace halograph
