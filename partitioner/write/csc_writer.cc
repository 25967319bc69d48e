#include "partitioner/write/csc_writer.h"

#include <algorithm>
#include <functional>

namespace halograph {
namespace {

constexpr size_t kRowEnds = 4096;  // written at a time
// Up to this in-degree comparing all pairs costs less than a table.
constexpr size_t kFewSources = 16;

}  // namespace

template <typename SourceT>
StatusOr<CscWriter<SourceT>> CscWriter<SourceT>::Create(const std::filesystem::path& folder,
                                                        const CscShared& shared) {
  CscWriter writer(shared);
  HG_ASSIGN_OR_RETURN(writer.indptr_, NpyAppender::Create(folder / "indptr.npy", DType::kInt64));
  HG_ASSIGN_OR_RETURN(writer.indices_,
                      NpyAppender::Create(folder / "indices.npy", DTypeOf<SourceT>()));
  HG_ASSIGN_OR_RETURN(writer.original_ids_,
                      NpyAppender::Create(folder / "original_ids.npy", DType::kInt64));
  writer.row_ends_.push_back(0);
  return writer;
}

// Positions of a row that repeat an earlier source.
template <typename SourceT>
int64_t CscWriter<SourceT>::CountRepeats(std::span<const SourceT> row) {
  // Rows that ascend strictly, as those of sorted inputs do, have none.
  if (std::adjacent_find(row.begin(), row.end(), std::greater_equal<SourceT>()) == row.end()) {
    return 0;
  }
  int64_t repeats = 0;
  if (row.size() <= kFewSources) {
    for (size_t i = 1; i < row.size(); ++i) {
      repeats += std::find(row.begin(), row.begin() + static_cast<std::ptrdiff_t>(i), row[i]) !=
                         row.begin() + static_cast<std::ptrdiff_t>(i)
                     ? 1
                     : 0;
    }
    return repeats;
  }
  shared_.seen->Begin(static_cast<int64_t>(row.size()));
  for (const SourceT source : row) repeats += shared_.seen->Insert(source) ? 0 : 1;
  return repeats;
}

// Moves the first edge of each source of [begin, end) to `to` and after it; returns their end.
template <typename SourceT>
size_t CscWriter<SourceT>::KeepFirst(std::span<SourceT> sources, std::span<int64_t> ids,
                                     size_t begin, size_t end, size_t to) {
  shared_.seen->Begin(static_cast<int64_t>(end - begin));
  for (size_t i = begin; i < end; ++i) {
    if (!shared_.seen->Insert(sources[i])) continue;
    sources[to] = sources[i];
    ids[to] = ids[i];
    ++to;
  }
  return to;
}

template <typename SourceT>
Status CscWriter<SourceT>::AppendRows(std::span<const uint32_t> ends, std::span<SourceT> sources,
                                      std::span<int64_t> ids) {
  size_t begin = 0;
  size_t kept = 0;
  for (const uint32_t end : ends) {
    const int64_t repeats = CountRepeats(sources.subspan(begin, end - begin));
    duplicates_ += repeats;
    if (shared_.drop_duplicates && repeats > 0) {
      kept = KeepFirst(sources, ids, begin, end, kept);
    } else {
      if (kept < begin) {
        std::copy(sources.begin() + begin, sources.begin() + end, sources.begin() + kept);
        std::copy(ids.begin() + begin, ids.begin() + end, ids.begin() + kept);
      }
      kept += end - begin;
    }
    begin = end;
    row_ends_.push_back(edges_ + static_cast<int64_t>(kept));
    if (row_ends_.size() >= kRowEnds) HG_RETURN_IF_ERROR(FlushRowEnds());
  }
  return AppendEdges(sources.first(kept), ids.first(kept));
}

template <typename SourceT>
Status CscWriter<SourceT>::AppendToRow(std::span<SourceT> sources, std::span<int64_t> ids) {
  size_t kept = 0;
  for (size_t i = 0; i < sources.size(); ++i) {
    const bool repeats = !shared_.seen->Insert(sources[i]);
    duplicates_ += repeats ? 1 : 0;
    if (repeats && shared_.drop_duplicates) continue;
    sources[kept] = sources[i];
    ids[kept] = ids[i];
    ++kept;
  }
  return AppendEdges(sources.first(kept), ids.first(kept));
}

template <typename SourceT>
Status CscWriter<SourceT>::EndRow() {
  row_ends_.push_back(edges_);
  return row_ends_.size() >= kRowEnds ? FlushRowEnds() : OkStatus();
}

template <typename SourceT>
Status CscWriter<SourceT>::AppendEdges(std::span<const SourceT> sources,
                                       std::span<const int64_t> ids) {
  edges_ += static_cast<int64_t>(sources.size());
  shared_.halo->Mark(shared_.source_type, sources);
  HG_RETURN_IF_ERROR(indices_.Append(sources));
  return original_ids_.Append(ids);
}

template <typename SourceT>
Status CscWriter<SourceT>::FlushRowEnds() {
  HG_RETURN_IF_ERROR(indptr_.Append(std::span<const int64_t>(row_ends_)));
  row_ends_.clear();
  return OkStatus();
}

template <typename SourceT>
Status CscWriter<SourceT>::Close() {
  HG_RETURN_IF_ERROR(FlushRowEnds());
  HG_RETURN_IF_ERROR(indptr_.Close());
  HG_RETURN_IF_ERROR(indices_.Close());
  return original_ids_.Close();
}

template class CscWriter<uint32_t>;
template class CscWriter<int64_t>;

}  // namespace halograph
