#include "partitioner/generate/rmat.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>
#include <vector>

#include "common/base/progress.h"
#include "common/base/rng.h"
#include "partitioner/generate/communities.h"
#include "partitioner/generate/option_checks.h"

namespace halograph {
namespace {

constexpr int kMaxLog2Nodes = 31;
constexpr int64_t kMaxEdges = int64_t{1} << 40;
constexpr int64_t kProgressStep = 1 << 16;

// A bijection on integers of `bits` bits: odd multiplications and xor-shifts, each invertible.
class IdPermutation {
 public:
  IdPermutation(int bits, uint64_t key)
      : mask_((uint64_t{1} << bits) - 1), shift_((bits + 1) / 2), key_(key) {}

  [[nodiscard]] uint64_t operator()(uint64_t id) const {
    if (shift_ == 0) return id;
    for (uint64_t round = 0; round < 4; ++round) {
      id = (id * (SubKey(key_, 2 * round) | 1) + SubKey(key_, 2 * round + 1)) & mask_;
      id ^= id >> shift_;
    }
    return id;
  }

 private:
  uint64_t mask_;
  int shift_;
  uint64_t key_;
};

class Rmat {
  // What each stream of random numbers is for: the n-th key below the seed's.
  enum Purpose : uint64_t { kEdges, kIds, kFeatures, kLabels, kSplit };

 public:
  explicit Rmat(const RmatOptions& options)
      : options_(options),
        key_(Mix(options.seed)),
        permutation_(options.log2_nodes, SubKey(key_, kIds)) {
    const double bounds[] = {options.a, options.a + options.b, options.a + options.b + options.c};
    for (int i = 0; i < 3; ++i) {
      thresholds_[i] = static_cast<uint64_t>(std::llround(bounds[i] * 0x1p32));
    }
    if (options.dedup) CollectDistinct();
  }

  [[nodiscard]] GeneratedGraph Describe() const {
    GeneratedGraph graph;
    graph.name = "rmat";
    graph.nodes = int64_t{1} << options_.log2_nodes;
    const int64_t drawn = options_.dedup ? static_cast<int64_t>(distinct_.size()) : options_.edges;
    graph.edges = options_.undirected ? 2 * drawn : drawn;
    graph.fill_edges = [this](int64_t begin, std::span<int64_t> sources,
                              std::span<int64_t> destinations) {
      FillEdges(begin, sources, destinations);
    };
    graph.feature_dim = options_.feature_dim;
    graph.fill_features = [this](int64_t node, std::span<float> row) {
      CounterRng rng(SubKey(SubKey(key_, kFeatures), node));
      for (float& value : row) value = static_cast<float>(GaussianLike(rng.Next()));
    };
    graph.classes = options_.classes;
    graph.label = [this](int64_t node) {
      return static_cast<int64_t>(Bounded(SubKey(SubKey(key_, kLabels), node), options_.classes));
    };
    graph.shares = options_.shares;
    graph.split_key = SubKey(key_, kSplit);
    return graph;
  }

 private:
  using Pair = std::pair<uint64_t, uint64_t>;

  [[nodiscard]] Pair Draw(int64_t number) const {
    CounterRng rng(SubKey(SubKey(key_, kEdges), number));
    uint64_t source = 0, destination = 0, bits = 0;
    for (int level = 0; level < options_.log2_nodes; ++level) {
      bits = level % 2 == 0 ? rng.Next() : bits >> 32;  // a draw has the bits of two levels
      const uint64_t draw = bits & 0xffffffff;
      const int quadrant =
          (draw >= thresholds_[0]) + (draw >= thresholds_[1]) + (draw >= thresholds_[2]);
      source = source << 1 | quadrant >> 1;
      destination = destination << 1 | (quadrant & 1);
    }
    if (!options_.permute_ids) return {source, destination};
    return {permutation_(source), permutation_(destination)};
  }

  void CollectDistinct() {
    Progress progress("drawing edges", options_.edges);
    distinct_.reserve(options_.edges);
    for (int64_t i = 0; i < options_.edges; ++i) {
      auto [source, destination] = Draw(i);
      if (options_.undirected && source > destination) std::swap(source, destination);
      if (source != destination) distinct_.push_back(source << 32 | destination);
      if (i % kProgressStep == 0) progress.Advance(kProgressStep);
    }
    std::sort(distinct_.begin(), distinct_.end());
    distinct_.erase(std::unique(distinct_.begin(), distinct_.end()), distinct_.end());
  }

  void FillEdges(int64_t begin, std::span<int64_t> sources, std::span<int64_t> destinations) const {
    for (size_t i = 0; i < sources.size(); ++i) {
      const int64_t edge = begin + static_cast<int64_t>(i);
      const int64_t number = options_.undirected ? edge / 2 : edge;
      Pair pair;
      if (options_.dedup) {
        pair = {distinct_[number] >> 32, distinct_[number] & 0xffffffff};
      } else {
        pair = Draw(number);
      }
      if (options_.undirected && edge % 2 == 1) std::swap(pair.first, pair.second);
      sources[i] = static_cast<int64_t>(pair.first);
      destinations[i] = static_cast<int64_t>(pair.second);
    }
  }

  const RmatOptions options_;
  const uint64_t key_;
  const IdPermutation permutation_;
  std::array<uint64_t, 3> thresholds_ = {};  // of 32 bits, between the quadrants
  std::vector<uint64_t> distinct_;           // with dedup: source << 32 | destination, ascending
};

}  // namespace

Status RmatOptions::Validate() const {
  if (log2_nodes < 0 || log2_nodes > kMaxLog2Nodes) {
    return InvalidArgument("log2_nodes is {}, expected 0 to {}", log2_nodes, kMaxLog2Nodes);
  }
  if (edges < 0 || edges > kMaxEdges) {
    return InvalidArgument("edges is {}, expected 0 to {}", edges, kMaxEdges);
  }
  for (const double p : {a, b, c, d}) {
    if (!(p >= 0 && p <= 1)) {
      return InvalidArgument("a, b, c, d are {}, {}, {}, {}: each is 0 to 1", a, b, c, d);
    }
  }
  if (std::abs(a + b + c + d - 1) > 1e-6) {
    return InvalidArgument("a, b, c, d are {}, {}, {}, {}: their sum is {:.6g}, expected 1", a, b,
                           c, d, a + b + c + d);
  }
  HG_RETURN_IF_ERROR(CheckFeatureDim(feature_dim));
  if (classes < 0) return InvalidArgument("classes is {}, expected 0 or above", classes);
  return shares.Validate();
}

Status GenerateRmat(const RmatOptions& options, const GenerateTarget& target) {
  HG_RETURN_IF_ERROR(options.Validate());
  const Rmat rmat(options);
  return WriteGeneratedGraph(rmat.Describe(), target);
}

}  // namespace halograph
