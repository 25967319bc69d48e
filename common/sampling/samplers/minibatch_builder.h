// From seeds to minibatches, by any sampler of the registry. Where the edges come from is behind
// what is asked (topology_source.h): the owners' servers, or some of them mapped. (For node-wise
// draws of a topology that is all here, fused_sampler.h draws and compacts at once.)
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "common/base/status.h"
#include "common/graph/schema.h"
#include "common/sampling/kernel/workspace.h"
#include "common/sampling/minibatch.h"
#include "common/sampling/request.h"
#include "common/sampling/samplers/cluster_list.h"
#include "common/sampling/samplers/out_degrees.h"
#include "common/sampling/topology_source.h"

namespace halograph {

// At most so many minibatches of one call are made together; more follow in groups of as many.
inline constexpr int kMinibatchesTogether = 64;

// What builders work in. They wait for answers most of the time, so there may be many at once, each
// with tables of less memory than the fused sampler's.
class BuilderWorkspaces : public FusedWorkspacePool {
 public:
  static constexpr int kLimit = 128;  // minibatches in the making at once; more wait
  static constexpr int64_t kTableNodes = int64_t{1} << 24;

  // Of a store with so many parts. `schema` must outlive it. `clusters`: bounds by part, of the
  // only node type. `limit`: of minibatches at once; `together`: of those of one call.
  BuilderWorkspaces(const Schema* schema, int num_parts,
                    std::span<const std::vector<int64_t>> clusters = {}, int limit = kLimit,
                    int together = kMinibatchesTogether)
      : FusedWorkspacePool(schema, limit, kTableNodes),
        together_(std::min(together, limit)),
        out_degrees_(schema, num_parts),
        clusters_(clusters) {}

  [[nodiscard]] int together() const { return together_; }
  [[nodiscard]] OutDegreeTables& out_degrees() { return out_degrees_; }
  [[nodiscard]] const ClusterList& clusters() const { return clusters_; }

 private:
  const int together_;
  OutDegreeTables out_degrees_;
  const ClusterList clusters_;
};

// Validates the requests, then samples and compacts their layers: minibatches[i] of requests[i], as
// many of each. What all minibatches that are made together ask next is one exchange. They
// are overwritten, and their memory reused; after an error they hold nothing of use. `workspaces`:
// made for the same schema; `limits` bounds the wait for them. Thread-safe.
//   InvalidArgument, OutOfRange, NotFound  as ValidateRequests
//   ResourceExhausted            a node list longer than 2^31 - 1, or no memory
//   Internal                     an answer of the source that fits no question
//   Cancelled, DeadlineExceeded  `limits`, while too many minibatches of others are in the making
//   else                         what the source returned
[[nodiscard]] Status BuildMinibatches(const Schema& schema, std::span<const SampleRequest> requests,
                                      TopologySource& source, BuilderWorkspaces* workspaces,
                                      std::span<Minibatch> minibatches,
                                      const WorkLimits& limits = {});

// BuildMinibatches for a source that is not waited for: who makes this asks what it asks and gives
// it the answers. It borrows what BuildMinibatches does until it is destroyed, and is for one
// thread at a time. Errors are those, and nothing goes on after one.
//
//   MinibatchesInMaking making(schema, requests, workspaces, minibatches, limits);
//   while (*making.Next()) source.Ask(making.questions(), making.answers());
class MinibatchesInMaking {
 public:
  MinibatchesInMaking(const Schema& schema, std::span<const SampleRequest> requests,
                      BuilderWorkspaces* workspaces, std::span<Minibatch> minibatches,
                      const WorkLimits& limits);
  ~MinibatchesInMaking();
  MinibatchesInMaking(const MinibatchesInMaking&) = delete;
  MinibatchesInMaking& operator=(const MinibatchesInMaking&) = delete;

  // Takes the answers to questions(), but for the first time. False: all minibatches are made.
  [[nodiscard]] StatusOr<bool> Next();
  // What is asked now, and where the answers go; until the next Next.
  [[nodiscard]] const TopologyQuestions& questions() const;
  [[nodiscard]] TopologyAnswers* answers();

 private:
  class Together;
  const Schema& schema_;
  std::span<const SampleRequest> requests_;  // of which no minibatch is begun
  BuilderWorkspaces* const workspaces_;
  std::span<Minibatch> minibatches_;  // theirs
  const WorkLimits limits_;
  bool valid_ = false;
  std::unique_ptr<Together> together_;  // those in the making
};

}  // namespace halograph
