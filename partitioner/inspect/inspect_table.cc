#include <iterator>

#include <fmt/format.h>

#include "common/base/units.h"
#include "partitioner/inspect/inspect_graph.h"

namespace halograph {
namespace {

int64_t Rows(const PartSummary& part, const std::string& set) {
  const auto found = part.task_rows.find(set);
  return found == part.task_rows.end() ? 0 : found->second;
}

}  // namespace

std::string FormatTable(const GraphSummary& summary) {
  std::string text;
  auto out = std::back_inserter(text);
  fmt::format_to(out, "graph {}, identity {}\n", summary.name, summary.identity);
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
  fmt::format_to(out, "edge cut {} of {} edges ({:.1f} %), replication factor {:.3f}\n",
                 FormatCount(summary.edge_cut), FormatCount(summary.edges),
                 100 * summary.edge_cut_share(), summary.replication_factor);
  text += "balance (max / mean):";
  for (const auto& [name, value] : summary.balance) {
    fmt::format_to(out, " {} {:.3f}", name, value);
  }
  text += '\n';
  return text;
}

}  // namespace halograph
