// Compiled without contraction: every machine gives the same chances.
#include "common/sampling/samplers/walk_chance.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace halograph {
namespace {

// What is reached with less adds nothing to chances above 1e-20, and is not followed further.
constexpr double kNegligible = 1e-290;

// Neighbours of each node, each once, ascending: those of v are nodes[begins[v] .. begins[v + 1]).
struct NeighborLists {
  std::vector<size_t> begins;
  std::vector<uint32_t> nodes;
  std::vector<double> edges;      // between the two, one way
  std::vector<size_t> place;      // of each edge of the graph
  std::vector<double> in_degree;  // of each node
};

Status CheckLists(const InEdgeLists& graph) {
  const int64_t nodes = graph.num_nodes();
  if (nodes < 0 || graph.offsets.front() != 0 || graph.offsets.back() != graph.num_edges() ||
      !std::is_sorted(graph.offsets.begin(), graph.offsets.end()) ||
      nodes > std::numeric_limits<uint32_t>::max()) {
    return InvalidArgument("the offsets of {} in-edge lists do not ascend from 0 to their {} edges",
                           nodes, graph.num_edges());
  }
  for (const uint32_t source : graph.sources) {
    if (source >= nodes) {
      return InvalidArgument("source {} of an in-edge is none of the {} nodes", source, nodes);
    }
  }
  return OkStatus();
}

NeighborLists FindNeighbors(const InEdgeLists& graph) {
  NeighborLists result;
  result.place.resize(graph.sources.size());
  std::vector<std::pair<uint32_t, size_t>> row;  // source, place in `sources`
  for (int64_t v = 0; v < graph.num_nodes(); ++v) {
    result.begins.push_back(result.nodes.size());
    row.clear();
    for (auto e = static_cast<size_t>(graph.offsets[v]);
         e < static_cast<size_t>(graph.offsets[v + 1]); ++e) {
      row.emplace_back(graph.sources[e], e);
    }
    result.in_degree.push_back(static_cast<double>(row.size()));
    std::sort(row.begin(), row.end());
    for (size_t i = 0; i < row.size(); ++i) {
      if (i == 0 || row[i].first != row[i - 1].first) {
        result.nodes.push_back(row[i].first);
        result.edges.push_back(0);
      }
      result.edges.back() += 1;
      result.place[row[i].second] = result.nodes.size() - 1;
    }
  }
  result.begins.push_back(result.nodes.size());
  return result;
}

// For each neighbour of each node the place of the node among those of the neighbour.
StatusOr<std::vector<size_t>> FindReverses(const NeighborLists& near) {
  std::vector<size_t> reverse(near.nodes.size());
  for (size_t v = 0; v + 1 < near.begins.size(); ++v) {
    for (size_t place = near.begins[v]; place < near.begins[v + 1]; ++place) {
      const uint32_t u = near.nodes[place];
      const auto begin = near.nodes.begin() + static_cast<int64_t>(near.begins[u]);
      const auto end = near.nodes.begin() + static_cast<int64_t>(near.begins[u + 1]);
      const auto found = std::lower_bound(begin, end, v);
      const auto back = static_cast<size_t>(found - near.nodes.begin());
      const double edges_back = found == end || *found != v ? 0 : near.edges[back];
      if (edges_back != near.edges[place]) {
        return InvalidArgument(
            "the relation is not symmetric: {} edges from node {} to {}, but {} back; take a graph "
            "with every edge in both directions",
            near.edges[place], u, v, edges_back);
      }
      reverse[place] = back;
    }
  }
  return reverse;
}

// One number a node, of which few are not 0.
class SparseRow {
 public:
  explicit SparseRow(size_t nodes) : values_(nodes) {}

  [[nodiscard]] double at(uint32_t node) const { return values_[node]; }
  [[nodiscard]] const std::vector<uint32_t>& nodes() const { return nodes_; }
  // Requires value > 0.
  void Add(uint32_t node, double value) {
    if (values_[node] == 0) nodes_.push_back(node);
    values_[node] += value;
  }
  void Set(uint32_t node, double value) {
    Add(node, value);
    values_[node] = value;
  }
  void Clear() {
    for (const uint32_t node : nodes_) values_[node] = 0;
    nodes_.clear();
  }

 private:
  std::vector<double> values_;
  std::vector<uint32_t> nodes_;
};

// Chances by how many steps a walk has left, from the one to the next, and what they have taken.
class Steps {
 public:
  Steps(const NeighborLists& near, int64_t max_work)
      : near_(near),
        now_(near.in_degree.size()),
        next_(near.in_degree.size()),
        max_work_(max_work) {}

  void Begin() { now_.Clear(); }
  void Set(uint32_t node, double chance) { now_.Set(node, chance); }

  // One more step: of every node the mean over its in-edges. A walk may step from x to y as often
  // as from y to x, so that the neighbours of y are who steps to it.
  void Take() {
    next_.Clear();
    for (const uint32_t y : now_.nodes()) {
      const double chance = now_.at(y);
      if (chance < kNegligible) continue;  // else some would become 0
      for (size_t place = near_.begins[y]; place < near_.begins[y + 1]; ++place) {
        next_.Add(near_.nodes[place], near_.edges[place] * chance);
      }
      work_ += static_cast<int64_t>(near_.begins[y + 1] - near_.begins[y]);
    }
    for (const uint32_t x : next_.nodes()) next_.Set(x, next_.at(x) / near_.in_degree[x]);
    std::swap(now_, next_);
  }

  [[nodiscard]] double at(uint32_t node) const { return now_.at(node); }
  // Over walks from every node, all alike.
  [[nodiscard]] double Mean() const {
    double sum = 0;
    for (const uint32_t node : now_.nodes()) sum += now_.at(node);
    return sum / static_cast<double>(near_.in_degree.size());
  }
  [[nodiscard]] bool exhausted() const { return work_ > max_work_; }

 private:
  const NeighborLists& near_;
  SparseRow now_;
  SparseRow next_;
  int64_t max_work_;
  int64_t work_ = 0;
};

// Chances to come to node v. `arrivals` (`length` for each neighbour of each node, by place): from
// that neighbour of v within 1, 2, ... steps.
double ChanceOfVisit(const NeighborLists& near, uint32_t v, int length, Steps* steps,
                     std::vector<double>* arrivals) {
  steps->Begin();
  steps->Set(v, 1);
  for (int t = 0; t < length; ++t) {
    steps->Take();
    steps->Set(v, 1);
    for (size_t place = near.begins[v]; place < near.begins[v + 1]; ++place) {
      (*arrivals)[place * static_cast<size_t>(length) + static_cast<size_t>(t)] =
          steps->at(near.nodes[place]);
    }
  }
  return steps->Mean();
}

// Chances to come to both u and v. `to_v`, `to_u`: to the one from the other within 1, 2, ...
// steps.
double ChanceOfBothVisits(uint32_t u, uint32_t v, int length, const double* to_v,
                          const double* to_u, Steps* steps) {
  steps->Begin();
  for (int t = 0; t < length; ++t) {
    steps->Take();
    steps->Set(u, to_v[t]);
    steps->Set(v, to_u[t]);
  }
  return steps->Mean();
}

Status TooMuch(const InEdgeLists& graph, int length, int64_t max_work) {
  return ResourceExhausted(
      "the exact chances of walks of {} steps over {} nodes and {} edges take looking at more than "
      "{} neighbours; take shorter walks, or estimate the chances from subgraphs",
      length, graph.num_nodes(), graph.num_edges(), max_work);
}

StatusOr<WalkChances> Compute(const InEdgeLists& graph, int length, int64_t max_work) {
  HG_RETURN_IF_ERROR(CheckLists(graph));
  const NeighborLists near = FindNeighbors(graph);
  HG_ASSIGN_OR_RETURN(const std::vector<size_t> reverse, FindReverses(near));
  const auto nodes = static_cast<uint32_t>(graph.num_nodes());
  const auto steps_each = static_cast<size_t>(length);
  if (near.nodes.size() > static_cast<size_t>(max_work) / std::max<size_t>(steps_each, 1)) {
    return TooMuch(graph, length, max_work);
  }
  WalkChances result;
  std::vector<double> arrivals(near.nodes.size() * steps_each);
  Steps steps(near, max_work);
  for (uint32_t v = 0; v < nodes; ++v) {
    result.nodes.push_back(ChanceOfVisit(near, v, length, &steps, &arrivals));
    if (steps.exhausted()) return TooMuch(graph, length, max_work);
  }
  std::vector<double> both(near.nodes.size());
  for (uint32_t v = 0; v < nodes; ++v) {
    for (size_t place = near.begins[v]; place < near.begins[v + 1]; ++place) {
      const uint32_t u = near.nodes[place];
      if (u > v) break;  // its own row has it
      const size_t back = reverse[place];
      both[place] = u == v ? result.nodes[v]
                           : ChanceOfBothVisits(u, v, length, &arrivals[place * steps_each],
                                                &arrivals[back * steps_each], &steps);
      both[back] = both[place];
      if (steps.exhausted()) return TooMuch(graph, length, max_work);
    }
  }
  result.edges.reserve(graph.sources.size());
  for (const size_t place : near.place) result.edges.push_back(both[place]);
  return result;
}

}  // namespace

StatusOr<WalkChances> ExactWalkChances(const InEdgeLists& graph, int length, int64_t max_work) {
  if (length < 0) return OutOfRange("a walk cannot take {} steps; ask for 0 or more", length);
  return Compute(graph, length, max_work);
}

}  // namespace halograph
