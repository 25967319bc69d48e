// What a minibatch costs that is sampled alone, in bulk, and beside others:
//   alone   one call after the other, a minibatch each
//   bulk    one call after the other, --bulk minibatches each
//   beside  --beside calls under way, a minibatch each
// Rounds are interleaved. Of each it prints seconds a minibatch and the exchanges of one.
#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "client/open/open_stores.h"
#include "common/base/build_info.h"
#include "common/base/rng.h"
#include "common/base/stopwatch.h"
#include "common/program/program.h"
#include "common/sampling/request.h"
#include "common/storage/json.h"
#include "tests/bench/cpu_model.h"
#include "tests/bench/rounds.h"

namespace halograph {
namespace {

struct Options {
  std::string graph;
  RemoteOptions remote;
  std::string sampler = "ladies";
  std::vector<int32_t> nodes = {512, 512, 512};
  int64_t batch = 512;
  int64_t bulk = 16;
  int64_t beside = 10;
  int64_t minibatches = 32;
  int rounds = 5;
  uint64_t seed = 1;
  std::string command;
};

StatusOr<SamplingSpec> SpecOf(const Options& options) {
  DrawRule rule;
  if (options.sampler == "ladies") {
    rule = {.kind = DrawKind::kLadies, .probability = LayerProbability::kDegree};
  } else if (options.sampler == "fastgcn") {
    rule = {.kind = DrawKind::kFastGcn, .probability = LayerProbability::kCount};
  } else if (options.sampler != "neighbor") {
    return InvalidArgument("--sampler is '{}', expected neighbor, ladies or fastgcn",
                           options.sampler);
  }
  SamplingSpec spec;
  for (const int32_t nodes : options.nodes) {
    rule.fanout = nodes;
    spec.layers.push_back({{0, rule}});
  }
  return spec;
}

class BulkBench {
 public:
  BulkBench(const Options& options, GraphStore* graph, SamplingSpec spec)
      : options_(options), graph_(*graph), spec_(std::move(spec)) {
    const auto nodes = static_cast<uint64_t>(graph_.info().schema.node_types[0].count);
    CounterRng rng(Mix(options.seed));
    for (int64_t m = 0; m < options.minibatches; ++m) {
      std::vector<int64_t>& seeds = seeds_.emplace_back();
      for (int64_t i = 0; i < options.batch; ++i) {
        seeds.push_back(static_cast<int64_t>(rng.NextBounded(nodes)));
      }
    }
  }

  Status Run() {
    for (int round = -1; round < options_.rounds; ++round) {  // the first one warms up
      for (Way& way : ways_) HG_RETURN_IF_ERROR(Measure(round >= 0, &way));
    }
    for (const Way& way : ways_) Print(way);
    return OkStatus();
  }

 private:
  struct Way {
    std::string name;
    int64_t together;  // minibatches of a call
    int64_t beside;    // calls under way
    Rounds costs = {};
    int64_t exchanges = 0;  // of a round
    int64_t edges = 0;
  };

  [[nodiscard]] double per_minibatch(double all) const {
    return all / static_cast<double>(options_.minibatches);
  }

  Status Measure(bool counts, Way* way) {
    std::vector<CallContext> contexts(static_cast<size_t>(way->beside));
    std::vector<Status> ended(contexts.size(), OkStatus());
    std::vector<int64_t> edges(contexts.size());
    const Stopwatch wall;
    const double cpu = ProcessCpu();
    std::vector<std::thread> callers;
    for (size_t caller = 0; caller < contexts.size(); ++caller) {
      callers.emplace_back([&, caller] {
        ended[caller] =
            Sample(*way, static_cast<int64_t>(caller), &contexts[caller], &edges[caller]);
      });
    }
    for (std::thread& caller : callers) caller.join();
    if (counts) {
      way->costs.wall_s.push_back(per_minibatch(wall.Seconds()));
      way->costs.cpu_s.push_back(per_minibatch(ProcessCpu() - cpu));
    }
    way->exchanges = way->edges = 0;
    for (size_t caller = 0; caller < contexts.size(); ++caller) {
      HG_RETURN_IF_ERROR(ended[caller]);
      way->exchanges += contexts[caller].stats.rounds / kRoundsOfAnExchange;
      way->edges += edges[caller];
    }
    if (way->edges == ways_[0].edges) return OkStatus();
    return Internal("{}: {} edges drawn, {} alone", way->name, way->edges, ways_[0].edges);
  }

  // The calls that are this caller's: those of the others are made beside.
  Status Sample(const Way& way, int64_t caller, CallContext* context, int64_t* edges) {
    std::vector<Minibatch> minibatches(static_cast<size_t>(way.together));
    for (int64_t first = caller * way.together; first < options_.minibatches;
         first += way.beside * way.together) {
      std::vector<SampleRequest> requests;
      for (int64_t m = first; m < std::min(first + way.together, options_.minibatches); ++m) {
        requests.push_back({.seeds = {{0, seeds_[static_cast<size_t>(m)]}},
                            .batch_seed = static_cast<uint64_t>(m),
                            .spec = &spec_});
      }
      const std::span<Minibatch> made(minibatches.data(), requests.size());
      HG_RETURN_IF_ERROR(graph_.Sample(requests, *context, made));
      for (const Minibatch& minibatch : made) *edges += minibatch.sampled_edges;
    }
    return OkStatus();
  }

  void Print(const Way& way) const {
    const Json facts = {{"sampler", options_.sampler},
                        {"way", way.name},
                        {"together", way.together},
                        {"beside", way.beside},
                        {"exchanges", per_minibatch(static_cast<double>(way.exchanges))},
                        {"edges", per_minibatch(static_cast<double>(way.edges))}};
    fmt::print("{}\n",
               LineOf(options_.command, facts, way.costs, ways_[0].name, ways_[0].costs).dump());
  }

  const Options& options_;
  GraphStore& graph_;
  const SamplingSpec spec_;
  std::vector<std::vector<int64_t>> seeds_;
  std::vector<Way> ways_ = {
      {"alone", 1, 1}, {"bulk", options_.bulk, 1}, {"beside", 1, options_.beside}};
};

Status RunBench(const Options& options) {
  HG_ASSIGN_OR_RETURN(SamplingSpec spec, SpecOf(options));
  HG_ASSIGN_OR_RETURN(const Stores stores, OpenStores({.graph = options.graph,
                                                       .remote = options.remote,
                                                       .verify = VerifyLevel::kHeaders}));
  const Schema& schema = stores.graph->info().schema;
  if (schema.node_types.size() != 1 || schema.relations.size() != 1) {
    return InvalidArgument("the graph has {} node types and {} relations, expected one of each",
                           schema.node_types.size(), schema.relations.size());
  }
  return BulkBench(options, stores.graph.get(), std::move(spec)).Run();
}

}  // namespace
}  // namespace halograph

int main(int argc, char** argv) {
  using namespace halograph;
  Program program("bulk_bench", "Minibatches alone, in bulk, and beside others");
  Options options;
  options.command = CommandLine("bulk_bench", argc, argv);
  OptionTable& rows = program.options();
  rows.Add("graph", &options.graph, "partition folder, instead of --servers").ValueName("FOLDER");
  AddServersRow(rows, &options.remote, "servers of the graph, instead of --graph");
  rows.Add("sampler", &options.sampler, "neighbor, ladies or fastgcn");
  rows.Add("nodes", &options.nodes, "of each layer: nodes drawn; of neighbor, fanouts");
  rows.Add("batch", &options.batch, "seeds, drawn from all nodes").AtLeast(1);
  rows.Add("bulk", &options.bulk, "minibatches of a call").Range(1, 64);
  rows.Add("beside", &options.beside, "calls under way, where each has one minibatch").Range(1, 64);
  rows.Add("minibatches", &options.minibatches, "of a round").AtLeast(1);
  rows.Add("rounds", &options.rounds, "of which medians are taken").Range(1, 1000);
  rows.Add("seed", &options.seed, "of the minibatches' seeds");
  program.Run([&] { return RunBench(options); });
  return program.Main(argc, argv);
}
