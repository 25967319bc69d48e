// What samplers draw on a real graph, embedded, one thread:
//   the error of one layer's means, of features projected on random vectors, relative to the means
//   of full neighbourhoods, and how many rows are read for it
//   the size of minibatches of three layers, and the time that one takes
#include <cmath>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "client/local/mapped_graph.h"
#include "common/base/build_info.h"
#include "common/base/rng.h"
#include "common/program/program.h"
#include "common/sampling/samplers/cluster_list.h"
#include "common/storage/widen_rows.h"
#include "tests/bench/cpu_model.h"
#include "tests/bench/measure.h"

namespace halograph {
namespace {

constexpr int kProjections = 8;

struct Options {
  std::string graph;
  int64_t destinations = 512;
  int64_t draws = 200;
  std::vector<int32_t> nodes = {512, 2048};
  uint64_t seed = 1;
};

// One way to draw, of one relation.
struct Way {
  std::string name;
  std::vector<DrawRule> layers;  // from the seeds outward
};

DrawRule LayerWise(DrawKind kind, int32_t nodes, LayerProbability probability,
                   LayerEstimate estimate = LayerEstimate::kUnbiased) {
  return {.kind = kind, .fanout = nodes, .probability = probability, .estimate = estimate};
}

DrawRule Labor(int32_t fanout, bool one_key = false) {
  return {.kind = DrawKind::kLabor, .fanout = fanout, .one_key = one_key};
}

constexpr std::pair<LayerProbability, const char*> kProbabilities[] = {
    {LayerProbability::kDegree, "degree"},
    {LayerProbability::kSqrt, "sqrt"},
    {LayerProbability::kCount, "count"},
    {LayerProbability::kCount2, "count2"}};

class SamplerBench {
 public:
  SamplerBench(const Options& options, const Stores& stores)
      : options_(options), stores_(stores), nodes_(schema().node_types[0].count) {}

  Status Run() {
    HG_RETURN_IF_ERROR(Project());
    CounterRng rng(Mix(options_.seed));
    for (int64_t i = 0; i < options_.destinations; ++i) {
      seeds_.push_back(static_cast<int64_t>(rng.NextBounded(static_cast<uint64_t>(nodes_))));
    }
    HG_RETURN_IF_ERROR(Means({.layers = {{{0, {.fanout = kFullNeighborhood}}}}}, 0, &full_));
    HG_RETURN_IF_ERROR(MeasureErrors());
    return MeasureMinibatches();
  }

 private:
  [[nodiscard]] const Schema& schema() const { return stores_.graph->info().schema; }

  // The first feature of every node, on random vectors of 1 and -1.
  Status Project() {
    const NodeType& type = schema().node_types[0];
    const TensorSpec& spec = type.features[0];
    std::vector<int64_t> ids(static_cast<size_t>(nodes_));
    for (int64_t i = 0; i < nodes_; ++i) ids[i] = i;
    std::vector<std::byte> stored(ids.size() * spec.row_bytes());
    const RowRequest request{
        .tensor = {false, type.name, spec.name}, .ids = ids, .out = std::span(stored)};
    CallContext context;
    HG_RETURN_IF_ERROR(stores_.rows->Pull({&request, 1}, context));
    std::vector<float> rows(ids.size() * static_cast<size_t>(spec.dim));
    WidenRows({spec.dtype, spec.dim, stored.data()}, nodes_, rows.data(), spec.dim);
    projected_.assign(ids.size() * kProjections, 0);
    for (int p = 0; p < kProjections; ++p) {
      CounterRng rng(Mix(1000 + static_cast<uint64_t>(p)));
      std::vector<float> vector(static_cast<size_t>(spec.dim));
      for (float& value : vector) value = rng.NextBounded(2) == 0 ? -1 : 1;
      for (size_t i = 0; i < ids.size(); ++i) {
        for (size_t c = 0; c < vector.size(); ++c) {
          projected_[i * kProjections + p] += rows[i * vector.size() + c] * vector[c];
        }
      }
    }
    return OkStatus();
  }

  Status Sample(const SamplingSpec& spec, uint64_t batch_seed, std::span<const int64_t> seeds,
                Minibatch* minibatch) {
    CallContext context;
    SampleRequest request{.seeds = {{0, seeds}}, .batch_seed = batch_seed, .spec = &spec};
    if (spec.layers[0][0].rule.graph_wise()) request.seeds.clear();
    return stores_.graph->Sample(request, context, minibatch);
  }

  // The mean of each destination's neighbours in a block of one layer, as layers compute it.
  Status Means(const SamplingSpec& spec, uint64_t batch_seed, std::vector<double>* means) {
    HG_RETURN_IF_ERROR(Sample(spec, batch_seed, seeds_, &minibatch_));
    const Block& block = minibatch_.layers[0].blocks[0];
    const std::vector<int64_t>& nodes = minibatch_.nodes[0];
    means->assign((block.indptr.size() - 1) * kProjections, 0);
    for (size_t i = 0; i + 1 < block.indptr.size(); ++i) {
      double* const mean = means->data() + i * kProjections;
      for (int64_t e = block.indptr[i]; e < block.indptr[i + 1]; ++e) {
        const double factor = block.coefficients.empty() ? 1 : block.coefficients[e];
        const double* const row = projected_.data() + nodes[block.indices[e]] * kProjections;
        for (int p = 0; p < kProjections; ++p) mean[p] += factor * row[p];
      }
      const double divisor = block.degrees.empty()
                                 ? static_cast<double>(block.indptr[i + 1] - block.indptr[i])
                                 : block.degrees[i];
      for (int p = 0; p < kProjections; ++p) mean[p] /= std::max(divisor, 1.0);
    }
    return OkStatus();
  }

  static SamplingSpec SpecOf(const Way& way) {
    SamplingSpec spec;
    for (const DrawRule& rule : way.layers) spec.layers.push_back({{0, rule}});
    return spec;
  }

  Status MeasureErrors() {
    fmt::print("\nmeans of one layer: sampler; rows read; edges; relative mean squared error\n");
    std::vector<Way> ways;
    for (const int32_t fanout : {2, 5, 10}) {
      ways.push_back({fmt::format("neighbor {}", fanout), {{.fanout = fanout}}});
      ways.push_back({fmt::format("labor {}", fanout), {Labor(fanout)}});
    }
    for (const int32_t nodes : options_.nodes) {
      for (const auto& [probability, name] : kProbabilities) {
        ways.push_back({fmt::format("ladies {} {}", nodes, name),
                        {LayerWise(DrawKind::kLadies, nodes, probability)}});
      }
      for (const auto& [probability, name] : kProbabilities) {
        ways.push_back(
            {fmt::format("ladies {} {} normalized", nodes, name),
             {LayerWise(DrawKind::kLadies, nodes, probability, LayerEstimate::kNormalized)}});
      }
      ways.push_back({fmt::format("fastgcn {}", nodes),
                      {LayerWise(DrawKind::kFastGcn, nodes, LayerProbability::kCount)}});
    }
    for (const Way& way : ways) HG_RETURN_IF_ERROR(MeasureError(way));
    return OkStatus();
  }

  Status MeasureError(const Way& way) {
    const SamplingSpec spec = SpecOf(way);
    double error = 0, all = 0, rows = 0, edges = 0;
    std::vector<double> means;
    for (int64_t draw = 0; draw < options_.draws; ++draw) {
      HG_RETURN_IF_ERROR(Means(spec, static_cast<uint64_t>(draw), &means));
      for (size_t i = 0; i < full_.size(); ++i) {
        error += (means[i] - full_[i]) * (means[i] - full_[i]);
        all += full_[i] * full_[i];
      }
      rows += static_cast<double>(minibatch_.nodes[0].size());
      edges += static_cast<double>(minibatch_.sampled_edges);
    }
    const auto draws = static_cast<double>(options_.draws);
    fmt::print("{:32} {:8.0f} {:9.0f} {:8.3f}\n", way.name, rows / draws, edges / draws,
               error / all);
    return OkStatus();
  }

  void AddSubgraphs(int32_t draws, std::vector<Way>* ways) const {
    const DrawRule node{.kind = DrawKind::kSaintNode, .fanout = draws};
    const DrawRule edge{.kind = DrawKind::kSaintEdge, .fanout = draws};
    const DrawRule walk{.kind = DrawKind::kSaintWalk, .fanout = draws, .walk_length = 2};
    ways->push_back({fmt::format("saint-node {}", draws), {node, node, node}});
    ways->push_back({fmt::format("saint-edge {}", draws), {edge, edge, edge}});
    ways->push_back({fmt::format("saint-walk {}, length 2", draws), {walk, walk, walk}});
    const auto clusters = static_cast<int64_t>(ClusterList(stores_.graph->info().clusters).size());
    if (clusters == 0) return;
    // About as many nodes as draws.
    const int64_t drawn = std::max<int64_t>(1, draws * clusters / nodes_);
    const DrawRule cluster{.kind = DrawKind::kCluster, .fanout = static_cast<int32_t>(drawn)};
    ways->push_back(
        {fmt::format("cluster {} of {}", drawn, clusters), {cluster, cluster, cluster}});
  }

  Status MeasureMinibatches() {
    constexpr int kRounds = 5;
    const auto batch = static_cast<int32_t>(options_.destinations);
    const DrawRule ladies = LayerWise(DrawKind::kLadies, batch, LayerProbability::kDegree);
    const DrawRule fastgcn = LayerWise(DrawKind::kFastGcn, batch, LayerProbability::kCount);
    std::vector<Way> ways = {
        {"neighbor 15,10,5", {{.fanout = 15}, {.fanout = 10}, {.fanout = 5}}},
        {"labor 15,10,5", {Labor(15), Labor(10), Labor(5)}},
        {"labor 15,10,5, shared", {Labor(15, true), Labor(10, true), Labor(5, true)}},
        {fmt::format("ladies {} a layer", batch), {ladies, ladies, ladies}},
        {fmt::format("fastgcn {} a layer", batch), {fastgcn, fastgcn, fastgcn}}};
    AddSubgraphs(batch, &ways);
    fmt::print("\nminibatches of three layers: sampler; input nodes; edges; ms\n");
    std::vector<std::vector<double>> seconds(ways.size());
    std::vector<double> nodes(ways.size()), edges(ways.size());
    for (int round = -1; round < kRounds; ++round) {  // the first one warms up
      for (size_t w = 0; w < ways.size(); ++w) {
        const SamplingSpec spec = SpecOf(ways[w]);
        const double start = ThreadCpu();
        HG_RETURN_IF_ERROR(Sample(spec, static_cast<uint64_t>(round + 1), seeds_, &minibatch_));
        if (round < 0) continue;
        seconds[w].push_back(ThreadCpu() - start);
        nodes[w] += static_cast<double>(minibatch_.nodes[0].size()) / kRounds;
        edges[w] += static_cast<double>(minibatch_.sampled_edges) / kRounds;
      }
    }
    for (size_t w = 0; w < ways.size(); ++w) {
      fmt::print("{:32} {:8.0f} {:9.0f} {:8.2f}\n", ways[w].name, nodes[w], edges[w],
                 1e3 * Median(seconds[w]));
    }
    return OkStatus();
  }

  const Options& options_;
  const Stores& stores_;
  const int64_t nodes_;
  std::vector<int64_t> seeds_;
  std::vector<double> projected_;  // [node, projection]
  std::vector<double> full_;
  Minibatch minibatch_;
};

Status RunBench(const Options& options) {
  HG_ASSIGN_OR_RETURN(const auto graph, MapGraph(options.graph, {.verify = VerifyLevel::kHeaders}));
  const Stores stores = MakeLocalStores(graph);
  const Schema& schema = stores.graph->info().schema;
  if (schema.node_types.size() != 1 || schema.relations.size() != 1 ||
      schema.node_types[0].features.empty()) {
    return InvalidArgument("--graph: expected one node type with a feature, and one relation");
  }
  fmt::print("{} on {}; {}: {} nodes, {} edges; {} destinations, {} draws, seed {}\n",
             BuildVersion(), CpuModel(), schema.graph_name, schema.node_types[0].count,
             schema.relations[0].count, options.destinations, options.draws, options.seed);
  return SamplerBench(options, stores).Run();
}

}  // namespace
}  // namespace halograph

int main(int argc, char** argv) {
  using namespace halograph;
  Program program("sampler_bench", "What samplers draw: errors of means, sizes, and times");
  Options options;
  OptionTable& rows = program.options();
  rows.Add("graph", &options.graph, "partition folder").ValueName("FOLDER").Required();
  rows.Add("destinations", &options.destinations, "nodes whose means are estimated").AtLeast(1);
  rows.Add("draws", &options.draws, "minibatches whose errors are averaged").AtLeast(1);
  rows.Add("nodes", &options.nodes, "that layer-wise samplers draw");
  rows.Add("seed", &options.seed, "of the destinations");
  program.Run([&] { return RunBench(options); });
  return program.Main(argc, argv);
}
