// The folder that a fetch of topology fills: manifests first, then the files that they list, in
// chunks that are checked by checksum. Knows files, not servers.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "common/graph/manifest.h"

namespace halograph {

// What has a checksum of its own. `part`, `file`: indexes, the latter into the manifest's files.
struct TopologyChunk {
  int part = 0;
  size_t file = 0;
  int64_t offset = 0;  // in the file, bytes
  int64_t bytes = 0;
};

// Write and Fits are thread-safe; the others are not, and come first.
class TopologyFetchFolder {
 public:
  // `path` is made, with its parents, if it is not there.
  [[nodiscard]] static StatusOr<TopologyFetchFolder> Open(const std::filesystem::path& path);

  // Keeps the manifest of the next part, byte for byte.
  //   DataLoss            it is damaged, or lists what is no path below the part's folder
  //   FailedPrecondition  it is of another part or graph
  [[nodiscard]] Status AddManifest(std::string_view bytes, const std::string& identity);

  // With the manifests of all parts: checks that together they make `identity` (else
  // FailedPrecondition), and takes the disk space of all their files.
  // ResourceExhausted if it is not there: then nothing more is taken than before.
  [[nodiscard]] Status Allocate(const std::string& identity);

  [[nodiscard]] const FileEntry& entry(const TopologyChunk& chunk) const {
    return manifests_[static_cast<size_t>(chunk.part)].files[chunk.file];
  }
  // Bytes of all files, and the chunks that are not here yet, by part, file and offset. Reads what
  // earlier fetches left. `note` is called with each file's path before it is read.
  [[nodiscard]] int64_t total_bytes() const { return total_bytes_; }
  [[nodiscard]] StatusOr<std::vector<TopologyChunk>> Missing(
      const std::function<void(const std::string&)>& note) const;

  // Writes pieces one after the other from `offset` of the chunk's file on.
  // ResourceExhausted on a full disk: file, bytes and what to do.
  [[nodiscard]] Status Write(const TopologyChunk& chunk, int64_t offset,
                             std::span<const std::span<const std::byte>> pieces) const;
  // Whether the chunk on the disk has the manifest's checksum.
  [[nodiscard]] StatusOr<bool> Fits(const TopologyChunk& chunk) const;

  // Syncs every file and folder and renames it all to `target`. `note` as Missing's.
  [[nodiscard]] Status Commit(const std::filesystem::path& target,
                              const std::function<void(const std::string&)>& note) const;

 private:
  explicit TopologyFetchFolder(std::filesystem::path path) : path_(std::move(path)) {}
  [[nodiscard]] std::filesystem::path FilePath(int part, const FileEntry& entry) const;
  [[nodiscard]] Status TakeSpace(std::vector<std::filesystem::path>* made) const;

  std::filesystem::path path_;
  std::vector<PartManifest> manifests_;  // `files`: those of the topology only
  std::vector<std::string> digests_;     // of all files, by part
  int64_t total_bytes_ = 0;
};

}  // namespace halograph
