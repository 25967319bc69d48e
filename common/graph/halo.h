// What lets a part be trained on without asking anybody (CATGNN, arXiv 2404.02300, sections 3.3 and
// 5.5): copies of what others own, up to H hops outside the part. It lies beside the part's own
// files, in part-XXXX/halo (the format: common/graph/FORMAT.md, "Halo").
//
// A node is h hops outside if the shortest way from it into a core node, along edges, has h edges.
// Of nodes 1 to H hops outside the features are here; of nodes 1 to H - 1 hops outside the in-edges
// are, too. H = 1: the features of the halo nodes. With H = number of layers, minibatches of core
// seeds are those of the whole graph.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "common/graph/manifest.h"
#include "common/graph/partition.h"
#include "common/storage/file_checksums.h"
#include "common/storage/npy.h"

namespace halograph {

inline constexpr char kHaloFolder[] = "halo";  // below part-XXXX
inline constexpr int kMostHaloHops = 16;

// part-XXXX/halo/manifest.json
struct HaloManifest {
  std::string identity;  // of the graph; what is here is no part of it
  std::string build;
  int part = 0;
  int hops = 1;
  std::vector<int64_t> nodes;         // per node type: whose features are here
  std::vector<int64_t> destinations;  // per node type: whose in-edges are here
  std::vector<int64_t> edges;         // per relation
  std::vector<FileEntry> files;       // by path, relative to the halo's folder

  [[nodiscard]] int64_t bytes() const;  // of the files
};

[[nodiscard]] Status WriteHaloManifest(const std::filesystem::path& halo_folder,
                                       const HaloManifest& manifest);
// `part_folder`: part-XXXX.
//   NotFound            the part has no halo: says how one is made
//   DataLoss            checksum, missing or wrong fields
//   FailedPrecondition  a format version or feature bit that this build does not know
[[nodiscard]] StatusOr<HaloManifest> ReadHaloManifest(const std::filesystem::path& part_folder);
[[nodiscard]] bool HasHalo(const std::filesystem::path& part_folder);

// Paths inside a halo's folder, beside those of FeatureFile(NodeFolder(type), name).
[[nodiscard]] std::string HaloIdsFile(const std::string& node_type);
[[nodiscard]] std::string HaloDestinationsFile(const std::string& node_type);
[[nodiscard]] std::string HaloIndptrFile(const std::string& triple);
[[nodiscard]] std::string HaloIndicesFile(const std::string& triple);
[[nodiscard]] std::string HaloFirstEdgesFile(const std::string& triple);

// Whether ids of sources take 8 bytes: as indices.npy of a part has them.
[[nodiscard]] DType SourceIdDType(int64_t source_count);

// A part's halo, mapped. Immutable after Open: const methods need no lock. Spans live as long as
// the object.
class Halo {
 public:
  // `part`: of the same folder; its topology and features are opened. With kContents also the
  // checksums, and that ids ascend, are not the part's own, and that every source is a core node or
  // one with features here.
  //   as ReadHaloManifest, and
  //   FailedPrecondition  the halo is of another graph or part, both named
  //   DataLoss            a file that is missing, damaged or not what part and manifest call for
  [[nodiscard]] static StatusOr<std::unique_ptr<Halo>> Open(
      const std::filesystem::path& part_folder, const Partition& part, VerifyLevel verify);

  [[nodiscard]] const HaloManifest& manifest() const { return manifest_; }
  // Nodes whose features are here: global ids, ascending.
  [[nodiscard]] std::span<const int64_t> Nodes(int node_type) const;
  // Of them, those whose in-edges are here.
  [[nodiscard]] std::span<const int64_t> Destinations(int node_type) const;
  // Row i is of Nodes()[i]. Index of the feature as in the schema.
  [[nodiscard]] const NpyArray& NodeFeature(int node_type, int feature) const;

  // In-edges of Destinations()[i] of the relation's destination type: positions
  // [indptr[i], indptr[i + 1]) of the sources, whose global edge ids are first_edges[i] onwards.
  struct InEdges {
    std::span<const int64_t> indptr;
    const uint32_t* indices32 = nullptr;  // one of the two, as in CscSegment
    const int64_t* indices64 = nullptr;
    std::span<const int64_t> first_edges;

    [[nodiscard]] int64_t Source(int64_t position) const {
      return indices32 != nullptr ? int64_t{indices32[position]} : indices64[position];
    }
  };
  [[nodiscard]] const InEdges& Edges(int relation) const {
    return edges_[static_cast<size_t>(relation)];
  }

 private:
  struct Arrays;
  Halo() = default;
  [[nodiscard]] Status Map(const std::filesystem::path& folder, const Partition& part);
  [[nodiscard]] Status CheckContents(const std::filesystem::path& folder,
                                     const Partition& part) const;

  HaloManifest manifest_;
  std::vector<InEdges> edges_;
  std::shared_ptr<const Arrays> arrays_;
};

// Position of `id` among ascending `ids`; -1 if it is not there.
[[nodiscard]] int64_t PositionOf(std::span<const int64_t> ids, int64_t id);

}  // namespace halograph
