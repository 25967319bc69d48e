#include <filesystem>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

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
  fs::path plot;
};

// OK if at least one method gave figures.
Status CheckAnySucceeded(const std::vector<CompareRow>& rows) {
  for (const CompareRow& row : rows) {
    if (row.failure.empty()) return OkStatus();
  }
  return FailedPrecondition("compare: every method failed; the first: {}", rows.front().failure);
}

Status Compare(const CompareFlags& flags) {
  if (!flags.plot.empty()) HG_RETURN_IF_ERROR(CheckPlot(flags.plot));
  HG_ASSIGN_OR_RETURN(const TemporaryFolder folder, flags.report.MakeScratch("compare"));
  CompareOptions options = flags.compare;
  options.method = flags.report.flags.Options();
  options.sampling.seed = options.method.seed;
  ReadOptions read = flags.report.input.Read();
  options.method.drop_duplicates = read.duplicates == EdgePolicy::kDrop;
  read.scratch = folder.path();
  HG_ASSIGN_OR_RETURN(const Dataset dataset, OpenDataset(flags.report.input.input, read));
  HG_ASSIGN_OR_RETURN(const auto rows, CompareMethods(dataset, options, folder.path()));
  fmt::print("{}",
             flags.report.json ? ToJson(rows, options).dump(2) + "\n" : FormatTable(rows, options));
  HG_RETURN_IF_ERROR(CheckAnySucceeded(rows));
  return flags.plot.empty() ? OkStatus() : Plot(rows, flags.plot);
}

std::string CheckMethodWord(const std::string& word) {
  MethodOptions ignored;
  const auto name = ParseMethodWord(word, &ignored);
  return name.ok() ? std::string() : Message(name.status());
}

std::string CheckFanout(const std::string& text) {
  int32_t fanout = 0;
  if (!CLI::detail::lexical_cast(text, fanout)) return "expected an integer, got " + text;
  return Message(ValidateFanout(fanout));
}

// Their names without owner rules.
std::vector<std::string> NamesOf(const std::vector<std::string>& words) {
  std::vector<std::string> names;
  for (const std::string& word : words) names.push_back(word.substr(0, word.find(':')));
  return names;
}

void AddSamplingFlags(CLI::App* command, SamplingPlan* plan) {
  command
      ->add_option("--fanouts", plan->fanouts,
                   "Neighbours sampled per layer, from the seeds outward (-1: all)")
      ->delimiter(',')
      ->check(CheckFanout)
      ->default_str(fmt::format("{}", fmt::join(plan->fanouts, ",")));
  command->add_option("--batch-size", plan->batch_size, "Seeds per minibatch")
      ->check(CLI::Range(int64_t{1}, int64_t{1} << 30))
      ->capture_default_str();
  command
      ->add_option("--batches", plan->batches,
                   "Maximum number of minibatches sampled per partition")
      ->check(CLI::Range(1, 1 << 20))
      ->capture_default_str();
}

}  // namespace

void AddCompareCommand(CLI::App* app, Action* action) {
  auto flags = std::make_shared<CompareFlags>();
  flags->compare.methods = MethodNames();
  CLI::App* command =
      app->add_subcommand("compare",
                          "Runs methods on a graph, each in its own process, and reports their "
                          "cost and the effect on sampling; writes no partition folder");
  AddInputOptions(command, &flags->report.input)->required();
  command
      ->add_option("--methods", flags->compare.methods,
                   "Comma-separated; \"hdrf:random\" names an owner rule (default: all)")
      ->delimiter(',')
      ->check(CheckMethodWord);
  command->add_option("--parts", flags->compare.parts, "Numbers of partitions, comma-separated")
      ->delimiter(',')
      ->check(CLI::Range(1, kMaxParts))
      ->default_str(fmt::format("{}", fmt::join(flags->compare.parts, ",")));
  AddSamplingFlags(command, &flags->compare.sampling);
  AddReportOptions(command, "Folder for temporary files", &flags->report);
  command->add_option("--plot", flags->plot, "Plots the figures as an SVG file, with gnuplot");
  command->callback([=] {
    RequireOptionsTaken(flags->report.flags, NamesOf(flags->compare.methods));
    *action = [=] { return Compare(*flags); };
  });
}

}  // namespace halograph
