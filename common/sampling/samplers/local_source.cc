#include "common/sampling/samplers/local_source.h"

#include <map>
#include <string>
#include <utility>

#include "common/sampling/kernel/column_sums.h"
#include "common/sampling/kernel/one_layer.h"
#include "common/sampling/kernel/stacked_columns.h"
#include "common/sampling/request.h"

namespace halograph {

ColumnEdges ColumnEdgesOf(const Schema& schema, const Topology& topology, int relation,
                          std::string_view triple) {
  return {.topology = &topology[static_cast<size_t>(relation)],
          .num_sources = schema.node_types[schema.SourceType(relation)].count,
          .relation = triple};
}

namespace {

Status CountPage(const ColumnEdges& edges, const ColumnGroup::Page& page, ColumnSums* sums) {
  const RelationTopology part = edges.topology->Only(page.part);
  ColumnEdges of_part = edges;
  of_part.topology = &part;
  std::vector<uint32_t> degrees;
  HG_RETURN_IF_ERROR(CountOutDegrees(of_part, page.sources, &degrees));
  for (size_t i = 0; i < degrees.size(); ++i) {
    if (degrees[i] == 0) continue;
    sums->sources.push_back(page.sources.begin + static_cast<int64_t>(i));
    sums->sums.push_back(degrees[i]);
  }
  return OkStatus();
}

// A group that asks for a page, of a part that is here.
Status SumPage(const ColumnEdges& edges, const ColumnGroup& group, const WorkLimits& limits,
               ColumnSums* sums) {
  sums->sources.clear();
  sums->sums.clear();
  const ColumnGroup::Page& page = *group.page;
  if (group.value != ColumnValue::kAsymmetry) return CountPage(edges, page, sums);
  HG_ASSIGN_OR_RETURN(const uint64_t sum, SumAsymmetry(edges, page.part, limits));
  if (sum == 0) return OkStatus();
  sums->sources.push_back(page.sources.begin);
  sums->sums.push_back(sum);
  return OkStatus();
}

// Groups that may be stacked, and where their answers go.
template <typename Group, typename Answer>
struct Together {
  std::vector<const Group*> groups;
  std::vector<Answer*> answers;

  void Add(const Group& group, Answer* answer) {
    groups.push_back(&group);
    answers.push_back(answer);
  }
};

}  // namespace

Status LocalSource::Draw(std::span<const LayerGroup> groups, std::vector<NeighborPicks>* picks) {
  picks->resize(groups.size());
  for (size_t g = 0; g < groups.size(); ++g) {
    const LayerGroup& group = groups[g];
    const uint64_t layer_key =
        LayerKey(group.batch_seed, group.layer, static_cast<int>(topology_.size()), group.relation);
    HG_ASSIGN_OR_RETURN(
        const LayerDraws draws,
        MakeLayerDraws(
            topology_[group.relation], group.rule, layer_key,
            {.edge_ids = group.edge_ids, .weights = group.weights, .degrees = group.degrees}));
    const FusedOutcome outcome = SampleNeighbors(draws, group.destinations, pool_, &(*picks)[g]);
    if (!outcome.done()) return DamageOf(outcome, schema_.relations[group.relation].triple());
  }
  return OkStatus();
}

Status LocalSource::SumColumns(std::span<const ColumnGroup> groups, std::vector<ColumnSums>* sums) {
  sums->resize(groups.size());
  std::map<std::pair<int, ColumnValue>, Together<ColumnGroup, ColumnSums>> all;
  for (size_t g = 0; g < groups.size(); ++g) {
    const ColumnGroup& group = groups[g];
    if (!group.page.has_value()) {
      all[{group.relation, group.value}].Add(group, &(*sums)[g]);
      continue;
    }
    const std::string triple = schema_.relations[group.relation].triple();
    HG_RETURN_IF_ERROR(SumPage(ColumnEdgesOf(schema_, topology_, group.relation, triple), group,
                               limits_, &(*sums)[g]));
  }
  const IdlePool<ColumnWorkspace>::Lease workspace(&workspaces_);
  for (const auto& [kind, together] : all) {
    const std::string triple = schema_.relations[kind.first].triple();
    HG_RETURN_IF_ERROR(SumColumnsOfAll(ColumnEdgesOf(schema_, topology_, kind.first, triple),
                                       together.groups, stacks_, workspace.get(), together.answers,
                                       limits_));
  }
  return OkStatus();
}

Status LocalSource::Extract(std::span<const EdgeGroup> groups, std::vector<ExtractedEdges>* edges) {
  edges->resize(groups.size());
  std::map<int, Together<EdgeGroup, ExtractedEdges>> all;
  for (size_t g = 0; g < groups.size(); ++g) {
    all[groups[g].relation].Add(groups[g], &(*edges)[g]);
  }
  const IdlePool<ColumnWorkspace>::Lease workspace(&workspaces_);
  for (const auto& [relation, together] : all) {
    const std::string triple = schema_.relations[relation].triple();
    HG_RETURN_IF_ERROR(ExtractEdgesOfAll(ColumnEdgesOf(schema_, topology_, relation, triple),
                                         together.groups, stacks_, workspace.get(),
                                         together.answers, limits_));
  }
  return OkStatus();
}

}  // namespace halograph
