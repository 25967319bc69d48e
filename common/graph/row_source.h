// Where rows come from: a tensor has one source of rows a partition, and a catalog says what
// tensors there are and which of their rows are here. Sources are mapped files of the partition
// folder; the rows of mutable tensors (common/state) are pulled by way of StateStore.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "common/base/status.h"
#include "common/base/thread_pool.h"
#include "common/graph/partition_book.h"
#include "common/graph/tensor_ref.h"

namespace halograph {

class PartitionSet;

// Rows of one tensor that are here. Thread-safe.
class RowSource {
 public:
  virtual ~RowSource() = default;

  [[nodiscard]] virtual const TensorSpec& spec() const = 0;
  // The global ids whose rows it has.
  [[nodiscard]] virtual IdRange ids() const = 0;
  // Copies row ids[i] to out + positions[i] * row_bytes, or to out + i * row_bytes if `positions`
  // is empty. Requires ids within ids(). Sources of mapped files do not fail; others may. After an
  // error `out` holds anything.
  [[nodiscard]] virtual Status Gather(std::span<const int64_t> ids,
                                      std::span<const int64_t> positions, std::byte* out) const = 0;
  // The rows of ids(), one after the other, if they stand in memory and stay as they are while this
  // source lives. Else null, as for rows that change.
  [[nodiscard]] virtual const std::byte* in_place() const { return nullptr; }
};

struct CatalogTensor {
  ResolvedTensor resolved;
  std::span<const int64_t> boundaries;             // of its ids, parts + 1
  std::span<const RowSource* const> by_part = {};  // null: not here
};

// Thread-safe.
class TensorCatalog {
 public:
  virtual ~TensorCatalog() = default;

  // Lives as long as the catalog. Allocates nothing for a known tensor.
  // NotFound naming what is unknown and what exists.
  [[nodiscard]] virtual StatusOr<const CatalogTensor*> Find(const TensorRef& ref) const = 0;
};

// The tensors of a schema: features, and the original ids. Their rows are those of `parts`; none is
// here if that is null or was opened without features. What it borrows must outlive it.
[[nodiscard]] std::unique_ptr<TensorCatalog> MakeSchemaCatalog(const Schema* schema,
                                                               const PartitionBook* book,
                                                               const PartitionSet* parts);

// How GatherRowsOf works.
struct GatherOptions {
  ThreadPool* pool = nullptr;  // threads that share the work with the caller; null: none
  // Asked from time to time: what it returns ends the gather. Null: nobody ends it. From several
  // threads at once.
  const std::function<Status()>* check = nullptr;
};

// Gathers as RowSource::Gather out of all parts that are here. Requires `ids` within the tensor and
// of parts that are here. Errors: of a source or of options.check, the first one met.
// Throws std::bad_alloc.
[[nodiscard]] Status GatherRowsOf(const CatalogTensor& tensor, std::span<const int64_t> ids,
                                  std::span<const int64_t> positions, std::byte* out,
                                  const GatherOptions& options = {});

}  // namespace halograph
