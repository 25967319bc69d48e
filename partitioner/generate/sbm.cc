#include "partitioner/generate/sbm.h"

#include <algorithm>
#include <utility>

#include "common/base/rng.h"
#include "partitioner/generate/communities.h"
#include "partitioner/generate/option_checks.h"

namespace halograph {
namespace {

constexpr int64_t kMaxClasses = 65536;
constexpr int kOtherClassTries = 64;

class Sbm {
  // What each stream of random numbers is for: the n-th key below the seed's.
  enum Purpose : uint64_t { kClasses, kEdges, kCorners, kNoise, kSplit };

 public:
  explicit Sbm(const SbmOptions& options)
      : options_(options),
        key_(Mix(options.seed)),
        classes_(options.nodes, options.classes, SubKey(key_, kClasses)),
        features_(SubKey(key_, kCorners), SubKey(key_, kNoise), options.noise) {}

  Status DrawEdges() {
    const auto target = static_cast<int64_t>(
        options_.average_degree * static_cast<double>(options_.nodes) / 2 + 0.5);
    pairs_.Draw(target, [this](uint64_t number) { return DrawPair(number); });
    if (pairs_.TooFewOf(target)) {
      return InvalidArgument(
          "an average degree of {} is more than {} nodes in {} classes can hold: only {} of {} "
          "edges found; lower it, or the homophily",
          options_.average_degree, options_.nodes, options_.classes, pairs_.size(), target);
    }
    return OkStatus();
  }

  [[nodiscard]] GeneratedGraph Describe() const {
    GeneratedGraph graph = DescribeCommunities(
        pairs_, features_, [this](int64_t node) { return int64_t{classes_.Of(node)}; });
    graph.name = "sbm";
    graph.nodes = options_.nodes;
    graph.feature_dim = options_.feature_dim;
    graph.classes = options_.classes;
    graph.shares = options_.shares;
    graph.split_key = SubKey(key_, kSplit);
    return graph;
  }

 private:
  [[nodiscard]] std::pair<uint32_t, uint32_t> DrawPair(uint64_t number) const {
    CounterRng rng(SubKey(SubKey(key_, kEdges), number));
    const auto u = static_cast<uint32_t>(rng.NextBounded(options_.nodes));
    const uint32_t c = classes_.Of(u);
    uint32_t v = u;
    if (options_.classes == 1 || rng.NextDouble() < options_.homophily) {
      const std::span<const uint32_t> members = classes_.Members(c, int64_t{c} + 1);
      v = members[rng.NextBounded(members.size())];
    } else {
      for (int i = 0; i < kOtherClassTries && classes_.Of(v) == c; ++i) {
        v = static_cast<uint32_t>(rng.NextBounded(options_.nodes));
      }
    }
    return {u, v};
  }

  const SbmOptions options_;
  const uint64_t key_;
  const NodeGroups classes_;
  const CornerFeatures features_;
  NodePairs pairs_;
};

}  // namespace

Status SbmOptions::Validate() const {
  HG_RETURN_IF_ERROR(CheckNodes(nodes));
  if (classes < 1 || classes > std::min(kMaxClasses, nodes)) {
    return InvalidArgument("classes is {}, expected 1 to {}", classes,
                           std::min(kMaxClasses, nodes));
  }
  HG_RETURN_IF_ERROR(CheckAverageDegree(average_degree, nodes));
  HG_RETURN_IF_ERROR(CheckShare("homophily", homophily));
  HG_RETURN_IF_ERROR(CheckFeatureDim(feature_dim));
  HG_RETURN_IF_ERROR(CheckNoise(noise));
  return shares.Validate();
}

Status GenerateSbm(const SbmOptions& options, const GenerateTarget& target) {
  HG_RETURN_IF_ERROR(options.Validate());
  Sbm sbm(options);
  HG_RETURN_IF_ERROR(sbm.DrawEdges());
  return WriteGeneratedGraph(sbm.Describe(), target);
}

}  // namespace halograph
