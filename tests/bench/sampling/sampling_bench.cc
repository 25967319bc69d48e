// Sampling of whole minibatches on an R-MAT graph: the fused sampler beside a two-step baseline, a
// two-step path with all its tricks, and a replay of its reads (rivals.h). Rounds are interleaved;
// what counts is thread CPU time, and ratios are medians over rounds. With --threads 2, as many
// threads sample their own minibatches side by side.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <string>
#include <thread>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <time.h>

#include "common/base/build_info.h"
#include "common/base/rng.h"
#include "tests/bench/sampling/rivals.h"

namespace halograph {
namespace {

struct Options {
  int log2_nodes = 21;
  int64_t drawn = 32'000'000;
  std::vector<int32_t> fanouts = {15, 10, 5};
  int64_t batch = 1024;
  int threads = 1;
  int rounds = 11;
  int minibatches = 2;  // a round, thread and variant
  uint64_t seed = 1;
};

constexpr std::array<const char*, 4> kNames = {"fused", "two_step_baseline", "two_step_tuned",
                                               "replay"};

struct Cost {
  double cpu = 0;   // seconds, of all threads
  double wall = 0;  // seconds, of the slowest thread
  int64_t edges = 0;

  [[nodiscard]] double ns() const { return 1e9 * cpu / static_cast<double>(edges); }
};

double ThreadCpu() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

double Wall() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// One thread's samplers over the shared graph.
class Worker {
 public:
  Worker(const RmatCsc* graph, const Options* options, int thread)
      : options_(options),
        graph_(graph),
        sampler_(&graph->schema, &graph->topology),
        workspace_(graph->schema),
        baseline_(MakeTwoStepBaseline(graph, nullptr)),
        tuned_(MakeTwoStepTuned(graph)),
        replay_(graph),
        key_(SubKey(options->seed, static_cast<uint64_t>(thread))) {}

  // Minibatch `index` of this thread by one variant, measured.
  void Run(size_t variant, uint64_t index, Cost* cost) {
    Prepare(index);
    if (variant == 3) {
      static_cast<void>(Fused(index));
      replay_.Record(minibatch_, options_->fanouts, index);
    }
    const double cpu = ThreadCpu();
    const double wall = Wall();
    cost->edges += Sample(variant, index);
    cost->cpu += ThreadCpu() - cpu;
    cost->wall += Wall() - wall;
  }

  // Whether all variants sample the same number of edges and of nodes.
  [[nodiscard]] bool Agree(uint64_t index) {
    Prepare(index);
    const int64_t edges = Fused(index);
    const auto nodes = std::ssize(minibatch_.nodes[0]);
    const bool same = Sample(1, index) == edges && Sample(2, index) == edges &&
                      baseline_->unique_nodes() == nodes && tuned_->unique_nodes() == nodes;
    fmt::print("{} sampled edges, {} input nodes a minibatch; variants {}\n", edges, nodes,
               same ? "agree" : "DISAGREE");
    return same;
  }

 private:
  void Prepare(uint64_t index) {
    CounterRng rng(SubKey(key_, index));
    seeds_.resize(static_cast<size_t>(options_->batch));
    for (int64_t& seed : seeds_) {
      seed = static_cast<int64_t>(rng.NextBounded(static_cast<uint64_t>(graph_->nodes)));
    }
  }

  int64_t Sample(size_t variant, uint64_t index) {
    switch (variant) {
      case 0:
        return Fused(index);
      case 1:
        return baseline_->Sample(seeds_, options_->fanouts, index);
      case 2:
        return tuned_->Sample(seeds_, options_->fanouts, index);
      default:
        return replay_.Run();
    }
  }

  int64_t Fused(uint64_t index) {
    const SamplingSpec spec = SamplingSpec::Uniform(graph_->schema, options_->fanouts);
    const Status status = sampler_.Sample({.seeds = seeds_, .batch_seed = index, .spec = &spec},
                                          &workspace_, &minibatch_);
    return status.ok() ? minibatch_.sampled_edges : -1;
  }

  const Options* options_;
  const RmatCsc* graph_;
  FusedSampler sampler_;
  FusedWorkspace workspace_;
  std::unique_ptr<Rival> baseline_;
  std::unique_ptr<Rival> tuned_;
  Replay replay_;
  uint64_t key_;
  std::vector<int64_t> seeds_;
  Minibatch minibatch_;
};

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

std::string CpuModel() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("model name")) return line.substr(line.find(':') + 2);
  }
  return "unknown";
}

// One variant in one round, on all threads at once.
Cost RunRound(std::vector<std::unique_ptr<Worker>>& workers, const Options& options, size_t variant,
              int round) {
  std::vector<Cost> costs(workers.size());
  std::vector<std::thread> threads;
  for (size_t t = 0; t < workers.size(); ++t) {
    threads.emplace_back([&, t] {
      for (int m = 0; m < options.minibatches; ++m) {
        workers[t]->Run(variant, static_cast<uint64_t>(round * options.minibatches + m), &costs[t]);
      }
    });
  }
  Cost sum;
  for (size_t t = 0; t < workers.size(); ++t) {
    threads[t].join();
    sum.cpu += costs[t].cpu;
    sum.wall = std::max(sum.wall, costs[t].wall);
    sum.edges += costs[t].edges;
  }
  return sum;
}

void Report(const Options& options, const std::vector<std::array<Cost, 4>>& rounds) {
  fmt::print("{:<18}{:>10}{:>16}{:>16}{:>14}\n", "variant", "ns/edge", "edges/s (wall)",
             "seeds/s (wall)", "times fused");
  const double seeds = static_cast<double>(options.batch * options.minibatches * options.threads);
  for (size_t v = 0; v < kNames.size(); ++v) {
    std::vector<double> ns, edges, seed_rate, ratio;
    for (const auto& round : rounds) {
      ns.push_back(round[v].ns());
      edges.push_back(static_cast<double>(round[v].edges) / round[v].wall);
      seed_rate.push_back(seeds / round[v].wall);
      ratio.push_back(round[v].ns() / round[0].ns());
    }
    fmt::print("{:<18}{:>10.2f}{:>16.4g}{:>16.4g}{:>14.2f}\n", kNames[v], Median(ns), Median(edges),
               Median(seed_rate), Median(ratio));
  }
}

int Main(const Options& options) {
  fmt::print(
      "{} on {}; R-MAT 2^{} nodes, {} edges drawn; fanouts {}, batch {}, threads {}, "
      "rounds {} of {}, seed {}\n",
      BuildVersion(), CpuModel(), options.log2_nodes, options.drawn,
      fmt::join(options.fanouts, ","), options.batch, options.threads, options.rounds,
      options.minibatches, options.seed);
  const RmatCsc graph = MakeRmatCsc(options.log2_nodes, options.drawn, options.seed);
  fmt::print("{} nodes, {} directed edges\n", graph.nodes, graph.edges);
  std::vector<std::unique_ptr<Worker>> workers;
  for (int t = 0; t < options.threads; ++t) {
    workers.push_back(std::make_unique<Worker>(&graph, &options, t));
    if (!workers.back()->Agree(1'000'000)) return 1;
  }
  std::vector<std::array<Cost, 4>> rounds(static_cast<size_t>(options.rounds));
  for (int r = -1; r < options.rounds; ++r) {  // the first one warms up
    for (size_t v = 0; v < kNames.size(); ++v) {
      const Cost cost = RunRound(workers, options, v, std::max(r, 0));
      if (r >= 0) rounds[static_cast<size_t>(r)][v] = cost;
    }
  }
  Report(options, rounds);
  return 0;
}

}  // namespace
}  // namespace halograph

int main(int argc, char** argv) {
  halograph::Options options;
  CLI::App app("Fused sampling beside two-step rivals and the replay of its reads");
  app.add_option("--log2-nodes", options.log2_nodes)
      ->check(CLI::Range(1, 31))
      ->capture_default_str();
  app.add_option("--drawn", options.drawn, "edges drawn before symmetrising")
      ->check(CLI::Range(int64_t{1}, int64_t{1} << 33))
      ->capture_default_str();
  app.add_option("--fanouts", options.fanouts, "from the seeds outward, 1 to 16 each")
      ->delimiter(',')
      ->check(CLI::Range(1, 16))
      ->capture_default_str();
  app.add_option("--batch", options.batch)->check(CLI::PositiveNumber)->capture_default_str();
  app.add_option("--threads", options.threads)->check(CLI::Range(1, 64))->capture_default_str();
  app.add_option("--rounds", options.rounds)->check(CLI::Range(1, 1000))->capture_default_str();
  app.add_option("--minibatches", options.minibatches, "a round, thread and variant")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  app.add_option("--seed", options.seed)->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  return halograph::Main(options);
}
