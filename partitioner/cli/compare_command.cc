#include <filesystem>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "common/base/units.h"
#include "common/sampling/request.h"
#include "partitioner/cli/command.h"
#include "partitioner/cli/shared_options.h"
#include "partitioner/compare/compare.h"
#include "partitioner/compare/plot.h"
#include "partitioner/methods/registry/registry.h"

namespace halograph {
namespace {

namespace fs = std::filesystem;

struct CompareFlags {
  ReportOptions report;
  CompareOptions compare;
  FeatureDType feature_dtype = FeatureDType::kInput;
  fs::path plot;
};

// OK if at least one method gave figures.
Status CheckAnySucceeded(const std::vector<CompareRow>& rows) {
  for (const CompareRow& row : rows) {
    if (row.failure.empty()) return OkStatus();
  }
  return FailedPrecondition("compare: every method failed; the first: {}", rows.front().failure);
}

std::string PlotTitle(const Dataset& dataset, const CompareOptions& options) {
  const GraphCounts counts = GraphCounts::Of(dataset);
  return fmt::format("{}: {} nodes, {} edges; fanouts {}, {} seeds per minibatch, seed {}",
                     dataset.name, FormatCount(counts.num_nodes()), FormatCount(counts.num_edges()),
                     fmt::join(options.sampling.fanouts, ","), options.sampling.batch_size,
                     options.method.seed);
}

Status Compare(const CompareFlags& flags, StopSignal* stop) {
  if (!flags.plot.empty()) HG_RETURN_IF_ERROR(CheckPlot(flags.plot));
  HG_ASSIGN_OR_RETURN(const TemporaryFolder folder, MakeScratch(flags.report.scratch, "compare"));
  CompareOptions options = flags.compare;
  options.method = flags.report.flags.Options();
  options.sampling.seed = options.method.seed;
  options.fork = [stop] { return stop->Fork(); };
  ReadOptions read = flags.report.input.read;
  options.method.drop_duplicates = read.duplicates == EdgePolicy::kDrop;
  read.scratch = folder.path();
  HG_ASSIGN_OR_RETURN(Dataset dataset, OpenDataset(flags.report.input.input, read));
  NarrowFeatures(flags.feature_dtype, {}, &dataset);
  HG_ASSIGN_OR_RETURN(const auto rows, CompareMethods(dataset, options, folder.path()));
  PrintText(flags.report.json ? PrintableJson(ToJson(rows, options)) : FormatTable(rows, options));
  HG_RETURN_IF_ERROR(CheckAnySucceeded(rows));
  return flags.plot.empty() ? OkStatus() : Plot(rows, PlotTitle(dataset, options), flags.plot);
}

Status CheckMethodWords(const std::vector<std::string>& words) {
  MethodOptions ignored;
  for (const std::string& word : words) {
    HG_RETURN_IF_ERROR(ParseMethodWord(word, &ignored).status());
  }
  return OkStatus();
}

Status CheckFanouts(const std::vector<int32_t>& fanouts) {
  for (const int32_t fanout : fanouts) HG_RETURN_IF_ERROR(ValidateFanout(fanout));
  return OkStatus();
}

// Their names without owner rules.
std::vector<std::string> NamesOf(const std::vector<std::string>& words) {
  std::vector<std::string> names;
  for (const std::string& word : words) names.push_back(word.substr(0, word.find(':')));
  return names;
}

void AddSamplingFlags(OptionTable& rows, SamplingPlan* plan) {
  rows.Group("Sampling");
  rows.Add("fanouts", &plan->fanouts,
           "neighbours sampled per node, one number per layer, from the seeds outward; -1: all")
      .Check(CheckFanouts);
  rows.Add("batch-size", &plan->batch_size, "seeds per minibatch").Range(1, int64_t{1} << 30);
  rows.Add("batches", &plan->batches, "maximum number of minibatches sampled per partition")
      .Range(1, 1 << 20);
  rows.AddBytes("cache-memory", &plan->cache_memory,
                "remote rows that a trainer keeps: adds a forecast of an epoch's remote bytes")
      .AtLeast(0)
      .DefaultText("none");
}

}  // namespace

void AddCompareCommand(Program& program) {
  auto flags = std::make_shared<CompareFlags>();
  flags->compare.methods = MethodNames();
  Command& command = program.command().Add(
      "compare",
      "Runs methods on a graph, each in its own process, and reports their cost and "
      "the effect on sampling. Writes no partition folder.");
  OptionTable& rows = command.options();
  AddInputOptions(rows, &flags->report.input).Required();
  rows.Group("Comparison");
  rows.Add("methods", &flags->compare.methods, "methods to run; hdrf:random names an owner rule")
      .Check(CheckMethodWords)
      .ValueName("METHOD")
      .DefaultText("all");
  rows.Add("parts", &flags->compare.parts, "numbers of partitions").Range(1, kMaxParts);
  AddFeatureDTypeRow(rows, &flags->feature_dtype);
  AddSamplingFlags(rows, &flags->compare.sampling);
  AddReportOptions(rows, "folder for temporary files", &flags->report);
  rows.Add("plot", &flags->plot, "plots the figures as an SVG file, with gnuplot");
  command.Check(
      [flags] { return flags->report.flags.CheckTaken(NamesOf(flags->compare.methods)); });
  command.PrintsItsWork();
  command.Run([flags, &program] { return Compare(*flags, program.stop_signal()); });
}

}  // namespace halograph
