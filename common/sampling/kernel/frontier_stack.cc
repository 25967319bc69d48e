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
    : memory_(memory), num_sources_(num_sources), num_destinations_(num_destinations) {
  if (memory != nullptr) tables_ = memory->Take(num_sources, num_destinations);
}

StackMemory::Lease::~Lease() {
  if (tables_ != nullptr) memory_->Give({std::move(tables_), num_sources_, num_destinations_});
}

std::unique_ptr<StackTables> StackMemory::Take(int64_t num_sources, int64_t num_destinations) {
  const int64_t bytes = StackTables::BytesOf(num_sources, num_destinations);
  std::vector<Idle> dropped;  // whose memory goes without the lock
  const MutexLock lock(mutex_);
  idle_.reserve(idle_.size() + lent_ + 1);  // so that Give cannot fail
  for (size_t i = 0; i < idle_.size(); ++i) {
    if (idle_[i].num_sources != num_sources || idle_[i].num_destinations != num_destinations) {
      continue;
    }
    std::unique_ptr<StackTables> tables = std::move(idle_[i].tables);
    idle_.erase(idle_.begin() + static_cast<std::ptrdiff_t>(i));
    ++lent_;
    return tables;
  }
  while (left_ < bytes && !idle_.empty()) {
    left_ += StackTables::BytesOf(idle_.back().num_sources, idle_.back().num_destinations);
    dropped.push_back(std::move(idle_.back()));
    idle_.pop_back();
  }
  if (left_ < bytes) return nullptr;
  auto tables = std::make_unique<StackTables>();
  left_ -= bytes;
  ++lent_;
  return tables;
}

void StackMemory::Give(Idle ended) noexcept {
  const MutexLock lock(mutex_);
  --lent_;
  idle_.push_back(std::move(ended));
}

}  // namespace halograph
