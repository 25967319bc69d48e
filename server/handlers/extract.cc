#include "server/handlers/extract.h"

#include <algorithm>
#include <numeric>

#include "common/sampling/kernel/extract_edges.h"
#include "proto/wire/writer.h"

namespace halograph::server {
namespace {

// Looked at together at least: each time a table is made of the columns.
constexpr int64_t kEdgesAColumn = 4;

int64_t VarintBytesOf(int64_t value) {
  return static_cast<int64_t>(wire::VarintBytes(static_cast<uint64_t>(value)));
}

// Of destination `i` in a reply.
int64_t DestinationBytes(const ExtractedEdges& extracted, size_t i) {
  const int64_t begin = extracted.offsets[i], end = extracted.offsets[i + 1];
  int64_t bytes = VarintBytesOf(end - begin) + VarintBytesOf(extracted.degrees[i]);
  for (int64_t e = begin; e < end; ++e) bytes += VarintBytesOf(extracted.columns[e]);
  const bool edge_ids = !extracted.edge_ids.empty();
  return bytes + (edge_ids ? (end - begin) * static_cast<int64_t>(sizeof(uint64_t)) : 0);
}

void Append(const ExtractedEdges& extracted, size_t i, ExtractAnswer* answer) {
  const int64_t begin = extracted.offsets[i], end = extracted.offsets[i + 1];
  const auto append = [begin, end](const auto& from, auto* to) {
    if (!from.empty()) to->insert(to->end(), from.begin() + begin, from.begin() + end);
  };
  answer->counts.push_back(static_cast<uint32_t>(end - begin));
  answer->degrees.push_back(extracted.degrees[i]);
  append(extracted.columns, &answer->columns);
  append(extracted.edge_ids, &answer->edge_ids);
}

// Behind the destinations from `begin` on that have at most `edges` in-edges together; one at
// least.
size_t EndOfEdges(std::span<const ColumnRow> rows, size_t begin, int64_t edges) {
  size_t end = begin;
  for (int64_t left = edges; end < rows.size(); ++end) {
    left -= rows[end].degree;
    if (left < 0 && end > begin) break;
  }
  return end;
}

}  // namespace

StatusOr<bool> ExtractHandler::AddEdges(const wire::ExtractGroup& group, const ColumnEdges& edges,
                                        const WorkLimits& limits, int64_t* room,
                                        ExtractAnswer* answer, TooLarge* left) const {
  if (group.destinations.empty()) return true;
  const std::span<const int64_t> all = group.destinations;
  const ColumnWorkspaces::Lease workspace(workspaces_);
  std::vector<ColumnRow> rows;
  HG_RETURN_IF_ERROR(FindColumnRows(edges, all, &rows).status());
  const int64_t at_once = std::max(edges_at_once_, kEdgesAColumn * std::ssize(group.columns));
  ExtractedEdges extracted;
  for (size_t begin = 0, end = 0; begin < all.size(); begin = end) {
    HG_RETURN_IF_ERROR(limits.Check());
    end = EndOfEdges(rows, begin, at_once);
    HG_RETURN_IF_ERROR(ExtractEdges(edges, all.subspan(begin, end - begin), group.columns,
                                    {.edge_ids = group.edge_ids}, workspace.get(), &extracted));
    for (size_t i = 0; i < end - begin; ++i) {
      const int64_t bytes = DestinationBytes(extracted, i);
      if (bytes > *room) {
        *left = {all[begin + i], extracted.offsets[i + 1] - extracted.offsets[i]};
        return false;
      }
      *room -= bytes;
      Append(extracted, i, answer);
    }
  }
  return true;
}

StatusOr<bool> ExtractHandler::AddDegrees(const wire::ExtractGroup& group, const ColumnEdges& edges,
                                          int64_t* room, ExtractAnswer* answer) const {
  std::vector<ColumnRow> rows;
  HG_RETURN_IF_ERROR(FindColumnRows(edges, group.degrees_of, &rows).status());
  for (const ColumnRow& row : rows) {
    const int64_t bytes = VarintBytesOf(row.degree);
    if (bytes > *room) return false;
    *room -= bytes;
    answer->other_degrees.push_back(row.degree);
  }
  return true;
}

void ExtractHandler::Count(int relation, const ExtractAnswer& answer) const {
  if (counters_ == nullptr) return;
  counters_->Sampled(
      relation, CountedSampler::kColumns,
      {.destinations = std::ssize(answer.counts),
       .edges = std::ssize(answer.columns),
       .scanned = std::accumulate(answer.degrees.begin(), answer.degrees.end(), int64_t{0})});
}

StatusOr<std::vector<ExtractAnswer>> ExtractHandler::Answer(const wire::ExtractRequest& request,
                                                            const WorkLimits& limits) const {
  HG_RETURN_IF_ERROR(CheckColumnGroups(*graph_, request.groups.size()));
  HG_ASSIGN_OR_RETURN(const int64_t bytes, ColumnReplyBytes(max_reply_bytes_, request.max_bytes));
  std::vector<ColumnRelation> relations;
  relations.reserve(request.groups.size());
  for (const wire::ExtractGroup& group : request.groups) {
    HG_ASSIGN_OR_RETURN(const ColumnRelation relation, FindColumnRelation(*graph_, group.relation));
    HG_RETURN_IF_ERROR(CheckDestinations(*graph_, relation, group.destinations));
    HG_RETURN_IF_ERROR(CheckDestinations(*graph_, relation, group.degrees_of));
    relations.push_back(relation);
  }
  std::vector<ExtractAnswer> answers;
  TooLarge left;
  int64_t room = bytes;
  for (size_t g = 0; g < request.groups.size(); ++g) {
    room -= wire::kExtractGroupOverhead;
    if (room < 0 && g > 0) break;
    ExtractAnswer& answer = answers.emplace_back();
    const ColumnEdges& edges = relations[g].edges;
    HG_ASSIGN_OR_RETURN(bool whole,
                        AddEdges(request.groups[g], edges, limits, &room, &answer, &left));
    if (whole) {
      HG_ASSIGN_OR_RETURN(whole, AddDegrees(request.groups[g], edges, &room, &answer));
    }
    Count(relations[g].index, answer);
    if (whole && room >= 0) continue;
    if (answer.counts.empty() && answer.other_degrees.empty()) answers.pop_back();
    break;
  }
  if (answers.empty() && !request.groups.empty() && left.node < 0) {
    return ResourceExhausted(
        "{}: a message of {} bytes holds no in-degree: raise --max-message-bytes",
        request.groups[0].relation, bytes);
  }
  if (answers.empty() && !request.groups.empty()) {
    return ResourceExhausted(
        "{}: the node of global id {} alone has {} edges from the {} columns, more than a message "
        "of {} bytes holds: raise --max-message-bytes of servers and clients, or draw fewer nodes "
        "a layer",
        request.groups[0].relation, left.node, left.edges, request.groups[0].columns.size(), bytes);
  }
  return answers;
}

}  // namespace halograph::server
