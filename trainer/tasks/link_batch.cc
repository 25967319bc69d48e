#include "trainer/tasks/link_batch.h"

#include <utility>

#include "trainer/tasks/task.h"

namespace halograph {

std::vector<Asked> AskedOf(const Schema& schema, const NegativeSpec& spec,
                           const std::vector<torch::Tensor>& outputs, const Step& batch) {
  const torch::Tensor of_edges = LabelsOf(batch).select(1, 0).contiguous();
  const EdgeLayout layout = LayOutEdges(
      schema, {of_edges.data_ptr<int64_t>(), static_cast<size_t>(of_edges.numel())}, spec);
  std::vector<torch::Tensor> rows, at;  // of each list's seeds
  torch::Tensor relations;
  for (size_t i = 0; i < layout.lists.size(); ++i) {
    const torch::Tensor& nodes = outputs[layout.lists[i].type];
    at.push_back(PositionsOf(batch, i, nodes.device()));
    rows.push_back(torch::embedding(nodes, at.back()));
    if (i == 0) relations = LabelsOf(batch, nodes.device()).select(1, 0).contiguous();
  }
  std::vector<Asked> all;
  for (const EdgeRun& run : layout.runs) {
    const int64_t n = run.rows.size();
    const int64_t drawn = spec.shared ? spec.count : spec.count * n;
    const auto ask = [&](bool tails, int given, int64_t given_first, int truth, int64_t truth_first,
                         int64_t negatives) {
      Asked asked{.tails = tails,
                  .given_type = layout.lists[given].type,
                  .candidate_type = layout.lists[truth].type,
                  .relations = relations.narrow(0, run.rows.begin, n),
                  .given = rows[given].narrow(0, given_first, n),
                  .truth = rows[truth].narrow(0, truth_first, n),
                  .given_at = at[given].narrow(0, given_first, n),
                  .truth_at = at[truth].narrow(0, truth_first, n)};
      if (negatives >= 0) {
        asked.negatives = rows[truth].narrow(0, negatives, drawn);
        asked.negatives_at = at[truth].narrow(0, negatives, drawn);
      }
      all.push_back(std::move(asked));
    };
    if (spec.tails()) {
      ask(true, run.source_list, run.sources, run.destination_list, run.destinations, run.tails);
    }
    if (spec.heads()) {
      ask(false, run.destination_list, run.destinations, run.source_list, run.sources, run.heads);
    }
  }
  return all;
}

void AddQueries(const Asked& asked, const Minibatch& minibatch, std::vector<LinkQuery>* queries) {
  const auto* const relations = asked.relations.data_ptr<int64_t>();
  const auto* const given = asked.given_at.data_ptr<int32_t>();
  for (int64_t i = 0; i < asked.relations.numel(); ++i) {
    queries->push_back({.candidate_type = asked.candidate_type,
                        .relation = relations[i],
                        .tails = asked.tails ? 1 : 0,
                        .given = minibatch.nodes[asked.given_type][given[i]]});
  }
}

}  // namespace halograph
