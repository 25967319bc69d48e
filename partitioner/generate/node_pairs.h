// The undirected edges of a generated graph: distinct pairs of nodes, drawn by number, listed in
// both directions. What the generators of communities share.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <utility>
#include <vector>

namespace halograph {

// Not thread-safe while drawn; then immutable. Memory: 8 bytes a pair, 16 while drawing.
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

}  // namespace halograph
