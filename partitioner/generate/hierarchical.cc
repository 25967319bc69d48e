#include "partitioner/generate/hierarchical.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/ranges.h>

#include "common/base/rng.h"
#include "partitioner/generate/communities.h"
#include "partitioner/generate/option_checks.h"

namespace halograph {
namespace {

constexpr int64_t kMaxLeaves = int64_t{1} << 24;
constexpr size_t kMaxLevels = 16;

// Innermost blocks ("leaves") are numbered so that each block of any level is a range of them.
class Hierarchical {
  // What each stream of random numbers is for: the n-th key below the seed's.
  enum Purpose : uint64_t { kBlocks, kEdges, kCorners, kNoise, kSplit, kHubs };

 public:
  explicit Hierarchical(const HierarchicalOptions& options)
      : options_(options),
        key_(Mix(options.seed)),
        widths_(BlockWidths(options.blocks)),
        leaves_(options.nodes, widths_.front(), SubKey(key_, kBlocks)),
        features_(SubKey(key_, kCorners), SubKey(key_, kNoise), options.noise) {
    const auto wanted = options.hubs * static_cast<double>(options.nodes);
    hubs_.resize(static_cast<size_t>(std::ceil(wanted)));
    CounterRng rng(SubKey(key_, kHubs));  // a node that is drawn twice is a larger hub
    for (uint32_t& hub : hubs_) hub = static_cast<uint32_t>(rng.NextBounded(options.nodes));
  }

  Status DrawEdges() {
    const auto target = static_cast<int64_t>(
        options_.average_degree * static_cast<double>(options_.nodes) / 2 + 0.5);
    pairs_.Draw(target, [this](uint64_t number) { return DrawPair(number); });
    if (pairs_.TooFewOf(target)) {
      return InvalidArgument(
          "an average degree of {} is more than {} nodes in blocks of {} can hold: only {} of {} "
          "edges found; lower it, or the shares of the inner levels",
          options_.average_degree, options_.nodes, fmt::join(options_.blocks, " x "), pairs_.size(),
          target);
    }
    return OkStatus();
  }

  [[nodiscard]] GeneratedGraph Describe() const {
    GeneratedGraph graph =
        DescribeCommunities(pairs_, features_, [this](int64_t node) { return OuterBlock(node); });
    graph.name = "hierarchical";
    graph.nodes = options_.nodes;
    graph.feature_dim = options_.feature_dim;
    graph.classes = options_.labels ? options_.blocks.front() : 0;
    graph.shares = options_.set_shares;
    graph.split_key = SubKey(key_, kSplit);
    return graph;
  }

 private:
  // Leaves in a block of level i - 1; of level -1, which is the whole graph, first.
  static std::vector<int64_t> BlockWidths(const std::vector<int64_t>& blocks) {
    std::vector<int64_t> widths(blocks.size() + 1, 1);
    for (size_t level = blocks.size(); level > 0; --level) {
      widths[level - 1] = widths[level] * blocks[level - 1];
    }
    return widths;
  }

  [[nodiscard]] int64_t OuterBlock(int64_t node) const {
    return int64_t{leaves_.Of(node)} / widths_[1];
  }

  [[nodiscard]] std::pair<uint32_t, uint32_t> DrawPair(uint64_t number) const {
    CounterRng rng(SubKey(SubKey(key_, kEdges), number));
    const bool from_hub = !hubs_.empty() && rng.NextDouble() < options_.hub_edges;
    const uint32_t u =
        from_hub ? DrawHub(&rng) : static_cast<uint32_t>(rng.NextBounded(options_.nodes));
    size_t level = DrawLevel(rng.NextDouble());
    if (from_hub && level > 0) --level;
    const int64_t width = widths_[level];
    const int64_t first = int64_t{leaves_.Of(u)} / width * width;
    const std::span<const uint32_t> members = leaves_.Members(first, first + width);
    return {u, members[rng.NextBounded(members.size())]};
  }

  // The share of hubs 0 .. r is sqrt(r): squaring a uniform number gives that.
  [[nodiscard]] uint32_t DrawHub(CounterRng* rng) const {
    const double uniform = rng->NextDouble();
    const auto rank = static_cast<size_t>(uniform * uniform * static_cast<double>(hubs_.size()));
    return hubs_[std::min(rank, hubs_.size() - 1)];
  }

  // As widths_ counts them: 0 is the whole graph.
  [[nodiscard]] size_t DrawLevel(double uniform) const {
    for (size_t level = options_.shares.size(); level > 0; --level) {
      uniform -= options_.shares[level - 1];
      if (uniform < 0) return level;
    }
    return 0;
  }

  const HierarchicalOptions options_;
  const uint64_t key_;
  const std::vector<int64_t> widths_;
  const NodeGroups leaves_;
  const CornerFeatures features_;
  std::vector<uint32_t> hubs_;  // by rank
  NodePairs pairs_;
};

Status CheckLevels(const HierarchicalOptions& options) {
  const std::vector<int64_t>& blocks = options.blocks;
  if (blocks.empty() || blocks.size() > kMaxLevels || blocks.size() != options.shares.size()) {
    return InvalidArgument(
        "blocks are {} and shares {}: expected one number of each per level, 1 to {} levels",
        fmt::join(blocks, ","), fmt::join(options.shares, ","), kMaxLevels);
  }
  int64_t leaves = 1;
  for (const int64_t count : blocks) {
    if (count < 1 || count > kMaxLeaves || (leaves *= count) > kMaxLeaves) {
      return InvalidArgument("blocks are {}: each must be at least 1, and their product at most {}",
                             fmt::join(blocks, ","), kMaxLeaves);
    }
  }
  double sum = 0;
  for (const double share : options.shares) {
    HG_RETURN_IF_ERROR(CheckShare("a level's share of the edges", share));
    sum += share;
  }
  if (sum > 1 + 1e-9) {
    return InvalidArgument("the levels' shares of the edges are {}: their sum is above 1",
                           fmt::join(options.shares, ", "));
  }
  return OkStatus();
}

}  // namespace

Status HierarchicalOptions::Validate() const {
  HG_RETURN_IF_ERROR(CheckNodes(nodes));
  HG_RETURN_IF_ERROR(CheckAverageDegree(average_degree, nodes));
  HG_RETURN_IF_ERROR(CheckLevels(*this));
  HG_RETURN_IF_ERROR(CheckShare("hubs", hubs));
  HG_RETURN_IF_ERROR(CheckShare("hub_edges", hub_edges));
  HG_RETURN_IF_ERROR(CheckFeatureDim(feature_dim));
  HG_RETURN_IF_ERROR(CheckNoise(noise));
  return set_shares.Validate();
}

Status GenerateHierarchical(const HierarchicalOptions& options, const GenerateTarget& target) {
  HG_RETURN_IF_ERROR(options.Validate());
  Hierarchical graph(options);
  HG_RETURN_IF_ERROR(graph.DrawEdges());
  return WriteGeneratedGraph(graph.Describe(), target);
}

}  // namespace halograph
