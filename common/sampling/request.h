// What to sample. Plain values, and the rules that every border (trainer, client, server) checks.
#pragma once

#include <cstdint>
#include <new>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "common/graph/schema.h"
#include "common/sampling/rule.h"

namespace halograph {

// Version of common/sampling/SAMPLING.md that this build draws by.
inline constexpr uint32_t kSamplingContract = 1;

// What one relation of a layer draws.
struct RelationRule {
  int relation = 0;  // index in the schema
  DrawRule rule;
  bool operator==(const RelationRule&) const = default;
};

// Of `fanout` in-edges a destination.
[[nodiscard]] inline RelationRule Neighbors(int relation, int32_t fanout, bool replace = false) {
  return {.relation = relation, .rule = {.fanout = fanout, .replace = replace}};
}

struct SamplingSpec {
  // From the seeds outward; relations ascending. All draws are of one kind, but for those of
  // nothing.
  std::vector<std::vector<RelationRule>> layers;

  // The same fanouts for every relation of the schema, one a layer.
  [[nodiscard]] static SamplingSpec Uniform(const Schema& schema, std::span<const int32_t> fanouts,
                                            bool replace = false);

  // Draws by the edge feature `weight` what is drawn; empty: uniformly. Relations of fanout 0 need
  // not have it. NotFound as FindSamplingWeight.
  [[nodiscard]] Status DrawBy(const Schema& schema, std::string_view weight);

  // Of what is drawn; kNeighbor where nothing is.
  [[nodiscard]] DrawKind kind() const;
};

// Seeds of one node type.
struct SeedList {
  int type = 0;                  // index in the schema
  std::span<const int64_t> ids;  // global ids, any order, repeats allowed; empty allowed
};

// Edges of one relation that a minibatch must not have: every edge from sources[i] to
// destinations[i], parallel ones too. There need be none.
struct EdgeExclusion {
  int relation = 0;                       // index in the schema
  std::span<const int64_t> sources;       // global ids of the source type
  std::span<const int64_t> destinations;  // global ids of the destination type; as many
};

// One minibatch. The ids and the spec are borrowed.
struct SampleRequest {
  std::vector<SeedList> seeds = {};  // types ascending, each at most once
  uint64_t batch_seed = 0;
  const SamplingSpec* spec = nullptr;
  // Edges to leave out, for link prediction say: the seed edges and their reverses. They are
  // removed from what was drawn, in every layer, and the fanout is not filled up again. Relations
  // ascending, each at most once.
  std::vector<EdgeExclusion> exclude = {};
  bool edge_ids = false;  // fills Block::edge_ids
  bool weights = false;   // fills Block::weights; what is drawn must be drawn by one
  // Where Block::degrees are filled, those of sources too: of relations from a type to itself.
  bool source_degrees = false;
};

// What is wrong is named, with its place and what is allowed.
//   InvalidArgument  no layer; draws of two kinds; a relation or node type that is unknown or out
//   of order; an
//                    exclusion whose lists differ in length; weights of uniform draws
//   OutOfRange       a fanout, or a seed or an end of an excluded edge outside its node type
//   NotFound         a relation that cannot be drawn by its rule's weight (FindSamplingWeight)
[[nodiscard]] Status ValidateRequest(const Schema& schema, const SampleRequest& request);
// The same of each; the message names the request if there are several.
[[nodiscard]] Status ValidateRequests(const Schema& schema,
                                      std::span<const SampleRequest> requests);
// Seeds of all lists of all requests.
[[nodiscard]] int64_t CountSeeds(std::span<const SampleRequest> requests);

// Keys of the contract.
[[nodiscard]] uint64_t LayerKey(uint64_t batch_seed, int layer, int num_relations, int relation);
enum class BatchPurpose : uint64_t { kTrain = 0, kValid = 1, kTest = 2, kPredict = 3 };
[[nodiscard]] uint64_t BatchSeed(uint64_t seed, BatchPurpose purpose, uint64_t epoch, uint64_t step,
                                 uint64_t world_size, uint64_t rank);

// Runs `work`, which returns a Status or StatusOr. ResourceExhausted if memory ends on the way;
// `count` of `what` ("seeds") is what it was doing.
template <typename Work>
[[nodiscard]] auto CatchNoMemory(int64_t count, const char* what, Work&& work) -> decltype(work()) {
  try {
    return work();
  } catch (const std::bad_alloc&) {
    return ResourceExhausted(
        "no memory to sample with {} {}; use a smaller batch or smaller fanouts, or fewer sampling "
        "threads (each needs 4 bytes a node)",
        count, what);
  } catch (const std::length_error&) {
    return ResourceExhausted(
        "sampling with {} {} takes more than memory can be; use a smaller batch or smaller fanouts",
        count, what);
  }
}

}  // namespace halograph
