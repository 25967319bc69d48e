// The halo nodes of one partition: one bit per node of each type, set while edges are written.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "common/base/status.h"
#include "common/graph/partition_book.h"
#include "partitioner/write/write_context.h"

namespace halograph {

struct HaloCounts {
  std::vector<int64_t> halo_nodes;  // per node type
  int64_t cut_edges = 0;            // in-edges whose source is owned elsewhere
};

// Not thread-safe. Memory: a bit a node.
class HaloBits {
 public:
  explicit HaloBits(const WriteContext& context);

  // Starts over, for another partition.
  void Begin(int part);
  // Sources (global ids) of in-edges that the partition holds.
  template <typename SourceT>
  void Mark(int source_type, std::span<const SourceT> sources) {
    const IdRange own = own_[static_cast<size_t>(source_type)];
    uint64_t* bits = bits_[static_cast<size_t>(source_type)].data();
    int64_t cut = 0;
    for (const SourceT source : sources) {
      const auto id = static_cast<int64_t>(source);
      if (own.contains(id)) continue;
      ++cut;
      bits[static_cast<size_t>(id) / 64] |= uint64_t{1} << (static_cast<size_t>(id) % 64);
    }
    cut_edges_ += cut;
  }
  // nodes/<type>/halo_ids.npy of every type. ResourceExhausted: disk full.
  [[nodiscard]] StatusOr<HaloCounts> Write() const;

 private:
  const WriteContext& context_;
  int part_ = 0;
  std::vector<IdRange> own_;                 // per type
  std::vector<std::vector<uint64_t>> bits_;  // per type
  int64_t cut_edges_ = 0;
};

}  // namespace halograph
