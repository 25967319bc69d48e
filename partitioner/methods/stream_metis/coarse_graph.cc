#include "partitioner/methods/stream_metis/coarse_graph.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

#include "common/base/rng.h"
#include "partitioner/methods/stream_metis/pair_sample.h"
#include "partitioner/stream/ahead.h"
#include "partitioner/stream/edge_pass.h"

namespace halograph {
namespace {

// Half of what METIS' sums hold, since it adds before it compares.
constexpr int64_t kMaxSum = kMetisLimit / 2;

// Pairs are gathered, asked for, then added.
constexpr size_t kBatch = 64;

class PairStream {
 public:
  PairStream(const uint32_t* cluster, PairSample* sample) : cluster_(cluster), sample_(sample) {}

  void Chunk(const UnionEdges& edges) {
    for (size_t i = 0; i < edges.sources.size(); ++i) {
      PrefetchEnds(edges, i + kFarAhead, cluster_);
      const uint32_t a = cluster_[edges.sources[i]];
      const uint32_t b = cluster_[edges.destinations[i]];
      if (a == b) continue;
      sample_->Prefetch(a, b);
      waiting_[count_++] = {a, b};
      if (count_ == kBatch) Flush();
    }
    Flush();
  }

 private:
  void Flush() {
    for (size_t i = 0; i < count_; ++i) sample_->Add(waiting_[i].first, waiting_[i].second);
    count_ = 0;
  }

  const uint32_t* cluster_;
  PairSample* sample_;
  std::array<std::pair<uint32_t, uint32_t>, kBatch> waiting_;
  size_t count_ = 0;
};

// Rounded up: no edge becomes nothing.
int64_t Divided(int64_t weight, int64_t divisor) { return (weight + divisor - 1) / divisor; }

int64_t EdgeDivisor(const PairSample& sample) {
  int64_t sum = 0;
  sample.ForEach([&](const PairSample::Pair& pair) { sum += 2 * int64_t{pair.weight}; });
  // Rounding up adds one a pair and direction at most.
  return 1 + sum / std::max<int64_t>(kMaxSum - 2 * sample.size(), 1);
}

// Ascending neighbours, so that the graph depends on the pairs alone, not on their order.
void SortNeighbours(FoldedGraph* graph) {
  std::vector<std::pair<uint32_t, int32_t>> list;
  for (int64_t v = 0; v < graph->num_nodes(); ++v) {
    const auto begin = static_cast<size_t>(graph->xadj[static_cast<size_t>(v)]);
    const auto end = static_cast<size_t>(graph->xadj[static_cast<size_t>(v) + 1]);
    list.clear();
    for (size_t i = begin; i < end; ++i) {
      list.emplace_back(graph->neighbours.data()[i], graph->weights[i]);
    }
    std::sort(list.begin(), list.end());
    for (size_t i = begin; i < end; ++i) {
      graph->neighbours.data()[i] = list[i - begin].first;
      graph->weights[i] = list[i - begin].second;
    }
  }
}

Status FillGraph(const PairSample& sample, int64_t clusters, FoldedGraph* graph) {
  graph->type_offsets = {0, clusters};
  graph->xadj.assign(static_cast<size_t>(clusters) + 1, 0);
  sample.ForEach([&](const PairSample::Pair& pair) {
    ++graph->xadj[pair.a + 1];
    ++graph->xadj[pair.b + 1];
  });
  std::partial_sum(graph->xadj.begin(), graph->xadj.end(), graph->xadj.begin());
  const auto arcs = static_cast<size_t>(graph->num_arcs());
  HG_RETURN_IF_ERROR(graph->neighbours.Allocate(arcs, "stream-metis: pairs of clusters"));
  graph->weights.resize(arcs);
  const int64_t divisor = EdgeDivisor(sample);
  // xadj[v] walks from the start of v's list to its end, which is the start of the next.
  const auto put = [&](uint32_t from, uint32_t to, int64_t weight) {
    const auto place = static_cast<size_t>(graph->xadj[from]++);
    graph->neighbours.data()[place] = to;
    graph->weights[place] = static_cast<int32_t>(weight);
  };
  sample.ForEach([&](const PairSample::Pair& pair) {
    const int64_t weight = Divided(pair.weight, divisor);
    put(pair.a, pair.b, weight);
    put(pair.b, pair.a, weight);
  });
  std::move_backward(graph->xadj.begin(), graph->xadj.end() - 1, graph->xadj.end());
  graph->xadj.front() = 0;
  SortNeighbours(graph);
  return OkStatus();
}

}  // namespace

StatusOr<CoarseGraph> BuildCoarseGraph(const Dataset& dataset, const Clusters& clusters,
                                       const NodeWeights& weights, int64_t edges, int64_t max_pairs,
                                       uint64_t seed) {
  CoarseGraph coarse;
  HG_ASSIGN_OR_RETURN(PairSample sample, PairSample::Make(max_pairs, Mix(seed)));
  PairStream stream(clusters.of.data(), &sample);
  HG_RETURN_IF_ERROR(RepeatUnionEdges(dataset, "coarse graph", edges, [&](const UnionEdges& chunk) {
    stream.Chunk(chunk);
    return OkStatus();
  }));
  coarse.share = sample.share();
  HG_RETURN_IF_ERROR(FillGraph(sample, clusters.count, &coarse.graph));
  coarse.graph.directed_edges = edges;
  std::vector<int32_t> row(weights.count());
  coarse.weights = SumOverClusters(weights.constraints(), kMaxSum, clusters.count,
                                   clusters.of.span(), [&](int64_t node) {
                                     weights.Row(node, row.data());
                                     return row.data();
                                   });
  return coarse;
}

}  // namespace halograph
