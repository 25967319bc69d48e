#include "server/handlers/topology_files.h"

#include <algorithm>

#include "common/graph/manifest.h"

namespace halograph::server {
namespace {

constexpr size_t kPageBytes = 4096;

// Faults the pages in on this thread.
void Touch(std::span<const std::byte> bytes) {
  for (size_t at = 0; at < bytes.size(); at += std::min(kPageBytes, bytes.size() - at)) {
    [[maybe_unused]] const volatile std::byte read = bytes[at];
  }
}

}  // namespace

StatusOr<std::shared_ptr<const TopologyFiles>> TopologyFiles::Open(
    const ServedGraph& graph, const std::filesystem::path& folder) {
  auto all = std::make_shared<TopologyFiles>();
  if (!graph.contents().topology) return all;
  for (const auto& partition : graph.parts()) {
    auto& files = all->files_[partition->part()];
    const std::filesystem::path part = folder / PartFolderName(partition->part());
    HG_ASSIGN_OR_RETURN(files[kPartManifestPath], MappedFile::Open(part / kPartManifestPath));
    for (const FileEntry& entry : partition->manifest().files) {
      if (!IsTopologyFile(entry.path)) continue;
      HG_ASSIGN_OR_RETURN(files[entry.path], MappedFile::Open(part / entry.path));
    }
  }
  return all;
}

const MappedFile* TopologyFiles::Find(int part, const std::string& path) const {
  const auto files = files_.find(part);
  if (files == files_.end()) return nullptr;
  const auto file = files->second.find(path);
  return file == files->second.end() ? nullptr : &file->second;
}

std::string RelationOfFile(const Schema& schema, const std::string& path) {
  for (const Relation& relation : schema.relations) {
    if (path.starts_with(EdgeFolder(relation.triple()) + "/")) return relation.triple();
  }
  return {};
}

StatusOr<TopologyRange> TopologyHandler::Read(const TopologyRequest& request) const {
  HG_RETURN_IF_ERROR(graph_->CheckServesTopology());
  if (graph_->Find(request.part) == nullptr) {
    return OutOfRange("part {} is not served here; this server serves {} of {}", request.part,
                      graph_->parts_text(), graph_->book().num_parts());
  }
  const MappedFile* file = files_->Find(static_cast<int>(request.part), request.path);
  if (file == nullptr) {
    return NotFound(
        "part {} has no file '{}' of the topology; {} lists them (below edges/, but "
        "original_ids.npy and features/)",
        request.part, request.path, kPartManifestPath);
  }
  TopologyRange range;
  range.file_bytes = static_cast<int64_t>(file->bytes().size());
  if (request.offset < 0 || request.offset > range.file_bytes || request.length < 0 ||
      request.length > range.file_bytes - request.offset) {
    return OutOfRange("{} bytes from {} on are not within the {} bytes of '{}' of part {}",
                      request.length, request.offset, range.file_bytes, request.path, request.part);
  }
  const int64_t wanted = request.length > 0 ? request.length : range.file_bytes - request.offset;
  const int64_t room = max_reply_bytes_ - static_cast<int64_t>(TopologyFiles::kHeaderBytes);
  range.data = file->bytes().subspan(static_cast<size_t>(request.offset),
                                     static_cast<size_t>(std::min(wanted, room)));
  Touch(range.data);
  return range;
}

}  // namespace halograph::server
