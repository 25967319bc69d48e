// What k minibatches that are stacked gain in process (stacked_columns.h): layers of LADIES and of
// FastGCN, whole ones: column sums (not FastGCN's), weights, draws and extraction; one minibatch at
// a time, all stacked whether it pays or not, and by the way that each layer chooses. The graph is
// R-MAT in memory. One thread; rounds are interleaved; what counts is thread CPU time, as medians
// over rounds. All ways are checked to give the same before they are timed.
#include <algorithm>
#include <array>
#include <functional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "common/base/build_info.h"
#include "common/base/rng.h"
#include "common/program/program.h"
#include "common/sampling/kernel/column_sums.h"
#include "common/sampling/kernel/extract_edges.h"
#include "common/sampling/kernel/stacked_columns.h"
#include "common/sampling/kernel/stacked_edges.h"
#include "common/sampling/kernel/stacked_sums.h"
#include "common/sampling/layer_wise_draw.h"
#include "common/sampling/request.h"
#include "common/sampling/samplers/local_source.h"
#include "common/sampling/samplers/minibatch_builder.h"
#include "tests/bench/cpu_model.h"
#include "tests/bench/measure.h"
#include "tests/bench/require.h"
#include "tests/bench/samplers/layer_wise_options.h"

namespace halograph {
namespace {

struct Options : LayerWiseBenchOptions {
  int64_t stacked = 64;
};

// That a stack was made, or that ways agree.
void RequireTrue(bool holds) {
  Require(holds ? OkStatus() : Internal("a stack that was not made, or other answers by it"));
}

struct StackedMinibatch {
  std::vector<int64_t> destinations;  // ascending
  ColumnSums sums;
  std::vector<int64_t> columns;
  ExtractedEdges extracted;
};

enum class Way { kOneAtATime, kStacked, kChosen };
constexpr std::array<const char*, 3> kWayNames = {"one at a time", "stacked", "as chosen"};
constexpr std::array<const char*, 3> kPartNames = {"sums", "weights and draws", "extraction"};

// Of one way, by part: seconds of each round.
using PartSeconds = std::array<std::vector<double>, kPartNames.size()>;

class StackedBench {
 public:
  StackedBench(const Options& options, const RmatCsc& graph, bool by_out_degrees)
      : options_(options),
        edges_{.topology = graph.topology.data(), .num_sources = graph.nodes, .relation = "r"},
        by_out_degrees_(by_out_degrees),
        memory_(StackTables::BytesOf(graph.nodes, graph.nodes)),
        minibatches_(static_cast<size_t>(options.stacked)) {
    CounterRng rng(Mix(options.graph.seed));
    for (StackedMinibatch& minibatch : minibatches_) {
      std::vector<int64_t>& seeds = minibatch.destinations;
      for (int64_t i = 0; i < options.batch; ++i) {
        seeds.push_back(static_cast<int64_t>(rng.NextBounded(static_cast<uint64_t>(graph.nodes))));
      }
      std::sort(seeds.begin(), seeds.end());
      seeds.erase(std::unique(seeds.begin(), seeds.end()), seeds.end());
    }
    if (!by_out_degrees) return;
    Require(CountOutDegrees(edges_, {0, graph.nodes}, &degrees_));
    out_degrees_.Reset(std::span<const uint32_t>(degrees_));
  }

  void Run() {
    fmt::print("\n{}\n", by_out_degrees_ ? "FastGCN" : "LADIES");
    std::array<double, 3> all{};
    for (int layer = 0; layer < options_.layers; ++layer) {
      layer_ = layer;
      const std::array<double, 3> seconds = RunLayer();
      for (size_t way = 0; way < all.size(); ++way) all[way] += seconds[way];
      for (StackedMinibatch& minibatch : minibatches_) AddPicks(&minibatch);
    }
    fmt::print("all layers: {:.3f} ms a minibatch one at a time, {:.3f} as chosen: {:.2f} times\n",
               1e3 * all[0] / static_cast<double>(options_.stacked),
               1e3 * all[2] / static_cast<double>(options_.stacked), all[0] / all[2]);
  }

 private:
  // Seconds of each way, of all minibatches.
  std::array<double, 3> RunLayer() {
    std::vector<StackedMinibatch> first;
    for (const Way way : {Way::kOneAtATime, Way::kStacked, Way::kChosen}) {
      PartSeconds unused;
      RunWay(way, &unused);
      if (way == Way::kOneAtATime) first = minibatches_;
      for (size_t i = 0; i < first.size(); ++i) {
        RequireTrue(first[i].columns == minibatches_[i].columns &&
                    first[i].extracted == minibatches_[i].extracted);
      }
    }
    first = {};
    std::array<PartSeconds, 3> seconds;
    for (int round = 0; round < options_.rounds; ++round) {
      for (const Way way : {Way::kOneAtATime, Way::kStacked, Way::kChosen}) {
        RunWay(way, &seconds[static_cast<size_t>(way)]);
      }
    }
    return Report(seconds);
  }

  void RunWay(Way way, PartSeconds* seconds) {
    const auto timed = [&](size_t part, const auto& run) {
      const double start = ThreadCpu();
      run();
      (*seconds)[part].push_back(ThreadCpu() - start);
    };
    if (way != Way::kOneAtATime) {
      timed(0, [&] {
        if (!by_out_degrees_) Sum(way);
      });
      timed(1, [&] {
        for (size_t i = 0; i < minibatches_.size(); ++i) {
          Draw(i, &minibatches_[i].sums);
        }
      });
      timed(2, [&] { Extract(way); });
      return;
    }
    // What a minibatch works in is still in the caches for its next part.
    double sums = 0, draws = 0, edges = 0;
    for (size_t i = 0; i < minibatches_.size(); ++i) {
      StackedMinibatch& minibatch = minibatches_[i];
      const double start = ThreadCpu();
      if (!by_out_degrees_) {
        Require(SumColumns(edges_, minibatch.destinations, ColumnValue::kOne, &workspace_, &sums_));
      }
      const double summed = ThreadCpu();
      Draw(i, &sums_);
      const double drawn = ThreadCpu();
      Require(ExtractEdges(edges_, minibatch.destinations, minibatch.columns, {}, &workspace_,
                           &minibatch.extracted));
      sums += summed - start;
      draws += drawn - summed;
      edges += ThreadCpu() - drawn;
    }
    (*seconds)[0].push_back(sums);
    (*seconds)[1].push_back(draws);
    (*seconds)[2].push_back(edges);
  }

  void Sum(Way way) {
    std::vector<ColumnGroup> groups;
    std::vector<ColumnSums*> sums;
    for (StackedMinibatch& minibatch : minibatches_) {
      groups.push_back({.destinations = minibatch.destinations});
      sums.push_back(&minibatch.sums);
    }
    std::vector<const ColumnGroup*> asked;
    for (const ColumnGroup& group : groups) asked.push_back(&group);
    if (way == Way::kChosen) {
      return Require(SumColumnsOfAll(edges_, asked, &memory_, &workspace_, sums));
    }
    const StackMemory::Lease tables(&memory_, edges_.num_sources, edges_.num_sources);
    const std::vector<std::span<const int64_t>> frontiers = Frontiers();
    const FrontierStack stack(edges_, frontiers, tables.get());
    RequireTrue(SumStacked(edges_, stack, tables.get(), sums));
  }

  void Extract(Way way) {
    std::vector<EdgeGroup> groups;
    std::vector<ExtractedEdges*> extracted;
    for (StackedMinibatch& minibatch : minibatches_) {
      groups.push_back({.destinations = minibatch.destinations, .columns = minibatch.columns});
      extracted.push_back(&minibatch.extracted);
    }
    std::vector<const EdgeGroup*> asked;
    for (const EdgeGroup& group : groups) asked.push_back(&group);
    if (way == Way::kChosen) {
      return Require(ExtractEdgesOfAll(edges_, asked, &memory_, &workspace_, extracted));
    }
    const StackMemory::Lease tables(&memory_, edges_.num_sources, edges_.num_sources);
    const std::vector<std::span<const int64_t>> frontiers = Frontiers();
    const FrontierStack stack(edges_, frontiers, tables.get());
    RequireTrue(ExtractStacked(edges_, stack, asked, tables.get(), &workspace_, extracted));
  }

  [[nodiscard]] std::vector<std::span<const int64_t>> Frontiers() const {
    std::vector<std::span<const int64_t>> frontiers;
    for (const StackedMinibatch& minibatch : minibatches_) {
      frontiers.push_back(minibatch.destinations);
    }
    return frontiers;
  }

  void Draw(size_t i, ColumnSums* sums) {
    const uint64_t key = ColumnKey(LayerKey(options_.graph.seed + i, layer_, 1, 0));
    std::vector<int64_t>& columns = minibatches_[i].columns;
    columns.clear();
    if (by_out_degrees_) {
      Require(drawer_.Draw(out_degrees_, options_.nodes, key, &picks_));
      columns = picks_.positions;
    } else {
      Require(MakeWeights(LayerProbability::kCount, sums->sums));
      candidates_.Reset(std::span<const uint64_t>(sums->sums));
      Require(drawer_.Draw(candidates_, options_.nodes, key, &picks_));
      for (const int64_t at : picks_.positions) columns.push_back(sums->sources[at]);
    }
    std::ranges::sort(columns);
  }

  std::array<double, 3> Report(const std::array<PartSeconds, 3>& seconds) {
    const StackMemory::Lease tables(&memory_, edges_.num_sources, edges_.num_sources);
    const std::vector<std::span<const int64_t>> frontiers = Frontiers();
    const FrontierStack stack(edges_, frontiers, tables.get());
    const auto k = static_cast<double>(options_.stacked);
    size_t destinations = 0, extracted = 0;
    for (const StackedMinibatch& minibatch : minibatches_) {
      destinations += minibatch.destinations.size();
      extracted += minibatch.extracted.columns.size();
    }
    fmt::print(
        "layer {}: a minibatch has {:.0f} destinations, {:.0f} edges, of which each lies in {:.2f} "
        "frontiers; {:.0f} are extracted\n",
        layer_, static_cast<double>(destinations) / k, static_cast<double>(stack.edges()) / k,
        static_cast<double>(stack.edges()) / static_cast<double>(stack.distinct_edges()),
        static_cast<double>(extracted) / k);
    std::array<double, 3> all{};
    for (size_t way = 0; way < all.size(); ++way) {
      std::string text;
      std::vector<double> rounds(seconds[way][0].size());
      for (size_t part = 0; part < kPartNames.size(); ++part) {
        const std::vector<double>& of_part = seconds[way][part];
        for (size_t r = 0; r < rounds.size(); ++r) rounds[r] += of_part[r];
        text += fmt::format("; {} {:.3f}", kPartNames[part], 1e3 * Median(of_part) / k);
      }
      all[way] = Median(rounds);
      fmt::print("  {:<14}{:8.3f} ms a minibatch{:6.2f} times{}\n", kWayNames[way],
                 1e3 * all[way] / k, all[0] / all[way], text);
    }
    return all;
  }

  // The next layer's destinations.
  static void AddPicks(StackedMinibatch* minibatch) {
    std::vector<int64_t> all;
    std::ranges::set_union(minibatch->destinations, minibatch->columns, std::back_inserter(all));
    minibatch->destinations = std::move(all);
  }

  const Options& options_;
  const ColumnEdges edges_;
  const bool by_out_degrees_;
  StackMemory memory_;
  std::vector<StackedMinibatch> minibatches_;
  int layer_ = 0;
  std::vector<uint32_t> degrees_;
  CandidateSums out_degrees_;  // of degrees_
  // Of one minibatch at a time.
  ColumnWorkspace workspace_;
  ColumnSums sums_;
  CandidateSums candidates_;
  LayerWiseDrawer drawer_;
  LayerWisePicks picks_;
};

// Whole minibatches, as an embedded store makes them: each by a call of its own, and all by one.
void MeasureBuilt(const Options& options, const RmatCsc& graph, DrawKind kind) {
  const auto k = static_cast<size_t>(options.stacked);
  SamplingSpec spec = SamplingSpec::Uniform(
      graph.schema, std::vector<int32_t>(static_cast<size_t>(options.layers),
                                         static_cast<int32_t>(options.nodes)));
  for (auto& layer : spec.layers) {
    layer[0].rule.kind = kind;
    layer[0].rule.probability = LayerProbability::kCount;
  }
  CounterRng rng(Mix(options.graph.seed));
  std::vector<std::vector<int64_t>> seeds(k);
  std::vector<SampleRequest> requests;
  for (std::vector<int64_t>& of_one : seeds) {
    for (int64_t i = 0; i < options.batch; ++i) {
      of_one.push_back(static_cast<int64_t>(rng.NextBounded(static_cast<uint64_t>(graph.nodes))));
    }
    requests.push_back({.seeds = {{.ids = of_one}}, .batch_seed = rng.Next(), .spec = &spec});
  }
  StackMemory memory(StackTables::BytesOf(graph.nodes, graph.nodes));
  IdlePool<ColumnWorkspace> columns;
  BuilderWorkspaces workspaces(&graph.schema, 1);
  const auto build = [&](std::span<const SampleRequest> some, std::span<Minibatch> minibatches) {
    LocalSource source(&graph.schema, &graph.topology, nullptr, &columns, {}, &memory);
    Require(BuildMinibatches(graph.schema, some, source, &workspaces, minibatches));
  };
  std::vector<Minibatch> alone(k), together(k);
  std::vector<double> alone_seconds, together_seconds;
  for (int round = -1; round < options.rounds; ++round) {  // the first one warms up
    const double start = ThreadCpu();
    for (size_t i = 0; i < k; ++i) build({&requests[i], 1}, {&alone[i], 1});
    const double middle = ThreadCpu();
    build(requests, together);
    if (round < 0) continue;
    alone_seconds.push_back(middle - start);
    together_seconds.push_back(ThreadCpu() - middle);
  }
  RequireTrue(alone == together);
  const double one = 1e3 * Median(alone_seconds) / static_cast<double>(k);
  const double all = 1e3 * Median(together_seconds) / static_cast<double>(k);
  fmt::print(
      "whole minibatches: {:.3f} ms each by a call of its own, {:.3f} together: {:.2f} times\n",
      one, all, one / all);
}

Status RunBoth(const Options& options) {
  fmt::print(
      "{} on {}; R-MAT 2^{} nodes, {} edges drawn; k {}, batch {}, {} nodes a layer, "
      "rounds {}, seed {}\n",
      BuildVersion(), CpuModel(), options.graph.log2_nodes, options.graph.drawn, options.stacked,
      options.batch, options.nodes, options.rounds, options.graph.seed);
  const RmatCsc graph = MakeRmatCsc(options.graph);
  fmt::print("{} nodes, {} directed edges\n", graph.nodes, graph.edges);
  for (const bool by_out_degrees : {false, true}) {
    StackedBench(options, graph, by_out_degrees).Run();
    MeasureBuilt(options, graph, by_out_degrees ? DrawKind::kFastGcn : DrawKind::kLadies);
  }
  return OkStatus();
}

}  // namespace
}  // namespace halograph

int main(int argc, char** argv) {
  using namespace halograph;
  Program program("stacked_bench", "Layer-wise minibatches stacked in process, and one at a time");
  Options options;
  OptionTable& rows = program.options();
  AddLayerWiseBenchOptions(rows, &options);
  rows.Add("stacked", &options.stacked, "minibatches").Range(1, kMostStacked);
  program.Run([&] { return RunBoth(options); });
  return program.Main(argc, argv);
}
