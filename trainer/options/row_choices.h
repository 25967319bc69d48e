// How the rows and the blocks of minibatches are made: what a run, or a model, chooses among.
#pragma once

#include <cstdint>

namespace halograph {

// In what the rows are kept that enter a layer's product. Sums, parameters and gradients are
// float32 in any case.
enum class Precision : uint8_t { kFloat32, kBf16 };

enum class FeatureNormalization {
  kNone,
  kRow,       // each row divided by the sum of its absolute values; rows of zeros stay
  kStandard,  // each column less its mean, divided by its deviation (pipeline/column_scales.h)
};

// What a prepared minibatch holds of the features.
enum class InputRows : uint8_t {
  kNodes,        // the rows of all input nodes
  kSelfAndMean,  // SelfAndMean of each block of the first layer, and nothing else: about a third of
                 // the memory, and the aggregation of the first layer is done
};

// What a kind of model makes of a minibatch's blocks before it runs over them.
enum class BlockForm : uint8_t {
  kSampled,             // nothing
  kSelfLoops,           // WithSelfLoops of each block
  kByRelation,          // GroupWithinRelations of the blocks into each node type
  kByDestination,       // GroupByRelation of these
  kFirstByDestination,  // the same of the model's first layer, and kByRelation of the others
};

// Which layers' blocks are given by source.
enum class BySource : uint8_t {
  kNone,
  kAboveFirst,  // those of all layers but the model's first, whose inputs are features
  kAll,
};

}  // namespace halograph
