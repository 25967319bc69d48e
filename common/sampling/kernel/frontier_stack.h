// Frontiers of several minibatches over one relation, stacked: each distinct destination once, with
// a bit for each frontier that it lies in. From the second layer on minibatches share their hubs,
// so most edges lie in many frontiers, and are read once for all of them (stacked_sums.h,
// stacked_edges.h). What comes out has the same bits as of one frontier at a time; where stacking
// cannot tell what is wrong with a frontier, it is not done. Thread-safe; tables serve one stack at
// a time.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "common/base/mutex.h"
#include "common/sampling/kernel/column_workspace.h"
#include "common/storage/fused_array.h"

namespace halograph {

inline constexpr size_t kMostStacked = 64;  // frontiers of one stack: the bits of a word

// Tables with entries a node, zero between stacks, which take memory where they are used.
class StackTables {
 public:
  // Of a relation between types of so many nodes: 128 bytes a source for counters, 64 for edges
  // found, and 4 a destination.
  [[nodiscard]] static int64_t BytesOf(int64_t num_sources, int64_t num_destinations) {
    return (128 + kFoundBytes) * num_sources + 4 * num_destinations;
  }

  // 64 counters of a byte for each source: lower halves of 16 bits, and upper ones. They begin at a
  // line. Throw std::bad_alloc.
  [[nodiscard]] uint8_t* Lower(int64_t num_sources) { return Grown(64 * num_sources, &lower_); }
  [[nodiscard]] uint8_t* Upper(int64_t num_sources) { return Grown(64 * num_sources, &upper_); }
  // A word for each source, in the memory of the counters.
  [[nodiscard]] uint64_t* Words(int64_t num_sources) {
    return reinterpret_cast<uint64_t*>(Lower(num_sources));
  }
  // By destination: 1 + its place among the distinct ones.
  [[nodiscard]] uint32_t* Places(int64_t num_destinations) {
    return Grown(num_destinations, &places_);
  }

  // Edges that are found for one frontier: their sources, and ids if wanted. Of any size, with
  // anything in it.
  struct Found {
    std::vector<uint32_t> sources;
    std::vector<int64_t> edge_ids;
  };
  [[nodiscard]] std::span<Found> found() { return found_; }
  // Gives back the memory of what was found if it is more than that of BytesOf.
  void TrimFound(int64_t num_sources);

  // Makes the counters zero, by new memory: where a scan ended on the way.
  void Clear() {
    lower_ = {};
    upper_ = {};
  }

 private:
  static constexpr int64_t kFoundBytes = 64;  // a source

  template <typename T>
  static T* Grown(int64_t size, FusedArray<T>* table) {
    if (table->size() < static_cast<size_t>(size)) *table = FusedArray<T>();
    table->GrowTo(static_cast<size_t>(size));
    return table->data();
  }

  FusedArray<uint8_t> lower_;
  FusedArray<uint8_t> upper_;
  FusedArray<uint32_t> places_;
  std::array<Found, kMostStacked> found_;
};

// Frontiers that are stacked. Borrows the tables, whose places it fills while it lives.
class FrontierStack {
 public:
  // Of `frontiers`, at most kMostStacked lists of unique global ids, which outlive it. Throws
  // std::bad_alloc.
  FrontierStack(const ColumnEdges& edges, std::span<const std::span<const int64_t>> frontiers,
                StackTables* tables);
  ~FrontierStack();
  FrontierStack(const FrontierStack&) = delete;
  FrontierStack& operator=(const FrontierStack&) = delete;

  // False: a destination repeats within a frontier, is in no part that is here, or has damaged
  // offsets. Then nothing below is of use.
  [[nodiscard]] bool whole() const { return whole_; }

  [[nodiscard]] size_t size() const { return frontiers_.size(); }
  [[nodiscard]] std::span<const int64_t> frontier(size_t f) const { return frontiers_[f]; }
  // Of the distinct destinations, in the order in which they first come.
  [[nodiscard]] std::span<const ColumnRow> rows() const { return rows_; }
  [[nodiscard]] std::span<const uint64_t> masks() const { return masks_; }  // bit f: it is in f
  // Where a destination of any frontier stands among them.
  [[nodiscard]] size_t Place(int64_t destination) const { return places_[destination] - 1; }

  [[nodiscard]] int64_t edges() const { return edges_; }  // of all frontiers, one after the other
  [[nodiscard]] int64_t distinct_edges() const { return distinct_edges_; }

 private:
  [[nodiscard]] bool AddAll(const ColumnEdges& edges);
  void ClearPlaces();
  [[nodiscard]] bool AddFrontier(const RelationTopology& topology, size_t f);

  const std::span<const std::span<const int64_t>> frontiers_;
  uint32_t* const places_;
  std::vector<int64_t> destinations_;
  std::vector<uint64_t> masks_;
  std::vector<ColumnRow> rows_;
  int64_t edges_ = 0;
  int64_t distinct_edges_ = 0;
  bool whole_ = false;
};

// Memory for the tables of stacks, over all threads: `bytes` at most, of stacks that are under way
// and of those that ended. Thread-safe.
class StackMemory {
 public:
  explicit StackMemory(int64_t bytes) : left_(bytes) {}
  StackMemory(const StackMemory&) = delete;
  StackMemory& operator=(const StackMemory&) = delete;

  // Tables for one stack at a time, or null if they would take more than there is left. They are
  // given back when the lease ends.
  class Lease {
   public:
    // Of types of so many nodes. `memory` outlives it; null: none.
    Lease(StackMemory* memory, int64_t num_sources, int64_t num_destinations);
    ~Lease();
    Lease(const Lease&) = delete;
    Lease& operator=(const Lease&) = delete;
    [[nodiscard]] StackTables* get() const { return tables_.get(); }

   private:
    StackMemory* const memory_;
    const int64_t num_sources_;
    const int64_t num_destinations_;
    std::unique_ptr<StackTables> tables_;
  };

 private:
  struct Idle {
    std::unique_ptr<StackTables> tables;
    int64_t num_sources = 0;  // of the relation that they were made for
    int64_t num_destinations = 0;
  };
  [[nodiscard]] std::unique_ptr<StackTables> Take(int64_t num_sources, int64_t num_destinations);
  void Give(Idle ended) noexcept;

  Mutex mutex_;
  size_t lent_ HG_GUARDED_BY(mutex_) = 0;
  int64_t left_ HG_GUARDED_BY(mutex_);
  std::vector<Idle> idle_ HG_GUARDED_BY(mutex_);
};

}  // namespace halograph
