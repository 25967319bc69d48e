// What a server counts of the graph, and tells of its partitions: against the graph itself.
#include <thread>

#include <gmock/gmock.h>

#include "server/handlers/column_sums.h"
#include "server/handlers/extract.h"
#include "server/handlers/graph_counters.h"
#include "server/handlers/pull.h"
#include "server/handlers/sample.h"
#include "server/handlers/server_metrics.h"
#include "tests/unit/server/served_fixture.h"

namespace halograph::server {
namespace {

namespace fs = std::filesystem;

constexpr char kCounted[] = "paper:cites:paper";

class GraphMetricsTest : public ServedTest {
 protected:
  double Sampled(const std::string& what, const std::string& sampler) const {
    return metrics_.Take().Value("halograph_sampling_" + what + "_total",
                                 {{"relation", kCounted}, {"sampler", sampler}});
  }
  double Pulled(const std::string& what, const std::string& tensor) const {
    return metrics_.Take().Value("halograph_pull_" + what + "_total", {{"tensor", tensor}});
  }
  double OfPart(const std::string& name, int part) const {
    const MetricsSnapshot taken = metrics_.Take();
    const SeriesSnapshot* series = taken.FindSeries(name, {{"part", std::to_string(part)}});
    return series == nullptr ? -1 : series->value;
  }
  // In-edges of all papers.
  int64_t AllEdges() const {
    const int cites = all_->schema().RelationIndex(kCounted).value();
    return all_->schema().relations[static_cast<size_t>(cites)].count;
  }
  // Draws for all papers; how many edges.
  int64_t Draw(const wire::SampleRule& rule) {
    const SampleHandler handler(all_.get(), kLimit, &counters_);
    const LayerSampleRequest request{.batch_seed = 3,
                                     .groups = {{kCounted, rule, All(NodeType("paper"))}}};
    const auto plans = handler.Plan(request);
    EXPECT_TRUE(plans.ok()) << plans.status();
    const wire::SampleGroupShape shape = plans->front().shape();
    std::vector<std::byte> sources(static_cast<size_t>(shape.source_bytes()));
    EXPECT_TRUE(handler.Draw(plans->front(), {.sources = sources.data()}).ok());
    return plans->front().edges;
  }

  MetricRegistry metrics_;
  GraphCounters counters_{&metrics_, *all_};
  ColumnWorkspaces workspaces_;
};

TEST_F(GraphMetricsTest, DrawsCountByRelationAndSampler) {
  ASSERT_TRUE(metrics_.status().ok()) << metrics_.status();
  const auto papers = std::ssize(All(NodeType("paper")));
  const int64_t drawn = Draw({.fanout = 2});
  EXPECT_LT(drawn, AllEdges());
  EXPECT_EQ(Sampled("destinations", "neighbor"), papers);
  EXPECT_EQ(Sampled("edges", "neighbor"), drawn);
  EXPECT_EQ(Sampled("scanned_edges", "neighbor"), drawn);
  EXPECT_EQ(Sampled("destinations", "labor"), 0);

  const int64_t shared = Draw({.kind = static_cast<uint32_t>(DrawKind::kLabor), .fanout = 2});
  EXPECT_EQ(Sampled("destinations", "labor"), papers);
  EXPECT_EQ(Sampled("edges", "labor"), shared);
  EXPECT_EQ(Sampled("scanned_edges", "labor"), AllEdges()) << "it looks at all in-edges";
  EXPECT_EQ(Sampled("edges", "neighbor"), drawn);
}

TEST_F(GraphMetricsTest, WhatDrawsNothingCountsNothing) {
  const SampleHandler handler(all_.get(), kLimit, &counters_);
  EXPECT_FALSE(handler.Plan({.groups = {{"no:such:relation", {.fanout = 2}, {0}}}}).ok());
  EXPECT_EQ(Draw({.fanout = 0}), 0);
  EXPECT_EQ(Sampled("destinations", "neighbor"), 0);
}

TEST_F(GraphMetricsTest, SumsCountAsScannedAndExtractedEdgesAsDrawn) {
  const ColumnSumsHandler sums(all_.get(), &workspaces_, kLimit, &counters_);
  const std::vector<int64_t> papers = All(NodeType("paper"));
  const auto answers = sums.Answer({.groups = {{kCounted, 0, papers}}});
  ASSERT_TRUE(answers.ok()) << answers.status();
  EXPECT_EQ(Sampled("destinations", "columns"), 0);
  EXPECT_EQ(Sampled("edges", "columns"), 0);
  EXPECT_EQ(Sampled("scanned_edges", "columns"), AllEdges());

  const ExtractHandler extract(all_.get(), &workspaces_, kLimit, ExtractHandler::kEdgesAtOnce,
                               &counters_);
  const auto edges = extract.Answer({.groups = {{.relation = kCounted,
                                                 .destinations = papers,
                                                 .columns = {0, 1, 2, 3},
                                                 .degrees_of = {}}}});
  ASSERT_TRUE(edges.ok()) << edges.status();
  EXPECT_GT(edges->front().columns.size(), 0U);
  EXPECT_EQ(Sampled("destinations", "columns"), std::ssize(papers));
  EXPECT_EQ(Sampled("edges", "columns"), std::ssize(edges->front().columns));
  EXPECT_EQ(Sampled("scanned_edges", "columns"), 2 * AllEdges());
}

TEST_F(GraphMetricsTest, PullsCountRowsAndBytesOfTheirTensor) {
  const PullHandler handler(all_.get(), kLimit, nullptr, &counters_);
  const PullRequest request{.tensor = {.edge = false, .type = "paper", .name = "feat"},
                            .ids = {5, 5, 1}};
  const auto plan = handler.Plan(request);
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(Pulled("rows", "paper/feat"), 0) << "it is only planned";
  std::vector<std::byte> rows(plan->bytes);
  ASSERT_TRUE(handler.Gather(*plan, request.ids, rows.data()).ok());
  EXPECT_EQ(Pulled("rows", "paper/feat"), 3);
  EXPECT_EQ(Pulled("bytes", "paper/feat"), static_cast<double>(plan->bytes));
  EXPECT_EQ(metrics_.Take().Value("halograph_pull_rows_total"), 3) << "and no other tensor";
}

TEST_F(GraphMetricsTest, KnownRelationsAndTensorsAreThereFromTheStart) {
  const MetricsSnapshot taken = metrics_.Take();
  EXPECT_EQ(taken.Find("halograph_sampling_edges_total")->series.size(),
            3 * all_->schema().relations.size());
  for (const char* tensor : {"paper/feat", "paper/year", "paper/@original_id"}) {
    EXPECT_NE(taken.FindSeries("halograph_pull_rows_total", {{"tensor", tensor}}), nullptr)
        << tensor;
  }
  MetricRegistry others;
  const auto features = Open({}, {.topology = false});
  const GraphCounters of_features(&others, *features);
  EXPECT_EQ(others.Take().Find("halograph_sampling_edges_total"), nullptr);
}

TEST_F(GraphMetricsTest, PartitionsTellTheBytesOfTheirFiles) {
  const std::shared_ptr<const ServedGraph> served = Open({0, 2}, {.features = false});
  const auto readers = AddGraphMetrics(&metrics_, served, {});
  ASSERT_TRUE(metrics_.status().ok()) << metrics_.status();
  for (const int part : {0, 2}) {
    int64_t all = 0, mapped = 0;
    const fs::path folder = graph_folder_ / PartFolderName(part);
    for (const auto& entry : fs::recursive_directory_iterator(folder)) {
      if (!entry.is_regular_file() || entry.path().filename() == "manifest.json") continue;
      const auto bytes = static_cast<int64_t>(entry.file_size());
      all += bytes;
      mapped += IsTopologyFile(fs::relative(entry.path(), folder).string()) ? bytes : 0;
    }
    EXPECT_EQ(OfPart("halograph_partition_bytes", part), all);
    EXPECT_EQ(OfPart("halograph_partition_mapped_bytes", part), mapped);
    EXPECT_LT(mapped, all);
    double resident = -1;  // comes from a thread
    while (resident < 0) {
      std::this_thread::yield();
      resident = OfPart("halograph_partition_resident_bytes", part);
    }
    EXPECT_GT(resident, 0) << "it was just opened";
    EXPECT_LE(resident, mapped);
  }
  EXPECT_EQ(OfPart("halograph_partition_served", 1), -1);
}

}  // namespace
}  // namespace halograph::server
