#include "partitioner/methods/lp_metis/label_propagation.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "common/base/prefetch.h"
#include "common/base/progress.h"
#include "common/base/rng.h"
#include "partitioner/methods/lp_metis/local_moves.h"

namespace halograph {
namespace {

constexpr uint32_t kNone = std::numeric_limits<uint32_t>::max();
// A round that moves less than this share of the nodes is the last.
constexpr double kLeastMoves = 0.005;

class Propagation {
 public:
  Propagation(const DiskCsr& graph, const PropagationOptions& options)
      : graph_(graph),
        options_(options),
        labels_(static_cast<size_t>(graph.num_nodes())),
        sizes_(labels_.size(), 1) {
    std::iota(labels_.begin(), labels_.end(), uint32_t{0});
  }

  Clustering Run() {
    if (options_.max_nodes > 1) {
      for (int round = 0; round < options_.rounds; ++round) {
        const int64_t moves = Round(SubKey(options_.seed, static_cast<uint64_t>(round)));
        if (static_cast<double>(moves) < kLeastMoves * static_cast<double>(labels_.size())) break;
      }
      JoinSingles();
    }
    return Number();
  }

 private:
  int64_t Round(uint64_t key) {
    int64_t moves = 0;
    Progress progress("clustering", graph_.num_nodes());
    ForEachBlock(graph_.num_nodes(), key, [&](int64_t begin, int64_t end) {
      for (int64_t v = begin; v < end; ++v) moves += MoveNode(v, key) ? 1 : 0;
      progress.Advance(end - begin);
    });
    return moves;
  }

  void Rate(int64_t node) {
    const int64_t begin = graph_.offsets()[static_cast<size_t>(node)];
    const int64_t end = graph_.offsets()[static_cast<size_t>(node) + 1];
    const uint32_t* neighbours = graph_.neighbours();
    ratings_.Reset(end - begin);
    for (int64_t i = begin; i < end; ++i) {
      // Lists lie one behind the other, so this also reads ahead into the next node's.
      if (i + kArcsAhead < graph_.num_arcs()) PrefetchToRead(&labels_[neighbours[i + kArcsAhead]]);
      ratings_.Add(labels_[neighbours[i]], graph_.Weight(i));
    }
  }

  bool MoveNode(int64_t node, uint64_t key) {
    Rate(node);
    uint32_t& label = labels_[static_cast<size_t>(node)];
    int64_t best_weight = 0;
    uint64_t best_tie = 0;
    uint32_t best = label;
    for (const Ratings::Rating& rating : ratings_.all()) {
      if (rating.weight < best_weight) continue;
      if (rating.key != label && sizes_[rating.key] >= options_.max_nodes) continue;
      // Of equals the one a node is in, else any.
      const uint64_t tie = rating.key == label ? ~uint64_t{0} : Mix(key ^ rating.key);
      if (rating.weight == best_weight && tie < best_tie) continue;
      best = rating.key;
      best_weight = rating.weight;
      best_tie = tie;
    }
    if (best == label) return false;
    --sizes_[label];
    ++sizes_[best];
    label = best;
    return true;
  }

  // The cluster most neighbours are in, full or not; kNone without neighbours.
  uint32_t Favourite(int64_t node) {
    Rate(node);
    Ratings::Rating best{kNone, 0};
    for (const Ratings::Rating& rating : ratings_.all()) {
      if (rating.weight > best.weight) best = rating;
    }
    return best.key;
  }

  void JoinSingles() {
    // Per favourite the cluster of singles that has room; the last place is for none.
    std::vector<uint32_t> open(labels_.size() + 1, kNone);
    for (int64_t v = 0; v < graph_.num_nodes(); ++v) {
      uint32_t& label = labels_[static_cast<size_t>(v)];
      if (sizes_[label] != 1 || label != static_cast<uint32_t>(v)) continue;
      const uint32_t favourite = Favourite(v);
      uint32_t& room = open[favourite == kNone ? labels_.size() : favourite];
      if (room == kNone || sizes_[room] >= options_.max_nodes || room == label) {
        room = label;
        continue;
      }
      --sizes_[label];
      ++sizes_[room];
      label = room;
    }
  }

  Clustering Number() {
    Clustering result;
    std::fill(sizes_.begin(), sizes_.end(), kNone);
    for (uint32_t& label : labels_) {
      uint32_t& number = sizes_[label];
      if (number == kNone) number = static_cast<uint32_t>(result.clusters++);
      label = number;
    }
    result.cluster_of = std::move(labels_);
    return result;
  }

  const DiskCsr& graph_;
  const PropagationOptions& options_;
  std::vector<uint32_t> labels_;
  std::vector<uint32_t> sizes_;  // per label
  Ratings ratings_;
};

}  // namespace

Clustering PropagateLabels(const DiskCsr& graph, const PropagationOptions& options) {
  return Propagation(graph, options).Run();
}

}  // namespace halograph
