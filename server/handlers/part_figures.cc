#include "server/handlers/part_figures.h"

#include <optional>

#include "common/base/log.h"
#include "common/graph/manifest.h"

namespace halograph::server {
namespace {

std::optional<int64_t> ResidentBytesOf(const Partition& part, const CancelToken& ending) {
  int64_t bytes = 0;
  for (const MappedFile* file : part.Files()) {
    const std::optional<int64_t> resident = file->ResidentBytes(ending);
    if (!resident) return std::nullopt;
    bytes += *resident;
  }
  return bytes;
}

}  // namespace

std::map<int, PartBytes> BytesOfParts(const ServedGraph& graph) {
  std::map<int, PartBytes> parts;
  for (const auto& part : graph.parts()) {
    PartBytes& bytes = parts[part->part()];
    for (const FileEntry& file : part->manifest().files) bytes.files += file.bytes;
    for (const MappedFile* file : part->Files()) bytes.mapped += std::ssize(file->bytes());
  }
  return parts;
}

std::map<int, int64_t> ResidentBytesOfParts(const ServedGraph& graph, const CancelToken& ending) {
  std::map<int, int64_t> parts;
  for (const auto& part : graph.parts()) {
    if (const auto bytes = ResidentBytesOf(*part, ending)) parts[part->part()] = *bytes;
  }
  return parts;
}

std::map<int, DiskRoom> DiskRoomOfParts(const ServedGraph& graph,
                                        const std::filesystem::path& state_folder) {
  std::map<int, DiskRoom> parts;
  for (const int part : graph.part_numbers()) {
    const StatusOr<DiskRoom> room = ReadDiskRoom(state_folder / PartFolderName(part));
    if (room.ok()) {
      parts[part] = *room;
    } else {
      spdlog::debug("{}", Message(room.status()));
    }
  }
  return parts;
}

}  // namespace halograph::server
