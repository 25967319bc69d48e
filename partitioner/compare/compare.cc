#include "partitioner/compare/compare.h"

#include <iterator>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "common/base/build_info.h"
#include "common/base/log.h"
#include "common/base/units.h"
#include "common/storage/file.h"
#include "partitioner/compare/method_run.h"
#include "partitioner/inspect/quality.h"
#include "partitioner/methods/registry/registry.h"

namespace halograph {

StatusOr<std::string> ParseMethodWord(std::string_view word, MethodOptions* options) {
  const size_t colon = word.find(':');
  std::string name(word.substr(0, colon));
  HG_RETURN_IF_ERROR(MakeMethod(name).status());
  if (colon == std::string_view::npos) return name;
  const std::string_view rule = word.substr(colon + 1);
  const std::optional<OwnerRule> owner = OwnerRuleOf(rule);
  if (!owner.has_value()) {
    return InvalidArgument("method \"{}\": owner rule \"{}\", expected {}", word, rule,
                           fmt::join(kOwnerRuleWords, " or "));
  }
  HG_RETURN_IF_ERROR(Annotate(CheckOptionTaken("owner", {name}), word));
  options->edge.owner = *owner;
  return name;
}

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
                      RunMethodInChild(dataset, name, method_options, scratch, options.fork));
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
      spdlog::info("{}, --parts {}", method, parts);
      const Status status = FillRow(dataset, options, topology, scratch, &row);
      if (!status.ok()) row.failure = ToString(status);
    }
  }
  return rows;
}

namespace {

constexpr char kOwnerRule[] =
    "an edge belongs to the owner of its destination; halo nodes are sources owned elsewhere";

Json RowJson(const CompareRow& row, const CompareOptions& options) {
  Json json = {
      {"method", row.method}, {"parts", row.parts}, {"planned_memory_bytes", row.planned_bytes}};
  if (!row.failure.empty()) {
    json["failure"] = row.failure;
    return json;
  }
  json.update({{"edge_cut", row.quality.edge_cut},
               {"edge_cut_share", row.quality.edge_cut_share()},
               {"replication_factor", row.quality.replication_factor},
               {"balance", row.quality.balance},
               {"seconds", row.seconds},
               {"peak_memory_bytes", row.peak_anonymous_bytes},
               {"minibatches", row.remote.batches},
               {"input_nodes_per_minibatch", row.remote.input_nodes},
               {"remote_nodes_per_minibatch", row.remote.remote_nodes},
               {"remote_bytes_per_minibatch", row.remote.remote_bytes},
               {"worst_remote_bytes_per_minibatch", row.remote.worst_remote_bytes},
               {"minibatches_per_epoch", row.remote.epoch_batches},
               {"remote_bytes_per_epoch", row.remote.epoch_remote_bytes}});
  if (options.sampling.cache_memory > 0) {
    json["remote_bytes_per_epoch_with_cache"] = row.remote.epoch_bytes_with_cache;
  }
  return json;
}

std::string BalanceText(const CompareRow& row, const std::string& key) {
  const auto found = row.quality.balance.find(key);
  return found == row.quality.balance.end() ? "-" : fmt::format("{:.3f}", found->second);
}

}  // namespace

Json ToJson(const std::vector<CompareRow>& rows, const CompareOptions& options) {
  Json runs = Json::array();
  for (const CompareRow& row : rows) runs.push_back(RowJson(row, options));
  return {{"build", BuildVersion()},
          {"definitions", kOwnerRule},
          {"replica_owner_rule", ToString(options.method.edge.owner)},
          {"seed", options.method.seed},
          {"balance", options.method.balance.ToString()},
          {"fanouts", options.sampling.fanouts},
          {"batch_size", options.sampling.batch_size},
          {"cache_memory_bytes", options.sampling.cache_memory},
          {"runs", std::move(runs)}};
}

std::string FormatTable(const std::vector<CompareRow>& rows, const CompareOptions& options) {
  std::string text;
  auto out = std::back_inserter(text);
  const bool cache = options.sampling.cache_memory > 0;
  const std::string columns =
      std::string("{:<16} {:>5} {:>11} {:>7} {:>7} {:>7} {:>7} {:>9} {:>10} {:>12} {:>12} {:>12}") +
      (cache ? " {:>12}\n" : "\n");
  fmt::format_to(out, fmt::runtime(columns), "method", "parts", "replication", "cut", "nodes",
                 "edges", "train", "time", "memory", "remote nodes", "remote bytes", "bytes/epoch",
                 "with cache");
  for (const CompareRow& row : rows) {
    if (!row.failure.empty()) {
      fmt::format_to(out, "{:<16} {:>5} {}\n", row.method, row.parts, row.failure);
      continue;
    }
    fmt::format_to(out, fmt::runtime(columns), row.method, row.parts,
                   fmt::format("{:.3f}", row.quality.replication_factor),
                   fmt::format("{:.1f} %", 100 * row.quality.edge_cut_share()),
                   BalanceText(row, "nodes"), BalanceText(row, "edges"), BalanceText(row, "train"),
                   FormatSeconds(row.seconds), FormatBytes(row.peak_anonymous_bytes),
                   FormatCount(static_cast<int64_t>(row.remote.remote_nodes)),
                   FormatBytes(static_cast<int64_t>(row.remote.remote_bytes)),
                   FormatBytes(static_cast<int64_t>(row.remote.epoch_remote_bytes)),
                   FormatBytes(static_cast<int64_t>(row.remote.epoch_bytes_with_cache)));
  }
  fmt::format_to(out,
                 "{}. Nodes, edges, train: maximum / mean over partitions. Owner of a replicated "
                 "node in edge partitioners: {}, unless the method names another rule. Remote: per "
                 "minibatch of {} seeds with fanouts {}. Bytes/epoch: remote, of all partitions "
                 "with one trainer each. Memory: of the method alone.\n",
                 kOwnerRule, ToString(options.method.edge.owner), options.sampling.batch_size,
                 fmt::join(options.sampling.fanouts, ","));
  if (cache) {
    fmt::format_to(out,
                   "With cache: each trainer keeps {} of the rows that it most likely reads; a "
                   "forecast.\n",
                   FormatBytes(options.sampling.cache_memory));
  }
  return text;
}

}  // namespace halograph
