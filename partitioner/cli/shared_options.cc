#include "partitioner/cli/shared_options.h"

#include <cstdlib>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "common/base/units.h"
#include "partitioner/methods/registry/registry.h"

namespace halograph {

OptionRow& AddInputOptions(OptionTable& rows, InputOptions* options) {
  ReadOptions& read = options->read;
  const std::vector<std::pair<std::string_view, EdgePolicy>> policies = {
      {"keep", EdgePolicy::kKeep}, {"drop", EdgePolicy::kDrop}};
  std::vector<std::string> formats = {"auto"};
  formats.insert(formats.end(), std::begin(kInputFormats), std::end(kInputFormats));
  rows.Group("Input");
  OptionRow& input = rows.Add("input", &options->input, "folder or file of the graph");
  rows.Add("format", &read.format, "format of the input")
      .OneOf(std::move(formats))
      .ValueName("FORMAT");
  rows.Add("undirected", &read.undirected, "add the reverse of every edge but self-loops");
  rows.AddChoice("self-loops", &read.self_loops, policies, "edges from a node to itself");
  rows.AddChoice("duplicates", &read.duplicates, policies, "parallel edges");
  rows.Add("num-nodes", &read.num_nodes, "edge lists: ids are 0 to N-1")
      .AtLeast(0)
      .DefaultText("the distinct ids that occur");
  rows.Add("edge-columns", &read.edge_columns,
           "edge lists: names of the third column and those after it, which become edge features")
      .ValueName("NAME");
  rows.Add("skip-lines", &read.skip_lines, "edge lists: lines before the first edge, as a header")
      .AtLeast(0);
  rows.Add("task", &read.task, "OGB: name of the split folder, if there are several");
  return input;
}

namespace {

void AddEdgeFlags(OptionTable& rows, MethodFlags* flags) {
  EdgePartitionOptions& edge = flags->options.edge;
  std::vector<std::pair<std::string_view, OwnerRule>> rules;
  rules.reserve(std::size(kOwnerRuleWords));
  for (const std::string_view word : kOwnerRuleWords) rules.emplace_back(word, *OwnerRuleOf(word));
  flags->of_methods.push_back(
      &rows.AddChoice("owner", &edge.owner, std::move(rules),
                      "edge partitioners: which replica of a node owns it: random (as CATGNN), or "
                      "majority (the one with most of its edges)"));
  flags->of_methods.push_back(
      &rows.Add("hdrf-lambda", &edge.hdrf_lambda, "hdrf: weight of balance in its score").Above(0));
  flags->of_methods.push_back(&rows.Add("volume-factor", &edge.volume_factor,
                                        "spring, 2ps-l: maximum volume of a cluster, as a multiple "
                                        "of an even share of the edges")
                                   .Above(0));
  flags->of_methods.push_back(
      &rows.Add("edge-imbalance", &edge.edge_imbalance,
                "edge partitioners: maximum edges of a partition, as a multiple of an even share")
           .AtLeast(1));
}

void AddStreamMetisFlags(OptionTable& rows, MethodFlags* flags) {
  StreamMetisOptions& stream = flags->options.stream_metis;
  flags->of_methods.push_back(&rows.Add("clusters", &stream.clusters,
                                        "stream-metis: approximate number of clusters of its "
                                        "coarse graph; 0: chosen from nodes and memory")
                                   .AtLeast(0));
  flags->of_methods.push_back(&rows.Add("refinement-rounds", &stream.refinement_rounds,
                                        "stream-metis: number of refinement passes")
                                   .Range(0, 16));
}

}  // namespace

MethodOptions MethodFlags::Options() const {
  MethodOptions result = options;
  result.memory = memory < 0 ? AvailableMemory() : memory;
  return result;
}

Status MethodFlags::CheckTaken(const std::vector<std::string>& methods) const {
  for (const OptionRow* row : of_methods) {
    if (row->given()) HG_RETURN_IF_ERROR(CheckOptionTaken(row->name(), methods));
  }
  return OkStatus();
}

void AddMethodFlags(OptionTable& rows, MethodFlags* flags) {
  MethodOptions& options = flags->options;
  rows.Group("Method");
  rows.AddText(
          "balance",
          [&options](std::string_view text) -> Status {
            HG_ASSIGN_OR_RETURN(options.balance, BalanceOptions::Parse(text));
            return OkStatus();
          },
          [&options] { return options.balance.ToString(); },
          "of nodes, edges, train, valid and test", "what is balanced over the partitions")
      .ValueName("WORD,...");
  rows.AddBytes("memory", &flags->memory, "memory limit of the whole run")
      .DefaultText("most of what is free");
  rows.Add("seed", &options.seed, "random seed: the same seed gives the same partitioning");
  AddEdgeFlags(rows, flags);
  AddStreamMetisFlags(rows, flags);
}

void AddOrderRow(OptionTable& rows, MethodFlags* flags) {
  std::vector<std::pair<std::string_view, NodeOrder>> orders;
  orders.reserve(std::size(kNodeOrderWords));
  for (const std::string_view word : kNodeOrderWords) orders.emplace_back(word, *NodeOrderOf(word));
  rows.AddChoice("order", &flags->options.order, std::move(orders),
                 "how the nodes of a partition are numbered: input (as in the input), or cluster "
                 "(nodes of a cluster together; lp-metis and stream-metis find clusters)");
}

void AddFeatureDTypeRow(OptionTable& rows, FeatureDType* dtype) {
  std::vector<std::pair<std::string_view, FeatureDType>> dtypes;
  dtypes.reserve(std::size(kFeatureDTypeWords));
  for (const std::string_view word : kFeatureDTypeWords) {
    dtypes.emplace_back(word, *FeatureDTypeOf(word));
  }
  rows.AddChoice(
      "feature-dtype", dtype, std::move(dtypes),
      "what float features are stored and sent as, where it is smaller; int8 has a scale "
      "per row. Labels, integers and sampling weights stay as in the input");
}

StatusOr<TemporaryFolder> MakeScratch(const std::filesystem::path& parent, std::string_view name) {
  if (parent.empty()) {
    const char* variable = std::getenv("TMPDIR");
    return FailedPrecondition(
        "the folder for temporary files, `{}` (from TMPDIR), does not exist: create it, or give "
        "another with --scratch",
        variable == nullptr ? "" : variable);
  }
  return TemporaryFolder::Create(parent / fmt::format("halograph-{}", name));
}

std::filesystem::path SystemScratch() {
  std::error_code missing;  // reported where the folder is needed
  return std::filesystem::temp_directory_path(missing);
}

void AddReportOptions(OptionTable& rows, std::string scratch_help, ReportOptions* options) {
  AddMethodFlags(rows, &options->flags);
  rows.Group("Report");
  rows.Add("json", &options->json, "print JSON instead of a table");
  options->scratch = SystemScratch();
  rows.Add("scratch", &options->scratch, std::move(scratch_help));
}

void AddHaloRows(OptionTable& rows, bool* wanted, int* hops) {
  if (wanted != nullptr) {
    rows.Add("halo-features", wanted,
             "give each part a halo, so that it can be trained on without asking anybody: the "
             "features of its halo nodes, and what --hops says");
  }
  rows.Add("hops", hops,
           "of a halo: features of all nodes up to so many hops outside the part, and in-edges of "
           "all but the last hop; as many as layers make training on parts exact")
      .Range(1, kMostHaloHops);
}

std::string HalosText(const std::vector<HaloManifest>& halos) {
  int64_t bytes = 0, nodes = 0;
  for (const HaloManifest& halo : halos) {
    bytes += halo.bytes();
    for (const int64_t of_type : halo.nodes) nodes += of_type;
  }
  return fmt::format("halos of {} parts: {} hops, features of {} nodes, {}\n", halos.size(),
                     halos.empty() ? 0 : halos.front().hops, FormatCount(nodes),
                     FormatBytes(bytes));
}

}  // namespace halograph
