// What to sample. Plain values, and the rules that every border (trainer, client, server) checks.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "common/graph/schema.h"

namespace halograph {

// Version of common/sampling/SAMPLING.md that this build draws by.
inline constexpr uint32_t kSamplingContract = 1;

inline constexpr int32_t kFullNeighborhood = -1;
inline constexpr int32_t kMaxFanout = 1 << 20;

struct RelationFanout {
  int relation = 0;    // index in the schema
  int32_t fanout = 0;  // -1: all in-edges; 0: none
  bool operator==(const RelationFanout&) const = default;
};

struct SamplingSpec {
  std::vector<std::vector<RelationFanout>> layers;  // from the seeds outward; relations ascending
  bool replace = false;
  // Edge feature to draw by; empty: uniformly. Relations of fanout 0 need not have it.
  std::string weight = {};

  // The same fanouts for every relation of the schema, one a layer.
  [[nodiscard]] static SamplingSpec Uniform(const Schema& schema, std::span<const int32_t> fanouts,
                                            bool replace = false);
};

struct SampleRequest {
  int seed_type = 0;               // index of the seeds' node type
  std::span<const int64_t> seeds;  // global ids, any order, repeats allowed; empty allowed
  uint64_t batch_seed = 0;
  const SamplingSpec* spec = nullptr;
};

// OutOfRange naming the value: below -1 or above kMaxFanout.
[[nodiscard]] Status ValidateFanout(int32_t fanout);
// InvalidArgument: no layer, a relation unknown or out of order; OutOfRange: a fanout, or a seed
// outside the node type (the seed, its position, and the count are named); NotFound: a relation
// that cannot be drawn by spec->weight (FindSamplingWeight).
[[nodiscard]] Status ValidateRequest(const Schema& schema, const SampleRequest& request);

// Index of the edge feature `weight` of a relation. NotFound naming the relation, what it can be
// drawn by and what to do, if it has no such feature or no alias tables were made of it.
[[nodiscard]] StatusOr<int> FindSamplingWeight(const Schema& schema, int relation,
                                               std::string_view weight);
// The same of a valid request; -1 where draws are uniform or the fanout is 0.
[[nodiscard]] int SamplingWeightOf(const Schema& schema, const SamplingSpec& spec,
                                   const RelationFanout& fanout);

// Keys of the contract.
[[nodiscard]] uint64_t LayerKey(uint64_t batch_seed, int layer, int num_relations, int relation);
enum class BatchPurpose : uint64_t { kTrain = 0, kValid = 1, kTest = 2, kPredict = 3 };
[[nodiscard]] uint64_t BatchSeed(uint64_t seed, BatchPurpose purpose, uint64_t epoch, uint64_t step,
                                 uint64_t world_size, uint64_t rank);

}  // namespace halograph
