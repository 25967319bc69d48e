#include "partitioner/inspect/inspect_graph.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <numeric>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "common/base/list_some.h"
#include "common/base/units.h"
#include "common/graph/halo.h"
#include "common/graph/partition.h"

namespace halograph {

namespace {

// {"name": count, ...}; DataLoss for anything but counts.
StatusOr<std::map<std::string, int64_t>> ReadCounts(const Json& stats, std::string_view key,
                                                    const std::string& where) {
  std::map<std::string, int64_t> counts;
  if (!stats.contains(std::string(key))) return counts;  // a graph without relations has none
  HG_ASSIGN_OR_RETURN(const Json object, GetObject(stats, key, where));
  for (const auto& [name, value] : object.items()) {
    HG_ASSIGN_OR_RETURN(counts[name], GetInt(object, name, fmt::format("{}: {}", where, key)));
  }
  return counts;
}

int64_t Sum(const std::map<std::string, int64_t>& counts) {
  int64_t sum = 0;
  for (const auto& [name, count] : counts) sum += count;
  return sum;
}

StatusOr<PartSummary> ReadPart(const Json& stats, const std::string& where) {
  PartSummary part;
  HG_ASSIGN_OR_RETURN(part.core_by_type, ReadCounts(stats, "core_nodes", where));
  HG_ASSIGN_OR_RETURN(const auto halo, ReadCounts(stats, "halo_nodes", where));
  HG_ASSIGN_OR_RETURN(const auto edges, ReadCounts(stats, "edges", where));
  HG_ASSIGN_OR_RETURN(part.task_rows, ReadCounts(stats, "task_rows", where));
  HG_ASSIGN_OR_RETURN(part.cut_edges, GetInt(stats, "cut_edges", where));
  HG_ASSIGN_OR_RETURN(part.bytes, GetInt(stats, "bytes", where));
  part.core_nodes = Sum(part.core_by_type);
  part.halo_nodes = Sum(halo);
  part.edges = Sum(edges);
  return part;
}

StatusOr<ClusterSummary> ReadClusters(const GraphManifest& manifest, const std::string& path) {
  const std::string options = path + ": options";
  HG_ASSIGN_OR_RETURN(const Json report, GetObject(manifest.options, "report", options));
  const std::string here = options + ".report";
  HG_ASSIGN_OR_RETURN(const Json clusters, GetObject(report, "clusters", here));
  HG_ASSIGN_OR_RETURN(const std::vector<int64_t> parts, GetInts(clusters, "parts", here));
  HG_ASSIGN_OR_RETURN(const Json nodes, GetObject(clusters, "nodes", here + ".clusters"));
  const std::string nodes_at = here + ".clusters.nodes";
  ClusterSummary summary;
  summary.count = std::accumulate(parts.begin(), parts.end(), int64_t{0});
  HG_ASSIGN_OR_RETURN(summary.least_nodes, GetInt(nodes, "least", nodes_at));
  HG_ASSIGN_OR_RETURN(summary.median_nodes, GetInt(nodes, "median", nodes_at));
  HG_ASSIGN_OR_RETURN(summary.most_nodes, GetInt(nodes, "most", nodes_at));
  for (size_t p = 0; p < manifest.part_stats.size(); ++p) {
    HG_ASSIGN_OR_RETURN(const int64_t within,
                        GetInt(manifest.part_stats[p], "edges_within_clusters",
                               fmt::format("{}: parts[{}]: stats", path, p)));
    summary.edges_within += within;
  }
  return summary;
}

using Quantity = std::function<int64_t(const PartSummary&)>;

void AddBalance(const std::string& name, const Quantity& quantity, GraphSummary* summary) {
  int64_t largest = 0;
  int64_t total = 0;
  for (const PartSummary& part : summary->parts) {
    largest = std::max(largest, quantity(part));
    total += quantity(part);
  }
  if (total == 0) return;
  const double mean = static_cast<double>(total) / static_cast<double>(summary->parts.size());
  summary->balance[name] = static_cast<double>(largest) / mean;
}

}  // namespace

void Summarise(GraphSummary* summary) {
  int64_t kept = 0;
  for (const PartSummary& part : summary->parts) {
    summary->nodes += part.core_nodes;
    summary->edges += part.edges;
    summary->edge_cut += part.cut_edges;
    kept += part.core_nodes + part.halo_nodes;
  }
  if (summary->nodes > 0) {
    summary->replication_factor = static_cast<double>(kept) / static_cast<double>(summary->nodes);
  }
  AddBalance(
      "nodes", [](const PartSummary& part) { return part.core_nodes; }, summary);
  AddBalance(
      "edges", [](const PartSummary& part) { return part.edges; }, summary);
  const auto& types = summary->parts.front().core_by_type;
  for (const auto& [name, count] : types) {
    if (types.size() == 1) break;
    AddBalance(
        "nodes/" + name,
        [&key = name](const PartSummary& part) { return part.core_by_type.at(key); }, summary);
  }
  for (const auto& [name, count] : summary->parts.front().task_rows) {
    AddBalance(
        name, [&key = name](const PartSummary& part) { return part.task_rows.at(key); }, summary);
  }
}

StatusOr<GraphSummary> InspectGraph(const std::filesystem::path& graph) {
  HG_ASSIGN_OR_RETURN(const GraphManifest manifest, ReadGraphManifest(graph));
  HG_ASSIGN_OR_RETURN(const auto set, PartitionSet::Open(graph, {}, VerifyLevel::kHeaders));
  HG_ASSIGN_OR_RETURN(GraphSummary summary, SummaryOf(manifest, graph));
  summary.schema = manifest.schema;
  for (size_t p = 0; p < summary.parts.size(); ++p) {
    const std::filesystem::path folder = graph / PartFolderName(static_cast<int>(p));
    if (!HasHalo(folder)) continue;
    HG_ASSIGN_OR_RETURN(const HaloManifest halo, ReadHaloManifest(folder));
    summary.parts[p].halo_hops = halo.hops;
    summary.parts[p].halo_bytes = halo.bytes();
  }
  return summary;
}

StatusOr<GraphSummary> SummaryOf(const GraphManifest& manifest,
                                 const std::filesystem::path& graph) {
  GraphSummary summary;
  summary.name = manifest.schema.graph_name;
  summary.identity = manifest.identity;
  summary.build = manifest.build;
  summary.options = manifest.options;
  const std::string path = (graph / kManifestName).string();
  for (size_t p = 0; p < manifest.part_stats.size(); ++p) {
    const std::string where = fmt::format("{}: parts[{}]: stats", path, p);
    HG_ASSIGN_OR_RETURN(PartSummary part, ReadPart(manifest.part_stats[p], where));
    if (p > 0 && (part.core_by_type.size() != summary.parts[0].core_by_type.size() ||
                  part.task_rows.size() != summary.parts[0].task_rows.size())) {
      return DataLoss("{}: its node types or task sets differ from those of parts[0]", where);
    }
    summary.parts.push_back(std::move(part));
  }
  if (manifest.clusters) {
    HG_ASSIGN_OR_RETURN(summary.clusters, ReadClusters(manifest, path));
  }
  Summarise(&summary);
  return summary;
}

namespace {

double Share(int64_t part, int64_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

Json ToJson(const ClusterSummary& clusters, int64_t edges) {
  return {{"count", clusters.count},
          {"nodes",
           {{"least", clusters.least_nodes},
            {"median", clusters.median_nodes},
            {"most", clusters.most_nodes}}},
          {"edges_within", clusters.edges_within},
          {"edges_within_share", Share(clusters.edges_within, edges)}};
}

}  // namespace

Json ToJson(const GraphSummary& summary) {
  Json parts = Json::array();
  for (size_t p = 0; p < summary.parts.size(); ++p) {
    const PartSummary& part = summary.parts[p];
    parts.push_back({{"part", p},
                     {"core_nodes", part.core_nodes},
                     {"halo_nodes", part.halo_nodes},
                     {"edges", part.edges},
                     {"cut_edges", part.cut_edges},
                     {"bytes", part.bytes},
                     {"halo_hops", part.halo_hops},
                     {"halo_bytes", part.halo_bytes},
                     {"task_rows", part.task_rows},
                     {"core_by_type", part.core_by_type}});
  }
  Json json = {{"name", summary.name},
               {"identity", summary.identity},
               {"build", summary.build},
               {"options", summary.options},
               {"nodes", summary.nodes},
               {"edges", summary.edges},
               {"edge_cut", summary.edge_cut},
               {"edge_cut_share", summary.edge_cut_share()},
               {"replication_factor", summary.replication_factor},
               {"balance", summary.balance},
               {"parts", std::move(parts)}};
  if (summary.clusters) json["clusters"] = ToJson(*summary.clusters, summary.edges);
  if (!summary.schema.node_types.empty()) json["schema"] = ToJson(summary.schema);
  return json;
}

namespace {

int64_t Rows(const PartSummary& part, const std::string& set) {
  const auto found = part.task_rows.find(set);
  return found == part.task_rows.end() ? 0 : found->second;
}

// Which parts can be trained on alone, and what that takes; empty if none can.
std::string HalosLine(const GraphSummary& summary) {
  int64_t parts = 0, bytes = 0;
  std::set<int> hops;
  for (const PartSummary& part : summary.parts) {
    if (part.halo_hops == 0) continue;
    ++parts;
    bytes += part.halo_bytes;
    hops.insert(part.halo_hops);
  }
  if (parts == 0) return "";
  return fmt::format("halos for training alone: {} of {} parts, {} hops, {}\n", parts,
                     summary.parts.size(), fmt::join(hops, ", "), FormatBytes(bytes));
}

// Empty if there are none.
std::string ClustersLine(const GraphSummary& summary) {
  if (!summary.clusters) return "";
  const ClusterSummary& clusters = *summary.clusters;
  return fmt::format(
      "clusters of minibatches: {}, of {} to {} nodes (median {}); {} of {} edges ({:.1f} %) are "
      "within one\n",
      FormatCount(clusters.count), FormatCount(clusters.least_nodes),
      FormatCount(clusters.most_nodes), FormatCount(clusters.median_nodes),
      FormatCount(clusters.edges_within), FormatCount(summary.edges),
      100 * Share(clusters.edges_within, summary.edges));
}

constexpr size_t kMostLines = 24;  // of node types, and of relations

std::string FeaturesText(const std::vector<TensorSpec>& features) {
  if (features.empty()) return "no features";
  std::vector<std::string> words;
  words.reserve(features.size());
  for (const TensorSpec& spec : features) {
    words.push_back(fmt::format("{} {}[{}]{}", spec.name, DTypeName(spec.dtype), spec.dim,
                                spec.sampling ? " (with tables for weighted sampling)" : ""));
  }
  return fmt::format("features {}", fmt::join(words, ", "));
}

// A line per item, of many only the first; `line` gives its text.
template <typename Item, typename Line>
void AddLines(const std::vector<Item>& items, std::string_view what, Line line, std::string* text) {
  for (size_t i = 0; i < std::min(items.size(), kMostLines); ++i) {
    *text += fmt::format("{} {}\n", what, line(items[i]));
  }
  if (items.size() > kMostLines) {
    *text += fmt::format("and {} more {}s (--json lists all)\n",
                         FormatCount(static_cast<int64_t>(items.size() - kMostLines)), what);
  }
}

// "node_classification: 7 classes; 140 train, 500 valid, 1,000 test seeds of node; labels int64"
std::string TaskText(const Task& task) {
  std::map<std::string, int64_t> rows;
  std::set<std::string> types, arrays;
  for (const TaskSetSpec& set : task.sets) {
    rows[set.set] += set.rows;
    types.insert(set.type);
    for (size_t i = 1; i < set.arrays.size(); ++i) {
      const TensorSpec& spec = set.arrays[i];
      arrays.insert(fmt::format("{} {}{}", spec.name, DTypeName(spec.dtype),
                                spec.dim > 1 ? fmt::format("[{}]", spec.dim) : ""));
    }
  }
  std::vector<std::string> sets;
  for (const char* name : {"train", "valid", "test"}) {
    if (rows.contains(name)) sets.push_back(fmt::format("{} {}", FormatCount(rows[name]), name));
  }
  const auto classes = task.metadata.find("num_classes");
  const std::string type =
      types.size() == 1 ? *types.begin() : fmt::format("{} types", types.size());
  return fmt::format(
      "{}: {}{} seeds of {}; {}", task.name,
      classes == task.metadata.end() ? "" : fmt::format("{} classes; ", classes->dump()),
      fmt::join(sets, ", "), type,
      arrays.empty() ? "no labels" : fmt::format("{}", fmt::join(arrays, ", ")));
}

}  // namespace

std::string DescribeSchema(const Schema& schema) {
  std::string text;
  AddLines(
      schema.node_types, "node type",
      [](const NodeType& type) {
        return fmt::format("{}: {} nodes; {}", type.name, FormatCount(type.count),
                           FeaturesText(type.features));
      },
      &text);
  AddLines(
      schema.relations, "relation",
      [](const Relation& relation) {
        return fmt::format("{}: {} edges; {}", relation.triple(), FormatCount(relation.count),
                           FeaturesText(relation.features));
      },
      &text);
  AddLines(schema.tasks, "task", TaskText, &text);
  return text;
}

std::string FormatTable(const GraphSummary& summary) {
  std::string text;
  auto out = std::back_inserter(text);
  fmt::format_to(out, "graph {}, identity {}\n", summary.name, summary.identity);
  text += DescribeSchema(summary.schema);
  fmt::format_to(out, "{:>5} {:>13} {:>13} {:>15} {:>15} {:>11} {:>11} {:>11} {:>11}\n", "part",
                 "core", "halo", "edges", "cut edges", "train", "valid", "test", "size");
  for (size_t p = 0; p < summary.parts.size(); ++p) {
    const PartSummary& part = summary.parts[p];
    fmt::format_to(out, "{:>5} {:>13} {:>13} {:>15} {:>15} {:>11} {:>11} {:>11} {:>11}\n", p,
                   FormatCount(part.core_nodes), FormatCount(part.halo_nodes),
                   FormatCount(part.edges), FormatCount(part.cut_edges),
                   FormatCount(Rows(part, "train")), FormatCount(Rows(part, "valid")),
                   FormatCount(Rows(part, "test")), FormatBytes(part.bytes));
  }
  text += HalosLine(summary);
  text += ClustersLine(summary);
  fmt::format_to(out, "edge cut {} of {} edges ({:.1f} %), replication factor {:.3f}\n",
                 FormatCount(summary.edge_cut), FormatCount(summary.edges),
                 100 * summary.edge_cut_share(), summary.replication_factor);
  constexpr size_t kListedBalances = 20;  // of hundreds of node types the JSON form has all
  text += "balance (max / mean): ";
  text += ListSome(summary.balance, kListedBalances,
                   [](const auto& of) { return fmt::format("{} {:.3f}", of.first, of.second); });
  text += '\n';
  return text;
}

}  // namespace halograph
