// A symmetric graph for tests of whole minibatches of subgraphs, and how far what such minibatches
// estimate is from the truth.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <vector>

#include <gtest/gtest.h>

#include "common/base/rng.h"
#include "common/base/sanitizers.h"
#include "common/sampling/samplers/local_source.h"
#include "common/sampling/samplers/minibatch_builder.h"
#include "common/sampling/samplers/walk_weights.h"
#include "tests/unit/sampling/memory_graph.h"

namespace halograph {

// In sigmas of the mean over many subgraphs.
struct SubgraphBias {
  double means = 0;  // a projection of the means of all nodes, each counted as its node's loss is
  double loss = 0;   // of what the nodes' losses count, whatever the means
};

class SubgraphFixture : public testing::Test {
 protected:
  static constexpr int64_t kNodes = 60;

  SubgraphFixture() : graph_(Spec(), IdWidth::k32) {}

  // With some parallel edges and self-loops, in two parts of three clusters each.
  static TestGraphSpec Spec() {
    TestGraphSpec spec{.parts = 2, .node_types = {{}}, .relations = {{}}};
    for (int64_t v = 0; v < kNodes; ++v) {
      spec.node_types[0].owners.push_back(v < kNodes / 2 ? 0 : 1);
    }
    CounterRng rng(Mix(9));
    for (int64_t v = 0; v < kNodes; ++v) {
      for (int i = 0; i < 3; ++i) {
        const auto u = static_cast<int64_t>(rng.NextBounded(kNodes));
        spec.relations[0].edges.push_back({u, v});
        if (u != v) spec.relations[0].edges.push_back({v, u});
      }
    }
    return spec;
  }

  [[nodiscard]] Minibatch Made(const DrawRule& rule, uint64_t batch_seed, size_t layers = 1) {
    SamplingSpec spec;
    spec.layers.assign(layers, {{0, rule}});
    LocalSource source(&graph_.schema, &graph_.topology, nullptr);
    Minibatch minibatch;
    const SampleRequest request{
        .seeds = {}, .batch_seed = batch_seed, .spec = &spec, .edge_ids = true};
    EXPECT_EQ(BuildMinibatches(graph_.schema, {&request, 1}, source, &workspaces_, {&minibatch, 1}),
              OkStatus());
    return minibatch;
  }

  // `chance`: of every node, where minibatches do not tell it. `walks`: what weighs them, if they
  // are of walks.
  SubgraphBias SigmasOff(const DrawRule& rule, double chance, const WalkWeights* walks = nullptr) {
    const int draws = kAddressSanitizer || kThreadSanitizer ? 1'000 : 100'000;
    CounterRng rng(Mix(4));
    std::vector<double> values(kNodes), vector(kNodes), full(kNodes);
    for (double& value : values) value = rng.NextDouble();
    for (double& entry : vector) entry = rng.NextDouble() - .2;
    double all = 0;
    for (int64_t v = 0; v < kNodes; ++v) {
      const std::vector<int64_t>& sources = graph_.relations[0]->in_edges()[v];
      for (const int64_t u : sources) full[v] += values[u] / static_cast<double>(sources.size());
      all += vector[v];
    }
    Moments means, loss;
    for (int draw = 0; draw < draws; ++draw) {
      Minibatch minibatch = Made(rule, static_cast<uint64_t>(draw));
      const Status weighed = walks == nullptr ? OkStatus() : walks->Weigh(&minibatch);
      EXPECT_EQ(weighed, OkStatus());
      const Block& block = minibatch.layers[0].blocks[0];
      const std::vector<int64_t>& nodes = minibatch.nodes[0];
      double off = 0, counted = 0;
      for (size_t i = 0; i < nodes.size(); ++i) {
        double mean = 0;
        for (int64_t e = block.indptr[i]; e < block.indptr[i + 1]; ++e) {
          const double factor = block.coefficients.empty() ? 1 : block.coefficients[e];
          mean += factor * values[nodes[block.indices[e]]];
        }
        const auto edges = static_cast<double>(block.indptr[i + 1] - block.indptr[i]);
        mean /= block.degrees.empty() ? std::max(edges, 1.0) : block.degrees[i];
        const double weight =
            minibatch.node_weights.empty() ? 1 / chance : minibatch.node_weights[i];
        off += vector[nodes[i]] * weight * (mean - full[nodes[i]]);
        counted += vector[nodes[i]] * weight;
      }
      means.Add(off);
      loss.Add(counted - all);
    }
    std::printf("  means: bias %.2e, %.2f sigma; loss: %.2e, %.2f sigma\n", means.mean(),
                means.Sigmas(), loss.mean(), loss.Sigmas());
    return {.means = means.Sigmas(), .loss = loss.Sigmas()};
  }

  static void ExpectUnbiased(const SubgraphBias& sigmas) {
    EXPECT_LT(std::abs(sigmas.means), 3);
    EXPECT_LT(std::abs(sigmas.loss), 3);
  }

  MemoryGraph graph_;
  const std::vector<std::vector<int64_t>> clusters_ = {{0, 8, 19, 30}, {30, 41, 52, 60}};
  BuilderWorkspaces workspaces_{&graph_.schema, 2, clusters_};

 private:
  class Moments {
   public:
    void Add(double value) {
      ++count_;
      sum_ += value;
      squares_ += value * value;
    }
    [[nodiscard]] double mean() const { return sum_ / count_; }
    [[nodiscard]] double Sigmas() const {
      return mean() / std::sqrt((squares_ / count_ - mean() * mean()) / count_);
    }

   private:
    double count_ = 0, sum_ = 0, squares_ = 0;
  };
};

}  // namespace halograph
