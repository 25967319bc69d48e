// The fused sampler: from seeds to a minibatch of node-wise draws over a topology that is all here,
// one pass a layer and relation, with ids compacted on the fly. What it gives is BuildMinibatches',
// bit for bit (SAMPLING.md); it is several times faster because the reads of many edges are under
// way together.
#pragma once

#include <functional>
#include <span>

#include "common/base/status.h"
#include "common/base/thread_pool.h"
#include "common/graph/schema.h"
#include "common/graph/topology.h"
#include "common/sampling/kernel/workspace.h"
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

  // Whether all of these draw node-wise, as Sample requires.
  [[nodiscard]] static bool Takes(std::span<const SampleRequest> requests);

  // Called before each layer, on the caller's thread; an error ends the call with it.
  using LayerCheck = std::function<Status()>;

  // Makes minibatches[i] of requests[i], one after the other; as many of each. Minibatches are
  // overwritten, and their memory reused; after an error they hold nothing of use. All requests are
  // validated first. `workspace`: made for the same schema.
  //   InvalidArgument, OutOfRange, NotFound  as ValidateRequests
  //   ResourceExhausted            a node list longer than 2^31 - 1, or no memory
  //   DataLoss                     offsets or ids that the files cannot mean, found where they are
  //                                followed (SAMPLING.md, "What is trusted")
  //   else                         what `check` returned
  [[nodiscard]] Status Sample(std::span<const SampleRequest> requests, FusedWorkspace* workspace,
                              std::span<Minibatch> minibatches, const LayerCheck& check = {}) const;
  [[nodiscard]] Status Sample(const SampleRequest& request, FusedWorkspace* workspace,
                              Minibatch* minibatch, const LayerCheck& check = {}) const {
    return Sample({&request, 1}, workspace, {minibatch, 1}, check);
  }

 private:
  const Schema* schema_;
  const Topology* topology_;
  ThreadPool* pool_;
};

}  // namespace halograph
