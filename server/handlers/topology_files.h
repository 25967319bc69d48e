// GraphService/ReadTopology without its wire: ranges of the files that hold the topology of the
// parts served here, for clients that keep a copy. Immutable; thread-safe. Data are views of the
// mapped files: nothing is copied.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>

#include "common/base/status.h"
#include "common/storage/file.h"
#include "server/handlers/served_graph.h"

namespace halograph::server {

inline constexpr char kPartManifestPath[] = "manifest.json";

// The files, mapped: of each part its manifest, and what that lists of the topology.
class TopologyFiles {
 public:
  // Room for what stands before the data in a reply: two tags, a size and a length.
  static constexpr size_t kHeaderBytes = 32;

  // `folder`: what the parts of `graph` were opened from. None where the topology is not served.
  // Errors as MappedFile::Open.
  [[nodiscard]] static StatusOr<std::shared_ptr<const TopologyFiles>> Open(
      const ServedGraph& graph, const std::filesystem::path& folder);

  // nullptr if there is no such file of that part.
  [[nodiscard]] const MappedFile* Find(int part, const std::string& path) const;

 private:
  std::map<int, std::map<std::string, MappedFile>> files_;  // [part][path]
};

struct TopologyRequest {
  int64_t part = 0;
  std::string path;
  int64_t offset = 0;
  int64_t length = 0;  // 0: up to the file's end
};

struct TopologyRange {
  int64_t file_bytes = 0;
  std::span<const std::byte> data;  // a prefix of what was asked for, as much as a message holds
};

// The relation that a file of a part is of; empty: of none that the schema has.
[[nodiscard]] std::string RelationOfFile(const Schema& schema, const std::string& path);

class TopologyHandler {
 public:
  // `graph` and `files` must outlive the handler and the ranges. `max_reply_bytes`: of a whole
  // reply.
  TopologyHandler(const ServedGraph* graph, const TopologyFiles* files, int64_t max_reply_bytes)
      : graph_(graph), files_(files), max_reply_bytes_(max_reply_bytes) {}

  // Has read the range into memory when it returns: gRPC's threads do not wait for a disk.
  //   FailedPrecondition  the topology is not served: says what to do
  //   NotFound            no such file of the topology
  //   OutOfRange          a part not served here; a range that is not within the file
  [[nodiscard]] StatusOr<TopologyRange> Read(const TopologyRequest& request) const;

 private:
  const ServedGraph* graph_;
  const TopologyFiles* files_;
  int64_t max_reply_bytes_;
};

}  // namespace halograph::server
