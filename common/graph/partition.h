// One part of a partition folder, mapped; and several parts of one graph together.
// Immutable after Open: const methods need no lock. All spans point into mappings and live as
// long as the object. Opening allocates nothing that grows with nodes, edges or features.
#pragma once

#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/base/status.h"
#include "common/graph/manifest.h"
#include "common/graph/topology.h"
#include "common/storage/npy.h"

namespace halograph {

enum class VerifyLevel {
  kHeaders,   // existence, sizes, .npy headers, ends of indptr
  kContents,  // and every checksum, monotone offsets, ranges of ids
};
// As options have them: "headers", "contents".
[[nodiscard]] std::vector<std::pair<std::string_view, VerifyLevel>> VerifyLevelWords();

// What is opened of a part. The files of what is not wanted are neither opened nor checked, and
// need not be there: a server of features holds no edges, a trainer's copy of the topology no
// features. Which file belongs to what: IsTopologyFile.
struct PartContents {
  bool topology = true;  // in-edges: what sampling needs
  bool features = true;  // everything else: features, original and halo ids, task sets

  bool operator==(const PartContents&) const = default;
};

class Partition {
 public:
  // `folder` is part-XXXX itself.
  //   NotFound            a file of the manifest that is wanted is missing
  //   DataLoss            truncated, flipped byte (file and byte range), indptr that disagrees
  //                       with indices, arrays that disagree with the schema
  //   FailedPrecondition  format version, feature bit or dtype that this build cannot read
  // Messages carry the path, the value found and the value expected.
  [[nodiscard]] static StatusOr<std::unique_ptr<Partition>> Open(
      const std::filesystem::path& folder, VerifyLevel verify, const PartContents& contents = {});

  [[nodiscard]] const PartManifest& manifest() const { return manifest_; }
  [[nodiscard]] const Schema& schema() const { return manifest_.schema; }
  [[nodiscard]] const PartitionBook& book() const { return manifest_.book; }
  [[nodiscard]] int part() const { return manifest_.part; }
  [[nodiscard]] const PartContents& contents() const { return contents_; }

  // Not present() if the topology was not opened.
  [[nodiscard]] const CscSegment& Edges(int relation) const { return edges_[relation]; }
  // Where the part's clusters begin, as global ids that ascend, and the end of the last: from the
  // part's first node to its end. Empty if the folder has none, or the topology was not opened.
  [[nodiscard]] std::span<const int64_t> ClusterBounds() const;

  // All files of it that are mapped, each once, in no order.
  [[nodiscard]] std::vector<const MappedFile*> Files() const;

  // All that follow require contents().features (asserted).
  // Row i belongs to global id range begin + i. Index of the feature as in the schema.
  [[nodiscard]] const NpyArray& NodeFeature(int node_type, int feature) const;
  [[nodiscard]] const NpyArray& EdgeFeature(int relation, int feature) const;
  [[nodiscard]] std::span<const int64_t> NodeOriginalIds(int node_type) const;
  [[nodiscard]] std::span<const int64_t> EdgeOriginalIds(int relation) const;
  [[nodiscard]] std::span<const int64_t> HaloIds(int node_type) const;
  // One array of a task set, rows that this part owns in input order; a set without rows here has
  // arrays of 0 rows. Indexes as in the schema.
  [[nodiscard]] const NpyArray& TaskArray(int task, int set, int array) const;

 private:
  Partition() = default;
  struct Arrays;
  [[nodiscard]] Status Map(const std::filesystem::path& folder);
  [[nodiscard]] Status MapClusters(const std::filesystem::path& folder, Arrays* arrays);
  [[nodiscard]] Status MapNodes(const std::filesystem::path& folder, Arrays* arrays);
  [[nodiscard]] Status MapEdges(const std::filesystem::path& folder, Arrays* arrays);
  [[nodiscard]] Status MapWeights(const std::filesystem::path& folder, int relation,
                                  Arrays* arrays);
  [[nodiscard]] Status MapEdgeFeatures(const std::filesystem::path& folder, Arrays* arrays);
  [[nodiscard]] Status MapTasks(const std::filesystem::path& folder, Arrays* arrays);

  PartManifest manifest_;
  PartContents contents_;
  std::vector<CscSegment> edges_;
  std::shared_ptr<const Arrays> arrays_;
};

// Parts of one graph, in ascending order of part.
class PartitionSet {
 public:
  // `graph` is the folder that holds part-XXXX; `parts` empty means all that the book names.
  // Also: FailedPrecondition if identities differ (both named), differ from GRAPH/manifest.json
  // where that is present, or from what all parts together give; NotFound if a part is missing,
  // naming it; InvalidArgument if a part is asked for twice or negative.
  [[nodiscard]] static StatusOr<std::unique_ptr<PartitionSet>> Open(
      const std::filesystem::path& graph, const std::vector<int>& parts, VerifyLevel verify,
      const PartContents& contents = {});

  [[nodiscard]] const Schema& schema() const { return parts_.front()->schema(); }
  [[nodiscard]] const PartitionBook& book() const { return parts_.front()->book(); }
  [[nodiscard]] const std::string& identity() const { return parts_.front()->manifest().identity; }
  [[nodiscard]] std::span<const std::unique_ptr<Partition>> parts() const { return parts_; }
  // The part, or nullptr if it is not here.
  [[nodiscard]] const Partition* Find(int part) const;
  // Segments of all parts here. (Invariant 3: with all parts, the whole graph.) None is present()
  // if the topology was not opened.
  [[nodiscard]] const Topology& topology() const { return topology_; }
  // Partition::ClusterBounds by part, nothing for parts that are not here; empty if none has any.
  [[nodiscard]] std::vector<std::vector<int64_t>> ClusterBounds() const;

 private:
  PartitionSet() = default;
  std::vector<std::unique_ptr<Partition>> parts_;
  std::vector<const Partition*> by_part_;
  Topology topology_;
};

}  // namespace halograph
