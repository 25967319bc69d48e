#include "common/graph/row_source.h"

#include <atomic>
#include <deque>
#include <utility>
#include <vector>

#include "common/base/mutex.h"
#include "common/graph/owner_split.h"
#include "common/graph/partition.h"
#include "common/storage/row_gather.h"

namespace halograph {
namespace {

// Rows a task; as many as make a check for the end cost nothing.
constexpr int64_t kGatherGrain = 2048;

class MappedRows final : public RowSource {
 public:
  MappedRows(const TensorSpec* spec, const TensorRows& rows) : spec_(*spec), rows_(rows) {}

  const TensorSpec& spec() const override { return spec_; }
  IdRange ids() const override { return rows_.ids; }

  Status Gather(std::span<const int64_t> ids, std::span<const int64_t> positions,
                std::byte* out) const override {
    const size_t row_bytes = spec_.row_bytes();
    if (row_bytes == 0) return OkStatus();
    if (positions.empty()) {
      GatherRows(rows_.bytes, row_bytes, rows_.ids.begin, ids, out);
    } else {
      GatherRowsTo(rows_.bytes, row_bytes, rows_.ids.begin, ids, positions, out);
    }
    return OkStatus();
  }
  const std::byte* in_place() const override { return rows_.bytes.data(); }

 private:
  const TensorSpec& spec_;
  const TensorRows rows_;
};

class SchemaCatalog final : public TensorCatalog {
 public:
  SchemaCatalog(const Schema* schema, const PartitionBook* book, const PartitionSet* parts)
      : schema_(*schema), book_(*book) {
    nodes_.reserve(schema_.node_types.size());
    for (const NodeType& type : schema_.node_types) {
      AddType({false, type.name, kOriginalIdTensor}, type.features, parts, &nodes_);
    }
    relations_.reserve(schema_.relations.size());
    for (const Relation& relation : schema_.relations) {
      AddType({true, relation.triple(), kOriginalIdTensor}, relation.features, parts, &relations_);
    }
  }

  StatusOr<const CatalogTensor*> Find(const TensorRef& ref) const override {
    HG_ASSIGN_OR_RETURN(const ResolvedTensor found, ResolveTensor(schema_, ref));
    const OfType& tensors = (ref.edge ? relations_ : nodes_)[static_cast<size_t>(found.type)];
    return &tensors[static_cast<size_t>(found.feature + 1)].tensor;
  }

 private:
  struct Entry {
    CatalogTensor tensor;
    std::vector<const RowSource*> by_part;
  };
  using OfType = std::vector<Entry>;  // original ids, then the features in the schema's order

  void AddType(TensorRef ref, const std::vector<TensorSpec>& features, const PartitionSet* parts,
               std::vector<OfType>* types) {
    OfType& entries = types->emplace_back();
    entries.resize(features.size() + 1);
    Add(ref, parts, &entries[0]);
    for (size_t f = 0; f < features.size(); ++f) {
      ref.name = features[f].name;
      Add(ref, parts, &entries[f + 1]);
    }
  }

  void Add(const TensorRef& ref, const PartitionSet* parts, Entry* entry) {
    CatalogTensor& tensor = entry->tensor;
    tensor.resolved = *ResolveTensor(schema_, ref);  // taken from the schema just now
    tensor.boundaries = Boundaries(book_, tensor.resolved);
    entry->by_part.assign(static_cast<size_t>(book_.num_parts()), nullptr);
    if (parts != nullptr) {
      for (const auto& part : parts->parts()) {
        if (!part->contents().features) continue;
        entry->by_part[static_cast<size_t>(part->part())] =
            &sources_.emplace_back(&tensor.resolved.spec, RowsOf(*part, tensor.resolved));
      }
    }
    tensor.by_part = entry->by_part;
  }

  const Schema& schema_;
  const PartitionBook& book_;
  std::vector<OfType> nodes_;  // entries stay where they are: sources point to their specs
  std::vector<OfType> relations_;
  std::deque<MappedRows> sources_;
};

// The source of the only part that is here, or null if there are several.
const RowSource* OnlySource(std::span<const RowSource* const> by_part) {
  const RowSource* only = nullptr;
  for (const RowSource* source : by_part) {
    if (source == nullptr) continue;
    if (only != nullptr) return nullptr;
    only = source;
  }
  return only;
}

// One run of ids, out of the parts that own them.
class Gatherer {
 public:
  Gatherer(const CatalogTensor& tensor, std::byte* out)
      : tensor_(tensor), out_(out), only_(OnlySource(tensor.by_part)) {
    if (only_ != nullptr) return;
    for (size_t part = 0; part < tensor.by_part.size(); ++part) {
      targets_.push_back(static_cast<int>(part));
    }
  }

  // `first`: the position of ids[0] if `positions` is empty.
  [[nodiscard]] Status Gather(std::span<const int64_t> ids, std::span<const int64_t> positions,
                              int64_t first) const {
    std::byte* const out =
        positions.empty() ? out_ + static_cast<size_t>(first) * tensor_.resolved.spec.row_bytes()
                          : out_;
    if (only_ != nullptr) return only_->Gather(ids, positions, out);
    OwnerSplit split;
    const int parts = static_cast<int>(targets_.size());
    if (const int nobody = split.Split(tensor_.boundaries, targets_, parts, ids, positions);
        nobody >= 0) {
      return Internal("part {} has no target", nobody);
    }
    for (int part = 0; part < parts; ++part) {
      const IdShare& share = split.share(part);
      if (share.ids.empty()) continue;
      const RowSource* source = tensor_.by_part[static_cast<size_t>(part)];
      if (source == nullptr) {
        return Internal("the rows of part {} are not here, as those of id {}", part,
                        share.ids.front());
      }
      HG_RETURN_IF_ERROR(source->Gather(share.ids, share.positions, out));
    }
    return OkStatus();
  }

 private:
  const CatalogTensor& tensor_;
  std::byte* const out_;
  const RowSource* const only_;
  std::vector<int> targets_;  // each part by itself
};

}  // namespace

std::unique_ptr<TensorCatalog> MakeSchemaCatalog(const Schema* schema, const PartitionBook* book,
                                                 const PartitionSet* parts) {
  return std::make_unique<SchemaCatalog>(schema, book, parts);
}

Status GatherRowsOf(const CatalogTensor& tensor, std::span<const int64_t> ids,
                    std::span<const int64_t> positions, std::byte* out,
                    const GatherOptions& options) {
  const Gatherer gatherer(tensor, out);
  std::atomic<bool> failed = false;
  Mutex mutex;
  Status failure;  // guarded by mutex
  ParallelFor(options.pool, static_cast<int64_t>(ids.size()), kGatherGrain,
              [&](int64_t begin, int64_t end) {
                if (failed.load(std::memory_order_relaxed)) return;
                const auto from = static_cast<size_t>(begin);
                const auto count = static_cast<size_t>(end - begin);
                Status status = options.check == nullptr ? OkStatus() : (*options.check)();
                if (status.ok()) {
                  status = gatherer.Gather(
                      ids.subspan(from, count),
                      positions.empty() ? positions : positions.subspan(from, count), begin);
                }
                if (status.ok()) return;
                const MutexLock lock(mutex);
                if (!failed.exchange(true)) failure = std::move(status);
              });
  return failure;
}

}  // namespace halograph
