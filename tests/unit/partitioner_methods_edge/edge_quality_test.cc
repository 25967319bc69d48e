// How well edge partitioners do on real graphs, owners by majority: replication as `inspect` counts
// it (nodes owned, and sources of their in-edges owned elsewhere) against random owners'.
#include <set>

#include <gtest/gtest.h>

#include "partitioner/methods/literature/edge_method.h"
#include "partitioner/methods/literature/spring.h"
#include "partitioner/methods/literature/stream_rules.h"
#include "partitioner/methods/literature/two_phase.h"
#include "partitioner/methods/random_method.h"
#include "tests/unit/partitioner_methods/real_dataset.h"

namespace halograph {
namespace {

constexpr int kParts = 8;

class EdgeQuality : public RealDataset {
 protected:
  // Of a graph with one node type.
  double Replication(const PartitionMethod& method) {
    MethodOptions options;
    options.parts = kParts;
    options.seed = 1;
    const auto assignment = method.Assign(dataset_, options);
    EXPECT_TRUE(assignment.ok()) << assignment.status();
    const std::vector<uint16_t>& owners = assignment->owners[0];
    std::set<std::pair<int64_t, uint16_t>> halo;
    const Status status = ForEachUnionEdges(dataset_, "test", [&](const UnionEdges& edges) {
      for (size_t i = 0; i < edges.sources.size(); ++i) {
        const int64_t u = edges.sources[i];
        const uint16_t part = owners[edges.destinations[i]];
        if (owners[u] != part) halo.emplace(u, part);
      }
      return OkStatus();
    });
    EXPECT_TRUE(status.ok()) << status;
    return 1 + static_cast<double>(halo.size()) / static_cast<double>(owners.size());
  }

  void ExpectSharesOfRandom() {
    const double random = Replication(RandomMethod());
    EXPECT_LE(Replication(EdgeMethod<Dbh>()), 0.99 * random);
    EXPECT_LE(Replication(EdgeMethod<Hdrf>()), 0.85 * random);
    EXPECT_LE(Replication(EdgeMethod<Greedy>()), 0.73 * random);
    EXPECT_LE(Replication(EdgeMethod<TwoPhase>()), 0.71 * random);
    EXPECT_LE(Replication(EdgeMethod<Spring>()), 0.70 * random);
  }
};

TEST_F(EdgeQuality, EmailEnronInEightParts) {
  OpenData("snap/email-Enron.txt.gz");
  if (!IsSkipped()) ExpectSharesOfRandom();
}

TEST_F(EdgeQuality, AmazonPhotoInEightParts) {
  OpenData("amazon-photo");
  if (!IsSkipped()) ExpectSharesOfRandom();
}

}  // namespace
}  // namespace halograph
