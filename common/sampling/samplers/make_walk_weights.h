// Finds what the subgraphs of walks of a run are weighed by: exactly, where the relation is small
// enough to be read whole, else from subgraphs that are drawn beforehand and counted. What is asked
// is behind two calls, so that any store can be asked, and a store that is shared can be asked by
// one for all.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "common/base/status.h"
#include "common/graph/schema.h"
#include "common/sampling/rule.h"
#include "common/sampling/samplers/walk_chance.h"
#include "common/sampling/samplers/walk_weights.h"
#include "common/sampling/topology_source.h"

namespace halograph {

// How often each node should be in a subgraph that is counted, on average.
inline constexpr double kWalkCoverage = 50;
// Subgraphs that are counted, at most, whatever the coverage is then: some have few nodes.
inline constexpr int64_t kMaxPresampled = int64_t{1} << 20;
// They are asked for in rounds of so many.
inline constexpr int kPresampledTogether = 16;
// A relation is read whole in pieces of so many destinations.
inline constexpr int64_t kReadTogether = int64_t{1} << 16;

// What weights are wanted, and within which bounds.
struct WalkWeighing {
  int relation = 0;  // index in the schema
  DrawRule rule;     // of the run: valid for the relation, of kind kSaintWalk
  double coverage = kWalkCoverage;
  uint64_t key =
      0;  // subgraphs that are counted have the batch seeds key(key, 0), key(key, 1), ...
  int64_t max_work = kMaxWalkWork;  // of exact chances (ExactWalkChances)
  int64_t max_subgraphs = kMaxPresampled;
};

// Whether exact chances are tried: the relation is then read whole, which takes 4 bytes an edge and
// 8 a node, and, while they are found, 8 * walk_length + 44 bytes an edge: 1 GB at most for walks
// of 2 steps, by the default of max_work. Else subgraphs are counted at once.
[[nodiscard]] bool MayBeExact(const Schema& schema, const WalkWeighing& wanted);

// Makes minibatches of one layer by wanted.rule, with edge ids, of the batch seeds: as many of each
// (GraphStore::Sample). The minibatches are reused from call to call.
using SampleWalks =
    std::function<Status(std::span<const uint64_t> batch_seeds, std::span<Minibatch> minibatches)>;

// The weights, and how they were found (WalkWeights::subgraphs). The same bits whoever asks, by
// whichever store. It takes some seconds, or as long as the subgraphs; either call may end it, by
// an error of its own (Cancelled). Logs nothing.
//   InvalidArgument    the relation is not symmetric (told only where chances are exact)
//   ResourceExhausted  no memory: 4 bytes a node and 4 an edge stay, and MayBeExact says what is
//                      taken meanwhile
//   Internal           an answer that fits no question
//   else               what a call returned
[[nodiscard]] StatusOr<std::shared_ptr<const WalkWeights>> MakeWalkWeights(
    const Schema& schema, const WalkWeighing& wanted, const AskTopology& ask,
    const SampleWalks& sample);

}  // namespace halograph
