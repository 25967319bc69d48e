// Sampling of whole minibatches on an R-MAT graph: the fused sampler beside a two-step baseline, a
// two-step path with all its tricks, and a replay of its reads (rivals.h). Rounds are interleaved;
// what counts is thread CPU time, and ratios are medians over rounds. With --threads 2, as many
// threads sample their own minibatches side by side, and "times_alone" is how many times the edges
// of one alone they make in a second; with --split 2, one minibatch is made by two threads, too.
// One JSON line a configuration and variant; "..._times_fused" is the variant's time over the fused
// sampler's in the same round.
#include <algorithm>
#include <array>
#include <sstream>
#include <string>
#include <thread>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "common/base/build_info.h"
#include "common/base/rng.h"
#include "common/program/program.h"
#include "tests/bench/cpu_model.h"
#include "tests/bench/sampling/bench_worker.h"
#include "tests/bench/sampling/rmat_csc_options.h"

namespace halograph {
namespace {

using OrderedJson = nlohmann::ordered_json;

struct Options {
  RmatCscOptions graph;
  std::string fanouts = "15,10,5";  // several lists: separated by spaces
  std::vector<int64_t> batches = {1024};
  std::vector<int> threads = {1};
  int split = 1;
  int rounds = 11;
  int minibatches = 2;  // a round, thread and variant
};

using Round = std::array<Cost, kVariants>;

// "15,10,5": 1 to 16 each, as the rivals can draw.
StatusOr<std::vector<int32_t>> ParseFanouts(const std::string& text) {
  std::vector<int32_t> fanouts;
  OptionTable rows;
  rows.Add("fanouts", &fanouts, "").Range(1, 16);
  HG_RETURN_IF_ERROR(rows.Set("fanouts", text));
  return fanouts;
}

// One variant in one round, on all of the configuration's threads at once.
Cost RunRound(const std::vector<std::unique_ptr<Worker>>& workers, const Config& config,
              const Options& options, Variant variant, int round) {
  const auto count = static_cast<size_t>(variant == kFusedAlone ? 1 : config.threads);
  std::vector<Cost> costs(count);
  std::vector<std::thread> threads;
  for (size_t t = 0; t < count; ++t) {
    threads.emplace_back([&, t] {
      for (int m = 0; m < options.minibatches; ++m) {
        workers[t]->Run(variant, config, static_cast<uint64_t>(round * options.minibatches + m),
                        &costs[t]);
      }
    });
  }
  Cost sum;
  for (size_t t = 0; t < count; ++t) {
    threads[t].join();
    sum.cpu += costs[t].cpu;
    sum.wall = std::max(sum.wall, costs[t].wall);
    sum.edges += costs[t].edges;
    sum.unique_nodes += costs[t].unique_nodes;
  }
  return sum;
}

// Median, least and most over rounds.
template <typename Value>
OrderedJson Spread(const std::vector<Round>& rounds, Value value) {
  std::vector<double> values;
  for (const Round& round : rounds) values.push_back(value(round));
  std::sort(values.begin(), values.end());
  return {{"median", values[values.size() / 2]}, {"min", values.front()}, {"max", values.back()}};
}

OrderedJson Line(const OrderedJson& about, const Config& config, const Options& options,
                 const std::vector<Round>& rounds, Variant v) {
  const int64_t minibatches = int64_t{config.threads} * options.minibatches;
  const auto seeds = static_cast<double>(config.batch * minibatches) /
                     static_cast<double>(v == kFusedAlone ? config.threads : 1);
  OrderedJson line = about;
  line["fanouts"] = config.fanouts;
  line["batch"] = config.batch;
  line["threads"] = config.threads;
  if (v == kFusedSplit) line["split"] = options.split;
  line["variant"] = kVariantNames[v];
  line["ns_per_edge"] = Spread(rounds, [&](const Round& r) { return r[v].ns(); });
  line["edges_per_s"] = Spread(rounds, [&](const Round& r) { return r[v].rate(); });
  line["seeds_per_s"] = Spread(rounds, [&](const Round& r) { return seeds / r[v].wall; });
  line["cpu_s"] = Spread(rounds, [&](const Round& r) { return r[v].cpu; });
  line["wall_s"] = Spread(rounds, [&](const Round& r) { return r[v].wall; });
  line["cpu_times_fused"] =
      Spread(rounds, [&](const Round& r) { return r[v].cpu / r[kFused].cpu; });
  line["wall_times_fused"] =
      Spread(rounds, [&](const Round& r) { return r[v].wall / r[kFused].wall; });
  if (v == kFused && config.threads > 1) {
    line["times_alone"] =
        Spread(rounds, [](const Round& r) { return r[kFused].rate() / r[kFusedAlone].rate(); });
  }
  line["edges_per_minibatch"] = rounds[0][kFused].edges / minibatches;
  line["unique_input_nodes"] = rounds[0][kFused].unique_nodes / minibatches;
  return line;
}

Status RunConfig(const OrderedJson& about, const Config& config, const Options& options,
                 const std::vector<std::unique_ptr<Worker>>& workers) {
  for (const auto& worker : workers) {
    if (worker->Agree(config, 1'000'000)) continue;
    return Internal("the variants sample differently");
  }
  std::vector<Round> rounds(static_cast<size_t>(options.rounds));
  const auto runs = [&](Variant v) {
    if (v == kFusedSplit) return options.split > 1 && config.threads == 1;
    return v != kFusedAlone || config.threads > 1;
  };
  for (int r = -1; r < options.rounds; ++r) {  // the first one warms up
    for (int v = 0; v < kVariants; ++v) {
      if (!runs(Variant{v})) continue;
      const Cost cost = RunRound(workers, config, options, Variant{v}, std::max(r, 0));
      if (r >= 0) rounds[static_cast<size_t>(r)][static_cast<size_t>(v)] = cost;
    }
  }
  for (int v = 0; v < kVariants; ++v) {
    if (!runs(Variant{v})) continue;
    fmt::print("{}\n", Line(about, config, options, rounds, Variant{v}).dump());
    std::fflush(stdout);
  }
  return OkStatus();
}

Status RunAll(const Options& options, const std::string& command) {
  const RmatCsc graph = MakeRmatCsc(options.graph);
  const OrderedJson about = {{"build", BuildVersion()},  {"cpu", CpuModel()},
                             {"command", command},       {"seed", options.graph.seed},
                             {"nodes", graph.nodes},     {"edges", graph.edges},
                             {"rounds", options.rounds}, {"minibatches", options.minibatches}};
  std::vector<std::unique_ptr<Worker>> workers;
  const int most = *std::max_element(options.threads.begin(), options.threads.end());
  for (int t = 0; t < most; ++t) {
    workers.push_back(std::make_unique<Worker>(
        &graph, t == 0 ? options.split : 1, SubKey(options.graph.seed, static_cast<uint64_t>(t))));
  }
  std::istringstream lists(options.fanouts);
  for (std::string list; lists >> list;) {
    HG_ASSIGN_OR_RETURN(const std::vector<int32_t> fanouts, ParseFanouts(list));
    for (const int64_t batch : options.batches) {
      for (const int threads : options.threads) {
        const Config config{.fanouts = fanouts, .batch = batch, .threads = threads};
        HG_RETURN_IF_ERROR(RunConfig(about, config, options, workers));
      }
    }
  }
  return OkStatus();
}

}  // namespace
}  // namespace halograph

int main(int argc, char** argv) {
  using namespace halograph;
  Program program("sampling_bench",
                  "Fused sampling beside two-step rivals and the replay of its reads");
  Options options;
  OptionTable& rows = program.options();
  AddRmatCscOptions(rows, &options.graph);
  rows.Add(
      "fanouts", &options.fanouts,
      "from the seeds outward, 1 to 16 each; several lists, separated by spaces: one run each");
  rows.Add("batch", &options.batches, "several: one run each").AtLeast(1);
  rows.Add("threads", &options.threads, "several: one run each").Range(1, 64);
  rows.Add("split", &options.split, "threads that one minibatch is split over").Range(1, 64);
  rows.Add("rounds", &options.rounds, "of which medians are taken").Range(1, 1000);
  rows.Add("minibatches", &options.minibatches, "a round, thread and variant").Range(1, 1000);
  program.Run([&] {
    std::string command = "sampling_bench";
    for (int i = 1; i < argc; ++i) command += std::string(" ") + argv[i];
    return RunAll(options, command);
  });
  return program.Main(argc, argv);
}
