// A symmetric relation for tests of subgraphs, the chances of its nodes and edges by the functions
// under test, and what one layer adds up over a subgraph.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "common/sampling/samplers/inclusion_chance.h"
#include "common/sampling/samplers/walk_chance.h"
#include "tests/unit/sampling/memory_graph.h"

namespace halograph {

struct SaintGraph {
  std::vector<int64_t> offsets = {0};
  std::vector<uint32_t> sources;
  std::vector<uint32_t> degrees;
  std::vector<uint64_t> self_loops;

  // `in_edges` of every node, symmetric.
  explicit SaintGraph(const InEdges& in_edges) {
    for (size_t v = 0; v < in_edges.size(); ++v) {
      for (const int64_t source : in_edges[v]) sources.push_back(static_cast<uint32_t>(source));
      offsets.push_back(std::ssize(sources));
      degrees.push_back(static_cast<uint32_t>(in_edges[v].size()));
      self_loops.push_back(static_cast<uint64_t>(
          std::count(in_edges[v].begin(), in_edges[v].end(), static_cast<int64_t>(v))));
    }
  }

  [[nodiscard]] InEdgeLists lists() const { return {.offsets = offsets, .sources = sources}; }
  [[nodiscard]] size_t num_nodes() const { return degrees.size(); }
  [[nodiscard]] std::span<const uint32_t> InEdgesOf(size_t v) const {
    return std::span(sources).subspan(static_cast<size_t>(offsets[v]), degrees[v]);
  }
};

enum class SaintKind { kNode, kEdge, kWalk };

struct SaintRule {
  SaintKind kind = SaintKind::kNode;
  int64_t draws = 1;
  int length = 0;  // of walks
};

// Of a subgraph: of each node, and of both ends of each edge by its place in `sources`.
struct SaintChances {
  std::vector<double> nodes;
  std::vector<double> edges;
};

// `no_both`: an error that tests must see: that one edge brings both its ends is left out.
inline SaintChances SaintChancesOf(const SaintGraph& graph, const SaintRule& rule,
                                   bool no_both = false) {
  const auto all = static_cast<uint64_t>(graph.sources.size());
  const bool edge = rule.kind == SaintKind::kEdge;
  WalkChances walks;
  if (rule.kind == SaintKind::kWalk) {
    auto exact = ExactWalkChances(graph.lists(), rule.length);
    EXPECT_TRUE(exact.ok()) << exact.status();
    walks = *std::move(exact);
  }
  std::vector<uint64_t> at(graph.num_nodes());
  SaintChances result;
  for (size_t v = 0; v < at.size(); ++v) {
    at[v] = edge ? EdgesAt(graph.degrees[v], graph.self_loops[v]) : graph.degrees[v];
    result.nodes.push_back(ChanceOfNode(
        walks.nodes.empty() ? ChanceOfOneDraw(at[v], all) : walks.nodes[v], rule.draws));
  }
  for (size_t v = 0; v < at.size(); ++v) {
    const auto in_edges = graph.InEdgesOf(v);
    for (const uint32_t u : in_edges) {
      const auto one_way = static_cast<uint64_t>(std::count(in_edges.begin(), in_edges.end(), u));
      PairChances pair;
      if (!walks.nodes.empty()) {
        pair = PairOfChances(walks.nodes[u], walks.nodes[v], walks.edges[result.edges.size()]);
      } else if (edge && !no_both) {
        pair = PairOfEdgeDraw(at[u], at[v], u == v ? at[v] : 2 * one_way, all);
      } else {
        pair = PairOfNodeDraw(at[u], at[v], all);
      }
      result.edges.push_back(u == v ? result.nodes[v] : ChancesOfPair(pair, rule.draws).both);
    }
  }
  return result;
}

// What one layer gives on a subgraph: of node v the mean over all in-edges as they are weighed.
inline double SaintMean(const SaintGraph& graph, const SaintChances& chances,
                        std::span<const double> values, const std::vector<char>& in, size_t v) {
  double sum = 0;
  for (auto e = static_cast<size_t>(graph.offsets[v]);
       e < static_cast<size_t>(graph.offsets[v + 1]); ++e) {
    const uint32_t u = graph.sources[e];
    if (in[u] != 0) sum += EdgeFactor(chances.nodes[v], chances.edges[e]) * values[u];
  }
  return sum / graph.degrees[v];
}

inline double FullMean(const SaintGraph& graph, std::span<const double> values, size_t v) {
  double sum = 0;
  for (const uint32_t u : graph.InEdgesOf(v)) sum += values[u];
  return sum / graph.degrees[v];
}

}  // namespace halograph
