// One minibatch in the making: a sampler's state between what it asks and what it does with the
// answers. Who drives it (minibatch_builder.h) knows neither kinds of draws nor layers.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "common/base/status.h"
#include "common/graph/schema.h"
#include "common/sampling/kernel/workspace.h"
#include "common/sampling/minibatch.h"
#include "common/sampling/request.h"
#include "common/sampling/samplers/cluster_list.h"
#include "common/sampling/samplers/out_degrees.h"
#include "common/sampling/topology_source.h"

namespace halograph {

// Those of one minibatch, in the order asked. What is in them may be swapped out.
struct AnswerSpans {
  std::span<NeighborPicks> draws;
  std::span<ColumnSums> sums;
  std::span<ExtractedEdges> edges;
};

class MinibatchMaker {
 public:
  virtual ~MinibatchMaker() = default;

  // Takes the answers to what it asked last, which the first time are none, and appends what it
  // asks next. False: it asks nothing more, and the minibatch is made. What it asks points into its
  // memory until the next call. Throws std::bad_alloc. After an error the minibatch holds nothing
  // of use.
  //   ResourceExhausted  a node list longer than 2^31 - 1
  //   Internal           an answer that fits no question
  [[nodiscard]] virtual StatusOr<bool> Next(const AnswerSpans& answers,
                                            TopologyQuestions* questions) = 0;
};

// What makers share and borrow. `request` is valid, of draws that the maker is for.
struct MakerPlace {
  const Schema& schema;
  const SampleRequest& request;
  FusedWorkspace* workspace;
  const OutDegreeTables& out_degrees;  // of all relations that are drawn from by all degrees
  const ClusterList& clusters;
  Minibatch* minibatch;  // overwritten, its memory reused

  // Of graph-wise draws: the one relation of all layers, and its rule.
  [[nodiscard]] int relation() const { return request.spec->layers[0][0].relation; }
  [[nodiscard]] const DrawRule& rule() const { return request.spec->layers[0][0].rule; }
};

// One maker for every kind of draw.
//   node_wise.cc   each destination's draws by itself: one exchange a layer
//   layer_wise.cc  sources for all destinations together: one exchange a layer, and one before; by
//                  out-degrees, one for all layers
//   subgraph.cc    nodes of one subgraph, which all layers share: one exchange for its edges, after
//                  those that its nodes take
//     cluster.cc     none
//     saint.cc       none of nodes, one of edges, one a step of walks
[[nodiscard]] std::unique_ptr<MinibatchMaker> MakeNodeWise(const MakerPlace& place);
[[nodiscard]] std::unique_ptr<MinibatchMaker> MakeLayerWise(const MakerPlace& place);
[[nodiscard]] std::unique_ptr<MinibatchMaker> MakeCluster(const MakerPlace& place);
[[nodiscard]] std::unique_ptr<MinibatchMaker> MakeSaintNode(const MakerPlace& place);
[[nodiscard]] std::unique_ptr<MinibatchMaker> MakeSaintEdge(const MakerPlace& place);
[[nodiscard]] std::unique_ptr<MinibatchMaker> MakeSaintWalk(const MakerPlace& place);

}  // namespace halograph
