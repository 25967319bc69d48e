// What the steps of layer-wise sampling cost as sparse matrices, by SuiteSparse:GraphBLAS, beside
// our own kernels: column sums of k minibatches (P = Q A, stacked), and the edges between
// destinations and drawn nodes (extraction, by blocks). Both are checked to give the same before
// they are timed. Layers are those of LADIES: each begins with what the one before drew. One
// thread; rounds are interleaved; what counts is processor time, as medians over rounds.
#include <algorithm>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "client/local/mapped_graph.h"
#include "common/base/build_info.h"
#include "common/base/rng.h"
#include "common/program/program.h"
#include "common/sampling/kernel/column_sums.h"
#include "common/sampling/kernel/extract_edges.h"
#include "common/sampling/layer_wise_draw.h"
#include "common/sampling/request.h"
#include "tests/bench/cpu_model.h"
#include "tests/bench/measure.h"
#include "tests/bench/require.h"
#include "tests/support/graphblas/matrix_form.h"

namespace halograph {
namespace {

struct Options {
  std::string graph;
  int64_t batch = 512;
  int64_t nodes = 512;  // drawn a layer
  int layers = 2;
  std::vector<int32_t> stacked = {1, 16, 64};
  int rounds = 5;
  uint64_t seed = 1;
};

struct MatrixWay {
  std::string name;
  std::function<void()> run;
  std::vector<double> seconds = {};
};

// One layer of one minibatch.
struct MatrixLayer {
  std::vector<int64_t> destinations;
  ColumnSums sums;
  std::vector<int64_t> columns;  // drawn, ascending
  ExtractedEdges extracted;
  // Q_R and Q_C of it, made before anything is timed.
  std::vector<SparseMatrix> selectors;
};

class MatrixBench {
 public:
  MatrixBench(const Options& options, const RelationTopology& topology, int64_t nodes)
      : options_(options),
        nodes_(nodes),
        edges_{.topology = &topology, .num_sources = nodes, .relation = "the relation"},
        adjacency_(MakeAdjacency(topology, nodes)),
        ones_(static_cast<size_t>(nodes), 1) {}

  Status Run() {
    const int32_t most = *std::ranges::max_element(options_.stacked);
    CounterRng rng(Mix(options_.seed));
    for (int32_t i = 0; i < most; ++i) {
      std::set<int64_t> seeds;
      for (int64_t s = 0; s < options_.batch; ++s) {
        seeds.insert(static_cast<int64_t>(rng.NextBounded(static_cast<uint64_t>(nodes_))));
      }
      minibatches_.emplace_back().destinations.assign(seeds.begin(), seeds.end());
    }
    for (int l = 0; l < options_.layers; ++l) {
      for (size_t i = 0; i < minibatches_.size(); ++i) Prepare(l, i);
      for (const int32_t k : options_.stacked) HG_RETURN_IF_ERROR(Measure(l, k));
      for (MatrixLayer& minibatch : minibatches_) AddPicks(&minibatch);
    }
    return OkStatus();
  }

 private:
  void Sum(MatrixLayer* minibatch) {
    Require(SumColumns(edges_, minibatch->destinations, ColumnValue::kOne, &workspace_,
                       &minibatch->sums));
  }
  void Extract(MatrixLayer* minibatch) {
    Require(ExtractEdges(edges_, minibatch->destinations, minibatch->columns, {}, &workspace_,
                         &minibatch->extracted));
  }

  // Draws layer `l` of minibatch `i`.
  void Prepare(int l, size_t i) {
    MatrixLayer& minibatch = minibatches_[i];
    Sum(&minibatch);
    std::vector<uint64_t> weights = minibatch.sums.sums;
    Require(MakeWeights(LayerProbability::kCount, weights));
    CandidateSums candidates;
    candidates.Reset(std::span<const uint64_t>(weights));
    LayerWisePicks picks;
    Require(LayerWiseDrawer().Draw(candidates, options_.nodes,
                                   ColumnKey(LayerKey(options_.seed + i, l, 1, 0)), &picks));
    minibatch.columns.clear();
    for (const int64_t at : picks.positions) {
      minibatch.columns.push_back(minibatch.sums.sources[at]);
    }
    std::ranges::sort(minibatch.columns);
    minibatch.selectors.clear();
    minibatch.selectors.push_back(MakeNodeRows(minibatch.destinations, nodes_));
    minibatch.selectors.push_back(MakeNodeColumns(minibatch.columns, nodes_));
  }

  static void AddPicks(MatrixLayer* minibatch) {
    std::vector<int64_t> all;
    std::ranges::set_union(minibatch->destinations, minibatch->columns, std::back_inserter(all));
    minibatch->destinations = std::move(all);
  }

  [[nodiscard]] SparseMatrix Block(const MatrixLayer& minibatch) const {
    return ExtractBlock(adjacency_, minibatch.destinations, minibatch.columns);
  }
  [[nodiscard]] SparseMatrix ProductBlock(const MatrixLayer& minibatch) const {
    return Product(Product(minibatch.selectors[0], adjacency_), minibatch.selectors[1]);
  }

  // That the matrices have what our kernels give: entries, and edges with parallel ones.
  [[nodiscard]] Status Compare(const SparseMatrix& q, std::span<MatrixLayer> some) {
    uint64_t rows = 0;
    MatrixEntries sums;
    for (MatrixLayer& minibatch : some) {
      Sum(&minibatch);
      Extract(&minibatch);
      for (size_t c = 0; c < minibatch.sums.sources.size(); ++c) {
        sums.Add(static_cast<int64_t>(rows), minibatch.sums.sources[c], minibatch.sums.sums[c]);
      }
      ++rows;
      for (const SparseMatrix& block : {Block(minibatch), ProductBlock(minibatch)}) {
        uint64_t edges = 0;
        for (const uint64_t count : block.entries().values) edges += count;
        if (edges != minibatch.extracted.columns.size()) {
          return Internal("a block has {} edges, as a matrix {}",
                          minibatch.extracted.columns.size(), edges);
        }
      }
    }
    if (Product(q, adjacency_).entries() == sums) return OkStatus();
    return Internal("column sums differ from the rows of Q A");
  }

  Status Measure(int l, int32_t k) {
    const std::span<MatrixLayer> some = std::span(minibatches_).first(static_cast<size_t>(k));
    std::vector<std::vector<int64_t>> lists;
    for (const MatrixLayer& minibatch : some) lists.push_back(minibatch.destinations);
    const SparseMatrix q = MakeListRows(lists, ones_);
    HG_RETURN_IF_ERROR(Compare(q, some));
    const auto of_each = [some](const auto& what) {
      return [some, what] {
        for (MatrixLayer& minibatch : some) what(&minibatch);
      };
    };
    std::vector<MatrixWay> ways = {
        {"column sums, ours", of_each([this](MatrixLayer* m) { Sum(m); })},
        {"column sums, Q A", [&] { const SparseMatrix p = Product(q, adjacency_); }},
        {"extraction, ours", of_each([this](MatrixLayer* m) { Extract(m); })},
        {"extraction, GrB_extract",
         of_each([this](MatrixLayer* m) { const SparseMatrix block = Block(*m); })},
        {"extraction, Q_R A Q_C",
         of_each([this](MatrixLayer* m) { const SparseMatrix block = ProductBlock(*m); })}};
    for (int round = -1; round < options_.rounds; ++round) {  // the first one warms up
      for (MatrixWay& way : ways) {
        const double start = ProcessCpu();
        way.run();
        if (round >= 0) way.seconds.push_back(ProcessCpu() - start);
      }
    }
    Report(l, some, ways);
    return OkStatus();
  }

  static void Report(int l, std::span<const MatrixLayer> some, std::vector<MatrixWay>& ways) {
    int64_t destinations = 0, scanned = 0, candidates = 0, extracted = 0;
    for (const MatrixLayer& minibatch : some) {
      destinations += std::ssize(minibatch.destinations);
      candidates += std::ssize(minibatch.sums.sources);
      extracted += std::ssize(minibatch.extracted.columns);
      for (const int64_t degree : minibatch.extracted.degrees) scanned += degree;
    }
    const auto k = static_cast<double>(some.size());
    fmt::print(
        "layer {}, k {}: a minibatch has {:.0f} destinations, {:.0f} edges, {:.0f} candidates, "
        "{:.0f} edges extracted\n",
        l, some.size(), static_cast<double>(destinations) / k, static_cast<double>(scanned) / k,
        static_cast<double>(candidates) / k, static_cast<double>(extracted) / k);
    for (const MatrixWay& way : ways) {
      const double seconds = Median(way.seconds);
      fmt::print("  {:<26}{:9.3f} ms a minibatch{:8.2f} ns an edge\n", way.name, 1e3 * seconds / k,
                 1e9 * seconds / static_cast<double>(scanned));
    }
  }

  const Options& options_;
  const int64_t nodes_;
  const ColumnEdges edges_;
  const SparseMatrix adjacency_;
  const std::vector<uint64_t> ones_;
  std::vector<MatrixLayer> minibatches_;
  ColumnWorkspace workspace_;
};

Status RunBench(const Options& options) {
  const GraphBlasSession session;
  HG_ASSIGN_OR_RETURN(const auto graph, MapGraph(options.graph, {.verify = VerifyLevel::kHeaders}));
  const Schema& schema = graph->info.schema;
  if (schema.node_types.size() != 1 || schema.relations.size() != 1) {
    return InvalidArgument("--graph: expected one node type and one relation");
  }
  if (options.stacked.empty() || *std::ranges::min_element(options.stacked) < 1) {
    return InvalidArgument("--stacked: expected numbers of minibatches, 1 or more each");
  }
  fmt::print("{} on {}; {}: {} nodes, {} edges; batch {}, {} nodes a layer, rounds {}, seed {}\n",
             BuildVersion(), CpuModel(), schema.graph_name, schema.node_types[0].count,
             schema.relations[0].count, options.batch, options.nodes, options.rounds, options.seed);
  return MatrixBench(options, graph->parts->topology()[0], schema.node_types[0].count).Run();
}

}  // namespace
}  // namespace halograph

int main(int argc, char** argv) {
  using namespace halograph;
  Program program("matrix_bench", "Layer-wise sampling as sparse matrices, beside our own kernels");
  Options options;
  OptionTable& rows = program.options();
  rows.Add("graph", &options.graph, "partition folder").ValueName("FOLDER").Required();
  rows.Add("batch", &options.batch, "seeds").AtLeast(1);
  rows.Add("nodes", &options.nodes, "drawn a layer").AtLeast(1);
  rows.Add("layers", &options.layers, "from the seeds outward").Range(1, 10);
  rows.Add("stacked", &options.stacked, "minibatches that are stacked, for each table");
  rows.Add("rounds", &options.rounds, "of which medians are taken").Range(1, 1000);
  rows.Add("seed", &options.seed, "of seeds and draws");
  program.Run([&] { return RunBench(options); });
  return program.Main(argc, argv);
}
