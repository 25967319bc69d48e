#include "partitioner/methods/metis/rebalance.h"

#include <algorithm>
#include <cmath>

namespace halograph {
namespace {

constexpr double kEpsilon = 1e-9;

struct Candidate {
  int32_t node;
  int32_t to;
  double cost;  // cut lost per unit of excess removed; negative: cut won
};

// Edge weight from one node to each partition; cheap to reset.
class Connectivity {
 public:
  explicit Connectivity(int parts) : weight_(static_cast<size_t>(parts), 0) {}

  void Count(const FoldedGraph& graph, const std::vector<int32_t>& owners, int32_t node) {
    for (const int32_t part : touched_) weight_[static_cast<size_t>(part)] = 0;
    touched_.clear();
    const auto v = static_cast<size_t>(node);
    for (auto i = static_cast<size_t>(graph.xadj[v]); i < static_cast<size_t>(graph.xadj[v + 1]);
         ++i) {
      const int32_t part = owners[graph.neighbours.data()[i]];
      if (weight_[static_cast<size_t>(part)] == 0) touched_.push_back(part);
      weight_[static_cast<size_t>(part)] += graph.weights.empty() ? 1 : graph.weights[i];
    }
  }
  [[nodiscard]] int64_t To(int part) const { return weight_[static_cast<size_t>(part)]; }
  [[nodiscard]] const std::vector<int32_t>& touched() const { return touched_; }

 private:
  std::vector<int64_t> weight_;
  std::vector<int32_t> touched_;
};

// The cheapest move of `node` that lowers the excess, if there is one.
bool FindMove(const PartLoads& loads, const Connectivity& connectivity, const int32_t* row,
              int from, int emptiest, Candidate* best) {
  bool found = false;
  auto consider = [&](int to) {
    if (to == from) return;
    const double change = loads.ExcessChange(row, from, to);
    if (change > -kEpsilon) return;
    const auto lost = static_cast<double>(connectivity.To(from) - connectivity.To(to));
    const double cost = lost > 0 ? lost / -change : lost * -change;
    if (found && cost >= best->cost) return;
    best->to = to;
    best->cost = cost;
    found = true;
  };
  for (const int32_t to : connectivity.touched()) consider(to);
  consider(emptiest);
  return found;
}

}  // namespace

PartLoads::PartLoads(const VertexWeights& weights, const std::vector<int32_t>& owners, int parts)
    : constraints_(weights.count()),
      parts_(parts),
      loads_(static_cast<size_t>(parts) * weights.count(), 0) {
  for (size_t v = 0; v < owners.size(); ++v) {
    Move(weights.Row(static_cast<int64_t>(v)), -1, owners[v]);
  }
  for (const Constraint& constraint : weights.constraints) {
    const double mean = static_cast<double>(constraint.total) / parts;
    means_.push_back(mean);
    // Where a share is a handful, nobody can hold less than a whole node above it.
    bounds_.push_back(std::max(static_cast<int64_t>(std::floor(mean * constraint.tolerance)),
                               static_cast<int64_t>(std::ceil(mean))));
  }
}

void PartLoads::Move(const int32_t* row, int from, int to) {
  for (size_t c = 0; c < constraints_; ++c) {
    if (from >= 0) loads_[static_cast<size_t>(from) * constraints_ + c] -= row[c];
    loads_[static_cast<size_t>(to) * constraints_ + c] += row[c];
  }
}

double PartLoads::Excess() const {
  double excess = 0;
  for (int part = 0; part < parts_; ++part) {
    for (size_t c = 0; c < constraints_; ++c) {
      const int64_t over = Load(part, c) - bounds_[c];
      if (over > 0) excess += static_cast<double>(over) / means_[c];
    }
  }
  return excess;
}

double PartLoads::ExcessChange(const int32_t* row, int from, int to) const {
  double change = 0;
  for (size_t c = 0; c < constraints_; ++c) {
    if (row[c] == 0) continue;
    auto over = [&](int64_t load) { return std::max<int64_t>(load - bounds_[c], 0); };
    const int64_t difference = over(Load(from, c) - row[c]) - over(Load(from, c)) +
                               over(Load(to, c) + row[c]) - over(Load(to, c));
    change += static_cast<double>(difference) / means_[c];
  }
  return change;
}

bool PartLoads::Relieves(const int32_t* row, int part) const {
  for (size_t c = 0; c < constraints_; ++c) {
    if (row[c] > 0 && Load(part, c) > bounds_[c]) return true;
  }
  return false;
}

std::vector<double> PartLoads::Balance() const {
  std::vector<double> balance;
  for (size_t c = 0; c < constraints_; ++c) {
    int64_t largest = 0;
    for (int part = 0; part < parts_; ++part) largest = std::max(largest, Load(part, c));
    balance.push_back(static_cast<double>(largest) / means_[c]);
  }
  return balance;
}

int PartLoads::Emptiest(int part) const {
  int best = 0;
  double best_load = -1;
  for (int other = 0; other < parts_; ++other) {
    double load = 0;
    for (size_t c = 0; c < constraints_; ++c) {
      if (Load(part, c) > bounds_[c]) load += static_cast<double>(Load(other, c)) / means_[c];
    }
    if (best_load < 0 || load < best_load) {
      best = other;
      best_load = load;
    }
  }
  return best;
}

int64_t Rebalance(const FoldedGraph& graph, const VertexWeights& weights, int parts, int max_rounds,
                  std::vector<int32_t>* owners, PartLoads* loads) {
  Connectivity connectivity(parts);
  std::vector<Candidate> candidates;
  int64_t moves = 0;
  for (int round = 0; round < max_rounds && loads->Excess() > 0; ++round) {
    std::vector<int> emptiest;
    for (int part = 0; part < parts; ++part) emptiest.push_back(loads->Emptiest(part));
    candidates.clear();
    for (int32_t node = 0; node < static_cast<int32_t>(owners->size()); ++node) {
      const int from = (*owners)[static_cast<size_t>(node)];
      const int32_t* row = weights.Row(node);
      if (!loads->Relieves(row, from)) continue;
      connectivity.Count(graph, *owners, node);
      Candidate candidate{node, 0, 0};
      if (FindMove(*loads, connectivity, row, from, emptiest[static_cast<size_t>(from)],
                   &candidate)) {
        candidates.push_back(candidate);
      }
    }
    std::stable_sort(candidates.begin(), candidates.end(),
                     [](const Candidate& a, const Candidate& b) { return a.cost < b.cost; });
    int64_t moved = 0;
    for (const Candidate& candidate : candidates) {
      const int from = (*owners)[static_cast<size_t>(candidate.node)];
      const int32_t* row = weights.Row(candidate.node);
      if (loads->ExcessChange(row, from, candidate.to) > -kEpsilon) continue;
      loads->Move(row, from, candidate.to);
      (*owners)[static_cast<size_t>(candidate.node)] = candidate.to;
      ++moved;
    }
    moves += moved;
    if (moved == 0) break;
  }
  return moves;
}

}  // namespace halograph
