// Which sampler training's minibatches are drawn by, and what it is told (docs/samplers.md). The
// samplers are those of common/sampling/samplers/registry.h. Knows no libtorch.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "common/graph/schema.h"
#include "common/program/options.h"
#include "common/sampling/request.h"
#include "trainer/options/subgraph_options.h"

namespace halograph {

// kModels: what the model's layers need (ModelNeeds::attends).
enum class ProbabilityChoice : uint8_t { kModels, kDegree, kSqrt, kCount, kCount2 };

struct SamplerOptions {
  std::string name = "neighbor";
  // Of layer-wise samplers: nodes of each layer, from the seeds outward; empty: the batch size.
  std::vector<int32_t> layer_nodes;
  ProbabilityChoice layer_probability = ProbabilityChoice::kModels;
  LayerEstimate layer_estimate = LayerEstimate::kUnbiased;
  bool labor_shared = false;  // of labor: one key for all layers
  SubgraphOptions subgraph;   // of graph-wise samplers

  // What its rules say. Of a name that is none: neighbours.
  [[nodiscard]] DrawKind kind() const;
  // Whether --fanouts say what is drawn. Of a name that is none: true.
  [[nodiscard]] bool reads_fanouts() const;
  // Whether a subgraph is drawn, and the rows that a step is about are found in it.
  [[nodiscard]] bool graph_wise() const;
  // Whether blocks have coefficients, and sums over them are estimates of full sums.
  [[nodiscard]] bool estimates() const;
};

void AddSamplerRows(OptionTable& rows, SamplerOptions* o);

// Requires rows that are valid one by one.
//   NotFound         a sampler that there is not: those that are, are named
//   InvalidArgument  an option of another sampler was given: both are named; or layer_nodes that
//                    are not one for each of `layers` layers
[[nodiscard]] Status CheckSampler(const OptionTable& rows, const SamplerOptions& options);
[[nodiscard]] Status CheckLayerNodes(const SamplerOptions& options, int64_t layers);

// Makes of fanouts, which draw neighbours uniformly, what a sampler that reads them draws.
void DrawAs(const SamplerOptions& options, SamplingSpec* spec);

// What a layer-wise sampler draws of a graph: of every relation in every layer. `usual`: by what it
// draws if the options leave that to the model.
[[nodiscard]] SamplingSpec LayerWiseSpec(const SamplerOptions& options, const Schema& schema,
                                         int64_t layers, int64_t batch_size,
                                         LayerProbability usual);

}  // namespace halograph
