#include "partitioner/generate/sbm.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "common/base/progress.h"
#include "common/base/rng.h"
#include "partitioner/generate/random.h"

namespace halograph {
namespace {

constexpr int64_t kMaxNodes = int64_t{1} << 31;
constexpr int64_t kMaxClasses = 65536;
constexpr int64_t kMaxFeatureDim = 1 << 20;
constexpr int kRounds = 64;  // of drawing what was drawn twice again
constexpr int kOtherClassTries = 64;

// What each stream of random numbers is for: the n-th key below the seed's.
enum Purpose : uint64_t { kClasses, kEdges, kCorners, kNoise, kSplit };

class Sbm {
 public:
  explicit Sbm(const SbmOptions& options) : options_(options), key_(Mix(options.seed)) {
    DrawClasses();
  }

  Status DrawEdges() {
    const auto target = static_cast<size_t>(
        options_.average_degree * static_cast<double>(options_.nodes) / 2 + 0.5);
    Progress progress("drawing edges", static_cast<int64_t>(target));
    uint64_t draw = 0;
    for (int round = 0; round < kRounds && pairs_.size() < target; ++round) {
      const size_t before = pairs_.size();
      for (size_t missing = target - before; missing > 0; --missing) DrawPair(draw++);
      std::sort(pairs_.begin(), pairs_.end());
      pairs_.erase(std::unique(pairs_.begin(), pairs_.end()), pairs_.end());
      progress.Advance(static_cast<int64_t>(pairs_.size() - before));
    }
    // Two in a hundred missing is "about"; more means that the communities are nearly complete.
    if (static_cast<double>(pairs_.size()) < 0.98 * static_cast<double>(target)) {
      return InvalidArgument(
          "an average degree of {} is more than {} nodes in {} classes can hold: only {} of {} "
          "edges found; lower it, or the homophily",
          options_.average_degree, options_.nodes, options_.classes, pairs_.size(), target);
    }
    return OkStatus();
  }

  [[nodiscard]] GeneratedGraph Describe() const {
    GeneratedGraph graph;
    graph.name = "sbm";
    graph.nodes = options_.nodes;
    graph.edges = 2 * static_cast<int64_t>(pairs_.size());
    graph.fill_edges = [this](int64_t begin, std::span<int64_t> sources,
                              std::span<int64_t> destinations) {
      FillEdges(begin, sources, destinations);
    };
    graph.feature_dim = options_.feature_dim;
    graph.fill_features = [this](int64_t node, std::span<float> row) { FillFeatures(node, row); };
    graph.classes = options_.classes;
    graph.label = [this](int64_t node) { return int64_t{classes_[node]}; };
    graph.shares = options_.shares;
    graph.split_key = SubKey(key_, kSplit);
    return graph;
  }

 private:
  // Classes at random, and the nodes of each together.
  void DrawClasses() {
    const uint64_t key = SubKey(key_, kClasses);
    classes_.resize(options_.nodes);
    starts_.assign(options_.classes + 1, 0);
    for (int64_t node = 0; node < options_.nodes; ++node) {
      classes_[node] = static_cast<uint16_t>(Bounded(SubKey(key, node), options_.classes));
      ++starts_[classes_[node] + 1];
    }
    for (int64_t c = 0; c < options_.classes; ++c) starts_[c + 1] += starts_[c];
    members_.resize(options_.nodes);
    std::vector<int64_t> next(starts_.begin(), starts_.end() - 1);
    for (int64_t node = 0; node < options_.nodes; ++node) {
      members_[next[classes_[node]]++] = static_cast<uint32_t>(node);
    }
  }

  // Adds the pair of draw `number`, smaller node first; a loop is left for the next round.
  void DrawPair(uint64_t number) {
    CounterRng rng(SubKey(SubKey(key_, kEdges), number));
    const auto u = static_cast<uint32_t>(rng.NextBounded(options_.nodes));
    const uint16_t c = classes_[u];
    uint32_t v = u;
    if (options_.classes == 1 || rng.NextDouble() < options_.homophily) {
      v = members_[starts_[c] + rng.NextBounded(starts_[c + 1] - starts_[c])];
    } else {
      for (int i = 0; i < kOtherClassTries && classes_[v] == c; ++i) {
        v = static_cast<uint32_t>(rng.NextBounded(options_.nodes));
      }
    }
    if (u != v) pairs_.push_back(uint64_t{std::min(u, v)} << 32 | std::max(u, v));
  }

  // Edge 2i is pair i, edge 2i + 1 its reverse.
  void FillEdges(int64_t begin, std::span<int64_t> sources, std::span<int64_t> destinations) const {
    for (size_t i = 0; i < sources.size(); ++i) {
      const int64_t edge = begin + static_cast<int64_t>(i);
      const uint64_t pair = pairs_[edge / 2];
      sources[i] = static_cast<int64_t>(pair >> 32);
      destinations[i] = static_cast<int64_t>(pair & 0xffffffff);
      if (edge % 2 == 1) std::swap(sources[i], destinations[i]);
    }
  }

  void FillFeatures(int64_t node, std::span<float> row) const {
    const uint64_t corner = SubKey(SubKey(key_, kCorners), classes_[node]);
    CounterRng rng(SubKey(SubKey(key_, kNoise), node));
    const double scale = 1 / std::sqrt(1 + options_.noise * options_.noise);
    for (size_t i = 0; i < row.size(); ++i) {
      const double mean = SubKey(corner, i) >> 63 == 0 ? 1 : -1;
      row[i] = static_cast<float>((mean + options_.noise * GaussianLike(rng.Next())) * scale);
    }
  }

  const SbmOptions options_;
  const uint64_t key_;
  std::vector<uint16_t> classes_;  // per node
  std::vector<int64_t> starts_;    // of each class in members_
  std::vector<uint32_t> members_;  // nodes by class
  std::vector<uint64_t> pairs_;    // smaller node << 32 | larger node, ascending
};

}  // namespace

Status SbmOptions::Validate() const {
  if (nodes < 1 || nodes > kMaxNodes) {
    return InvalidArgument("nodes is {}, expected 1 to {}", nodes, kMaxNodes);
  }
  if (classes < 1 || classes > std::min(kMaxClasses, nodes)) {
    return InvalidArgument("classes is {}, expected 1 to {}", classes,
                           std::min(kMaxClasses, nodes));
  }
  if (!(average_degree >= 0 && average_degree <= static_cast<double>(nodes))) {
    return InvalidArgument("average_degree is {}, expected 0 to the number of nodes, {}",
                           average_degree, nodes);
  }
  if (!(homophily >= 0 && homophily <= 1)) {
    return InvalidArgument("homophily is {}, expected 0 to 1", homophily);
  }
  if (feature_dim < 0 || feature_dim > kMaxFeatureDim) {
    return InvalidArgument("feature_dim is {}, expected 0 to {}", feature_dim, kMaxFeatureDim);
  }
  if (!(noise >= 0 && std::isfinite(noise))) {
    return InvalidArgument("noise is {}, expected 0 or above", noise);
  }
  return shares.Validate();
}

Status GenerateSbm(const SbmOptions& options, const GenerateTarget& target) {
  HG_RETURN_IF_ERROR(options.Validate());
  Sbm sbm(options);
  HG_RETURN_IF_ERROR(sbm.DrawEdges());
  return WriteGeneratedGraph(sbm.Describe(), target);
}

}  // namespace halograph
