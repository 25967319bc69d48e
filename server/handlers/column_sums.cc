#include "server/handlers/column_sums.h"

#include <algorithm>

#include "common/sampling/kernel/column_sums.h"
#include "proto/wire/writer.h"

namespace halograph::server {
namespace {

// Of a candidate behind `last` (0 before the first) in the answer.
int64_t CandidateBytes(const ColumnSumsAnswer& answer, int64_t last, int64_t source, uint64_t sum) {
  const size_t fixed = answer.wide ? sizeof(uint64_t) : sizeof(uint32_t);
  return static_cast<int64_t>((answer.deltas ? wire::DeltaBytes(last, source) : fixed) +
                              wire::VarintBytes(sum));
}

// Takes what a candidate takes from `room`; false: there is no room for it.
bool Fits(const ColumnSumsAnswer& answer, int64_t last, int64_t source, uint64_t sum,
          int64_t* room) {
  const int64_t bytes = CandidateBytes(answer, last, source, sum);
  if (bytes > *room) return false;
  *room -= bytes;
  return true;
}

bool IsAsymmetry(const wire::ColumnSumsGroup& group) {
  return group.value == static_cast<uint32_t>(ColumnValue::kAsymmetry);
}

}  // namespace

Status ColumnSumsHandler::CheckPage(const wire::ColumnSumsGroup& group,
                                    const ColumnRelation& relation) const {
  const wire::ColumnPage& page = *group.page;
  if (!group.destinations.empty() ||
      group.value == static_cast<uint32_t>(ColumnValue::kDegreeShare)) {
    return InvalidArgument(
        "{}: a page of a part's edges with {} destinations and value {}, expected none and 0 or 2",
        group.relation, group.destinations.size(), group.value);
  }
  if (graph_->Find(page.part) == nullptr) {
    return OutOfRange("part {} is not served here; this server serves {} of {}", page.part,
                      graph_->parts_text(), graph_->book().num_parts());
  }
  if (page.source_begin < 0 || page.source_end < page.source_begin ||
      page.source_end > relation.edges.num_sources) {
    return OutOfRange("{}: sources [{}, {}) of a type with {} nodes", group.relation,
                      page.source_begin, page.source_end, relation.edges.num_sources);
  }
  return OkStatus();
}

Status ColumnSumsHandler::CheckAsymmetry(const wire::ColumnSumsGroup& group,
                                         const ColumnRelation& relation) const {
  const Schema& schema = graph_->schema();
  if (schema.SourceType(relation.index) != schema.DestinationType(relation.index)) {
    return InvalidArgument(
        "{}: leads from one node type to another, so it has no edges back: only a relation of a "
        "type with itself has an asymmetry",
        group.relation);
  }
  const int64_t sources = relation.edges.num_sources;
  if (!group.page || group.page->source_begin != 0 || group.page->source_end != sources) {
    return InvalidArgument(
        "{}: an asymmetry is that of all edges of a part: expected a page of sources [0, {})",
        group.relation, sources);
  }
  return OkStatus();
}

StatusOr<ColumnRelation> ColumnSumsHandler::Check(const wire::ColumnSumsGroup& group) const {
  HG_ASSIGN_OR_RETURN(ColumnRelation relation, FindColumnRelation(*graph_, group.relation));
  if (group.value > static_cast<uint32_t>(ColumnValue::kAsymmetry)) {
    return InvalidArgument(
        "{}: value {} of an edge is not known here: this server is of an older version",
        group.relation, group.value);
  }
  if (group.from_source < 0) {
    return OutOfRange("{}: candidates from source {} on", group.relation, group.from_source);
  }
  if (group.page) HG_RETURN_IF_ERROR(CheckPage(group, relation));
  if (IsAsymmetry(group)) HG_RETURN_IF_ERROR(CheckAsymmetry(group, relation));
  HG_RETURN_IF_ERROR(CheckDestinations(*graph_, relation, group.destinations));
  return relation;
}

Status ColumnSumsHandler::AnswerPage(const wire::ColumnSumsGroup& group,
                                     const ColumnRelation& relation, int64_t* room,
                                     ColumnSumsAnswer* answer) const {
  HG_ASSIGN_OR_RETURN(const OutDegreeCounts::Counts counts,
                      out_degrees_.Of(relation, static_cast<int>(group.page->part)));
  const std::vector<uint32_t>& degrees = *counts;
  int64_t source = std::max(group.page->source_begin, group.from_source);
  for (; source < group.page->source_end; ++source) {
    const uint32_t degree = degrees[static_cast<size_t>(source)];
    if (degree == 0) continue;
    const int64_t last = answer->sums.sources.empty() ? 0 : answer->sums.sources.back();
    answer->more = !Fits(*answer, last, source, degree, room);
    if (answer->more) break;
    answer->sums.sources.push_back(source);
    answer->sums.sums.push_back(degree);
  }
  return OkStatus();
}

Status ColumnSumsHandler::AnswerAsymmetry(const wire::ColumnSumsGroup& group,
                                          const ColumnRelation& relation, const WorkLimits& limits,
                                          int64_t* room, ColumnSumsAnswer* answer) {
  if (group.from_source > group.page->source_begin) return OkStatus();  // behind the only one
  HG_ASSIGN_OR_RETURN(const uint64_t sum,
                      SumAsymmetry(relation.edges, static_cast<int>(group.page->part), limits));
  if (sum == 0) return OkStatus();
  answer->more = !Fits(*answer, 0, group.page->source_begin, sum, room);
  if (answer->more) return OkStatus();
  answer->sums.sources.push_back(group.page->source_begin);
  answer->sums.sums.push_back(sum);
  return OkStatus();
}

Status ColumnSumsHandler::AnswerGroup(const wire::ColumnSumsGroup& group,
                                      const ColumnRelation& relation, const WorkLimits& limits,
                                      ColumnSums* all, int64_t* room,
                                      ColumnSumsAnswer* answer) const {
  answer->wide = relation.wide;
  answer->deltas = group.source_deltas;
  if (IsAsymmetry(group)) return AnswerAsymmetry(group, relation, limits, room, answer);
  if (group.page) return AnswerPage(group, relation, room, answer);
  const ColumnWorkspaces::Lease workspace(workspaces_);
  HG_RETURN_IF_ERROR(SumColumns(relation.edges, group.destinations,
                                static_cast<ColumnValue>(group.value), workspace.get(), all));
  if (counters_ != nullptr) {
    int64_t scanned = 0;
    for (const ColumnRow& row : workspace.get()->rows) scanned += row.degree;
    counters_->Sampled(relation.index, CountedSampler::kColumns, {.scanned = scanned});
  }
  const std::vector<int64_t>& sources = all->sources;
  const auto first = std::lower_bound(sources.begin(), sources.end(), group.from_source);
  const auto begin = first - sources.begin();
  auto end = begin;
  for (int64_t last = 0; end < std::ssize(sources); last = sources[end++]) {
    if (!Fits(*answer, last, sources[end], all->sums[end], room)) break;
  }
  answer->sums.sources.assign(sources.begin() + begin, sources.begin() + end);
  answer->sums.sums.assign(all->sums.begin() + begin, all->sums.begin() + end);
  answer->more = end < std::ssize(sources);
  return OkStatus();
}

StatusOr<std::vector<ColumnSumsAnswer>> ColumnSumsHandler::Answer(
    const wire::ColumnSumsRequest& request, const WorkLimits& limits) const {
  HG_RETURN_IF_ERROR(CheckColumnGroups(*graph_, request.groups.size()));
  HG_ASSIGN_OR_RETURN(const int64_t bytes, ColumnReplyBytes(max_reply_bytes_, request.max_bytes));
  std::vector<ColumnRelation> relations;
  relations.reserve(request.groups.size());
  for (const wire::ColumnSumsGroup& group : request.groups) {  // all of it, even if cut
    HG_ASSIGN_OR_RETURN(const ColumnRelation relation, Check(group));
    relations.push_back(relation);
  }
  std::vector<ColumnSumsAnswer> answers;
  ColumnSums all;
  int64_t room = bytes;
  for (size_t g = 0; g < request.groups.size(); ++g) {
    room -= wire::kColumnSumsGroupOverhead;
    if (room < 0 && g > 0) break;
    HG_RETURN_IF_ERROR(limits.Check());
    ColumnSumsAnswer& answer = answers.emplace_back();
    HG_RETURN_IF_ERROR(AnswerGroup(request.groups[g], relations[g], limits, &all, &room, &answer));
    if (!answer.more && room >= 0) continue;
    if (answer.sums.sources.empty()) answers.pop_back();  // not even its first
    break;
  }
  if (answers.empty() && !request.groups.empty()) {
    return ResourceExhausted("{}: a message of {} bytes holds no sum: raise --max-message-bytes",
                             request.groups[0].relation, bytes);
  }
  return answers;
}

}  // namespace halograph::server
