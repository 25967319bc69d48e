#include "partitioner/write/writing_plan.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "partitioner/stream/edge_pass.h"
#include "partitioner/write/buckets.h"
#include "partitioner/write/renumbering.h"
#include "partitioner/write/source_set.h"

namespace halograph {
namespace {

// Buckets are small enough for the cache to help, and large enough to be read in one go.
constexpr int64_t kLeastBucketEdges = int64_t{64} << 10;
constexpr int64_t kGoodBucketEdges = int64_t{512} << 10;
constexpr int64_t kMostBucketEdges = int64_t{8} << 20;
constexpr int64_t kGoodBuckets = 256;
constexpr int64_t kMostBuffers = int64_t{64} << 20;
constexpr int64_t kPage = 4096;
constexpr int64_t kBucketTables = 96;               // bytes a bucket, of what is known about it
constexpr int64_t kFileBuffers = int64_t{1} << 20;  // of files being written and read

// Figures of a graph that all below goes by.
struct Sizes {
  int64_t nodes = 0;
  int64_t edges = 0;
  int64_t ids = 0;   // bytes of owners and global ids
  int64_t bits = 0;  // bytes of halo bits and of the search for parallel edges
  int64_t record = sizeof(EdgeRecord<uint32_t>);  // bytes of an edge in a bucket
};

Sizes SizesOf(const GraphCounts& counts) {
  Sizes sizes;
  sizes.nodes = counts.num_nodes();
  sizes.edges = counts.num_edges();
  int64_t seen = 0;
  for (const int64_t nodes : counts.nodes) {
    const bool narrow = FitsUint32(nodes);
    sizes.ids += nodes * (narrow ? 6 : 10);
    sizes.bits += nodes / 8 + 8;
    seen = std::max(seen, SourceSet::MaxBytes(nodes));
    if (!narrow) sizes.record = sizeof(EdgeRecord<int64_t>);
  }
  sizes.bits += seen;
  return sizes;
}

// Of one relation.
int64_t Buckets(const GraphCounts& counts, const RelationCounts& relation, int parts,
                const WritingBudget& budget) {
  const int64_t nodes = counts.nodes[static_cast<size_t>(relation.destination_type)];
  return nodes / budget.BucketWidth(nodes, relation.edges) + std::min<int64_t>(parts, nodes);
}

// Bytes of each buffer where so many buckets have one: as BufferRecords, not rounded to records.
int64_t BytesOfABuffer(const WritingBudget& budget, int64_t buckets, int64_t record) {
  return std::clamp(budget.buffer_bytes / std::max<int64_t>(buckets, 1),
                    kLeastBufferRecords * record, kMostBufferBytes);
}

// Buffers that the relation with the most buckets fills.
int64_t BufferBytes(const GraphCounts& counts, int parts, const WritingBudget& budget,
                    int64_t record) {
  int64_t most = 0;
  for (const RelationCounts& relation : counts.relations) {
    const int64_t buckets = Buckets(counts, relation, parts, budget);
    most = std::max(most, std::min(buckets * BytesOfABuffer(budget, buckets, record),
                                   relation.edges * record + buckets * kPage));
  }
  return most;
}

int64_t TableBytes(const GraphCounts& counts, int parts, const WritingBudget& budget,
                   const Sizes& sizes) {
  int64_t buckets = 0;
  for (const RelationCounts& relation : counts.relations) {
    buckets += Buckets(counts, relation, parts, budget);
  }
  const int64_t buffer = BytesOfABuffer(budget, buckets, sizes.record);
  return buckets * kBucketTables + 32 * (sizes.edges * sizes.record / buffer);
}

int64_t SortBytes(const WritingBudget& budget, const Sizes& sizes) {
  return std::min(budget.sort_edges, sizes.edges) * sizes.record +
         4 * std::min(budget.bucket_edges, sizes.nodes);
}

MemoryPlan PlanOf(const GraphCounts& counts, int parts, const WritingBudget& budget,
                  const Sizes& sizes) {
  const HeldMemory ids = {"owners and global ids", sizes.ids};
  const HeldMemory waiting = {"edges to be sorted",
                              budget.in_memory ? sizes.edges * sizes.record : 0};
  const HeldMemory tables = {"tables of buckets", TableBytes(counts, parts, budget, sizes)};
  return {{{"renumbering", {ids}},
           {"bucketing edges",
            {ids,
             waiting,
             tables,
             {"buffers of buckets", BufferBytes(counts, parts, budget, sizes.record)},
             {"edge chunks", kEdgePassBytes}}},
           {"sorting edges",
            {ids,
             waiting,
             tables,
             {"a bucket", SortBytes(budget, sizes)},
             {"halo and duplicate bits", sizes.bits},
             {"buffers of files", kFileBuffers}}}}};
}

// Budgets to choose from, the best first.
std::vector<WritingBudget> Candidates(const Sizes& sizes, bool in_memory) {
  std::vector<WritingBudget> candidates;
  const int64_t good = std::clamp(std::max(sizes.edges, sizes.nodes) / kGoodBuckets,
                                  kGoodBucketEdges, kMostBucketEdges);
  for (int64_t edges = good; edges >= kLeastBucketEdges; edges /= 2) {
    candidates.push_back({in_memory, edges, 2 * edges, kMostBuffers});
    candidates.push_back({in_memory, edges, edges + edges / 4, kMostBuffers / 4});
    candidates.push_back({in_memory, edges, edges, 0});
  }
  return candidates;
}

}  // namespace

int64_t WritingBudget::BucketWidth(int64_t nodes, int64_t edges) const {
  const double share =
      static_cast<double>(bucket_edges) / static_cast<double>(std::max<int64_t>(edges, 1));
  const double width = std::min(share, 1.0) * static_cast<double>(nodes);
  return std::clamp<int64_t>(static_cast<int64_t>(width), 1, bucket_edges);
}

WritingBudget BudgetWriting(const GraphCounts& counts, int64_t memory, int parts) {
  const Sizes sizes = SizesOf(counts);
  const int64_t room = memory - kProgramBytes;
  std::vector<WritingBudget> candidates;
  // Edges in memory leave half of it to the mapped files of input and output.
  if (sizes.edges * sizes.record <= (room - sizes.ids) / 2) candidates = Candidates(sizes, true);
  const std::vector<WritingBudget> on_disk = Candidates(sizes, false);
  candidates.insert(candidates.end(), on_disk.begin(), on_disk.end());
  WritingBudget least;
  int64_t least_bytes = std::numeric_limits<int64_t>::max();
  for (const WritingBudget& candidate : candidates) {
    const int64_t bytes = PlanOf(counts, parts, candidate, sizes).peak_bytes();
    if (bytes <= room) return candidate;
    if (bytes >= least_bytes) continue;
    least = candidate;
    least_bytes = bytes;
  }
  return least;
}

MemoryPlan PlanWriting(const GraphCounts& counts, int64_t memory, int parts, NodeOrder order,
                       bool divided) {
  MemoryPlan plan = PlanOf(counts, parts, BudgetWriting(counts, memory, parts), SizesOf(counts));
  std::vector<HeldMemory>& renumbering = plan.phases.front().held;
  if (divided) renumbering.push_back({"sub-parts or clusters", 2 * counts.num_nodes()});
  if (order == NodeOrder::kInput) return plan;
  int64_t sorting = 0;
  for (const int64_t nodes : counts.nodes) {
    // As if each node of the graph were a cluster of its own.
    const int64_t id = FitsUint32(nodes) ? 4 : 8;
    sorting = std::max(sorting, id * (nodes + counts.num_nodes()));
  }
  renumbering.push_back({"order keys", 4 * counts.num_nodes()});
  renumbering.push_back({"sorting by them", sorting});
  return plan;
}

int64_t BucketFileBytes(const GraphCounts& counts, const WritingBudget& budget) {
  const Sizes sizes = SizesOf(counts);
  return budget.in_memory ? 0 : sizes.edges * sizes.record;
}

}  // namespace halograph
