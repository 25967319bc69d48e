#include "partitioner/compare/compare.h"

#include <utility>

#include "common/base/log.h"
#include "common/storage/file.h"
#include "partitioner/compare/method_run.h"
#include "partitioner/compare/method_word.h"
#include "partitioner/inspect/quality.h"
#include "partitioner/methods/registry/registry.h"

namespace halograph {
namespace {

Status FillRow(const Dataset& dataset, const CompareOptions& options, const WholeTopology& topology,
               const std::filesystem::path& scratch, CompareRow* row) {
  MethodOptions method_options = options.method;
  method_options.parts = row->parts;
  HG_ASSIGN_OR_RETURN(const std::string name, ParseMethodWord(row->method, &method_options));
  HG_ASSIGN_OR_RETURN(const auto method, MakeMethod(name));
  const MemoryPlan plan = method->PlanMemory(GraphCounts::Of(dataset), method_options);
  row->planned_bytes = kProgramBytes + plan.peak_bytes();
  HG_ASSIGN_OR_RETURN(const MethodRun run,
                      RunMethodInChild(dataset, name, method_options, scratch));
  row->seconds = run.seconds;
  row->peak_anonymous_bytes = run.peak_anonymous_bytes;
  HG_ASSIGN_OR_RETURN(row->quality, QualityOf(dataset, run.assignment, row->parts));
  HG_ASSIGN_OR_RETURN(row->remote, MeasureRemoteCost(topology, dataset, run.assignment, row->parts,
                                                     options.sampling));
  return OkStatus();
}

}  // namespace

StatusOr<std::vector<CompareRow>> CompareMethods(const Dataset& dataset,
                                                 const CompareOptions& options,
                                                 const std::filesystem::path& scratch) {
  HG_RETURN_IF_ERROR(options.sampling.Validate());
  for (const std::string& word : options.methods) {
    MethodOptions ignored;
    HG_RETURN_IF_ERROR(ParseMethodWord(word, &ignored).status());
  }
  const std::filesystem::path folder = scratch / "topology";
  HG_RETURN_IF_ERROR(MakeFolder(folder));
  HG_ASSIGN_OR_RETURN(const WholeTopology topology,
                      WholeTopology::Create(dataset, folder, options.method.memory));
  std::vector<CompareRow> rows;
  for (const int parts : options.parts) {
    for (const std::string& method : options.methods) {
      CompareRow& row = rows.emplace_back();
      row.method = method;
      row.parts = parts;
      spdlog::info("{}, {} partitions", method, parts);
      const Status status = FillRow(dataset, options, topology, scratch, &row);
      if (!status.ok()) row.failure = ToString(status);
    }
  }
  return rows;
}

}  // namespace halograph
