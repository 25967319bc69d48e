// In-degrees of all nodes, for models that divide by those of the sources too (ModelNeeds::
// source_degrees): a chunk knows those of its destinations only.
#pragma once

#include "common/base/status.h"
#include "common/storage/scratch.h"
#include "trainer/inference/chunk_pass.h"

namespace halograph {

class SourceDegrees {
 public:
  // Reads all edges of the graph, which has one relation, by a pass with chunks of so much memory.
  //   else   as ScratchSpace::Take and ForEachChunk
  [[nodiscard]] static StatusOr<SourceDegrees> Count(const Session& session,
                                                     const ChunkMemory& memory,
                                                     ScratchSpace& scratch);

  // Those of a chunk's nodes, as the layer that comes before the chunk's would have them.
  [[nodiscard]] SampledLayer OuterOf(const Minibatch& chunk) const;

 private:
  ScratchArray degrees_;  // int32
};

}  // namespace halograph
