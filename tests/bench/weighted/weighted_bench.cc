// What sampling by weight costs beside uniform sampling: whole minibatches by the same sampler on
// the same R-MAT graph, for weights from equal ones to those where one edge dominates its node, and
// what making the tables costs. One thread; rounds are interleaved; what counts is thread CPU
// time, and ratios are medians over rounds.
#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "common/base/build_info.h"
#include "common/base/rng.h"
#include "common/program/program.h"
#include "common/sampling/kernel/fused_sampler.h"
#include "common/sampling/weighted_table.h"
#include "tests/bench/cpu_model.h"
#include "tests/bench/measure.h"
#include "tests/bench/sampling/rmat_csc_options.h"

namespace halograph {
namespace {

struct Options {
  RmatCscOptions graph;
  std::vector<int32_t> fanouts = {15, 10, 5};
  int64_t batch = 1024;
  int rounds = 7;
  int minibatches = 2;  // a round and variant
};

enum class Tail { kEqual, kUniform, kPareto, kPareto2, kDominated };
struct Kind {
  Tail tail;
  const char* name;
};
constexpr std::array<Kind, 5> kKinds = {{{Tail::kEqual, "equal: 1"},
                                         {Tail::kUniform, "u in (0, 1]"},
                                         {Tail::kPareto, "1 / u (Pareto, alpha 1)"},
                                         {Tail::kPareto2, "1 / u^2 (Pareto, alpha 1/2)"},
                                         {Tail::kDominated, "u, every 20th times 10^9"}}};

double WeightOf(Tail tail, CounterRng* rng) {
  const double u = 1.0 - rng->NextDouble();
  switch (tail) {
    case Tail::kEqual:
      return 1;
    case Tail::kUniform:
      return u;
    case Tail::kPareto:
      return 1 / u;
    case Tail::kPareto2:
      return 1 / (u * u);
    default:
      return rng->NextBounded(20) == 0 ? u * 1e9 : u;
  }
}

// The graph with one weight on its relation, whose tables can be made anew.
class WeightedGraph {
 public:
  explicit WeightedGraph(const Options& options) : graph_(MakeRmatCsc(options.graph)) {
    TensorSpec weight{.name = "w", .dtype = DType::kFloat64, .rank = 1};
    weight.sampling = true;
    graph_.schema.relations[0].features = {weight};
    entries_.GrowTo(static_cast<size_t>(graph_.edges));
    weights_.GrowTo(static_cast<size_t>(graph_.edges));
    heavy_.GrowTo(static_cast<size_t>(graph_.edges / kHeavyDegree));
    drawable_.resize(static_cast<size_t>(graph_.nodes));
    room_ = {entries_.data(), weights_.data(), heavy_.data(), drawable_.data()};
    table_ = room_.view();
    std::vector<CscSegment> segments(graph_.topology[0].segments().begin(),
                                     graph_.topology[0].segments().end());
    segments[0].weights = &table_;
    graph_.topology[0] = RelationTopology({0, graph_.nodes}, std::move(segments));
  }

  // Gives the seconds of making the tables, without those of making up weights.
  double MakeTables(Tail tail, uint64_t seed) {
    WeightTableBuilder builder;
    CounterRng rng(Mix(seed));
    std::vector<double> weights;
    double seconds = 0;
    // In pieces of some thousand edges, so that the clock costs nothing.
    for (int64_t begin = 0; begin < graph_.nodes;) {
      const int64_t first = graph_.indptr.data()[begin];
      int64_t end = begin + 1;
      while (end < graph_.nodes && graph_.indptr.data()[end + 1] - first < 16384) ++end;
      weights.resize(static_cast<size_t>(graph_.indptr.data()[end] - first));
      for (double& weight : weights) weight = WeightOf(tail, &rng);
      const double start = ThreadCpu();
      for (int64_t v = begin; v < end; ++v) {
        const int64_t row = graph_.indptr.data()[v];
        const auto degree = static_cast<size_t>(graph_.indptr.data()[v + 1] - row);
        builder.Build(std::span(weights).subspan(static_cast<size_t>(row - first), degree), v, row,
                      room_);
      }
      seconds += ThreadCpu() - start;
      begin = end;
    }
    return seconds;
  }

  [[nodiscard]] const RmatCsc& csc() const { return graph_; }

 private:
  RmatCsc graph_;
  FusedArray<AliasEntry> entries_;
  FusedArray<double> weights_;
  FusedArray<HeavyEdges> heavy_;
  std::vector<uint32_t> drawable_;
  WeightTableRoom room_;
  WeightTable table_;
};

struct Variant {
  const char* name;
  bool replace;
  bool weighted;
};
constexpr std::array<Variant, 4> kVariants = {{{"uniform, without", false, false},
                                               {"weighted, without", false, true},
                                               {"uniform, with", true, false},
                                               {"weighted, with", true, true}}};

class Bench {
 public:
  explicit Bench(const Options& options)
      : options_(options),
        graph_(options),
        sampler_(&graph_.csc().schema, &graph_.csc().topology),
        workspace_(graph_.csc().schema) {
    fmt::print("{} nodes, {} directed edges; tables {} bytes an edge, {} a node\n",
               graph_.csc().nodes, graph_.csc().edges,
               sizeof(AliasEntry) + sizeof(double) + sizeof(HeavyEdges) / kHeavyDegree,
               sizeof(uint32_t));
  }

  [[nodiscard]] bool Run(const Kind& kind) {
    const double seconds = graph_.MakeTables(kind.tail, options_.graph.seed);
    fmt::print("\nweights {}: tables made in {:.1f} ns an edge\n", kind.name,
               1e9 * seconds / static_cast<double>(graph_.csc().edges));
    std::array<std::vector<double>, kVariants.size()> ns;
    for (int round = -1; round < options_.rounds; ++round) {  // the first one warms up
      for (size_t v = 0; v < kVariants.size(); ++v) {
        const double cost = NsAnEdge(kVariants[v], std::max(round, 0));
        if (cost < 0) return false;
        if (round >= 0) ns[v].push_back(cost);
      }
    }
    for (size_t v = 0; v < kVariants.size(); ++v) {
      std::vector<double> ratios;
      const std::vector<double>& uniform = ns[v / 2 * 2];
      for (size_t r = 0; r < ns[v].size(); ++r) ratios.push_back(ns[v][r] / uniform[r]);
      fmt::print("  {:<20}{:>8.2f} ns a sampled edge{:>8.2f} times uniform\n", kVariants[v].name,
                 Median(ns[v]), Median(ratios));
    }
    return true;
  }

 private:
  // By the graph's one edge feature.
  static std::vector<std::vector<RelationRule>> Weighted(
      std::vector<std::vector<RelationRule>> layers) {
    for (std::vector<RelationRule>& layer : layers) layer.front().rule.weight = 0;
    return layers;
  }

  double NsAnEdge(const Variant& variant, int round) {
    SamplingSpec spec =
        SamplingSpec::Uniform(graph_.csc().schema, options_.fanouts, variant.replace);
    if (variant.weighted) spec.layers = Weighted(std::move(spec.layers));
    double seconds = 0;
    int64_t edges = 0;
    for (int m = 0; m < options_.minibatches; ++m) {
      const auto index = static_cast<uint64_t>(round * options_.minibatches + m);
      CounterRng rng(SubKey(options_.graph.seed, index));
      seeds_.resize(static_cast<size_t>(options_.batch));
      for (int64_t& seed : seeds_) {
        seed = static_cast<int64_t>(rng.NextBounded(static_cast<uint64_t>(graph_.csc().nodes)));
      }
      const double start = ThreadCpu();
      const Status status =
          sampler_.Sample({.seeds = {{.ids = seeds_}}, .batch_seed = index, .spec = &spec},
                          &workspace_, &minibatch_);
      seconds += ThreadCpu() - start;
      if (!status.ok()) {
        fmt::print(stderr, "{}\n", Message(status));
        return -1;
      }
      edges += minibatch_.sampled_edges;
    }
    return 1e9 * seconds / static_cast<double>(edges);
  }

  const Options& options_;
  WeightedGraph graph_;
  FusedSampler sampler_;
  FusedWorkspace workspace_;
  std::vector<int64_t> seeds_;
  Minibatch minibatch_;
};

Status RunAll(const Options& options) {
  fmt::print(
      "{} on {}; R-MAT 2^{} nodes, {} edges drawn; fanouts {}, batch {}, rounds {} of {}, seed "
      "{}\n",
      BuildVersion(), CpuModel(), options.graph.log2_nodes, options.graph.drawn,
      fmt::join(options.fanouts, ","), options.batch, options.rounds, options.minibatches,
      options.graph.seed);
  Bench bench(options);
  const bool done =
      std::all_of(kKinds.begin(), kKinds.end(), [&](const Kind& kind) { return bench.Run(kind); });
  return done ? OkStatus() : Internal("a kind of weights could not be measured");
}

}  // namespace
}  // namespace halograph

int main(int argc, char** argv) {
  using namespace halograph;
  Program program("weighted_bench", "Sampling by weight beside uniform sampling");
  Options options;
  OptionTable& rows = program.options();
  AddRmatCscOptions(rows, &options.graph);
  rows.Add("fanouts", &options.fanouts, "from the seeds outward").Range(1, kMaxFanout);
  rows.Add("batch", &options.batch, "seeds").AtLeast(1);
  rows.Add("rounds", &options.rounds, "of which medians are taken").Range(1, 1000);
  rows.Add("minibatches", &options.minibatches, "a round and variant").Range(1, 1000);
  program.Run([&] { return RunAll(options); });
  return program.Main(argc, argv);
}
