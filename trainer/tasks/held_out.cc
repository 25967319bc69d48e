#include "trainer/tasks/held_out.h"

#include <algorithm>
#include <numeric>
#include <vector>

namespace halograph {
namespace {

// Their destinations' in-edges are in memory at once.
constexpr size_t kEdgesTogether = 256;

// How many of the edges at `picked`, all of one relation, the graph has.
StatusOr<int64_t> CountPresent(GraphStore& graph, const EdgeRows& rows,
                               std::span<const size_t> picked, const CancelToken* cancel) {
  const int relation = rows.relations[picked.front()];
  const Schema& schema = graph.info().schema;
  std::vector<int64_t> destinations;
  for (const size_t edge : picked) destinations.push_back(rows.destinations[edge]);
  SamplingSpec spec;
  spec.layers = {{{.relation = relation, .fanout = kFullNeighborhood}}};
  const SampleRequest request{
      .seeds = {{.type = schema.DestinationType(relation), .ids = destinations}}, .spec = &spec};
  CallContext context{.cancel = cancel};
  Minibatch minibatch;
  HG_RETURN_IF_ERROR(graph.Sample(request, context, &minibatch));
  const Block& block = minibatch.layers.front().blocks.front();
  const std::vector<int64_t>& sources = minibatch.nodes[schema.SourceType(relation)];
  int64_t present = 0;
  for (size_t i = 0; i < picked.size(); ++i) {
    const int32_t row = minibatch.seed_positions.front()[i];
    const auto begin = block.indices.begin() + block.indptr[row];
    const auto end = block.indices.begin() + block.indptr[row + 1];
    present += std::any_of(
        begin, end, [&](int32_t position) { return sources[position] == rows.sources[picked[i]]; });
  }
  return present;
}

}  // namespace

Status CheckHeldOut(GraphStore& graph, std::string_view set, const EdgeRows& rows,
                    const CancelToken* cancel) {
  std::vector<size_t> order(rows.sources.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return rows.relations[a] < rows.relations[b]; });
  int64_t present = 0;
  int32_t first = 0;  // the relation of the first that is there
  for (size_t begin = 0; begin < order.size();) {
    const int32_t relation = rows.relations[order[begin]];
    size_t end = begin;
    while (end < order.size() && end - begin < kEdgesTogether &&
           rows.relations[order[end]] == relation) {
      ++end;
    }
    HG_ASSIGN_OR_RETURN(
        const int64_t found,
        CountPresent(graph, rows, std::span(order).subspan(begin, end - begin), cancel));
    if (present == 0) first = relation;
    present += found;
    begin = end;
  }
  if (present == 0) return OkStatus();
  return FailedPrecondition(
      "the graph has {} of this rank's {} edges of the {} set (of '{}' and maybe others): training "
      "would see them in neighbourhoods. Partition the graph without them, or give --held-out keep",
      present, rows.sources.size(), set, graph.info().schema.relations[first].triple());
}

}  // namespace halograph
