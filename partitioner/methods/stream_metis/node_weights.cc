#include "partitioner/methods/stream_metis/node_weights.h"

#include <algorithm>

namespace halograph {

namespace {

constexpr uint8_t kLarge = 255;

}  // namespace

void NodeWeights::SetRows::Add(int64_t node) {
  if (small[node] < kLarge - 1) {
    ++small[node];
    return;
  }
  const auto [place, first] = large.try_emplace(node, kLarge - 1);
  place->second += place->second < static_cast<int32_t>(kMaxDegree) ? 1 : 0;
  if (first) small[node] = kLarge;
}

int32_t NodeWeights::SetRows::Of(int64_t node) const {
  return small[node] == kLarge ? large.at(node) : small[node];
}

StatusOr<NodeWeights> NodeWeights::Build(const Dataset& dataset, const Degrees& degrees,
                                         const BalanceOptions& balance) {
  NodeWeights weights(dataset, degrees);
  weights.constraints_ = ChooseConstraints(dataset, degrees.edges, balance);
  LogSharedConstraint(dataset, weights.constraints_);
  weights.type_constraint_.assign(dataset.node_types.size(), -1);
  for (size_t c = 0; c < weights.count(); ++c) {
    Constraint& constraint = weights.constraints_[c];
    constraint.tolerance = TightTolerance(constraint.name);
    if (constraint.name == "edges") {
      weights.edge_constraint_ = static_cast<int>(c);
    } else if (!constraint.node_types.empty()) {
      for (const int type : constraint.node_types) {
        weights.type_constraint_[static_cast<size_t>(type)] = static_cast<int>(c);
      }
    } else {
      SetRows rows;
      rows.constraint = c;
      HG_ASSIGN_OR_RETURN(rows.small,
                          NodeArray<uint8_t>::Make(degrees.num_nodes(), "rows of task sets"));
      HG_RETURN_IF_ERROR(ForEachTaskRow(dataset, weights.types_.offsets(), constraint.name,
                                        [&](int64_t node) { rows.Add(node); }));
      weights.sets_.push_back(std::move(rows));
    }
  }
  return weights;
}

void NodeWeights::Row(int64_t node, int32_t* row) const {
  std::fill_n(row, count(), 0);
  const int type = types_.num_types() == 1 ? 0 : types_.TypeOf(node);
  const int constraint = type_constraint_[static_cast<size_t>(type)];
  if (constraint >= 0) row[constraint] = 1;
  if (edge_constraint_ >= 0) row[edge_constraint_] = static_cast<int32_t>(degrees_->of[node].in);
  for (const SetRows& rows : sets_) row[rows.constraint] = rows.Of(node);
}

NodeLoads::NodeLoads(const NodeWeights& weights, std::span<const uint16_t> owners, int parts)
    : weights_(&weights),
      constraints_{weights.constraints(), {}},
      loads_(constraints_, {}, parts),
      row_(weights.count()) {
  for (size_t v = 0; v < owners.size(); ++v) {
    loads_.Move(Row(static_cast<int64_t>(v)), -1, owners[v]);
  }
}

const int32_t* NodeLoads::Row(int64_t node) {
  weights_->Row(node, row_.data());
  return row_.data();
}

}  // namespace halograph
