#include "partitioner/methods/literature/owner_choice.h"

#include <algorithm>
#include <bit>

#include "common/base/rng.h"

namespace halograph {
namespace {

// A slot without an owner yet holds kWaiting + the level at which its node chooses.
constexpr uint16_t kWaiting = 0xff00;
constexpr int kLevels = 9;
static_assert(kMaxParts < kWaiting);

OwnedTotals Count(const UnionNodes& nodes, const Degrees& degrees, const TaskClasses& classes) {
  OwnedTotals totals{
      .nodes = std::vector<int64_t>(static_cast<size_t>(nodes.num_types()) * kNumTaskClasses, 0),
      .edges = degrees.edges};
  int64_t all = 0;
  for (int type = 0; type < nodes.num_types(); ++type) {
    for (int64_t node = nodes.offset(type); node < nodes.offset(type + 1); ++node) {
      if (degrees.of[node].total == 0) continue;
      ++totals.nodes[static_cast<size_t>(type * kNumTaskClasses + classes[node])];
      ++all;
    }
  }
  const int64_t mean = degrees.edges / std::max<int64_t>(1, all);
  int64_t small = 0, small_in = 0;
  for (const NodeDegree& degree : degrees.of.span()) {
    if (degree.total == 0 || degree.in > mean) continue;
    ++small;
    small_in += degree.in;
  }
  totals.small_in_degree =
      static_cast<double>(small_in) / static_cast<double>(std::max<int64_t>(1, small));
  return totals;
}

// The lead of a node's first partition over its second, up to 255.
int64_t Lead(std::span<const uint8_t> counts) {
  uint8_t first = 0, second = 0;
  for (const uint8_t count : counts) {
    second = std::max(second, std::min(first, count));
    first = std::max(first, count);
  }
  return first - second;
}

// 0 chooses first. A lead is what the node has to lose; in-degrees, in means, that a partition has
// to have room for count as well, or large nodes would come when only full partitions are left.
int Level(int64_t lead, double mean_in_degrees) {
  constexpr double kLeadOfMean = 8;
  const auto size = static_cast<int64_t>(std::min(255.0, kLeadOfMean * mean_in_degrees));
  const auto worth = static_cast<uint64_t>(std::max(lead, size));
  return kLevels - 1 - std::bit_width(worth);
}

int CountReplicas(std::span<const uint8_t> counts) {
  return static_cast<int>(counts.size()) -
         static_cast<int>(std::count(counts.begin(), counts.end(), uint8_t{0}));
}

int PickMajority(std::span<const uint8_t> counts, const OwnerRoom& room, const OwnedNode& node) {
  int best = -1;
  uint8_t most = 0;
  for (int part = 0; part < room.parts(); ++part) {
    const uint8_t count = counts[static_cast<size_t>(part)];
    if (count == 0 || count < most) continue;
    if (count == most && room.edges(part) >= room.edges(best)) continue;
    if (!room.HasRoom(part, node)) continue;
    best = part;
    most = count;
  }
  return best;
}

int PickByChance(const NodeReplicas& replicas, int64_t id, uint64_t key, const OwnerRoom& room,
                 const OwnedNode& node) {
  CounterRng rng(SubKey(key, static_cast<uint64_t>(id)));
  int best = -1;
  uint64_t seen = 0;  // the n-th replica with room takes the place with chance 1 / n
  for (int w = 0; w < replicas.words(); ++w) {
    ForEachPart(replicas.Word(id, w), w, [&](int part) {
      if (room.HasRoom(part, node) && rng.NextBounded(++seen) == 0) best = part;
    });
  }
  return best;
}

}  // namespace

OwnerChoice::OwnerChoice(const Dataset& dataset, const Degrees& degrees, const TaskClasses& classes,
                         int parts, const BalanceOptions& balance)
    : nodes_(dataset),
      degrees_(degrees),
      classes_(classes),
      room_(Count(nodes_, degrees, classes), parts, balance),
      mean_in_degree_(std::max(1.0, static_cast<double>(degrees.edges)) /
                      std::max(1.0, static_cast<double>(degrees.of.size()))) {
  for (const InputNodeType& type : dataset.node_types) {
    owners_.emplace_back(static_cast<size_t>(type.count), kWaiting);
  }
}

template <typename Visit>
void OwnerChoice::ForEachNode(int64_t first, int64_t last, const Visit& visit) {
  for (int type = 0; type < nodes_.num_types(); ++type) {
    const int64_t offset = nodes_.offset(type);
    const int64_t end = std::min(last, nodes_.offset(type + 1));
    std::vector<uint16_t>& owners = owners_[static_cast<size_t>(type)];
    for (int64_t node = std::max(first, offset); node < end; ++node) {
      visit(node, type, &owners[static_cast<size_t>(node - offset)]);
    }
  }
}

template <typename LeadOf, typename Pick>
void OwnerChoice::Choose(int64_t first, int64_t last, const LeadOf& lead, const Pick& pick) {
  const auto weight = [&](int64_t node, int type) {
    return OwnedNode{type, classes_[node], degrees_.of[node].in};
  };
  ForEachNode(first, last, [&](int64_t node, int, uint16_t* owner) {
    if (degrees_.of[node].total == 0) return;
    ++nodes_with_edges_;
    const double mean_in_degrees = degrees_.of[node].in / mean_in_degree_;
    *owner = static_cast<uint16_t>(kWaiting + Level(lead(node), mean_in_degrees));
  });
  for (int now = 0; now < kLevels; ++now) {
    ForEachNode(first, last, [&](int64_t node, int type, uint16_t* owner) {
      if (*owner != kWaiting + now || degrees_.of[node].total == 0) return;
      const OwnedNode weighed = weight(node, type);
      int part = pick(node, weighed);
      if (part < 0) {
        part = room_.Emptiest(weighed);
        ++turned_away_;
      }
      room_.Take(part, weighed);
      *owner = static_cast<uint16_t>(part);
    });
  }
}

void OwnerChoice::ByMajority(int64_t first, int64_t last, const PartCounts& counts) {
  const auto lead = [&](int64_t node) {
    replicas_ += CountReplicas(counts.Row(node));
    return Lead(counts.Row(node));
  };
  const auto pick = [&](int64_t node, const OwnedNode& weighed) {
    return PickMajority(counts.Row(node), room_, weighed);
  };
  Choose(first, last, lead, pick);
}

void OwnerChoice::ByChance(const NodeReplicas& replicas, uint64_t key) {
  const auto lead = [&](int64_t node) {
    replicas_ += replicas.Count(node);
    return int64_t{0};
  };
  const auto pick = [&](int64_t node, const OwnedNode& weighed) {
    return PickByChance(replicas, node, key, room_, weighed);
  };
  Choose(0, nodes_.count(), lead, pick);
}

void OwnerChoice::DealRest() {
  // First those in task sets, while partitions differ in nothing but them; then the many others.
  ForEachNode(0, nodes_.count(), [&](int64_t node, int type, uint16_t* owner) {
    if (degrees_.of[node].total != 0 || classes_[node] == 0) return;
    const OwnedNode weighed{type, classes_[node], 0};
    const int part = room_.FewestOfType(weighed);
    room_.Take(part, weighed);
    *owner = static_cast<uint16_t>(part);
  });
  // Filled like water: a partition takes a node while it has no more of the type than `level`.
  int part = 0, filled_type = -1;
  int64_t level = 0;
  ForEachNode(0, nodes_.count(), [&](int64_t node, int type, uint16_t* owner) {
    if (degrees_.of[node].total != 0 || classes_[node] != 0) return;
    if (type != filled_type) {
      filled_type = type;
      level = room_.of_type(0, type);
      for (int p = 1; p < room_.parts(); ++p) level = std::min(level, room_.of_type(p, type));
    }
    for (int skipped = 0; room_.of_type(part, type) > level;) {
      part = part + 1 == room_.parts() ? 0 : part + 1;
      if (++skipped == room_.parts()) {
        ++level;
        skipped = 0;
      }
    }
    room_.Take(part, OwnedNode{type, 0, 0});
    *owner = static_cast<uint16_t>(part);
  });
}

}  // namespace halograph
