// What the generators of communities share: pairs of nodes, groups of nodes, and features that
// tell a node's community.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "partitioner/generate/generated_graph.h"

namespace halograph {

// The undirected edges of a generated graph: distinct pairs of nodes, drawn by number, listed in
// both directions. Not thread-safe while drawing; then immutable. Memory: 8 bytes per pair, 16
// while drawing.
class NodePairs {
 public:
  // The two ends of draw `number`; nodes below 2^32. Equal ends count for nothing.
  using DrawPair = std::function<std::pair<uint32_t, uint32_t>(uint64_t number)>;

  // Draws until there are `target` distinct pairs, or drawing again what was drawn before leads no
  // further. A pure function of the arguments.
  void Draw(int64_t target, const DrawPair& draw_pair);

  [[nodiscard]] int64_t size() const { return static_cast<int64_t>(pairs_.size()); }
  // Whether so few of `target` were found that the graph is not what was asked for: about two in a
  // hundred missing is "about"; more means that blocks are nearly complete.
  [[nodiscard]] bool TooFewOf(int64_t target) const;
  // Directed edges begin ..: edge 2i is pair i in ascending order, edge 2i + 1 its reverse.
  void FillEdges(int64_t begin, std::span<int64_t> sources, std::span<int64_t> destinations) const;

 private:
  std::vector<uint64_t> pairs_;  // smaller node << 32 | larger node, ascending
};

// The communities of a generated graph: each node in a random group, and the nodes of each group
// together. Immutable. Memory: 8 bytes per node and per group.
class NodeGroups {
 public:
  // 1 to 2^32 of each; a pure function of the arguments.
  NodeGroups(int64_t nodes, int64_t groups, uint64_t key);

  [[nodiscard]] uint32_t Of(int64_t node) const { return groups_[static_cast<size_t>(node)]; }
  // Nodes of groups begin .. end - 1, ascending within each.
  [[nodiscard]] std::span<const uint32_t> Members(int64_t begin, int64_t end) const {
    return std::span(members_).subspan(static_cast<size_t>(starts_[static_cast<size_t>(begin)]),
                                       static_cast<size_t>(starts_[static_cast<size_t>(end)] -
                                                           starts_[static_cast<size_t>(begin)]));
  }

 private:
  std::vector<uint32_t> groups_;   // per node
  std::vector<int64_t> starts_;    // of each group in members_, and the end
  std::vector<uint32_t> members_;  // nodes by group
};

// Of 64 random bits a number that is about normal with mean 0 and variance 1: the sum of four
// 16-bit uniforms (within +-3.5). Exact arithmetic but for one subtraction and one division, so no
// mathematics library changes it.
constexpr double GaussianLike(uint64_t draw) {
  const uint64_t sum =
      (draw & 0xffff) + ((draw >> 16) & 0xffff) + ((draw >> 32) & 0xffff) + ((draw >> 48) & 0xffff);
  constexpr double kMean = 2 * 65535.0;
  constexpr double kDeviation = 37837.227054;  // sqrt(4 * (65536^2 - 1) / 12)
  return (static_cast<double>(sum) - kMean) / kDeviation;
}

// Features that tell a node's class only through noise. Immutable; thread-safe.
class CornerFeatures {
 public:
  // Keys of the classes' corners and of the noise; `noise` >= 0.
  CornerFeatures(uint64_t corner_key, uint64_t noise_key, double noise)
      : corner_key_(corner_key), noise_key_(noise_key), noise_(noise) {}

  // The corner of a hypercube that is the class's, plus `noise` times a normal draw of the node's,
  // scaled to variance 1.
  void Fill(int64_t node, uint64_t node_class, std::span<float> row) const;

 private:
  uint64_t corner_key_;
  uint64_t noise_key_;
  double noise_;
};

// Describes edges, features and labels; the caller fills the rest. `pairs` and `features` must
// outlive the result, and so must what `community_of` refers to.
[[nodiscard]] GeneratedGraph DescribeCommunities(const NodePairs& pairs,
                                                 const CornerFeatures& features,
                                                 std::function<int64_t(int64_t node)> community_of);

}  // namespace halograph
