// GraphStore: minibatch sampling, wherever the topology is. Implementations: local/ (mapped
// folder), remote/ (servers), own_part/ (some partitions mapped, the rest behind another store):
// these give the same minibatches, bit for bit (invariant 4). So does part_alone/ (one part and its
// halo), but that it cuts what lies beyond the halo; CallStats::cut_nodes counts that.
//
// Thread-safe: any number of threads may call at once, each with a context of its own.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "client/call_context.h"
#include "client/started.h"
#include "common/base/status.h"
#include "common/graph/partition_book.h"
#include "common/graph/schema.h"
#include "common/graph/topology.h"
#include "common/sampling/minibatch.h"
#include "common/sampling/request.h"
#include "common/sampling/samplers/minibatch_builder.h"

namespace halograph {

// What a store is a store of.
struct GraphInfo {
  std::string identity;
  Schema schema;
  PartitionBook book;
  // Where the rows of every task set live, [task][set] in the schema's order: parts + 1 ascending
  // boundaries. Rows [b[p], b[p + 1]) of the whole set are those of part p, in input order.
  std::vector<std::vector<std::vector<int64_t>>> task_rows;
  // By part, where its clusters begin, as global ids that ascend, and the end of the last: clusters
  // + 1 bounds, from the part's first node to its end. Empty: the graph has none. Those of one part
  // are empty where nobody here knows them: its topology is neither mapped nor served.
  std::vector<std::vector<int64_t>> clusters = {};
};

class GraphStore {
 public:
  virtual ~GraphStore() = default;

  // Known since opening; lives as long as the store.
  [[nodiscard]] virtual const GraphInfo& info() const = 0;
  // The topology of all parts, where it is mapped here; else null. As long as info().
  [[nodiscard]] virtual const Topology* whole_topology() const { return nullptr; }

  // Makes minibatches[i] of requests[i]; as many of each. They are overwritten and their memory is
  // used again: keep the objects from batch to batch. All requests are validated before anything
  // is sent. Layer l of all requests is one exchange. After an error they hold nothing of use.
  //   InvalidArgument, OutOfRange, NotFound  a request (ValidateRequests)
  //   ResourceExhausted            too large, with what to do
  //   FailedPrecondition           no server has the topology that is needed, or one has come to
  //                                serve another graph
  //   Unavailable, DeadlineExceeded  remote: the server and the call are named; retried within the
  //                                store's timeout and the context's deadline before
  //   Cancelled                    the context's token was cancelled
  [[nodiscard]] virtual Status Sample(std::span<const SampleRequest> requests, CallContext& context,
                                      std::span<Minibatch> minibatches) = 0;
  // Sample, not waited for (started.h). At most BuilderWorkspaces::kLimit minibatches of a store
  // are in the making at once: to start more waits for those before, so a thread that runs what is
  // posted starts no more than that.
  virtual void StartSample(std::span<const SampleRequest> requests, CallContext& context,
                           std::span<Minibatch> minibatches, StatusDone done) {
    EndCall(std::move(done), Sample(requests, context, minibatches));
  }
  // One request.
  [[nodiscard]] Status Sample(const SampleRequest& request, CallContext& context,
                              Minibatch* minibatch) {
    return Sample({&request, 1}, context, {minibatch, 1});
  }

  // What samplers ask (topology_source.h). Composed stores are made of it. Questions may be of
  // different minibatches and layers; all travel in one exchange. Those without destinations ask
  // nobody, but the context is looked at all the same. Requires valid questions: those of
  // BuildMinibatches are. Memory of `answers` is used again.
  //   DataLoss  an answer that does not fit its question; the server is named
  //   else      as Sample
  [[nodiscard]] virtual Status Ask(const TopologyQuestions& questions, CallContext& context,
                                   TopologyAnswers* answers) = 0;
  // Ask, not waited for (started.h).
  virtual void StartAsk(const TopologyQuestions& questions, CallContext& context,
                        TopologyAnswers* answers, StatusDone done) {
    EndCall(std::move(done), Ask(questions, context, answers));
  }
};

// Ask of draws alone.
[[nodiscard]] Status AskForDraws(GraphStore& store, std::span<const LayerGroup> groups,
                                 CallContext& context, std::vector<NeighborPicks>* picks);

// Sample and StartSample of a store in terms of its StartAsk. `workspaces`: of the store's
// schema; outlives the calls, as the store.
[[nodiscard]] Status SampleByAsking(GraphStore& store, BuilderWorkspaces* workspaces,
                                    std::span<const SampleRequest> requests, CallContext& context,
                                    std::span<Minibatch> minibatches);
void StartSampleByAsking(GraphStore& store, BuilderWorkspaces* workspaces,
                         std::span<const SampleRequest> requests, CallContext& context,
                         std::span<Minibatch> minibatches, StatusDone done);

}  // namespace halograph
