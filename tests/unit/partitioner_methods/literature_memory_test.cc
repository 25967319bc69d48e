// PlanMemory of the edge partitioners, and --memory of the methods that call METIS, against what a
// process takes: a child whose memory is measured by the kernel. A program of its own: what other
// tests leave in the heap moves the size from which the allocator maps memory, and so the peak.
#include <algorithm>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/rng.h"
#include "common/base/sanitizers.h"
#include "partitioner/methods/literature/edge_method.h"
#include "partitioner/methods/literature/part_state.h"
#include "partitioner/methods/literature/spring.h"
#include "partitioner/methods/literature/stream_rules.h"
#include "partitioner/methods/literature/two_phase.h"
#include "partitioner/methods/metis/coarse_partition.h"
#include "partitioner/methods/metis/metis_call.h"
#include "partitioner/methods/metis/metis_method.h"
#include "partitioner/methods/registry/auto_method.h"
#include "partitioner/methods/stream_metis/stream_metis_method.h"

namespace halograph {
namespace {

constexpr int64_t kMillion = 1000000;
constexpr int64_t kMadeEdges = 1500000;

// Edges, of which `make(i)` is edge i. Made in the parent, so that they do not count for the
// children.
class MadeEdges : public EdgeSource {
 public:
  using Make = std::pair<int64_t, int64_t> (*)(int64_t);
  MadeEdges(int64_t count, Make make) {
    for (auto* of : {&edges_.sources, &edges_.destinations, &edges_.ids}) {
      of->reserve(static_cast<size_t>(count));
    }
    for (int64_t i = 0; i < count; ++i) {
      const auto [source, destination] = make(i);
      edges_.sources.push_back(source);
      edges_.destinations.push_back(destination);
      edges_.ids.push_back(i);
    }
  }
  StatusOr<std::unique_ptr<EdgeCursor>> Open() const override {
    return std::unique_ptr<EdgeCursor>(std::make_unique<Cursor>(edges_));
  }
  int64_t max_edges() const override { return static_cast<int64_t>(edges_.size()); }

 private:
  class Cursor : public EdgeCursor {
   public:
    explicit Cursor(const EdgeChunk& all) : all_(all) {}
    StatusOr<bool> Next(EdgeChunk* chunk) override {
      const auto begin = static_cast<std::ptrdiff_t>(next_);
      next_ = std::min(next_ + kEdgeChunk, all_.size());
      const auto end = static_cast<std::ptrdiff_t>(next_);
      for (const auto of : {&EdgeChunk::sources, &EdgeChunk::destinations, &EdgeChunk::ids}) {
        (chunk->*of).assign((all_.*of).begin() + begin, (all_.*of).begin() + end);
      }
      return chunk->size() > 0;
    }

   private:
    const EdgeChunk& all_;
    size_t next_ = 0;
  };

  EdgeChunk edges_;
};

Dataset MadeGraph(int64_t nodes, int64_t edges, MadeEdges::Make make) {
  Dataset dataset;
  dataset.name = "made";
  dataset.node_types.push_back(
      {.name = "node", .count = nodes, .features = {}, .original_ids = nullptr});
  dataset.relations.push_back({.source = "node",
                               .name = "edge",
                               .destination = "node",
                               .edges = std::make_shared<MadeEdges>(edges, make),
                               .features = {}});
  return dataset;
}

// Every node has an edge, so that all memory is touched.
std::pair<int64_t, int64_t> RandomEdge(int64_t i) {
  const uint64_t end = Bounded(SubKey(1, static_cast<uint64_t>(i)), uint64_t{kMillion});
  return {i % kMillion, static_cast<int64_t>(end)};
}

const Dataset& RandomGraph() {
  static const Dataset dataset = MadeGraph(kMillion, kMadeEdges, RandomEdge);
  return dataset;
}

constexpr int kRmatLevels = 18;

// Of an R-MAT graph, whose coarse graphs stay dense. Eight bits of a draw a level.
std::pair<int64_t, int64_t> RmatEdge(int64_t i) {
  CounterRng rng(SubKey(2, static_cast<uint64_t>(i)));
  int64_t source = 0, destination = 0;
  uint64_t bits = 0;
  for (int level = 0; level < kRmatLevels; ++level) {
    bits = level % 8 == 0 ? rng.Next() : bits >> 8;
    const uint64_t x = bits & 255;
    source = 2 * source + (x >= 195 ? 1 : 0);
    destination = 2 * destination + ((x >= 146 && x < 195) || x >= 243 ? 1 : 0);
  }
  return {source, destination};
}

const Dataset& RmatGraph() {
  static const Dataset dataset = MadeGraph(int64_t{1} << kRmatLevels, 3 * kMillion, RmatEdge);
  return dataset;
}

// KiB, of a line of /proc/self/status; -1 if there is none.
int64_t StatusLine(const std::string& key) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with(key)) return std::stoll(line.substr(key.size()));
  }
  return -1;
}

// KiB at the peak of a child that this process waited for; METIS runs in one. It shares pages with
// this process, and they count.
int64_t PeakOfChildren() {
  rusage usage{};
  getrusage(RUSAGE_CHILDREN, &usage);
  return usage.ru_maxrss;
}

// Resident bytes that `work` adds at its peak, in a process of its own; -1 where that cannot be
// measured.
int64_t PeakOf(const std::function<bool()>& work) {
  int ends[2];
  if (pipe(ends) != 0) return -1;
  const pid_t child = fork();
  if (child == 0) {
    { std::ofstream("/proc/self/clear_refs") << "5"; }  // the peak so far is forgotten
    const int64_t before = StatusLine("VmRSS:");
    const bool worked = work();
    const int64_t most = std::max(StatusLine("VmHWM:"), PeakOfChildren());
    const int64_t peak = worked ? (most - before) * 1024 : -1;
    const bool told = write(ends[1], &peak, sizeof(peak)) == sizeof(peak);
    _exit(told ? 0 : 1);
  }
  close(ends[1]);
  int64_t peak = -1;
  if (read(ends[0], &peak, sizeof(peak)) != sizeof(peak)) peak = -1;
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  return peak;
}

template <typename PartitionerT>
void ExpectPlanWithinAFifth(int parts, OwnerRule owner) {
  const EdgeMethod<PartitionerT> method;
  const Dataset& dataset = RandomGraph();
  MethodOptions options;
  options.parts = parts;
  options.edge.owner = owner;
  const int64_t planned = method.PlanMemory(GraphCounts::Of(dataset), options).peak_bytes();
  const int64_t peak = PeakOf([&] { return method.Assign(dataset, options).ok(); });
  ASSERT_GT(peak, 0) << method.name();
  EXPECT_LE(static_cast<double>(peak), 1.2 * static_cast<double>(planned)) << method.name();
  EXPECT_GE(static_cast<double>(peak), 0.8 * static_cast<double>(planned)) << method.name();
}

class EdgeMemory : public testing::TestWithParam<OwnerRule> {
 protected:
  void SetUp() override {
    if (kSanitizerAllocator) GTEST_SKIP() << "a sanitizer holds memory of its own";
  }
};
INSTANTIATE_TEST_SUITE_P(Owner, EdgeMemory,
                         testing::Values(OwnerRule::kMajority, OwnerRule::kRandom),
                         [](const auto& param) {
                           return param.param == OwnerRule::kRandom ? "random" : "majority";
                         });

TEST_P(EdgeMemory, PlanIsWithinAFifthOfTheMeasuredPeak) {
  for (const int parts : {8, 64}) {
    ExpectPlanWithinAFifth<Dbh>(parts, GetParam());
    ExpectPlanWithinAFifth<Greedy>(parts, GetParam());
    ExpectPlanWithinAFifth<Hdrf>(parts, GetParam());
    ExpectPlanWithinAFifth<TwoPhase>(parts, GetParam());
    ExpectPlanWithinAFifth<Spring>(parts, GetParam());
  }
}

// ---- METIS --------------------------------------------------------------------------------

class MetisMemoryTest : public testing::Test {
 protected:
  void SetUp() override {
    if (kSanitizerAllocator) GTEST_SKIP() << "a sanitizer ends the process where malloc would fail";
  }
};

constexpr int64_t kManyNodes = 20'000;
constexpr int64_t kManyEdges = 160'000;

std::pair<int64_t, int64_t> FewNodesEdge(int64_t i) {
  const auto [source, destination] = RandomEdge(i);
  return {source % kManyNodes, destination % kManyNodes};
}

TEST_F(MetisMemoryTest, TooLittleIsResourceExhaustedAndTheNextCallIsFine) {
  const Dataset dataset = MadeGraph(kManyNodes, kManyEdges, FewNodesEdge);
  const auto graph = BuildFoldedGraph(dataset, false);
  ASSERT_TRUE(graph.ok()) << graph.status();
  const auto weights = BuildVertexWeights(dataset, *graph, {});
  ASSERT_TRUE(weights.ok()) << weights.status();
  for (const int64_t room : {int64_t{0}, int64_t{1}, int64_t{4} << 20}) {
    const auto owners = CallMetis(*graph, *weights, 8, 1, {}, room);
    EXPECT_TRUE(absl::IsResourceExhausted(owners.status())) << owners.status();
    EXPECT_THAT(Message(owners.status()), testing::HasSubstr("--memory"));
  }
  const auto limited = CallMetis(*graph, *weights, 8, 1, {}, int64_t{1} << 30);
  ASSERT_TRUE(limited.ok()) << limited.status();
  EXPECT_EQ(*limited, *CallMetis(*graph, *weights, 8, 1));
}

TEST_F(MetisMemoryTest, CoarseGraphIsThinnedUntilItFits) {
  const Dataset dataset = MadeGraph(kManyNodes, kManyEdges, FewNodesEdge);
  CoarseGraph coarse;
  {
    auto graph = BuildFoldedGraph(dataset, false);
    ASSERT_TRUE(graph.ok()) << graph.status();
    auto weights = BuildVertexWeights(dataset, *graph, {});
    ASSERT_TRUE(weights.ok()) << weights.status();
    coarse.graph = *std::move(graph);
    coarse.weights = *std::move(weights);
  }
  const int64_t pairs = coarse.graph.num_arcs() / 2;
  const int64_t memory = int64_t{12} << 20;
  const auto partition = PartitionCoarse(&coarse, 8, 1, memory);
  ASSERT_TRUE(partition.ok()) << partition.status();
  EXPECT_EQ(partition->owners.size(), static_cast<size_t>(kManyNodes));
  EXPECT_LT(coarse.share, 1);
  EXPECT_GT(coarse.share, 0.2);
  EXPECT_NEAR(static_cast<double>(coarse.graph.num_arcs() / 2),
              coarse.share * static_cast<double>(pairs), 0.02 * static_cast<double>(pairs));
}

// METIS takes more for a pair of an R-MAT graph than the plan says: the more, the larger it is. The
// memory that there is must do all the same.
TEST_F(MetisMemoryTest, RmatStaysWithinTheMemoryThatIsGiven) {
  const Dataset& dataset = RmatGraph();
  const StreamMetisMethod method;
  MethodOptions options;
  options.parts = 64;
  options.memory = int64_t{144} << 20;
  options.stream_metis.clusters = 50'000;
  const int64_t planned =
      kProgramBytes + method.PlanMemory(GraphCounts::Of(dataset), options).peak_bytes();
  EXPECT_LE(planned, options.memory);
  EXPECT_GE(static_cast<double>(planned), 0.9 * static_cast<double>(options.memory));
  const int64_t peak = PeakOf([&] { return method.Assign(dataset, options).ok(); });
  ASSERT_GT(peak, 0);
  EXPECT_LE(peak + kProgramBytes, options.memory);
  EXPECT_GE(static_cast<double>(peak), 0.7 * static_cast<double>(planned - kProgramBytes));
}

TEST_F(MetisMemoryTest, AutoGoesOnWithoutMetisWhereThePlanWasTooLow) {
  const Dataset& dataset = RmatGraph();
  MethodOptions options;
  options.parts = 64;
  options.memory =
      kProgramBytes + MetisMethod().PlanMemory(GraphCounts::Of(dataset), options).peak_bytes();
  ASSERT_EQ(ChooseMethod(GraphCounts::Of(dataset), options).method, "metis");
  // In a child, as all that is measured here: this heap stays as it is.
  EXPECT_GT(PeakOf([&] {
              const auto assignment = AutoMethod().Assign(dataset, options);
              return assignment.ok() && assignment->report["method"] == "stream-metis" &&
                     assignment->report["why"].get<std::string>().find("out of memory") !=
                         std::string::npos;
            }),
            0);
}

}  // namespace
}  // namespace halograph
