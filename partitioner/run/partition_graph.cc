#include "partitioner/run/partition_graph.h"

#include <utility>

#include <fmt/ranges.h>

#include "common/base/log.h"
#include "common/base/stopwatch.h"
#include "common/base/units.h"
#include "common/graph/manifest.h"
#include "common/storage/disk_space.h"
#include "common/storage/file.h"
#include "common/storage/replace_check.h"
#include "partitioner/halo/add_halo.h"
#include "partitioner/inspect/task_report.h"
#include "partitioner/levels/batch_clusters.h"
#include "partitioner/levels/sub_parts.h"
#include "partitioner/methods/registry/registry.h"
#include "partitioner/write/sampling_weights.h"
#include "partitioner/write/writing_plan.h"

namespace halograph {
namespace {

// "out/" and "out" name the same folder.
std::filesystem::path WithoutTrailingSlash(const std::filesystem::path& path) {
  const std::filesystem::path normal = path.lexically_normal();
  return normal.has_filename() ? normal : normal.parent_path();
}

Json OptionsJson(const PartitionRun& run, const MethodOptions& options, Json report) {
  Json json = {{"read", run.read.ToJson()},
               {"method", run.method},
               {"seed", options.seed},
               {"balance", options.balance.ToString()},
               {"parts", options.parts},
               {"allow_nan", run.allow_nan},
               {"sampling_weights", run.sampling_weights},
               {"report", std::move(report)}};
  // Not there where it is the default: such folders stay as they were before there was a choice.
  if (options.order != NodeOrder::kInput) json["order"] = ToString(options.order);
  if (run.trainers_per_part > 1) json["trainers_per_part"] = run.trainers_per_part;
  if (run.batch_clusters > 0) json["batch_clusters"] = run.batch_clusters;
  if (run.feature_dtype != FeatureDType::kInput) {
    json["feature_dtype"] = ToString(run.feature_dtype);
  }
  if (run.halo_hops > 0) json["halo_hops"] = run.halo_hops;
  return json;
}

// The folder to be renamed to the output.
StatusOr<TemporaryFolder> CreateOutput(const PartitionRun& run) {
  const std::filesystem::path output = WithoutTrailingSlash(run.output);
  if (run.replace) {
    HG_RETURN_IF_ERROR(CheckInputStays(run.input, output));
    HG_RETURN_IF_ERROR(CheckReplaceable(output, kManifestName, "a partition folder"));
  }
  auto created = TemporaryFolder::Create(output, run.replace);
  if (absl::IsAlreadyExists(created.status())) {
    return AlreadyExists("{}, or replace it with --force", Message(created.status()));
  }
  return created;
}

// Says what the tasks hold, and refuses what no trainer can use, before hours of work.
Status ReportTasks(const Dataset& dataset) {
  const std::vector<LabelFacts> labels = LabelsOf(dataset);
  HG_RETURN_IF_ERROR(CheckLabels(labels));
  for (const LabelFacts& facts : labels) {
    spdlog::info("task '{}', {} set: {}", facts.task, facts.set, ToText(facts));
  }
  for (const std::string& warning : WarningsOf(dataset, labels)) spdlog::warn("{}", warning);
  return OkStatus();
}

// Says which features it is about: others stay as they are.
void Narrow(const PartitionRun& run, Dataset* dataset) {
  if (run.feature_dtype == FeatureDType::kInput) return;
  const std::vector<std::string> narrowed =
      NarrowFeatures(run.feature_dtype, run.sampling_weights, dataset);
  if (narrowed.empty()) {
    spdlog::warn("--feature-dtype {}: no float feature takes less in it; all stay as in the input",
                 ToString(run.feature_dtype));
    return;
  }
  spdlog::info("stored as {}: {}", ToString(run.feature_dtype), fmt::join(narrowed, ", "));
}

// Who divides parts, and into how many.
struct Levels {
  std::string method;  // as MethodOfSubParts gives it
  int trainers_per_part = 1;
  int batch_clusters = 0;
};

// InvalidArgument if the parts cannot be divided so, whatever the data set.
StatusOr<Levels> LevelsOf(const PartitionRun& run, const PartitionMethod& method) {
  Levels levels{.method = {},
                .trainers_per_part = run.trainers_per_part,
                .batch_clusters = run.batch_clusters};
  if (run.trainers_per_part > 1) {
    HG_ASSIGN_OR_RETURN(levels.method, MethodOfSubParts(method.name()));
  }
  if (run.batch_clusters > 0) {
    HG_RETURN_IF_ERROR(CheckBatchClusters(run.batch_clusters, run.trainers_per_part));
  }
  return levels;
}

// What the run will hold; refused here if that is more than it may.
Status PlanRun(const PartitionMethod& method, const GraphCounts& counts,
               const MethodOptions& options, const Levels& levels, int halo_hops) {
  MemoryPlan plan = method.PlanMemory(counts, options);
  const bool sub_parts = levels.trainers_per_part > 1;
  const bool clusters = levels.batch_clusters > 0;
  if (sub_parts) {
    plan.Append(PlanSubParts(counts, levels.method, options, levels.trainers_per_part));
  }
  if (clusters) plan.Append(PlanBatchClusters(counts, options, levels.trainers_per_part));
  plan.Append(
      PlanWriting(counts, options.memory, options.parts, options.order, sub_parts || clusters));
  if (halo_hops > 0) plan.Append(PlanHalos(counts.nodes));
  spdlog::info("memory: at most {}, limit {}", FormatBytes(kProgramBytes + plan.peak_bytes()),
               FormatBytes(options.memory));
  spdlog::debug("memory of each phase:\n{}", plan.ToText());
  return CheckMemory(plan, options.memory);
}

StatusOr<Assignment> AssignLevels(const PartitionMethod& method, const Dataset& dataset,
                                  const MethodOptions& options, const Levels& levels) {
  HG_ASSIGN_OR_RETURN(Assignment assignment, method.Assign(dataset, options));
  HG_RETURN_IF_ERROR(
      AddSubParts(dataset, levels.method, options, levels.trainers_per_part, &assignment));
  if (levels.batch_clusters > 0) {
    HG_RETURN_IF_ERROR(AddBatchClusters(dataset, options, levels.batch_clusters, &assignment));
  }
  return assignment;
}

// A folder for the methods' own files, gone afterwards.
StatusOr<Assignment> Assign(const PartitionMethod& method, const Dataset& dataset,
                            const MethodOptions& options, const Levels& levels) {
  HG_RETURN_IF_ERROR(MakeFolder(options.scratch));
  StatusOr<Assignment> assignment = AssignLevels(method, dataset, options, levels);
  std::error_code error;
  std::filesystem::remove_all(options.scratch, error);
  if (error) return ErrnoStatus(error.value(), "cannot remove", options.scratch.string());
  return assignment;
}

}  // namespace

StatusOr<PartitionSummary> PartitionGraph(const PartitionRun& run) {
  std::shared_ptr<const PartitionMethod> method = run.custom_method;
  if (method == nullptr) {
    HG_ASSIGN_OR_RETURN(method, MakeMethod(run.method));
  }
  HG_RETURN_IF_ERROR(CheckOrder(*method, run.options.order));
  HG_ASSIGN_OR_RETURN(const Levels levels, LevelsOf(run, *method));
  HG_ASSIGN_OR_RETURN(TemporaryFolder folder, CreateOutput(run));
  PartitionSummary summary;
  Stopwatch watch;
  ReadOptions read = run.read;
  read.scratch = folder.path() / "scratch";
  HG_RETURN_IF_ERROR(MakeFolder(read.scratch));
  {
    HG_ASSIGN_OR_RETURN(Dataset dataset, OpenDataset(run.input, read));
    if (run.batch_clusters > 0) HG_RETURN_IF_ERROR(CheckOneNodeType(dataset));
    HG_RETURN_IF_ERROR(MarkSamplingWeights(run.sampling_weights, &dataset));
    Narrow(run, &dataset);
    HG_RETURN_IF_ERROR(ReportTasks(dataset));
    summary.open_seconds = watch.Lap();
    MethodOptions options = run.options;
    options.drop_duplicates = read.duplicates == EdgePolicy::kDrop;
    options.memory = run.memory;
    options.scratch = read.scratch / "method";
    if (run.choose_parts) {
      HG_ASSIGN_OR_RETURN(options.parts, run.choose_parts(dataset));
    }
    HG_RETURN_IF_ERROR(PlanRun(*method, GraphCounts::Of(dataset), options, levels, run.halo_hops));
    // Again when it is written: others fill the disk too.
    HG_RETURN_IF_ERROR(
        CheckDiskSpace(folder.path(), NeededDiskBytes(dataset, options.parts, run.memory)));
    HG_ASSIGN_OR_RETURN(Assignment assignment, Assign(*method, dataset, options, levels));
    Json report = std::move(assignment.report);
    HG_ASSIGN_OR_RETURN(const Renumbering numbering,
                        Renumbering::Create(dataset, std::move(assignment), options.parts));
    summary.assign_seconds = watch.Lap();
    const WriteOptions write{.drop_duplicates = options.drop_duplicates,
                             .allow_nan = run.allow_nan,
                             .memory = run.memory};
    HG_ASSIGN_OR_RETURN(summary.graph, WriteGraph({dataset, numbering, folder.path(), write},
                                                  OptionsJson(run, options, std::move(report))));
  }
  std::error_code error;
  std::filesystem::remove_all(read.scratch, error);
  if (error) return ErrnoStatus(error.value(), "cannot remove", read.scratch.string());
  if (run.halo_hops > 0) {
    // What was written just now needs no look at its contents.
    HG_ASSIGN_OR_RETURN(summary.halos, AddHalos(folder.path(), {.hops = run.halo_hops,
                                                                .memory = run.memory,
                                                                .verify = VerifyLevel::kHeaders}));
  }
  HG_RETURN_IF_ERROR(folder.Commit());
  summary.write_seconds = watch.Lap();
  return summary;
}

}  // namespace halograph
