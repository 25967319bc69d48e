// The original ids of the nodes that a run has learnt rows of, kept in its state folder, which
// knows rows by the global ids of one partitioning only. With them the rows are found for the nodes
// of another graph: the same input in other partitions, or one that has grown.
//
//   STATE/row-names/manifest.json  `graph_identity`; `schema`, types and relations without features
//                                  and tasks; `partition_book`; `types`, those below; `files`
//   STATE/row-names/<type>.npy     int64, the original id of each node, in the order of global ids
#pragma once

#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "client/stores.h"
#include "common/base/cancel.h"
#include "common/base/status.h"
#include "common/graph/partition_book.h"
#include "common/graph/schema.h"
#include "common/storage/file_checksums.h"
#include "common/storage/npy.h"

namespace halograph {

// Movable. Const methods are thread-safe.
class RowNames {
 public:
  // Reads what KeepRowNames wrote, and verifies all checksums.
  //   NotFound  the folder has none: what to do
  //   DataLoss  damaged: file and rule are named
  [[nodiscard]] static StatusOr<RowNames> Read(const std::filesystem::path& state);

  // Of the graph that the rows were learnt on.
  [[nodiscard]] const std::string& identity() const { return identity_; }
  [[nodiscard]] const Schema& schema() const { return schema_; }  // without features and tasks
  [[nodiscard]] const PartitionBook& book() const { return book_; }
  // By global id, of a type's index in schema(). NotFound naming the type: the folder has none of
  // it.
  [[nodiscard]] StatusOr<std::span<const int64_t>> OriginalIds(int type) const;

 private:
  friend Status KeepRowNames(const std::filesystem::path& state, const Stores& stores,
                             std::span<const std::string> types, const CancelToken* cancel);
  [[nodiscard]] static StatusOr<RowNames> ReadManifestOf(const std::filesystem::path& state);

  std::filesystem::path folder_;
  std::string identity_;
  Schema schema_;
  PartitionBook book_;
  std::vector<std::string> types_;
  std::vector<FileEntry> files_;               // of each type
  std::map<std::string, NpyArray> originals_;  // by type
};

// Keeps the names of rows of these node types in a state folder, durably, beside those that it has.
// Nothing is read or written if it has them all. Errors as RowStore::Pull and TemporaryFolder.
[[nodiscard]] Status KeepRowNames(const std::filesystem::path& state, const Stores& stores,
                                  std::span<const std::string> types, const CancelToken* cancel);

}  // namespace halograph
