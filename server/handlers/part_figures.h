// Figures of the partitions and of the disk that take long to read, or may hang: not to be read by
// who serves. Thread-safe.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>

#include "common/base/cancel.h"
#include "common/storage/disk_space.h"
#include "server/handlers/served_graph.h"

namespace halograph::server {

struct PartBytes {
  int64_t files = 0;   // of all files of the part, as its manifest lists them
  int64_t mapped = 0;  // of those that are open
};
// By part.
[[nodiscard]] std::map<int, PartBytes> BytesOfParts(const ServedGraph& graph);

// Of what is mapped of each part, how much is in RAM. Without parts where the kernel does not tell
// (MappedFile::ResidentBytes). Ends soon after `ending` is cancelled, with less.
[[nodiscard]] std::map<int, int64_t> ResidentBytesOfParts(const ServedGraph& graph,
                                                          const CancelToken& ending);

// Of the file system that each part's folder below `state_folder` is on. Without parts whose folder
// cannot be asked.
[[nodiscard]] std::map<int, DiskRoom> DiskRoomOfParts(const ServedGraph& graph,
                                                      const std::filesystem::path& state_folder);

}  // namespace halograph::server
