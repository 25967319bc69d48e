#include "partitioner/halo/add_halo.h"

#include <algorithm>
#include <cstring>
#include <string>

#include <fmt/format.h>

#include "common/base/build_info.h"
#include "common/base/progress.h"
#include "common/storage/disk_space.h"
#include "common/storage/file.h"
#include "partitioner/halo/reach.h"
#include "partitioner/write/mapped_npy.h"

namespace halograph {
namespace {

// Rows between two words to the kernel that the rows before are done.
constexpr int64_t kReleaseRows = int64_t{64} << 10;

// One part's halo on its way into `folder`.
class HaloWriter {
 public:
  HaloWriter(const PartitionSet& graph, const HaloReach& reach, int part, int hops,
             std::filesystem::path folder)
      : graph_(graph), schema_(graph.schema()), reach_(reach), folder_(std::move(folder)) {
    manifest_.identity = graph.identity();
    manifest_.build = BuildVersion();
    manifest_.part = part;
    manifest_.hops = hops;
    for (int t = 0; t < static_cast<int>(schema_.node_types.size()); ++t) {
      manifest_.nodes.push_back(reach.Nodes(t).Count());
      manifest_.destinations.push_back(reach.Destinations(t).Count());
    }
    for (int r = 0; r < static_cast<int>(schema_.relations.size()); ++r) {
      int64_t edges = 0;
      DestinationsOf(r).ForEach([&](int64_t node) { edges += RowOf(r, node).degree(); });
      manifest_.edges.push_back(edges);
    }
  }

  // Of the arrays: what is asked of the disk before anything is written.
  [[nodiscard]] int64_t Bytes() const {
    int64_t bytes = 0;
    for (size_t t = 0; t < schema_.node_types.size(); ++t) {
      bytes += (manifest_.nodes[t] + manifest_.destinations[t]) * int64_t{sizeof(int64_t)};
      for (const TensorSpec& spec : schema_.node_types[t].features) {
        bytes += manifest_.nodes[t] * static_cast<int64_t>(spec.row_bytes());
      }
    }
    for (int r = 0; r < static_cast<int>(schema_.relations.size()); ++r) {
      const auto rows = manifest_.destinations[static_cast<size_t>(schema_.DestinationType(r))];
      bytes += (2 * rows + 1) * int64_t{sizeof(int64_t)};
      bytes +=
          manifest_.edges[static_cast<size_t>(r)] * static_cast<int64_t>(DTypeSize(SourceDType(r)));
    }
    return bytes;
  }

  [[nodiscard]] StatusOr<HaloManifest> Write() {
    for (int t = 0; t < static_cast<int>(schema_.node_types.size()); ++t) {
      HG_RETURN_IF_ERROR(WriteNodes(t));
    }
    for (int r = 0; r < static_cast<int>(schema_.relations.size()); ++r) {
      HG_RETURN_IF_ERROR(WriteEdges(r));
    }
    HG_RETURN_IF_ERROR(SyncFileSystem(folder_));
    std::sort(paths_.begin(), paths_.end());
    for (const std::string& path : paths_) {
      HG_ASSIGN_OR_RETURN(FileEntry file, ChecksumFile(folder_, path));
      manifest_.files.push_back(std::move(file));
    }
    HG_RETURN_IF_ERROR(WriteHaloManifest(folder_, manifest_));
    return manifest_;
  }

 private:
  struct EdgeRow {
    const CscSegment* segment = nullptr;
    int64_t begin = 0;
    int64_t end = 0;
    [[nodiscard]] int64_t degree() const { return end - begin; }
  };
  // The in-edges of a node with their owner.
  [[nodiscard]] EdgeRow RowOf(int relation, int64_t node) const {
    const CscSegment& segment = graph_.topology()[static_cast<size_t>(relation)].Owner(node);
    const int64_t* const offsets = segment.indptr + (node - segment.nodes.begin);
    return {&segment, offsets[0], offsets[1]};
  }
  [[nodiscard]] const NodeBits& DestinationsOf(int relation) const {
    return reach_.Destinations(schema_.DestinationType(relation));
  }
  [[nodiscard]] DType SourceDType(int relation) const {
    const auto source = static_cast<size_t>(schema_.SourceType(relation));
    return SourceIdDType(schema_.node_types[source].count);
  }

  [[nodiscard]] StatusOr<MappedNpy> Create(const std::string& path, DType dtype, int64_t rows) {
    paths_.push_back(path);
    return MappedNpy::Create(folder_ / path, dtype, rows);
  }

  [[nodiscard]] Status WriteIds(const std::string& path, const NodeBits& nodes, int64_t count) {
    HG_ASSIGN_OR_RETURN(MappedNpy file, Create(path, DType::kInt64, count));
    auto* out = file.As<int64_t>();
    nodes.ForEach([&](int64_t node) { *out++ = node; });
    return file.Close();
  }

  [[nodiscard]] Status WriteNodes(int node_type) {
    const auto t = static_cast<size_t>(node_type);
    const NodeType& type = schema_.node_types[t];
    HG_RETURN_IF_ERROR(
        WriteIds(HaloIdsFile(type.name), reach_.Nodes(node_type), manifest_.nodes[t]));
    HG_RETURN_IF_ERROR(WriteIds(HaloDestinationsFile(type.name), reach_.Destinations(node_type),
                                manifest_.destinations[t]));
    for (int f = 0; f < static_cast<int>(type.features.size()); ++f) {
      HG_RETURN_IF_ERROR(WriteFeature(node_type, f));
    }
    return OkStatus();
  }

  [[nodiscard]] Status WriteFeature(int node_type, int feature) {
    const auto t = static_cast<size_t>(node_type);
    const NodeType& type = schema_.node_types[t];
    const TensorSpec& spec = type.features[static_cast<size_t>(feature)];
    const std::string path = FeatureFile(NodeFolder(type.name), spec.name);
    paths_.push_back(path);
    HG_ASSIGN_OR_RETURN(MappedNpy file,
                        MappedNpy::Create(folder_ / path, spec, manifest_.nodes[t]));
    const size_t row_bytes = file.row_bytes();
    int64_t row = 0;
    reach_.Nodes(node_type).ForEach([&](int64_t node) {
      const Partition& owner = *graph_.Find(graph_.book().NodeOwner(node_type, node));
      const int64_t first = graph_.book().NodeRange(node_type, owner.part()).begin;
      std::memcpy(file.data() + static_cast<size_t>(row) * row_bytes,
                  owner.NodeFeature(node_type, feature).data().data() +
                      static_cast<size_t>(node - first) * row_bytes,
                  row_bytes);
      if (++row % kReleaseRows == 0) file.ReleaseBefore(row);
    });
    return file.Close();
  }

  [[nodiscard]] Status WriteEdges(int relation) {
    const std::string triple = schema_.relations[static_cast<size_t>(relation)].triple();
    const auto type = static_cast<size_t>(schema_.DestinationType(relation));
    const int64_t rows = manifest_.destinations[type];
    const int64_t edges = manifest_.edges[static_cast<size_t>(relation)];
    HG_ASSIGN_OR_RETURN(MappedNpy indptr, Create(HaloIndptrFile(triple), DType::kInt64, rows + 1));
    HG_ASSIGN_OR_RETURN(MappedNpy first, Create(HaloFirstEdgesFile(triple), DType::kInt64, rows));
    HG_ASSIGN_OR_RETURN(MappedNpy indices,
                        Create(HaloIndicesFile(triple), SourceDType(relation), edges));
    const size_t id_bytes = indices.row_bytes();
    int64_t row = 0, written = 0;
    auto* const offsets = indptr.As<int64_t>();
    offsets[0] = 0;
    DestinationsOf(relation).ForEach([&](int64_t node) {
      const EdgeRow in = RowOf(relation, node);
      const void* const sources = in.segment->indices32 != nullptr
                                      ? static_cast<const void*>(in.segment->indices32 + in.begin)
                                      : static_cast<const void*>(in.segment->indices64 + in.begin);
      if (in.degree() > 0) {
        std::memcpy(indices.data() + static_cast<size_t>(written) * id_bytes, sources,
                    static_cast<size_t>(in.degree()) * id_bytes);
      }
      written += in.degree();
      first.As<int64_t>()[row] = in.segment->first_edge + in.begin;
      offsets[++row] = written;
      if (row % kReleaseRows == 0) indices.ReleaseBefore(written);
    });
    for (MappedNpy* file : {&indptr, &first, &indices}) HG_RETURN_IF_ERROR(file->Close());
    return OkStatus();
  }

  const PartitionSet& graph_;
  const Schema& schema_;
  const HaloReach& reach_;
  const std::filesystem::path folder_;
  HaloManifest manifest_;
  std::vector<std::string> paths_;
};

Status CheckOptions(const std::filesystem::path& graph, const PartitionSet& set,
                    const HaloOptions& options) {
  if (options.hops < 1 || options.hops > kMostHaloHops) {
    return InvalidArgument("--hops {} is outside [1, {}]", options.hops, kMostHaloHops);
  }
  for (const auto& part : set.parts()) {
    const std::filesystem::path halo = graph / PartFolderName(part->part()) / kHaloFolder;
    std::error_code error;
    if (options.replace || !std::filesystem::exists(halo, error)) continue;
    return AlreadyExists("{} exists; give --force to replace the halos of this graph",
                         halo.string());
  }
  return OkStatus();
}

}  // namespace

MemoryPlan PlanHalos(const std::vector<int64_t>& nodes_of_types) {
  return {{{"halos", {{"nodes within reach", HaloReach::Bytes(nodes_of_types)}}}}};
}

StatusOr<std::vector<HaloManifest>> AddHalos(const std::filesystem::path& graph,
                                             const HaloOptions& options) {
  HG_ASSIGN_OR_RETURN(const std::unique_ptr<PartitionSet> set,
                      PartitionSet::Open(graph, {}, options.verify));
  HG_RETURN_IF_ERROR(CheckOptions(graph, *set, options));
  std::vector<int64_t> nodes;
  for (const NodeType& type : set->schema().node_types) nodes.push_back(type.count);
  HG_RETURN_IF_ERROR(CheckMemory(PlanHalos(nodes), options.memory));
  HaloReach reach(*set);
  Progress progress("halos of parts", set->book().num_parts());
  std::vector<HaloManifest> made;
  for (const auto& part : set->parts()) {
    reach.Compute(part->part(), options.hops);
    HG_ASSIGN_OR_RETURN(TemporaryFolder folder,
                        TemporaryFolder::Create(graph / PartFolderName(part->part()) / kHaloFolder,
                                                options.replace));
    HaloWriter writer(*set, reach, part->part(), options.hops, folder.path());
    HG_RETURN_IF_ERROR(CheckDiskSpace(folder.path(), writer.Bytes()));
    HG_ASSIGN_OR_RETURN(HaloManifest manifest, writer.Write());
    HG_RETURN_IF_ERROR(folder.Commit());
    made.push_back(std::move(manifest));
    progress.Advance(1);
  }
  return made;
}

}  // namespace halograph
