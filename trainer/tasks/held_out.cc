#include "trainer/tasks/held_out.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "trainer/distributed/wait_together.h"
#include "trainer/seeds/edge_seeds.h"
#include "trainer/torch/torch_api.h"

namespace halograph {
namespace {

// The edges of one relation of a set, order[begin, end), looked for among those of relation `in`:
// as they are, or the other way round.
struct Pass {
  size_t begin = 0, end = 0;
  int in = 0;
  bool back = false;
};

const std::vector<int> kNone;  // relations

// A rank's search, a request at a time.
class Search {
 public:
  Search(GraphStore& graph, const EdgeRows& rows, HeldOutRows which, const CancelToken* cancel)
      : graph_(graph),
        rows_(rows),
        cancel_(cancel),
        has_back_(rows.sources.size()),
        present_(graph.info().schema.relations.size()) {
    for (size_t row = 0; row < rows_.sources.size(); ++row) {
      if (rows_.is_edge(row) == (which == HeldOutRows::kEdges)) order_.push_back(row);
    }
    std::stable_sort(order_.begin(), order_.end(),
                     [&](size_t a, size_t b) { return rows_.relations[a] < rows_.relations[b]; });
    for (size_t begin = 0; begin < order_.size();) {
      const int relation = rows_.relations[order_[begin]];
      size_t end = begin;
      while (end < order_.size() && rows_.relations[order_[end]] == relation) ++end;
      passes_.push_back({begin, end, relation, false});
      const bool edges = which == HeldOutRows::kEdges;
      for (const int back : edges ? ReverseRelations(graph.info().schema, relation) : kNone) {
        passes_.push_back({begin, end, back, true});
      }
      begin = end;
    }
  }

  [[nodiscard]] bool done() const { return pass_ == passes_.size(); }

  // The next nodes of a pass. Requires !done().
  Status Step() {
    const Pass& pass = passes_[pass_];
    if (next_ <= pass.begin) {
      next_ = pass.begin;
      SortByEnds(pass);
    }
    const size_t begin = next_;
    std::vector<int64_t> nodes;
    std::vector<size_t> bounds = {begin};  // of each node's edges
    while (next_ < pass.end && std::ssize(nodes) < kHeldOutNodesTogether) {
      nodes.push_back(Into(pass, order_[next_]));
      while (next_ < pass.end && Into(pass, order_[next_]) == nodes.back()) ++next_;
      bounds.push_back(next_);
    }
    HG_RETURN_IF_ERROR(LookInto(pass, nodes, bounds));
    if (next_ == pass.end) {
      ++pass_;
      next_ = 0;
    }
    return OkStatus();
  }

  // Edges, ways back, and the edges that are there by relation: float64, to be added up over ranks.
  [[nodiscard]] torch::Tensor Sums() const {
    std::vector<double> sums = {
        static_cast<double>(order_.size()),
        static_cast<double>(std::count(has_back_.begin(), has_back_.end(), true))};
    sums.insert(sums.end(), present_.begin(), present_.end());
    return torch::tensor(sums, torch::kFloat64);
  }

 private:
  [[nodiscard]] int64_t Into(const Pass& pass, size_t edge) const {
    return pass.back ? rows_.sources[edge] : rows_.destinations[edge];
  }
  [[nodiscard]] int64_t From(const Pass& pass, size_t edge) const {
    return pass.back ? rows_.destinations[edge] : rows_.sources[edge];
  }

  void SortByEnds(const Pass& pass) {
    const auto first = order_.begin();
    std::sort(first + static_cast<ptrdiff_t>(pass.begin), first + static_cast<ptrdiff_t>(pass.end),
              [&](size_t a, size_t b) {
                return std::pair(Into(pass, a), From(pass, a)) <
                       std::pair(Into(pass, b), From(pass, b));
              });
  }

  Status LookInto(const Pass& pass, const std::vector<int64_t>& nodes,
                  const std::vector<size_t>& bounds) {
    const Schema& schema = graph_.info().schema;
    SamplingSpec spec;
    spec.layers = {{Neighbors(pass.in, kFullNeighborhood)}};
    const SampleRequest request{.seeds = {{.type = schema.DestinationType(pass.in), .ids = nodes}},
                                .spec = &spec};
    CallContext context{.cancel = cancel_};
    Minibatch minibatch;
    HG_RETURN_IF_ERROR(graph_.Sample(request, context, &minibatch));
    const Block& block = minibatch.layers.front().blocks.front();
    const std::vector<int64_t>& sources = minibatch.nodes[schema.SourceType(pass.in)];
    for (size_t i = 0; i < nodes.size(); ++i) {
      const int32_t row = minibatch.seed_positions.front()[i];
      const auto first = static_cast<size_t>(block.indptr[row]);
      const auto count = static_cast<size_t>(block.indptr[row + 1]) - first;
      Mark(pass, std::span(order_).subspan(bounds[i], bounds[i + 1] - bounds[i]),
           std::span(block.indices).subspan(first, count), sources);
    }
    return OkStatus();
  }

  // `wanted`: edges into one node, by source; `found`: positions in `sources` of those into it that
  // the graph has.
  void Mark(const Pass& pass, std::span<const size_t> wanted, std::span<const int32_t> found,
            const std::vector<int64_t>& sources) {
    std::vector<bool> there(wanted.size());
    for (const int32_t position : found) {
      const auto at =
          std::lower_bound(wanted.begin(), wanted.end(), sources[position],
                           [&](size_t edge, int64_t source) { return From(pass, edge) < source; });
      if (at != wanted.end() && From(pass, *at) == sources[position]) {
        there[static_cast<size_t>(at - wanted.begin())] = true;
      }
    }
    for (size_t i = 0; i < wanted.size(); ++i) {
      // Of edges that are listed several times, the first is marked.
      if (i > 0 && From(pass, wanted[i]) == From(pass, wanted[i - 1])) there[i] = there[i - 1];
      if (!there[i]) continue;
      if (pass.back) {
        has_back_[wanted[i]] = true;
      } else {
        present_[static_cast<size_t>(pass.in)] += 1;
      }
    }
  }

  GraphStore& graph_;
  const EdgeRows& rows_;
  const CancelToken* const cancel_;
  std::vector<size_t> order_;  // of the edges: by relation, and by ends in the pass at work
  std::vector<bool> has_back_;
  std::vector<double> present_;  // by relation
  std::vector<Pass> passes_;
  size_t pass_ = 0;  // at work
  size_t next_ = 0;  // its next place in order_; before its first: it begins
};

}  // namespace

StatusOr<HeldOutFound> FindHeldOut(GraphStore& graph, const EdgeRows& rows, Communicator& ranks,
                                   const CancelToken* cancel, HeldOutRows which) {
  std::optional<Search> search;
  const RankWork look = [&](const CancelToken& ended) -> Status {
    search.emplace(graph, rows, which, &ended);
    while (!search->done()) HG_RETURN_IF_ERROR(search->Step());
    return OkStatus();
  };
  HG_RETURN_IF_ERROR(
      WorkTogether(ranks, cancel, look, "meeting during the search for held-out edges"));
  const torch::Tensor sums = search->Sums();
  HG_RETURN_IF_ERROR(ranks.AllReduceSum(sums, "all-reduce of held-out edges"));
  const std::span<const double> all(sums.data_ptr<double>(), static_cast<size_t>(sums.numel()));
  const auto by_relation = all.subspan(2);
  HeldOutFound found{.rows = static_cast<int64_t>(all[0]),
                     .ways_back = static_cast<int64_t>(all[1])};
  for (const double count : by_relation) found.present += static_cast<int64_t>(count);
  if (found.present == 0) return found;
  const auto most = std::max_element(by_relation.begin(), by_relation.end());
  found.relation = static_cast<int>(most - by_relation.begin());
  found.of_relation = static_cast<int64_t>(*most);
  return found;
}

}  // namespace halograph
