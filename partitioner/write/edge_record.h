// An edge on its way from the stream to its bucket's rows: 12 bytes where source ids fit 32 bits.
// The bucket says which node row 0 is, and what the upper 32 bits of ids are from where on.
#pragma once

#include <cstdint>
#include <vector>

namespace halograph {

// SourceT: the type of indices.npy, uint32_t or int64_t.
template <typename SourceT>
struct EdgeRecord {
  SourceT source;  // global id
  uint32_t row;    // destination, counted from the bucket's first node
  uint32_t id;     // original edge id, lower 32 bits
};
static_assert(sizeof(EdgeRecord<uint32_t>) == 12 && sizeof(EdgeRecord<int64_t>) == 16);

// From this record of the bucket on, ids have these upper bits; none before the first of a bucket
// means 0. Ids ascend within a bucket, so there are few.
struct UpperBits {
  int64_t first_record = 0;
  int64_t bits = 0;  // already shifted: id = bits | record.id
};

// What is known of a bucket beside its records.
struct BucketedEdges {
  int64_t count = 0;
  std::vector<UpperBits> upper;
};

}  // namespace halograph
