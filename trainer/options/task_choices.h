// What a task's rows mean, which negatives stand beside them, and what is predicted of them: what a
// run chooses among.
#pragma once

#include <cstdint>

#include "common/graph/task_kind.h"

namespace halograph {

enum class NegativeSampling : uint8_t {
  kUniform,  // nodes of the end's type, each as likely
  kDegree,   // likely by (number of training edges at a node)^0.75
  kInBatch,  // nothing is drawn: the ends of other edges of the minibatch
};
// Which end of an edge a negative has another node at.
enum class CorruptedEnds : uint8_t { kTails, kHeads, kBoth };

struct NegativeSpec {
  NegativeSampling sampling = NegativeSampling::kUniform;
  CorruptedEnds ends = CorruptedEnds::kTails;
  // Of an edge, at each end that is corrupted. kInBatch: of the `count` edges behind it in its run,
  // whose first follows its last; fewer where the run has no more.
  int64_t count = 1;
  bool shared = false;  // `count` negatives for all edges of a run together; not of kInBatch

  [[nodiscard]] bool tails() const { return ends != CorruptedEnds::kHeads; }
  [[nodiscard]] bool heads() const { return ends != CorruptedEnds::kTails; }
  [[nodiscard]] bool drawn() const { return sampling != NegativeSampling::kInBatch; }
};

enum class PredictWhat {
  kClass,          // or, of several labels, 0 or 1 for each
  kProbabilities,  // of every class or label
  kLogits,         // what the probabilities are made of
  kValues,         // of a regression
  kEmbeddings,     // what the last layer of the model reads of a node itself
};

}  // namespace halograph
