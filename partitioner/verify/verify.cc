#include "partitioner/verify/verify.h"

#include <memory>

#include "common/graph/partition.h"
#include "partitioner/readers/reader.h"
#include "partitioner/verify/checks.h"
#include "partitioner/verify/findings.h"
#include "partitioner/verify/node_maps.h"

namespace halograph {
namespace {

namespace fs = std::filesystem;

// How the partitioner read its input.
StatusOr<ReadOptions> OptionsOf(const fs::path& graph_folder, const fs::path& scratch) {
  HG_ASSIGN_OR_RETURN(const GraphManifest manifest, ReadGraphManifest(graph_folder));
  const std::string where = (graph_folder / "manifest.json").string();
  HG_ASSIGN_OR_RETURN(const Json read, GetObject(manifest.options, "read", where + ": options"));
  HG_ASSIGN_OR_RETURN(ReadOptions options, ReadOptions::FromJson(read, where + ": options.read"));
  options.scratch = scratch;
  if (scratch.empty()) {
    std::error_code error;
    options.scratch = fs::temp_directory_path(error);
  }
  return options;
}

}  // namespace

StatusOr<VerifyReport> Verify(const fs::path& input, const fs::path& graph_folder,
                              const VerifyOptions& options) {
  HG_ASSIGN_OR_RETURN(const ReadOptions read, OptionsOf(graph_folder, options.scratch));
  HG_ASSIGN_OR_RETURN(const std::unique_ptr<PartitionSet> graph,
                      PartitionSet::Open(graph_folder, {}, VerifyLevel::kContents));
  HG_ASSIGN_OR_RETURN(const Dataset dataset, OpenDataset(input, read));
  VerifyReport report;
  Findings findings(options.max_differences, &report);
  VerifySchema(dataset, graph->schema(), &findings);
  if (!report.ok()) return report;  // contents of different schemas cannot be compared
  HG_ASSIGN_OR_RETURN(const NodeMaps maps, NodeMaps::Build(dataset, *graph, &findings));
  for (size_t r = 0; r < dataset.relations.size(); ++r) {
    HG_RETURN_IF_ERROR(
        VerifyEdges(dataset, *graph, static_cast<int>(r), read.duplicates, maps, &findings));
  }
  VerifyHaloNodes(*graph, &findings);
  VerifyFeatures(dataset, *graph, maps, &findings);
  VerifyWeights(*graph, &findings);
  HG_RETURN_IF_ERROR(VerifyTasks(dataset, *graph, maps, &findings));
  return report;
}

}  // namespace halograph
