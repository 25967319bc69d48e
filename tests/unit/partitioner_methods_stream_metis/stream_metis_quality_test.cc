// Quality on real graphs: replication against METIS' own, at bounds at least as tight. The method
// is deterministic, so margins are for changes of METIS and of the compiler's arithmetic.
#include <cmath>
#include <map>

#include <gmock/gmock.h>

#include "partitioner/inspect/quality.h"
#include "partitioner/methods/metis/metis_method.h"
#include "partitioner/methods/stream_metis/stream_metis_method.h"
#include "partitioner/stream/edge_pass.h"
#include "tests/unit/partitioner_methods/real_dataset.h"
#include "tests/unit/partitioner_methods_stream_metis/stream_graph.h"

namespace halograph {
namespace {

class StreamMetisQuality : public RealDataset {
 protected:
  // The only relation's edges in an order of chance.
  void Shuffle() {
    EdgePairs edges;
    const Status read = ForEachEdges(dataset_.relations[0], "reading", [&](const EdgeChunk& chunk) {
      for (size_t i = 0; i < chunk.size(); ++i) {
        edges.emplace_back(chunk.sources[i], chunk.destinations[i]);
      }
      return OkStatus();
    });
    ASSERT_TRUE(read.ok()) << read;
    CounterRng rng(7);
    for (size_t i = edges.size(); i > 1; --i) std::swap(edges[i - 1], edges[rng.NextBounded(i)]);
    dataset_.relations[0].edges = std::make_shared<MemoryEdges>(std::move(edges));
  }

  GraphSummary Quality(const PartitionMethod& method, int parts, int64_t nodes_per_cluster) {
    MethodOptions options;
    options.parts = parts;
    options.seed = 1;
    if (nodes_per_cluster > 0) {
      options.stream_metis.clusters = dataset_.node_types[0].count / nodes_per_cluster;
    }
    const auto assignment = method.Assign(dataset_, options);
    EXPECT_TRUE(assignment.ok()) << assignment.status();
    auto quality = QualityOf(dataset_, *assignment, parts);
    EXPECT_TRUE(quality.ok()) << quality.status();
    return std::move(quality).value();
  }

  // Geometric mean over 2, 4 and 8 partitions of stream-metis' replication to METIS'.
  double RatioToMetis(int64_t nodes_per_cluster) {
    double sum = 0;
    for (const int parts : {2, 4, 8}) {
      if (!metis_.contains(parts)) {
        metis_[parts] = Quality(MetisMethod(), parts, 0).replication_factor;
      }
      const GraphSummary stream = Quality(StreamMetisMethod(), parts, nodes_per_cluster);
      EXPECT_LE(stream.balance.at("nodes"), 1.031) << parts << " parts";
      EXPECT_LE(stream.balance.at("edges"), 1.101) << parts << " parts";
      EXPECT_LE(stream.replication_factor, 1.15 * metis_[parts]) << parts << " parts";
      sum += std::log(stream.replication_factor / metis_[parts]);
    }
    return std::exp(sum / 3);
  }

  // As it chooses itself, then with clusters, which large graphs need, in both orders.
  void ExpectNearMetis() {
    EXPECT_LE(RatioToMetis(0), 1.03);
    EXPECT_LE(RatioToMetis(4), 1.05);
    Shuffle();
    EXPECT_LE(RatioToMetis(4), 1.05);
  }

  std::map<int, double> metis_;
};

TEST_F(StreamMetisQuality, EmailEnronIsNearMetis) {
  OpenData("snap/email-Enron.txt.gz");
  if (!IsSkipped()) ExpectNearMetis();
}

TEST_F(StreamMetisQuality, AmazonPhotoIsNearMetis) {
  OpenData("amazon-photo");
  if (!IsSkipped()) ExpectNearMetis();
}

TEST_F(StreamMetisQuality, WikiVoteIsNearMetis) {
  OpenData("snap/wiki-Vote.txt");
  if (!IsSkipped()) ExpectNearMetis();
}

}  // namespace
}  // namespace halograph
