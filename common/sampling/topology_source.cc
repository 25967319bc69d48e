#include "common/sampling/topology_source.h"

namespace halograph {

Status TopologySource::SumColumns(std::span<const ColumnGroup>, std::vector<ColumnSums>*) {
  return Internal("this source does not add up columns");
}

Status TopologySource::Extract(std::span<const EdgeGroup>, std::vector<ExtractedEdges>*) {
  return Internal("this source does not extract edges");
}

Status TopologySource::Ask(const TopologyQuestions& questions, TopologyAnswers* answers) {
  answers->draws.resize(questions.draws.size());
  answers->sums.resize(questions.sums.size());
  answers->edges.resize(questions.edges.size());
  if (!questions.draws.empty()) HG_RETURN_IF_ERROR(Draw(questions.draws, &answers->draws));
  if (!questions.sums.empty()) HG_RETURN_IF_ERROR(SumColumns(questions.sums, &answers->sums));
  if (!questions.edges.empty()) HG_RETURN_IF_ERROR(Extract(questions.edges, &answers->edges));
  return OkStatus();
}

}  // namespace halograph
