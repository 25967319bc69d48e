// Sorts one bucket of edges into the rows of its nodes. The counting sort is stable, so a node's
// in-edges keep the order of the stream. A bucket that is larger than planned, because it has
// hubs, is first split by rows. A single hub that is too large is already in order and passes
// through.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "common/base/status.h"
#include "partitioner/write/buckets.h"
#include "partitioner/write/csc_writer.h"

namespace halograph {

// SourceT as in EdgeRecord. Not thread-safe. Memory: `sort_edges` * (sizeof(SourceT) + 8) bytes and
// 4 bytes a row; while a bucket is split, instead 12 bytes a row and 4 bytes for each of
// `sort_edges`.
template <typename SourceT>
class BucketSorter {
 public:
  // `store` must outlive this. `sort_edges`: held at once; positive and below 2^32.
  BucketSorter(BucketStore* store, int64_t sort_edges) : store_(store), sort_edges_(sort_edges) {}

  // Appends the bucket's rows to `out`, and drops the bucket. `rows`: nodes of the bucket.
  [[nodiscard]] Status Sort(size_t bucket, const BucketedEdges& edges, int64_t rows,
                            CscWriter<SourceT>* out);

 private:
  using Record = EdgeRecord<SourceT>;

  [[nodiscard]] Status SortAtOnce(size_t bucket, const BucketedEdges& edges, int64_t rows,
                                  CscWriter<SourceT>* out);
  [[nodiscard]] Status PassThrough(size_t bucket, const BucketedEdges& edges,
                                   CscWriter<SourceT>* out);
  [[nodiscard]] Status Split(size_t bucket, const BucketedEdges& edges, int64_t rows,
                             CscWriter<SourceT>* out);
  void Reserve(int64_t edges);

  BucketStore* const store_;
  const int64_t sort_edges_;
  int64_t reserved_ = 0;
  std::unique_ptr<SourceT[]> sources_;
  std::unique_ptr<int64_t[]> ids_;
  std::vector<uint32_t> ends_;  // of each row: where its next edge goes, and in the end its end
};

extern template class BucketSorter<uint32_t>;
extern template class BucketSorter<int64_t>;

}  // namespace halograph
