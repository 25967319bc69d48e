#include "common/sampling/kernel/frontier_stack.h"

#include <bit>
#include <cassert>
#include <cstddef>
#include <utility>

#include "absl/cleanup/cleanup.h"

namespace halograph {

void StackTables::TrimFound(int64_t num_sources) {
  size_t bytes = 0;
  for (const Found& found : found_) {
    bytes +=
        found.sources.capacity() * sizeof(uint32_t) + found.edge_ids.capacity() * sizeof(int64_t);
  }
  if (bytes > static_cast<size_t>(kFoundBytes * num_sources)) found_ = {};
}

FrontierStack::FrontierStack(const ColumnEdges& edges,
                             std::span<const std::span<const int64_t>> frontiers,
                             StackTables* tables)
    : frontiers_(frontiers), places_(tables->Places(edges.topology->num_destinations())) {
  assert(frontiers.size() <= kMostStacked);
  absl::Cleanup clear = [this] { ClearPlaces(); };  // where memory ends on the way
  whole_ = AddAll(edges);
  std::move(clear).Cancel();
}

FrontierStack::~FrontierStack() { ClearPlaces(); }

void FrontierStack::ClearPlaces() {
  for (const int64_t v : destinations_) places_[v] = 0;
}

bool FrontierStack::AddAll(const ColumnEdges& edges) {
  for (size_t f = 0; f < frontiers_.size(); ++f) {
    if (!AddFrontier(*edges.topology, f)) return false;
  }
  const auto distinct_edges = FindColumnRows(edges, destinations_, &rows_);
  if (!distinct_edges.ok()) return false;
  distinct_edges_ = *distinct_edges;
  for (size_t i = 0; i < rows_.size(); ++i) edges_ += std::popcount(masks_[i]) * rows_[i].degree;
  return true;
}

bool FrontierStack::AddFrontier(const RelationTopology& topology, size_t f) {
  const uint64_t bit = uint64_t{1} << f;
  for (const int64_t v : frontiers_[f]) {
    if (!topology.Has(v)) return false;
    if (places_[v] == 0) {
      destinations_.push_back(v);
      masks_.push_back(bit);
      places_[v] = static_cast<uint32_t>(destinations_.size());
      continue;
    }
    uint64_t& mask = masks_[places_[v] - 1];
    if ((mask & bit) != 0) return false;
    mask |= bit;
  }
  return true;
}

StackMemory::Lease::Lease(StackMemory* memory, int64_t num_sources, int64_t num_destinations)
    : memory_(memory), bytes_(StackTables::BytesOf(num_sources, num_destinations)) {
  if (memory != nullptr) tables_ = memory->Take(bytes_);
}

StackMemory::Lease::~Lease() {
  if (tables_ != nullptr) memory_->Give(std::move(tables_), bytes_);
}

std::unique_ptr<StackTables> StackMemory::Take(int64_t bytes) {
  std::vector<Idle> dropped;  // whose memory goes without the lock
  const MutexLock lock(mutex_);
  for (size_t i = 0; i < idle_.size(); ++i) {
    if (idle_[i].bytes != bytes) continue;  // of a relation of other sizes
    std::unique_ptr<StackTables> tables = std::move(idle_[i].tables);
    idle_.erase(idle_.begin() + static_cast<std::ptrdiff_t>(i));
    return tables;
  }
  while (left_ < bytes && !idle_.empty()) {
    left_ += idle_.back().bytes;
    dropped.push_back(std::move(idle_.back()));
    idle_.pop_back();
  }
  if (left_ < bytes) return nullptr;
  auto tables = std::make_unique<StackTables>();
  left_ -= bytes;
  return tables;
}

void StackMemory::Give(std::unique_ptr<StackTables> tables, int64_t bytes) {
  const MutexLock lock(mutex_);
  idle_.push_back({std::move(tables), bytes});
}

}  // namespace halograph
