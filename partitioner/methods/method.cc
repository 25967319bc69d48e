#include "partitioner/methods/method.h"

#include <utility>

#include <fmt/ranges.h>

#include "absl/strings/str_split.h"

namespace halograph {
namespace {

using Member = bool BalanceOptions::*;
constexpr std::array<std::pair<std::string_view, Member>, 5> kBalanceWords = {{
    {"nodes", &BalanceOptions::nodes},
    {"edges", &BalanceOptions::edges},
    {"train", &BalanceOptions::train},
    {"valid", &BalanceOptions::valid},
    {"test", &BalanceOptions::test},
}};

}  // namespace

std::string_view ToString(OwnerRule rule) { return kOwnerRuleWords[static_cast<size_t>(rule)]; }

std::optional<OwnerRule> OwnerRuleOf(std::string_view word) {
  for (const OwnerRule rule : {OwnerRule::kRandom, OwnerRule::kMajority}) {
    if (word == ToString(rule)) return rule;
  }
  return std::nullopt;
}

std::string_view ToString(NodeOrder order) { return kNodeOrderWords[static_cast<size_t>(order)]; }

std::optional<NodeOrder> NodeOrderOf(std::string_view word) {
  for (const NodeOrder order : {NodeOrder::kInput, NodeOrder::kCluster}) {
    if (word == ToString(order)) return order;
  }
  return std::nullopt;
}

StatusOr<BalanceOptions> BalanceOptions::Parse(std::string_view list) {
  BalanceOptions options{false, false, false, false, false};
  for (const auto piece : absl::StrSplit(ToAbsl(list), ',')) {
    const std::string_view word(piece.data(), piece.size());
    bool known = false;
    for (const auto& [name, member] : kBalanceWords) {
      if (word != name) continue;
      options.*member = true;
      known = true;
    }
    if (!known) {
      return InvalidArgument(
          "balance: unknown word \"{}\" in \"{}\"; choose from nodes,edges,train,valid,test", word,
          list);
    }
  }
  return options;
}

std::string BalanceOptions::ToString() const {
  std::vector<std::string_view> words;
  for (const auto& [name, member] : kBalanceWords) {
    if (this->*member) words.push_back(name);
  }
  return fmt::format("{}", fmt::join(words, ","));
}

Status CheckParts(const Dataset& dataset, int parts) {
  if (parts < 1 || parts > kMaxParts) {
    return InvalidArgument("parts: {} is not between 1 and {}", parts, kMaxParts);
  }
  int64_t nodes = 0;
  for (const InputNodeType& type : dataset.node_types) nodes += type.count;
  if (nodes == 0) return InvalidArgument("the graph has no nodes: there is nothing to partition");
  if (parts > nodes) {
    return InvalidArgument(
        "parts: {} partitions are more than the {} nodes of the graph; give at most one partition "
        "per node",
        parts, nodes);
  }
  return OkStatus();
}

Assignment AllInOnePart(const Dataset& dataset) {
  Assignment assignment;
  for (const InputNodeType& type : dataset.node_types) {
    assignment.owners.emplace_back(static_cast<size_t>(type.count), uint16_t{0});
  }
  return assignment;
}

}  // namespace halograph
