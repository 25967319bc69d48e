// How many remote rows a minibatch fetches without a cache, with the rows that rank highest (VIP),
// and with those that are needed soonest; what planning costs an access; and what it holds a slot.
// Three epochs are sampled and the second is counted, so that no policy gains by the end. The
// window grows until the certificate holds. One JSON line a graph and size of the cache.
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "client/cached/planner.h"
#include "common/base/build_info.h"
#include "common/program/program.h"
#include "tests/bench/cache/remote_reads.h"
#include "tests/bench/cpu_model.h"
#include "tests/bench/measure.h"
#include "tests/bench/sampling/rmat_csc_options.h"

namespace halograph {
namespace {

using OrderedJson = nlohmann::ordered_json;

struct Options {
  RmatCscOptions graph{.log2_nodes = 19, .drawn = 8'000'000};
  RemoteReadsOptions reads;
  std::vector<int> percents = {10, 20};  // of the rows touched
  int rounds = 3;
};

struct Planned {
  int64_t fetched = 0;  // in the second epoch
  int64_t open = 0;     // plans of it without the certificate
  int64_t window = 0;   // steps, at most
  int64_t most_bytes = 0;
  double cpu = 0;  // seconds
};

StatusOr<Planned> PlanAll(const RemoteReads& reads, Planner& planner) {
  Planned planned;
  StepPlan plan;
  const int64_t count = std::ssize(reads.steps);
  for (int64_t step = 0; step < count; ++step) {
    const double before = ThreadCpu();
    while (planner.announced() < count && !planner.closed()) {
      HG_RETURN_IF_ERROR(planner.Announce(planner.announced(), reads.steps[planner.announced()]));
    }
    planned.window = std::max(planned.window, planner.announced() - planner.planned());
    HG_RETURN_IF_ERROR(planner.PlanNext(&plan));
    planned.cpu += ThreadCpu() - before;
    planned.most_bytes = std::max(planned.most_bytes, planner.bytes());
    if (step / reads.of_epoch != 1) continue;
    planned.fetched += std::ssize(plan.misses);
    planned.open += plan.closed ? 0 : 1;
  }
  return planned;
}

Status RunSize(const OrderedJson& about, const RemoteReads& reads, int64_t touched, int percent,
               int rounds) {
  const int64_t slots = std::max<int64_t>(1, touched * percent / 100);
  int64_t accesses = 0;
  int64_t none = 0;
  for (size_t step = 0; step < reads.steps.size(); ++step) {
    accesses += std::ssize(reads.steps[step]);
    if (static_cast<int64_t>(step) / reads.of_epoch == 1) none += std::ssize(reads.steps[step]);
  }
  HG_ASSIGN_OR_RETURN(const auto fixed, MakeStaticPlanner(reads.vip, slots));
  HG_ASSIGN_OR_RETURN(const Planned vip, PlanAll(reads, *fixed));
  std::vector<double> ns;
  Planned ahead;
  for (int round = 0; round < rounds; ++round) {
    HG_ASSIGN_OR_RETURN(
        const auto planner,
        MakeLookAheadPlanner(
            {.rows = reads.rows, .slots = slots, .classes = RankClasses(reads.vip)}));
    HG_ASSIGN_OR_RETURN(ahead, PlanAll(reads, *planner));
    ns.push_back(1e9 * ahead.cpu / static_cast<double>(accesses));
  }
  const auto per_step = [&](int64_t rows) { return rows / reads.of_epoch; };
  const auto per_slot = [&](int64_t bytes) {
    return static_cast<double>(bytes) / static_cast<double>(slots);
  };
  OrderedJson line = about;
  line["percent_of_touched"] = percent;
  line["slots"] = slots;
  line["rows_none"] = per_step(none);
  line["rows_vip"] = per_step(vip.fetched);
  line["rows_look_ahead"] = per_step(ahead.fetched);
  line["times_fewer_than_none"] = static_cast<double>(none) / static_cast<double>(ahead.fetched);
  line["times_fewer_than_vip"] =
      static_cast<double>(vip.fetched) / static_cast<double>(ahead.fetched);
  line["window_steps"] = ahead.window;
  line["plans_not_closed"] = ahead.open;
  line["ns_per_access"] = Median(ns);
  line["bytes_per_slot"] = per_slot(ahead.most_bytes - reads.rows);
  line["bytes_per_slot_with_classes"] = per_slot(ahead.most_bytes);
  fmt::print("{}\n", line.dump());
  std::fflush(stdout);
  return OkStatus();
}

Status RunGraph(const std::string& name, const RmatCsc& graph, const Options& options) {
  HG_ASSIGN_OR_RETURN(const RemoteReads reads, SampleRemoteReads(graph, options.reads));
  std::vector<bool> read(static_cast<size_t>(reads.rows));
  for (int64_t step = 0; step < 2 * reads.of_epoch; ++step) {
    for (const int64_t id : reads.steps[step]) read[id] = true;
  }
  const OrderedJson about = {{"build", BuildVersion()},
                             {"cpu", CpuModel()},
                             {"graph", name},
                             {"nodes", graph.nodes},
                             {"edges", graph.edges},
                             {"fanouts", options.reads.fanouts},
                             {"batch", options.reads.batch},
                             {"seed", options.reads.seed},
                             {"steps_of_epoch", reads.of_epoch}};
  for (const int percent : options.percents) {
    HG_RETURN_IF_ERROR(
        RunSize(about, reads, std::count(read.begin(), read.end(), true), percent, options.rounds));
  }
  return OkStatus();
}

Status RunAll(Options options) {
  options.reads.seed = options.graph.seed;
  HG_RETURN_IF_ERROR(RunGraph("rmat", MakeRmatCsc(options.graph), options));
  return RunGraph("communities", MakeCommunityCsc(options.graph.log2_nodes, options.graph.seed),
                  options);
}

}  // namespace
}  // namespace halograph

int main(int argc, char** argv) {
  using namespace halograph;
  Program program("cache_bench", "Rows that caches of remote rows fetch, and what planning costs");
  Options options;
  OptionTable& rows = program.options();
  AddRmatCscOptions(rows, &options.graph);
  rows.Add("fanouts", &options.reads.fanouts, "from the seeds outward").Range(1, 100);
  rows.Add("batch", &options.reads.batch, "seeds a minibatch").AtLeast(1);
  rows.Add("train", &options.reads.train, "share of the rank's nodes that it trains on")
      .Range(0.0001, 1);
  rows.Add("percents", &options.percents, "slots, of the rows touched in two epochs; one run each")
      .Range(1, 100);
  rows.Add("rounds", &options.rounds, "of which the median is taken").Range(1, 100);
  program.Run([&] { return RunAll(options); });
  return program.Main(argc, argv);
}
