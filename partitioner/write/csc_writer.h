// Writes the three topology files of one relation and partition, front to back, row by row. On
// the way it finds parallel edges (same source) among each node's in-edges, and marks halo
// nodes.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

#include "common/base/status.h"
#include "partitioner/write/halo_bits.h"
#include "partitioner/write/npy_appender.h"
#include "partitioner/write/source_set.h"

namespace halograph {

// What the writers of one relation share; all must outlive them.
struct CscShared {
  bool drop_duplicates = false;  // of parallel edges only the first stays
  int source_type = 0;
  SourceSet* seen = nullptr;
  HaloBits* halo = nullptr;
};

// SourceT: the type of indices.npy, uint32_t or int64_t. Not thread-safe. Every method reports
// ResourceExhausted on a full disk.
template <typename SourceT>
class CscWriter {
 public:
  // indptr.npy, indices.npy and original_ids.npy in `folder`, which they make.
  [[nodiscard]] static StatusOr<CscWriter> Create(const std::filesystem::path& folder,
                                                  const CscShared& shared);

  // The next rows, whole: row r has the edges [ends[r - 1], ends[r]) of `sources` (global ids) and
  // `ids` (original edge ids, ascending in a row). Both may be changed.
  [[nodiscard]] Status AppendRows(std::span<const uint32_t> ends, std::span<SourceT> sources,
                                  std::span<int64_t> ids);

  // The next row in pieces, for a node whose in-edges are held nowhere at once: Begin with their
  // number, pieces in order, End.
  void BeginRow(int64_t degree) { shared_.seen->Begin(degree); }
  [[nodiscard]] Status AppendToRow(std::span<SourceT> sources, std::span<int64_t> ids);
  [[nodiscard]] Status EndRow();

  // Completes the files. What is on disk is known after SyncFileSystem.
  [[nodiscard]] Status Close();

  [[nodiscard]] int64_t edges() const { return edges_; }            // written
  [[nodiscard]] int64_t duplicates() const { return duplicates_; }  // found

 private:
  explicit CscWriter(const CscShared& shared) : shared_(shared) {}
  [[nodiscard]] int64_t CountRepeats(std::span<const SourceT> row);
  [[nodiscard]] size_t KeepFirst(std::span<SourceT> sources, std::span<int64_t> ids, size_t begin,
                                 size_t end, size_t to);
  [[nodiscard]] Status AppendEdges(std::span<const SourceT> sources, std::span<const int64_t> ids);
  [[nodiscard]] Status FlushRowEnds();

  CscShared shared_;
  NpyAppender indptr_, indices_, original_ids_;
  std::vector<int64_t> row_ends_;  // not yet in indptr_
  int64_t edges_ = 0;
  int64_t duplicates_ = 0;
};

extern template class CscWriter<uint32_t>;
extern template class CscWriter<int64_t>;

}  // namespace halograph
