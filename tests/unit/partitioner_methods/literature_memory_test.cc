// PlanMemory of the edge partitioners against what a process takes: a child with a million nodes,
// its anonymous memory measured by the kernel. A program of its own: what other tests leave in the
// heap moves the size from which the allocator maps memory, and so the peak.
#include <algorithm>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/rng.h"
#include "partitioner/methods/literature/edge_method.h"
#include "partitioner/methods/literature/part_state.h"
#include "partitioner/methods/literature/spring.h"
#include "partitioner/methods/literature/stream_rules.h"
#include "partitioner/methods/literature/two_phase.h"

namespace halograph {
namespace {

constexpr int64_t kMillion = 1000000;
constexpr int64_t kMadeEdges = 1500000;

// Every node has an edge, so that all memory is touched. Made as they are read.
class MadeEdges : public EdgeSource {
 public:
  StatusOr<std::unique_ptr<EdgeCursor>> Open() const override {
    return std::unique_ptr<EdgeCursor>(std::make_unique<Cursor>());
  }
  int64_t max_edges() const override { return kMadeEdges; }

 private:
  class Cursor : public EdgeCursor {
   public:
    StatusOr<bool> Next(EdgeChunk* chunk) override {
      chunk->clear();
      for (; next_ < kMadeEdges && chunk->size() < kEdgeChunk; ++next_) {
        chunk->sources.push_back(next_ % kMillion);
        chunk->destinations.push_back(static_cast<int64_t>(
            Bounded(SubKey(1, static_cast<uint64_t>(next_)), static_cast<uint64_t>(kMillion))));
        chunk->ids.push_back(next_);
      }
      return chunk->size() > 0;
    }

   private:
    int64_t next_ = 0;
  };
};

Dataset MadeGraph() {
  Dataset dataset;
  dataset.name = "made";
  dataset.node_types.push_back(
      {.name = "node", .count = kMillion, .features = {}, .original_ids = nullptr});
  dataset.relations.push_back({.source = "node",
                               .name = "edge",
                               .destination = "node",
                               .edges = std::make_shared<MadeEdges>(),
                               .features = {}});
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

// Resident bytes that `work` adds at its peak, in a process of its own; -1 where that cannot be
// measured.
int64_t PeakOf(const std::function<bool()>& work) {
  int ends[2];
  if (pipe(ends) != 0) return -1;
  const pid_t child = fork();
  if (child == 0) {
    { std::ofstream("/proc/self/clear_refs") << "5"; }  // the peak so far is forgotten
    const int64_t before = StatusLine("VmRSS:");
    const int64_t peak = work() ? (StatusLine("VmHWM:") - before) * 1024 : -1;
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
  const Dataset dataset = MadeGraph();
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
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "a sanitizer holds memory of its own";
#endif
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

}  // namespace
}  // namespace halograph
