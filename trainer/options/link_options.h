// What a run is told of link prediction. Knows no libtorch: the command line reads it too.
#pragma once

#include <cstdint>
#include <set>
#include <vector>

#include "common/base/status.h"
#include "common/program/options.h"
#include "trainer/options/task_choices.h"

namespace halograph {

// How good an edge is, out of the rows of its ends, h and t.
enum class LinkScore : uint8_t {
  kDot,       // sum of h t
  kDistMult,  // sum of h r t, r learnt of each relation (Yang and others 2015)
  kMlp,       // two layers over h r t
};
enum class LinkLoss : uint8_t {
  kCrossEntropy,  // binary: of the edge, and the mean of its negatives'
  kSoftmax,       // the edge among itself and its negatives
};
// What to do with edges of the valid and test sets that the graph has.
enum class HeldOutEdges : uint8_t { kRefuse, kKeep };

// Of K, and of how many there are: ranks exchange the scores of the K best negatives.
inline constexpr int64_t kMostHitsAt = int64_t{1} << 16;
inline constexpr size_t kMostHits = 16;
[[nodiscard]] inline Status CheckHitsAt(const std::vector<int64_t>& at) {
  std::set<int64_t> seen;
  for (const int64_t k : at) {
    if (!seen.insert(k).second) return InvalidArgument("{} is there twice", k);
  }
  if (at.size() <= kMostHits) return OkStatus();
  return InvalidArgument("{} numbers, expected at most {}", at.size(), kMostHits);
}

struct LinkOptions {
  LinkScore score = LinkScore::kDot;
  int64_t dim = 64;
  LinkLoss loss = LinkLoss::kCrossEntropy;
  NegativeSampling sampling = NegativeSampling::kUniform;
  int64_t negatives = 1;
  bool shared = false;
  CorruptedEnds ends = CorruptedEnds::kTails;
  int64_t eval_negatives = 1000;  // 0: all nodes
  HeldOutEdges held_out = HeldOutEdges::kRefuse;
  std::vector<int64_t> hits_at = {};  // empty: as HitsAt has it

  [[nodiscard]] NegativeSpec training() const {
    return {.sampling = sampling, .ends = ends, .count = negatives, .shared = shared};
  }
  // Ranks among all nodes need no negatives: the loss is then of those that training has.
  [[nodiscard]] NegativeSpec evaluation() const {
    if (eval_negatives == 0) return training();
    return {.ends = ends, .count = eval_negatives, .shared = true};
  }

  // Where the data gives the negatives of evaluation, none are drawn.
  [[nodiscard]] static NegativeSpec with_given() {
    return {.sampling = NegativeSampling::kInBatch, .count = 0};
  }
  // Each K of hits at K, where the data gives negatives (link_hits.h).
  [[nodiscard]] std::vector<int64_t> HitsAt() const {
    return hits_at.empty() ? std::vector<int64_t>{20, 50, 100} : hits_at;
  }

  void AddRows(OptionTable& table) {
    table.Group("Link prediction");
    table
        .AddChoice("score", &score,
                   {{"dot", LinkScore::kDot},
                    {"distmult", LinkScore::kDistMult},
                    {"mlp", LinkScore::kMlp}},
                   "score of an edge, out of the rows of its ends; distmult and mlp learn a row of "
                   "each relation")
        .AllRanks();
    table.Add("link-dim", &dim, "width of the rows of nodes that edges are scored by")
        .Range(1, 1 << 16)
        .AllRanks();
    table
        .AddChoice(
            "link-loss", &loss,
            {{"cross-entropy", LinkLoss::kCrossEntropy}, {"softmax", LinkLoss::kSoftmax}},
            "loss of an edge and its negatives: binary cross entropy, or softmax of the edge "
            "among them")
        .AllRanks();
    table.Add("negatives", &negatives, "negatives of an edge, at each end that is corrupted")
        .Range(1, 1 << 20)
        .AllRanks();
    table
        .AddChoice("negative-sampling", &sampling,
                   {{"uniform", NegativeSampling::kUniform},
                    {"degree", NegativeSampling::kDegree},
                    {"in-batch", NegativeSampling::kInBatch}},
                   "nodes drawn as negatives: each as likely; by (training edges at it)^0.75; or "
                   "none are drawn, and the ends of other edges of the step are taken")
        .AllRanks();
    table
        .Add("shared-negatives", &shared,
             "draw --negatives once a step, for all its edges between the same node types")
        .AllRanks();
    table
        .AddChoice("corrupt", &ends,
                   {{"tails", CorruptedEnds::kTails},
                    {"heads", CorruptedEnds::kHeads},
                    {"both", CorruptedEnds::kBoth}},
                   "which end of an edge negatives replace, and is asked for in evaluation")
        .AllRanks();
    table
        .Add("eval-negatives", &eval_negatives,
             "negatives, drawn once a step, that evaluation ranks edges among; 0: all nodes but "
             "those of other known edges")
        .Range(0, 1 << 20)
        .AllRanks();
    table
        .AddChoice("held-out", &held_out,
                   {{"refuse", HeldOutEdges::kRefuse}, {"keep", HeldOutEdges::kKeep}},
                   "what to do where the graph has edges of the valid or test set, which training "
                   "would see: refuse to begin, or keep them")
        .AllRanks();
    table
        .Add("hits-at", &hits_at,
             "of data that gives negatives to evaluate with: each K of hits at K, the share of "
             "edges that score above the K-th best of them; the first K says which epoch is best")
        .Range(1, kMostHitsAt)
        .Check(CheckHitsAt)
        .DefaultText("20,50,100")
        .AllRanks();
  }
};

}  // namespace halograph
