// What a push costs in memory alone: rows a second of sorting the entries, summing duplicates and
// updating rows and optimizer state. All that makes a push durable is measured against this. Rounds
// take turns among a few pushes; what counts is wall time, the median over rounds. Prints one line
// of JSON.
#include <algorithm>
#include <thread>
#include <vector>

#include <fmt/format.h>

#include "common/base/build_info.h"
#include "common/program/program.h"
#include "common/state/row_table.h"
#include "tests/bench/cpu_model.h"
#include "tests/bench/measure.h"
#include "tests/bench/push/workload.h"

namespace halograph {
namespace {

struct Options : PushWorkload {
  int pushes = 4;
  int rounds = 41;
  size_t threads = 1;
};

Status Run(const Options& options) {
  HG_ASSIGN_OR_RETURN(const MutableTensorSpec spec, BenchTensor(options));
  ThreadPool pool("push", std::max<size_t>(options.threads - 1, 1), 64);
  ThreadPool* const helpers = options.threads > 1 ? &pool : nullptr;
  HG_ASSIGN_OR_RETURN(RowTable table, RowTable::Make(spec, spec.rows));
  std::vector<int64_t> ids(static_cast<size_t>(spec.rows));
  for (size_t i = 0; i < ids.size(); ++i) ids[i] = static_cast<int64_t>(i);
  const double begin = ClockSeconds(CLOCK_MONOTONIC);
  table.Initialize(0, ids, spec.rows, helpers);
  const double initialized = ClockSeconds(CLOCK_MONOTONIC) - begin;

  std::vector<RandomRows> pushes;
  for (int i = 0; i < options.pushes; ++i) {
    pushes.push_back(MakeRandomRows(options, static_cast<uint64_t>(i)));
  }
  std::vector<double> whole;
  std::vector<double> sorting;
  std::vector<double> checking;
  PushOrder order;
  for (int round = -options.pushes; round < options.rounds; ++round) {  // the first ones warm up
    const RandomRows& push = pushes[static_cast<size_t>(round + options.pushes) % pushes.size()];
    const std::vector<PushedRows> lists = {push.view()};
    const double start = ClockSeconds(CLOCK_MONOTONIC);
    table.ApplyGradients(lists, helpers);
    const double applied = ClockSeconds(CLOCK_MONOTONIC);
    order.Sort(lists, spec.rows);
    const double sorted = ClockSeconds(CLOCK_MONOTONIC);
    HG_RETURN_IF_ERROR(RowTable::CheckFinite(lists[0], spec.dim));
    const double checked = ClockSeconds(CLOCK_MONOTONIC);
    if (round < 0) continue;
    whole.push_back(applied - start);
    sorting.push_back(sorted - applied);
    checking.push_back(checked - sorted);
  }
  const double seconds = Median(whole);
  const Json report = {
      {"bench", "push"},
      {"part", "memory"},
      {"build", BuildVersion()},
      {"machine", CpuModel()},
      {"processors", std::thread::hardware_concurrency()},
      {"threads", options.threads},
      {"rows", options.rows},
      {"entries", options.entries},
      {"dim", options.dim},
      {"duplicates", options.duplicates},
      {"dtype", options.dtype},
      {"optimizer", options.optimizer},
      {"rounds", options.rounds},
      {"seed", options.seed},
      {"row_bytes", RowTable::MemoryBytes(spec, 1)},
      {"update_ms", 1e3 * seconds},
      {"update_ms_least", 1e3 * *std::min_element(whole.begin(), whole.end())},
      {"m_rows_per_s", 1e-6 * static_cast<double>(options.entries) / seconds},
      {"sort_ms", 1e3 * Median(sorting)},
      {"check_finite_ms", 1e3 * Median(checking)},
      {"initialize_m_rows_per_s", 1e-6 * static_cast<double>(options.rows) / initialized}};
  fmt::print("{}\n", CanonicalJson(report));
  return OkStatus();
}

}  // namespace
}  // namespace halograph

int main(int argc, char** argv) {
  using namespace halograph;
  Program program("push_bench", "A push of gradients, applied in memory");
  Options options;
  OptionTable& rows = program.options();
  AddWorkloadRows(rows, &options);
  rows.Add("duplicates", &options.duplicates, "share of repeated rows").Range(0, 1);
  rows.Add("pushes", &options.pushes, "different ones").Range(1, 100);
  rows.Add("rounds", &options.rounds, "of which medians are taken").Range(1, 100'000);
  rows.Add("threads", &options.threads, "that share a push").Range(1, 1024);
  program.Run([&] { return Run(options); });
  return program.Main(argc, argv);
}
