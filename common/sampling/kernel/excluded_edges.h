// The edges that a minibatch leaves out (SAMPLING.md, "Edges left out"): found by destination, and
// removed from what was drawn before its sources are compacted.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "common/sampling/kernel/nodes.h"
#include "common/sampling/request.h"

namespace halograph {

// A destination with edges to leave out. The sources are borrowed from ExcludedEdges.
struct ExcludedRow {
  int64_t destination = 0;           // position in the list of its type
  std::span<const int64_t> sources;  // ascending
};

// Of one relation and minibatch. Immutable.
class ExcludedEdges {
 public:
  // Sorts a copy of a valid exclusion.
  explicit ExcludedEdges(const EdgeExclusion& edges);

  [[nodiscard]] int relation() const { return relation_; }

  // Overwrites `rows` with the destinations that are among the first `count` nodes of `list`, which
  // is the destination type's; ascending by position. One look at the list's map a destination that
  // has edges to leave out, none for the others.
  void FindIn(const FusedNodes& list, int64_t count, std::vector<ExcludedRow>* rows) const;

 private:
  int relation_;
  std::vector<int64_t> destinations_;  // unique, ascending
  std::vector<size_t> begins_;         // of each in sources_, and the end
  std::vector<int64_t> sources_;
};

// Picks of some destinations, to be thinned out in place. Edge ids and weights may be empty.
template <typename IdT>
struct DrawnEdges {
  int64_t first = 0;        // position of the first destination in its list
  std::span<int64_t> ends;  // where the edges of each end; those of the first begin at 0
  std::vector<IdT>* sources = nullptr;
  std::vector<int64_t>* edge_ids = nullptr;
  std::vector<float>* weights = nullptr;
};

// Removes what `rows` name; the rest keeps its order.
void RemoveExcluded(std::span<const ExcludedRow> rows, const DrawnEdges<int64_t>& edges);
void RemoveExcluded(std::span<const ExcludedRow> rows, const DrawnEdges<uint32_t>& edges);

}  // namespace halograph
