#include "server/handlers/column_questions.h"

#include <algorithm>

#include "common/sampling/kernel/column_sums.h"

namespace halograph::server {
StatusOr<ColumnRelation> FindColumnRelation(const ServedGraph& graph, const std::string& name) {
  const Schema& schema = graph.schema();
  HG_ASSIGN_OR_RETURN(const int index, schema.RelationIndex(name));
  const int64_t sources = schema.node_types[schema.SourceType(index)].count;
  return ColumnRelation{
      .index = index,
      .edges = {.topology = &graph.topology()[index], .num_sources = sources, .relation = name},
      .wide = sources > (int64_t{1} << 32)};
}

Status CheckDestinations(const ServedGraph& graph, const ColumnRelation& relation,
                         std::span<const int64_t> nodes) {
  const int type = graph.schema().DestinationType(relation.index);
  return graph.CheckOwned(graph.book().NodeBoundaries(type), nodes,
                          "node type " + graph.schema().node_types[type].name);
}

Status CheckColumnGroups(const ServedGraph& graph, size_t groups) {
  HG_RETURN_IF_ERROR(graph.CheckServesTopology());
  if (groups <= kMaxColumnGroups) return OkStatus();
  return InvalidArgument("{} groups in one request, at most {} are taken: split it", groups,
                         kMaxColumnGroups);
}

StatusOr<int64_t> ColumnReplyBytes(int64_t max_reply_bytes, int64_t max_bytes) {
  if (max_bytes < 0) return InvalidArgument("max_bytes {} is below 0", max_bytes);
  return max_bytes == 0 ? max_reply_bytes : std::min(max_bytes, max_reply_bytes);
}

std::shared_ptr<OutDegreeCounts::Entry> OutDegreeCounts::EntryOf(int relation, int part) {
  const MutexLock lock(mutex_);
  if (relation_ != relation) of_parts_.clear();
  relation_ = relation;
  std::shared_ptr<Entry>& entry = of_parts_[part];
  if (entry == nullptr) entry = std::make_shared<Entry>();
  return entry;
}

StatusOr<OutDegreeCounts::Counts> OutDegreeCounts::Of(const ColumnRelation& relation, int part) {
  const std::shared_ptr<Entry> entry = EntryOf(relation.index, part);
  const MutexLock lock(entry->mutex);
  if (entry->counts != nullptr) return entry->counts;
  const RelationTopology own = relation.edges.topology->Only(part);
  ColumnEdges edges = relation.edges;
  edges.topology = &own;
  auto counts = std::make_shared<std::vector<uint32_t>>();
  ++times_counted_;
  HG_RETURN_IF_ERROR(CountOutDegrees(edges, {0, edges.num_sources}, counts.get()));
  entry->counts = std::move(counts);
  return entry->counts;
}

}  // namespace halograph::server
