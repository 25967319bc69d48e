// GraphStore: minibatch sampling, wherever the topology is. Implementations: local/ (mapped
// partition folder), remote/ (partition servers) and own_part/ (some partitions mapped, the rest
// behind another store). For the same partition folder they give the same minibatches, bit for bit
// (invariant 4).
//
// Thread-safe: any number of threads may sample at once.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "client/call_stats.h"
#include "common/base/status.h"
#include "common/graph/partition_book.h"
#include "common/graph/schema.h"
#include "common/sampling/minibatch.h"
#include "common/sampling/request.h"

namespace halograph {

// What a store is a store of.
struct GraphInfo {
  std::string identity;
  Schema schema;
  PartitionBook book;
};

class GraphStore {
 public:
  virtual ~GraphStore() = default;

  // Known since opening; lives as long as the store.
  [[nodiscard]] virtual const GraphInfo& info() const = 0;

  // `stats`, if not null, is added to.
  //   InvalidArgument, OutOfRange, NotFound  the request (ValidateRequest), before anything is sent
  //   ResourceExhausted            too large, with what to do
  //   Unavailable, DeadlineExceeded  remote: the server and the call are named; retried within the
  //                                store's timeout before
  //   Cancelled                    Shutdown was called
  [[nodiscard]] virtual StatusOr<Minibatch> Sample(const SampleRequest& request,
                                                   CallStats* stats) = 0;
  [[nodiscard]] StatusOr<Minibatch> Sample(const SampleRequest& request) {
    return Sample(request, nullptr);
  }

  // Ends calls in flight and every later one with Cancelled, soon. Idempotent.
  virtual void Shutdown() = 0;
};

}  // namespace halograph
