#include "common/sampling/samplers/symmetry.h"

#include <string>

#include "common/sampling/kernel/add_column_sums.h"

namespace halograph {

Status CheckSymmetric(const Schema& schema, int relation, int num_parts, const AskTopology& ask) {
  const std::string triple = schema.relations[static_cast<size_t>(relation)].triple();
  const int type = schema.SourceType(relation);
  if (type != schema.DestinationType(relation)) {
    return InvalidArgument(
        "{}: subgraphs are made by a relation of a node type with itself; this one leads to "
        "another "
        "type: give another --sampler",
        triple);
  }
  const int64_t nodes = schema.node_types[static_cast<size_t>(type)].count;
  TopologyQuestions questions;
  for (int part = 0; part < num_parts; ++part) {
    questions.sums.push_back({.relation = relation,
                              .value = ColumnValue::kAsymmetry,
                              .destinations = {},
                              .page = ColumnGroup::Page{part, {0, nodes}}});
  }
  TopologyAnswers answers;
  HG_RETURN_IF_ERROR(ask(questions, &answers));
  if (answers.sums.size() != questions.sums.size()) {
    return Internal("{}: {} asymmetries of {} parts", triple, answers.sums.size(), num_parts);
  }
  uint64_t sum = 0;  // modulo 2^64
  for (const ColumnSums& of_part : answers.sums) {
    // One sum at most, which is that of the first source.
    HG_RETURN_IF_ERROR(CheckColumnSums(triple, 1, {of_part.sources, of_part.sums}));
    for (const uint64_t share : of_part.sums) sum += share;
  }
  if (sum == 0) return OkStatus();
  return FailedPrecondition(
      "{}: is not symmetric: subgraphs by nodes, edges or walks need as many edges from u to v as "
      "from v to u. Add the reverse edges (halograph-partition run --undirected, and --duplicates "
      "drop if some are there already), or give --sampler cluster",
      triple);
}

}  // namespace halograph
