// The picks of one destination, whatever its rule: made once for a relation and layer, and asked by
// the destination, which costs nothing beside its work.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "common/base/status.h"
#include "common/graph/topology.h"
#include "common/sampling/draws.h"
#include "common/sampling/rule.h"
#include "common/sampling/weighted_drawer.h"

namespace halograph {

// Where the in-edges of one destination lie.
struct PickRow {
  int segment = 0;    // index in RelationTopology::segments()
  int64_t node = 0;   // the destination, counted from the segment's first
  int64_t begin = 0;  // of the segment's `indices`; what lies beside the edges is found with it
  int64_t degree = 0;
};

// What a thread draws with; its memory is reused.
struct PickScratch {
  std::vector<int64_t> positions;  // of one destination
  FloydDrawer floyd;
  WeightedDrawer weighted;
};

// Immutable: several threads draw with it at once. Points into the topology that it was made for.
class PickDrawer {
 public:
  explicit PickDrawer(const DrawRule& rule) : rule_(rule) {}
  virtual ~PickDrawer() = default;

  [[nodiscard]] const DrawRule& rule() const { return rule_; }

  // Whether draws are SAMPLING.md's uniform ones, "Picks". They are so little work that the kernel
  // draws them by itself, by the rule, several at once: what Draw gives.
  [[nodiscard]] virtual bool uniform() const { return false; }

  // Rows that are drawn next, with these node keys, eight at most: their tables can be asked for
  // (prefetched) together.
  virtual void Expect(std::span<const PickRow>, std::span<const uint64_t>) const {}

  // Sets scratch->positions to the picks of one destination in the order drawn, each in
  // [0, row.degree). Their number is the drawer's: Count(row). `node_key` as in SAMPLING.md.
  virtual void Draw(uint64_t node_key, const PickRow& row, PickScratch* scratch) const = 0;

  // How many picks Draw gives, at most the greater of fanout and degree.
  [[nodiscard]] virtual int64_t Count(const PickRow& row) const = 0;

  // Whether these are known to be every in-edge in file order, without a draw.
  [[nodiscard]] virtual bool TakesAll(const PickRow&) const { return false; }

 private:
  const DrawRule rule_;
};

// The only place that says what a rule draws. Requires a valid rule of the relation; `topology`
// must outlive what is made. `layer_key`: as in SAMPLING.md, for draws by more than the node's key.
//   InvalidArgument     a rule that is not node-wise
//   FailedPrecondition  a segment that is here lacks the tables that the rule draws by
[[nodiscard]] StatusOr<std::shared_ptr<const PickDrawer>> MakeDrawer(
    const DrawRule& rule, const RelationTopology& topology, uint64_t layer_key);

}  // namespace halograph
