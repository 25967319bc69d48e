// The two manifests of a partition folder, as values (the format: common/graph/FORMAT.md).
// Plain values; reading and writing touches only the manifest file itself.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "common/graph/partition_book.h"
#include "common/graph/schema.h"
#include "common/storage/file_checksums.h"

namespace halograph {

inline constexpr int kFormatVersion = 1;
// Feature bits that a reader must know to open a folder.
inline constexpr uint64_t kScaledInt8Bit = 1;  // a feature is stored as scaled_int8
inline constexpr uint64_t kClustersBit = 2;    // parts are divided into clusters
inline constexpr uint64_t kKnownFeatureBits = kScaledInt8Bit | kClustersBit;
// Those that a folder of this schema has, whether it has clusters or not.
[[nodiscard]] uint64_t FeatureBitsOf(const Schema& schema);

// In a graph's folder and in each of its parts'.
inline constexpr char kManifestName[] = "manifest.json";

// part-0000/manifest.json
struct PartManifest {
  std::string identity;  // 32 hex digits, the same in every part of a graph
  std::string build;     // not part of the identity
  int part = 0;
  Schema schema;
  PartitionBook book;
  std::vector<int64_t> halo_nodes;  // per node type
  std::vector<int64_t> task_rows;   // rows here, per task set in schema order (tasks, then sets)
  // How many clusters the part is divided into. All parts of a graph have some number or none, and
  // only a graph of one node type has.
  std::optional<int64_t> clusters = {};
  std::vector<FileEntry> files;  // by path
};

// GRAPH/manifest.json
struct GraphManifest {
  std::string identity;
  std::string build;
  Schema schema;
  PartitionBook book;
  Json options = Json::object();  // as the partitioner ran: method, seed, format, edge options...
  std::vector<std::string> part_digests;  // per part: FilesDigest of its files
  std::vector<Json> part_stats;           // per part: what `inspect` shows
  bool clusters = false;                  // parts are divided into clusters
};

// XXH3-128 over the canonical JSON of a part's file entries.
[[nodiscard]] std::string FilesDigest(const std::vector<FileEntry>& files);
// XXH3-128 over the canonical JSON of {schema, book, part digests}.
[[nodiscard]] std::string GraphIdentity(const Schema& schema, const PartitionBook& book,
                                        const std::vector<std::string>& part_digests);

[[nodiscard]] Status WritePartManifest(const std::filesystem::path& part_folder,
                                       const PartManifest& manifest);
[[nodiscard]] Status WriteGraphManifest(const std::filesystem::path& graph_folder,
                                        const GraphManifest& manifest);

//   NotFound            no manifest.json: "not a partition folder", with what to do
//   DataLoss            checksum, missing or wrong fields
//   FailedPrecondition  a format version or feature bit that this build does not know
[[nodiscard]] StatusOr<PartManifest> ReadPartManifest(const std::filesystem::path& part_folder);
[[nodiscard]] StatusOr<GraphManifest> ReadGraphManifest(const std::filesystem::path& graph_folder);

// "part-0007"
[[nodiscard]] std::string PartFolderName(int part);

// Whether a file of a part belongs to its topology: all below edges/ but original_ids.npy and
// features/ of a relation, and the bounds of clusters. `path` as in PartManifest::files.
[[nodiscard]] bool IsTopologyFile(std::string_view path);

// Paths inside a part folder, names percent-encoded.
[[nodiscard]] std::string NodeFolder(const std::string& node_type);   // nodes/<type>
[[nodiscard]] std::string ClusterFile(const std::string& node_type);  // nodes/<type>/clusters.npy
[[nodiscard]] std::string EdgeFolder(const std::string& triple);      // edges/<relation>
[[nodiscard]] std::string TaskSetFolder(const std::string& task, const std::string& set,
                                        const std::string& type);  // tasks/<task>/<set>/<type>
// edges/<relation>/sampling/<name>/<array>.npy: the tables of sampling by an edge feature. Arrays:
// entries, weights, heavy, drawable (weight_table.h).
[[nodiscard]] std::string WeightTableFile(const std::string& edge_folder, const std::string& name,
                                          std::string_view array);
[[nodiscard]] std::string FeatureFile(const std::string& folder, const std::string& name);
[[nodiscard]] std::string TaskArrayFile(const std::string& set_folder, const std::string& name);

}  // namespace halograph
