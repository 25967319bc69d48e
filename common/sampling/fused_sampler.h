// The fused sampler: from seeds to a minibatch over a topology that is all here, one pass a layer
// and relation, with ids compacted on the fly. What it gives is BuildMinibatch's, bit for bit
// (SAMPLING.md); it is several times faster because the reads of many edges are under way together.
#pragma once

#include <functional>

#include "common/base/status.h"
#include "common/base/thread_pool.h"
#include "common/graph/schema.h"
#include "common/graph/topology.h"
#include "common/sampling/fused_workspace.h"
#include "common/sampling/minibatch.h"
#include "common/sampling/request.h"

namespace halograph {

// Thread-safe, as long as each call has a workspace of its own.
class FusedSampler {
 public:
  // None is owned. Requires every segment of `topology` to be present. The threads of `pool`, which
  // may be null, share the work on a minibatch with the caller; the result does not depend on it.
  FusedSampler(const Schema* schema, const Topology* topology, ThreadPool* pool = nullptr)
      : schema_(schema), topology_(topology), pool_(pool) {}

  // Called before each layer; an error ends the minibatch with it.
  using LayerCheck = std::function<Status()>;

  // `minibatch` is overwritten, and its memory reused; after an error it holds nothing of use.
  // `workspace`: made for the same schema.
  //   InvalidArgument, OutOfRange, NotFound  as ValidateRequest
  //   ResourceExhausted            a node list longer than 2^31 - 1, or no memory
  //   DataLoss                     offsets or ids that the files cannot mean, found where they are
  //                                followed (SAMPLING.md, "What is trusted")
  //   else                         what `check` returned
  [[nodiscard]] Status Sample(const SampleRequest& request, FusedWorkspace* workspace,
                              Minibatch* minibatch, const LayerCheck& check = {}) const;

 private:
  const Schema* schema_;
  const Topology* topology_;
  ThreadPool* pool_;
};

}  // namespace halograph
