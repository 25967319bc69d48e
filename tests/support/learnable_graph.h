// A small graph that a model can learn: three classes, edges mostly within a class, features that
// hint at it.
#pragma once

#include <algorithm>
#include <tuple>

#include "common/base/rng.h"
#include "tests/support/graph_fixture.h"

namespace halograph {

inline constexpr int kLearnableClasses = 3;

// Node i is of class i % 3; six in-edges a node, five of them within the class; features: one-hot
// of the class in half of the nodes, of a random class in the others. Sets: i % 4 of 0 or 1 train,
// 2 valid, 3 test.
inline TestGraphSpec LearnableGraph(int64_t nodes, int parts) {
  CounterRng rng(Mix(99));
  TestGraphSpec spec{.name = "learnable", .parts = parts};
  TestNodeType type{.name = "node"};
  TestRelation relation;
  std::vector<float> features(nodes * 4);
  for (int64_t i = 0; i < nodes; ++i) {
    type.owners.push_back(static_cast<int>(i * parts / nodes));
    const auto hint = rng.NextBounded(2) == 0 ? static_cast<uint64_t>(i) % kLearnableClasses
                                              : rng.NextBounded(kLearnableClasses);
    features[i * 4 + static_cast<int64_t>(hint)] = 1;
    features[i * 4 + 3] = 1;
    for (int edge = 0; edge < 6; ++edge) {
      auto source = static_cast<int64_t>(rng.NextBounded(static_cast<uint64_t>(nodes)));
      if (edge > 0) source += i % kLearnableClasses - source % kLearnableClasses;
      relation.edges.emplace_back(std::min(source, nodes - 1), i);
    }
  }
  type.features = {MakeTensor("feat", features, 4)};
  spec.node_types = {type};
  spec.relations = {relation};
  TestTask task{.name = "classes", .metadata = {{"num_classes", kLearnableClasses}}};
  for (const auto& [set, first, last] :
       {std::tuple{"train", 0, 1}, std::tuple{"valid", 2, 2}, std::tuple{"test", 3, 3}}) {
    std::vector<int64_t> seeds, labels;
    for (int64_t i = 0; i < nodes; ++i) {
      if (i % 4 < first || i % 4 > last) continue;
      seeds.push_back(i);
      labels.push_back(i % kLearnableClasses);
    }
    task.sets.push_back(
        {.set = set, .arrays = {MakeTensor("seeds", seeds), MakeTensor("labels", labels)}});
  }
  spec.tasks = {task};
  return spec;
}

}  // namespace halograph
