// What the layers of a model run over beside rows, made by the thread that prepares a minibatch, so
// that the thread that trains need not: blocks in the form that the model takes, and these by
// source, for the way back. A model's first layer is the minibatch's last one.
//
// Thread-safe. Functions throw std::bad_alloc.
#pragma once

#include <vector>

#include "common/base/status.h"
#include "common/graph/schema.h"
#include "common/sampling/minibatch.h"
#include "trainer/blocks/block_transpose.h"
#include "trainer/blocks/relational_block.h"
#include "trainer/options/row_choices.h"

namespace halograph {

// Members of other forms than the one asked for are empty. Relational forms are of stacked inputs:
// the sources of all node types below each other, types in the order of the schema.
struct LayerBlocks {
  struct Layer {
    std::vector<Block> looped;                    // one a block
    std::vector<RelationGroups> by_relation;      // one a node type; no groups without destinations
    std::vector<RelationalBlock> by_destination;  // or relations into it
    // One a block of that form, in the same order; empty of layers that are not asked for.
    std::vector<TransposedBlock> transposed;
  };
  std::vector<Layer> layers;  // the minibatch's; none where nothing is asked for
};

// `minibatch` is of a graph `schema`. InvalidArgument: stacked inputs of more rows than relational
// forms can name.
[[nodiscard]] StatusOr<LayerBlocks> MakeLayerBlocks(const Schema& schema,
                                                    const Minibatch& minibatch, BlockForm form,
                                                    BySource by_source);

}  // namespace halograph
