// How good partitionings of real graphs are: the bounds that the project promises.
#include <gmock/gmock.h>

#include "partitioner/methods/metis/folded_graph.h"
#include "partitioner/methods/metis/rebalance.h"
#include "partitioner/methods/metis/vertex_weights.h"
#include "partitioner/methods/registry/registry.h"
#include "tests/unit/partitioner_methods/memory_dataset.h"
#include "tests/unit/partitioner_methods/real_dataset.h"

namespace halograph {
namespace {

class MethodQuality : public RealDataset {
 protected:
  int64_t DirectedCut(const Assignment& assignment) {
    int64_t cut = 0;
    for (const InputRelation& relation : dataset_.relations) {
      const auto& from = assignment.owners[dataset_.NodeTypeIndex(relation.source)];
      const auto& to = assignment.owners[dataset_.NodeTypeIndex(relation.destination)];
      auto cursor = relation.edges->Open();
      EXPECT_TRUE(cursor.ok()) << cursor.status();
      EdgeChunk chunk;
      while (*(*cursor)->Next(&chunk)) {
        for (size_t i = 0; i < chunk.size(); ++i) {
          cut += from[chunk.sources[i]] != to[chunk.destinations[i]] ? 1 : 0;
        }
      }
    }
    return cut;
  }

  Assignment Assign(std::string_view method, int parts, uint64_t seed) {
    auto made = MakeMethod(method);
    auto assignment = (*made)->Assign(
        dataset_, {.parts = parts, .seed = seed, .balance = {}, .drop_duplicates = false});
    EXPECT_TRUE(assignment.ok()) << assignment.status();
    return std::move(assignment).value();
  }

  // max / mean of every constraint, computed anew from the owners.
  std::vector<std::pair<std::string, double>> Balance(const Assignment& assignment, int parts) {
    const auto graph = BuildFoldedGraph(dataset_, false);
    const auto weights = BuildVertexWeights(dataset_, *graph, {});
    std::vector<int64_t> loads(parts * weights->count(), 0);
    int64_t node = 0;
    for (const auto& owners : assignment.owners) {
      for (const uint16_t owner : owners) {
        for (size_t c = 0; c < weights->count(); ++c) {
          loads[owner * weights->count() + c] += weights->Row(node)[c];
        }
        ++node;
      }
    }
    std::vector<std::pair<std::string, double>> balance;
    for (size_t c = 0; c < weights->count(); ++c) {
      int64_t largest = 0;
      for (int p = 0; p < parts; ++p) largest = std::max(largest, loads[p * weights->count() + c]);
      const Constraint& constraint = weights->constraints[c];
      balance.emplace_back(constraint.name, static_cast<double>(largest) * parts /
                                                static_cast<double>(constraint.total));
    }
    return balance;
  }

  void ExpectBounds(double largest_share_of_random) {
    for (const uint64_t seed : {0, 1, 2}) {
      const Assignment metis = Assign("metis", 4, seed);
      EXPECT_LE(
          static_cast<double>(DirectedCut(metis)),
          largest_share_of_random * static_cast<double>(DirectedCut(Assign("random", 4, seed))));
      for (const auto& [name, value] : Balance(metis, 4)) {
        EXPECT_LE(value, name == "edges" ? 1.12 : 1.05) << name << ", seed " << seed;
      }
    }
  }
};

TEST_F(MethodQuality, AmazonPhotoInFourPartsKeepsItsBounds) {
  OpenData("amazon-photo");
  if (!IsSkipped()) ExpectBounds(0.30);
}

TEST_F(MethodQuality, EmailEnronInFourPartsKeepsItsBounds) {
  OpenData("snap/email-Enron.txt.gz");
  if (!IsSkipped()) ExpectBounds(0.40);
}

TEST_F(MethodQuality, CoraKeepsItsBalanceInAnyNumberOfParts) {
  OpenData("cora", "HALOGRAPH_TEST_DATA");
  if (IsSkipped()) return;
  for (const int parts : {2, 3, 4, 8}) {
    for (const auto& [name, value] : Balance(Assign("metis", parts, 1), parts)) {
      // 140 train nodes over 8 parts: a whole node is 6 % of a share.
      EXPECT_LE(value, name == "edges" ? 1.12 : 1.05) << name << ", " << parts << " parts";
    }
  }
}

TEST_F(MethodQuality, TypedGraphsKeepTheirBalance) {
  for (const char* name : {"aifb", "imdb-hetero", "fb15k-237"}) {
    OpenData(name);
    if (IsSkipped()) return;
    for (const auto& [constraint, value] : Balance(Assign("metis", 2, 1), 2)) {
      EXPECT_LE(value, constraint == "edges" ? 1.12 : 1.05) << name << ", " << constraint;
    }
  }
}

TEST_F(MethodQuality, MetisFindsTheRings) {
  DatasetBuilder builder;  // four rings of 100 nodes, joined by three edges
  builder.Nodes("node", 400).Edges("node", "edge", "node", RingsOfNodes(4, 100));
  dataset_ = builder.dataset();
  EXPECT_LE(DirectedCut(Assign("metis", 4, 1)), 60);
  EXPECT_GE(DirectedCut(Assign("random", 4, 1)), 1200);
}

}  // namespace
}  // namespace halograph
