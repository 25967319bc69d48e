#include "partitioner/write/bucket_sorter.h"

#include <span>
#include <utility>

namespace halograph {
namespace {

// Calls visit(records, upper) for the bucket's records in order; id = upper | record.id for all of
// them.
template <typename RecordT, typename Visit>
Status ForEachRecord(BucketStore* store, size_t bucket, const BucketedEdges& edges, Visit visit) {
  int64_t position = 0;
  int64_t bits = 0;
  auto next = edges.upper.begin();
  const auto visit_piece = [&](std::span<const std::byte> bytes) -> Status {
    std::span records(reinterpret_cast<const RecordT*>(bytes.data()),
                      bytes.size() / sizeof(RecordT));
    while (!records.empty()) {
      for (; next != edges.upper.end() && next->first_record == position; ++next) bits = next->bits;
      size_t count = records.size();
      if (next != edges.upper.end()) {
        count = std::min(count, static_cast<size_t>(next->first_record - position));
      }
      HG_RETURN_IF_ERROR(visit(records.first(count), bits));
      position += static_cast<int64_t>(count);
      records = records.subspan(count);
    }
    return OkStatus();
  };
  HG_RETURN_IF_ERROR(store->Read(bucket, visit_piece));
  if (position == edges.count) return OkStatus();
  return Internal("bucket {}: {} edges went in, {} came out", bucket, edges.count, position);
}

// The rows of a bucket in ranges of at most `most_edges` edges, or of one row that has more.
struct RowPieces {
  std::vector<int64_t> starts = {0};  // first row of each piece, and the end of the last
  std::vector<uint32_t> of_row;
};

template <typename RecordT>
StatusOr<RowPieces> CutRows(BucketStore* store, size_t bucket, const BucketedEdges& edges,
                            int64_t rows, int64_t most_edges) {
  RowPieces pieces;
  pieces.of_row.resize(static_cast<size_t>(rows));
  std::vector<int64_t> degrees(static_cast<size_t>(rows), 0);
  HG_RETURN_IF_ERROR(
      ForEachRecord<RecordT>(store, bucket, edges, [&](std::span<const RecordT> records, int64_t) {
        for (const RecordT& record : records) ++degrees[record.row];
        return OkStatus();
      }));
  int64_t held = 0;
  for (int64_t row = 0; row < rows; ++row) {
    const int64_t degree = degrees[static_cast<size_t>(row)];
    if (row > pieces.starts.back() && held + degree > most_edges) {
      pieces.starts.push_back(row);
      held = 0;
    }
    held += degree;
    pieces.of_row[static_cast<size_t>(row)] = static_cast<uint32_t>(pieces.starts.size() - 1);
  }
  pieces.starts.push_back(rows);
  return pieces;
}

}  // namespace

template <typename SourceT>
Status BucketSorter<SourceT>::Sort(size_t bucket, const BucketedEdges& edges, int64_t rows,
                                   CscWriter<SourceT>* out) {
  if (edges.count > sort_edges_ && rows > 1) return Split(bucket, edges, rows, out);
  HG_RETURN_IF_ERROR(edges.count > sort_edges_ ? PassThrough(bucket, edges, out)
                                               : SortAtOnce(bucket, edges, rows, out));
  store_->Drop(bucket);
  return OkStatus();
}

template <typename SourceT>
void BucketSorter<SourceT>::Reserve(int64_t edges) {
  if (edges <= reserved_) return;
  sources_.reset();
  ids_.reset();
  // Some room for a larger one to come saves getting fresh pages for it.
  reserved_ = std::min(edges + edges / 8, sort_edges_);
  sources_ = std::make_unique_for_overwrite<SourceT[]>(static_cast<size_t>(reserved_));
  ids_ = std::make_unique_for_overwrite<int64_t[]>(static_cast<size_t>(reserved_));
}

template <typename SourceT>
Status BucketSorter<SourceT>::SortAtOnce(size_t bucket, const BucketedEdges& edges, int64_t rows,
                                         CscWriter<SourceT>* out) {
  Reserve(edges.count);
  ends_.assign(static_cast<size_t>(rows), 0);
  uint32_t* const ends = ends_.data();
  HG_RETURN_IF_ERROR(
      ForEachRecord<Record>(store_, bucket, edges, [&](std::span<const Record> records, int64_t) {
        for (const Record& record : records) ++ends[record.row];
        return OkStatus();
      }));
  uint32_t start = 0;
  for (uint32_t& end : ends_) start += std::exchange(end, start);
  SourceT* const sources = sources_.get();
  int64_t* const ids = ids_.get();
  HG_RETURN_IF_ERROR(ForEachRecord<Record>(store_, bucket, edges,
                                           [&](std::span<const Record> records, int64_t upper) {
                                             for (const Record& record : records) {
                                               const uint32_t to = ends[record.row]++;
                                               sources[to] = record.source;
                                               ids[to] = upper | int64_t{record.id};
                                             }
                                             return OkStatus();
                                           }));
  const auto count = static_cast<size_t>(edges.count);
  return out->AppendRows(ends_, {sources, count}, {ids, count});
}

template <typename SourceT>
Status BucketSorter<SourceT>::PassThrough(size_t bucket, const BucketedEdges& edges,
                                          CscWriter<SourceT>* out) {
  out->BeginRow(edges.count);
  std::vector<SourceT> sources;
  std::vector<int64_t> ids;
  HG_RETURN_IF_ERROR(ForEachRecord<Record>(store_, bucket, edges,
                                           [&](std::span<const Record> records, int64_t upper) {
                                             sources.clear();
                                             ids.clear();
                                             for (const Record& record : records) {
                                               sources.push_back(record.source);
                                               ids.push_back(upper | int64_t{record.id});
                                             }
                                             return out->AppendToRow(sources, ids);
                                           }));
  return out->EndRow();
}

template <typename SourceT>
Status BucketSorter<SourceT>::Split(size_t bucket, const BucketedEdges& edges, int64_t rows,
                                    CscWriter<SourceT>* out) {
  sources_.reset();
  ids_.reset();
  reserved_ = 0;
  HG_ASSIGN_OR_RETURN(RowPieces cut, CutRows<Record>(store_, bucket, edges, rows, sort_edges_));
  const std::vector<int64_t>& starts = cut.starts;
  std::vector<BucketedEdges> pieces(starts.size() - 1);
  const size_t first = store_->Add(pieces.size());
  {
    BucketWriter<SourceT> writer(
        store_, first, pieces,
        BufferRecords<SourceT>(static_cast<int64_t>(pieces.size()), 4 * sort_edges_));
    const auto add = [&](std::span<const Record> records, int64_t upper) -> Status {
      for (const Record& record : records) {
        const size_t piece = cut.of_row[record.row];
        HG_RETURN_IF_ERROR(writer.Add(piece, record.source,
                                      record.row - static_cast<uint32_t>(starts[piece]),
                                      upper | int64_t{record.id}));
      }
      return OkStatus();
    };
    HG_RETURN_IF_ERROR(ForEachRecord<Record>(store_, bucket, edges, add));
    HG_RETURN_IF_ERROR(writer.FlushAll());
  }
  std::vector<uint32_t>().swap(cut.of_row);
  store_->Drop(bucket);
  for (size_t piece = 0; piece < pieces.size(); ++piece) {
    HG_RETURN_IF_ERROR(Sort(first + piece, pieces[piece], starts[piece + 1] - starts[piece], out));
  }
  return OkStatus();
}

template class BucketSorter<uint32_t>;
template class BucketSorter<int64_t>;

}  // namespace halograph
