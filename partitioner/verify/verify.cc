#include "partitioner/verify/verify.h"

#include <memory>

#include "common/graph/partition.h"
#include "partitioner/readers/reader.h"
#include "partitioner/verify/checks.h"
#include "partitioner/verify/findings.h"
#include "partitioner/verify/node_maps.h"
#include "partitioner/write/feature_dtype.h"

namespace halograph {
namespace {

namespace fs = std::filesystem;

// How the partitioner read its input.
StatusOr<ReadOptions> OptionsOf(const GraphManifest& manifest, const std::string& where,
                                const fs::path& scratch) {
  HG_ASSIGN_OR_RETURN(const Json read, GetObject(manifest.options, "read", where + ": options"));
  HG_ASSIGN_OR_RETURN(ReadOptions options, ReadOptions::FromJson(read, where + ": options.read"));
  options.scratch = scratch;
  if (scratch.empty()) {
    std::error_code error;
    options.scratch = fs::temp_directory_path(error);
  }
  return options;
}

// Gives the input's features the dtypes that the partitioner gave them.
Status NarrowAs(const GraphManifest& manifest, const std::string& where, Dataset* dataset) {
  if (!manifest.options.contains("feature_dtype")) return OkStatus();
  const std::string here = where + ": options";
  HG_ASSIGN_OR_RETURN(const std::string word, GetString(manifest.options, "feature_dtype", here));
  const auto dtype = FeatureDTypeOf(word);
  if (!dtype.ok()) return DataLoss("{}: {}", here, Message(dtype.status()));
  HG_ASSIGN_OR_RETURN(const Json names, GetArray(manifest.options, "sampling_weights", here));
  std::vector<std::string> keep;
  for (const Json& name : names) {
    if (!name.is_string()) return DataLoss("{}: sampling_weights holds what is no name", here);
    keep.push_back(name.get<std::string>());
  }
  NarrowFeatures(*dtype, keep, dataset);
  return OkStatus();
}

}  // namespace

StatusOr<VerifyReport> Verify(const fs::path& input, const fs::path& graph_folder,
                              const VerifyOptions& options) {
  HG_ASSIGN_OR_RETURN(const GraphManifest manifest, ReadGraphManifest(graph_folder));
  const std::string where = (graph_folder / kManifestName).string();
  HG_ASSIGN_OR_RETURN(const ReadOptions read, OptionsOf(manifest, where, options.scratch));
  HG_ASSIGN_OR_RETURN(const std::unique_ptr<PartitionSet> graph,
                      PartitionSet::Open(graph_folder, {}, VerifyLevel::kContents));
  HG_ASSIGN_OR_RETURN(Dataset dataset, OpenDataset(input, read));
  HG_RETURN_IF_ERROR(NarrowAs(manifest, where, &dataset));
  VerifyReport report;
  Findings findings(options.max_differences, &report);
  VerifySchema(dataset, graph->schema(), &findings);
  if (!report.ok()) return report;  // contents of different schemas cannot be compared
  HG_ASSIGN_OR_RETURN(const NodeMaps maps, NodeMaps::Build(dataset, *graph, &findings));
  HG_RETURN_IF_ERROR(VerifyNodeOrder(*graph, manifest.options, where, maps, &findings));
  for (size_t r = 0; r < dataset.relations.size(); ++r) {
    HG_RETURN_IF_ERROR(
        VerifyEdges(dataset, *graph, static_cast<int>(r), read.duplicates, maps, &findings));
  }
  VerifyHaloNodes(*graph, &findings);
  VerifyFeatures(dataset, *graph, maps, &findings);
  VerifyWeights(*graph, &findings);
  VerifyHalos(*graph, graph_folder, &findings);
  HG_RETURN_IF_ERROR(VerifyTasks(dataset, *graph, maps, &findings));
  return report;
}

}  // namespace halograph
