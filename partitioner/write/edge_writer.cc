#include "partitioner/write/edge_writer.h"

#include <algorithm>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "common/base/progress.h"
#include "common/storage/row_gather.h"
#include "partitioner/write/bucket_sorter.h"
#include "partitioner/write/csc_writer.h"
#include "partitioner/write/feature_dtype.h"
#include "partitioner/write/mapped_npy.h"
#include "partitioner/write/nan_check.h"

namespace halograph {

namespace {

constexpr int64_t kBlockRows = 8192;
constexpr size_t kNarrowedBytes = size_t{1} << 20;  // of rows that wait for being narrowed

// Rows of one tensor, in the order of a part's edges.
class RowGatherer {
 public:
  // `check`: for NaN and infinity.
  RowGatherer(const InputTensor& tensor, bool check)
      : tensor_(tensor), array_(*tensor.array), check_(check) {}

  [[nodiscard]] Status Gather(std::span<const int64_t> edge_ids, MappedNpy* out,
                              Progress* progress) {
    const auto edges = static_cast<int64_t>(edge_ids.size());
    const int64_t block = BlockRows();
    for (int64_t first = 0; first < edges; first += block) {
      const int64_t count = std::min(block, edges - first);
      rows_.assign(edge_ids.begin() + first, edge_ids.begin() + first + count);
      if (tensor_.row_divisor > 1) {
        for (int64_t& row : rows_) row /= tensor_.row_divisor;
      }
      HG_RETURN_IF_ERROR(Store(out->data() + static_cast<size_t>(first) * out->row_bytes()));
      out->ReleaseBefore(first + count);
      progress->Advance(count);
    }
    return OkStatus();
  }

 private:
  [[nodiscard]] bool narrowed() const { return array_.dtype() != tensor_.spec.dtype; }
  [[nodiscard]] int64_t BlockRows() const {
    if (!narrowed()) return kBlockRows;
    return std::clamp<int64_t>(static_cast<int64_t>(kNarrowedBytes / array_.row_bytes()), 1,
                               kBlockRows);
  }

  // rows_, one after the other.
  [[nodiscard]] Status Store(std::byte* to) {
    const size_t row_bytes = array_.row_bytes();
    const size_t bytes = rows_.size() * row_bytes;
    std::byte* const gathered = narrowed() ? (wide_.resize(bytes), wide_.data()) : to;
    GatherRows(array_.data(), row_bytes, 0, rows_, gathered);
    if (check_) HG_RETURN_IF_ERROR(Check({gathered, bytes}));
    if (!narrowed()) return OkStatus();
    for (size_t i = 0; i < rows_.size(); ++i, to += tensor_.spec.row_bytes()) {
      HG_RETURN_IF_ERROR(StoreRow(tensor_, gathered + i * row_bytes, rows_[i], to));
    }
    return OkStatus();
  }

  [[nodiscard]] Status Check(std::span<const std::byte> gathered) const {
    const auto found = FindNonFinite(array_.dtype(), gathered);
    if (!found) return OkStatus();
    const auto width = static_cast<size_t>(array_.cols());
    return NonFiniteError(tensor_, rows_[*found / width], static_cast<int64_t>(*found % width));
  }

  const InputTensor& tensor_;
  const NpyArray& array_;
  const bool check_;
  std::vector<int64_t> rows_;    // of the array, of one block
  std::vector<std::byte> wide_;  // those rows, where they are narrowed
};

}  // namespace

Status WriteEdgeFeatures(const WriteContext& context, int relation) {
  const InputRelation& input = context.dataset.relations[static_cast<size_t>(relation)];
  const std::string folder = EdgeFolder(input.triple());
  for (const InputTensor& tensor : input.features) {
    // Weights of sampling are held to more when their tables are made.
    const bool check = !context.options.allow_nan && !tensor.spec.sampling;
    Progress progress(fmt::format("splitting {} of {}", tensor.spec.name, input.triple()),
                      input.edges->max_edges());
    for (int part = 0; part < context.num_parts(); ++part) {
      const std::filesystem::path part_folder = context.PartFolder(part);
      HG_ASSIGN_OR_RETURN(const NpyArray ids,
                          NpyArray::Open(part_folder / folder / "original_ids.npy"));
      HG_ASSIGN_OR_RETURN(const std::span<const int64_t> edge_ids, ids.As<int64_t>());
      HG_ASSIGN_OR_RETURN(MappedNpy out,
                          MappedNpy::Create(part_folder / FeatureFile(folder, tensor.spec.name),
                                            tensor.spec, ids.rows()));
      HG_RETURN_IF_ERROR(RowGatherer(tensor, check).Gather(edge_ids, &out, &progress));
      HG_RETURN_IF_ERROR(out.Close());
    }
  }
  return OkStatus();
}

namespace {

class EdgeWriter {
 public:
  explicit EdgeWriter(const WriteContext& context)
      : context_(context), seen_(LargestType(context.dataset)) {}

  StatusOr<WrittenEdges> Write() {
    HG_RETURN_IF_ERROR(Bucket());
    HaloBits halo(context_);
    Progress progress("sorting edges", streamed_);
    BucketSorter<uint32_t> narrow(store_.get(), budget_.sort_edges);
    BucketSorter<int64_t> wide(store_.get(), budget_.sort_edges);
    for (int part = 0; part < context_.num_parts(); ++part) {
      halo.Begin(part);
      for (size_t r = 0; r < buckets_.size(); ++r) {
        HG_RETURN_IF_ERROR(FitsUint32(SourceNodes(r))
                               ? WriteRelation(r, part, &narrow, &halo, &progress)
                               : WriteRelation(r, part, &wide, &halo, &progress));
      }
      HG_ASSIGN_OR_RETURN(HaloCounts counts, halo.Write());
      written_.halo.push_back(std::move(counts));
    }
    return std::move(written_);
  }

 private:
  Status Bucket() {
    const GraphCounts counts = GraphCounts::Of(context_.dataset);
    budget_ = BudgetWriting(counts, context_.options.memory, context_.num_parts());
    store_ = MakeMemoryBuckets();
    if (!budget_.in_memory) {
      HG_ASSIGN_OR_RETURN(store_, MakeFileBuckets(context_.ScratchFolder() / "edge-buckets"));
    }
    for (size_t r = 0; r < context_.dataset.relations.size(); ++r) {
      HG_ASSIGN_OR_RETURN(RelationBuckets buckets,
                          BucketRelation(context_, static_cast<int>(r), budget_, store_.get()));
      for (const BucketedEdges& edges : buckets.edges) streamed_ += edges.count;
      written_.relations.push_back({.edges = {}, .counts = buckets.counts});
      buckets_.push_back(std::move(buckets));
    }
    return OkStatus();
  }

  template <typename SourceT>
  Status WriteRelation(size_t relation, int part, BucketSorter<SourceT>* sorter, HaloBits* halo,
                       Progress* progress) {
    const InputRelation& input = context_.dataset.relations[relation];
    const RelationBuckets& buckets = buckets_[relation];
    const bool drop = context_.options.drop_duplicates;
    HG_ASSIGN_OR_RETURN(
        CscWriter<SourceT> out,
        CscWriter<SourceT>::Create(context_.PartFolder(part) / EdgeFolder(input.triple()),
                                   {.drop_duplicates = drop,
                                    .source_type = context_.dataset.NodeTypeIndex(input.source),
                                    .seen = &seen_,
                                    .halo = halo}));
    const size_t end = buckets.ranges.first(part + 1);
    for (size_t b = buckets.ranges.first(part); b < end; ++b) {
      if (b + 1 < end) store_->ReadAhead(buckets.first + b + 1);
      HG_RETURN_IF_ERROR(
          sorter->Sort(buckets.first + b, buckets.edges[b], buckets.ranges.range(b).size(), &out));
      progress->Advance(buckets.edges[b].count);
    }
    HG_RETURN_IF_ERROR(out.Close());
    WrittenRelation& written = written_.relations[relation];
    written.edges.push_back(out.edges());
    written.counts.duplicates += out.duplicates();
    if (drop) written.counts.duplicates_dropped += out.duplicates();
    return OkStatus();
  }

  [[nodiscard]] static int64_t LargestType(const Dataset& dataset) {
    int64_t largest = 0;
    for (const InputNodeType& type : dataset.node_types) largest = std::max(largest, type.count);
    return largest;
  }
  [[nodiscard]] int64_t SourceNodes(size_t relation) const {
    const std::string& type = context_.dataset.relations[relation].source;
    return context_.numbering.GlobalIds(context_.dataset.NodeTypeIndex(type)).size();
  }

  const WriteContext& context_;
  WritingBudget budget_;
  std::unique_ptr<BucketStore> store_;
  std::vector<RelationBuckets> buckets_;
  SourceSet seen_;
  int64_t streamed_ = 0;
  WrittenEdges written_;
};

}  // namespace

StatusOr<WrittenEdges> WriteEdges(const WriteContext& context) {
  return EdgeWriter(context).Write();
}

}  // namespace halograph
