#include "client/topology_copy/fetch_calls.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "common/base/log.h"
#include "common/base/mutex.h"
#include "common/base/progress.h"
#include "common/base/stopwatch.h"
#include "common/base/units.h"
#include "common/storage/file_checksums.h"
#include "halograph/v1/graph.pb.h"
#include "proto/wire/read_replies.h"

namespace halograph {

namespace {

constexpr int64_t kMiB = 1 << 20;
// A manifest has some 20 bytes a chunk of 64 MiB: this one would list hundreds of terabytes.
constexpr int64_t kLargestManifest = 256 * kMiB;

constexpr char kManifestPath[] = "manifest.json";
constexpr Method kMethod = Method::kReadTopology;

std::string EncodeRequest(int part, const std::string& path, int64_t offset, int64_t length) {
  v1::ReadTopologyRequest request;
  request.set_part(static_cast<uint32_t>(part));
  request.set_path(path);
  request.set_offset(offset);
  request.set_length(length);
  return request.SerializeAsString();
}

// ---- manifests -------------------------------------------------------------------------------

struct ManifestCall {
  Cluster* cluster = nullptr;
  int part = 0;
  const ReplicaSet* set = nullptr;  // that serves the part's topology
  int64_t file_bytes = 1;           // known with the first reply, to a request for one byte
  std::string bytes;                // what has come; one call at a time adds to it
  int64_t asked_to = 0;             // offset up to which the file was asked for

  // Asks for what was asked for and has not come, or for as much of the rest as one reply holds.
  Rpc Next();
  Status OnReply(ReplyPieces pieces, std::vector<Rpc>* more);
};

Rpc ManifestCall::Next() {
  Rpc rpc = RpcTo(*set, kMethod);
  const auto offset = static_cast<int64_t>(bytes.size());
  rpc.continues = offset < asked_to;
  if (!rpc.continues) {
    asked_to = offset + std::min(file_bytes - offset, set->planned_bytes);
  }
  rpc.make_request = [this, offset] {
    return EncodeRequest(part, kManifestPath, offset, asked_to - offset);
  };
  rpc.on_reply = [this](ReplyPieces pieces, std::vector<Rpc>* more) {
    return OnReply(pieces, more);
  };
  rpc.on_error = [this](int asked, const Status& error, std::vector<Rpc>*) {
    return cluster->ExplainTooLarge(asked, error);
  };
  return rpc;
}

Status ManifestCall::OnReply(ReplyPieces pieces, std::vector<Rpc>* more) {
  HG_ASSIGN_OR_RETURN(const wire::TopologyReply reply, wire::ReadTopologyReply(pieces));
  const auto data_bytes = static_cast<int64_t>(reply.data.size);
  const int64_t left = reply.file_bytes - static_cast<int64_t>(bytes.size());
  const int64_t asked = asked_to - static_cast<int64_t>(bytes.size());
  if (reply.file_bytes > kLargestManifest || data_bytes > std::min(left, asked) ||
      (data_bytes == 0 && left != 0)) {
    return DataLoss("{} of part {}: a reply of {} bytes at offset {} of {}", kManifestPath, part,
                    data_bytes, bytes.size(), reply.file_bytes);
  }
  for (const std::span<const std::byte> piece : reply.data.runs) {
    bytes.append(reinterpret_cast<const char*>(piece.data()), piece.size());
  }
  file_bytes = reply.file_bytes;
  if (data_bytes < left) more->push_back(Next());
  return OkStatus();
}

// ---- chunks ----------------------------------------------------------------------------------

// What has come of all chunks, for people. Thread-safe.
class FetchProgress {
 public:
  FetchProgress(int64_t bytes, TopologyFetchLock* lock)
      : bytes_(bytes), lock_(*lock), progress_("fetching the topology, MiB", bytes / kMiB) {}

  void Advance(int64_t bytes) {
    const int64_t before = done_.fetch_add(bytes);
    progress_.Advance((before + bytes) / kMiB - before / kMiB);
    const MutexLock guard(mutex_);
    const auto now = std::chrono::steady_clock::now();
    if (now < next_note_) return;
    next_note_ = now + std::chrono::seconds(1);
    lock_.Note(fmt::format("fetched {} of {}", FormatBytes(before + bytes), FormatBytes(bytes_)));
  }

 private:
  const int64_t bytes_;
  TopologyFetchLock& lock_;
  Progress progress_;
  std::atomic<int64_t> done_ = 0;
  Mutex mutex_;
  std::chrono::steady_clock::time_point next_note_ HG_GUARDED_BY(mutex_);
};

// A missing chunk, read by several calls at once.
struct ChunkState {
  TopologyChunk chunk;
  const ReplicaSet* set = nullptr;  // that serves the part's topology
  std::atomic<int64_t> left = 0;    // bytes that have not been written
  bool again = false;               // it was wrong once; changed while no call of it is under way
};

class ChunkCalls {
 public:
  ChunkCalls(Cluster* cluster, const TopologyFetchFolder& folder, FetchProgress* progress)
      : cluster_(*cluster), served_(cluster->served()), folder_(folder), progress_(*progress) {}

  // FailedPrecondition: nobody serves a part's topology.
  [[nodiscard]] StatusOr<std::vector<Rpc>> Plan(const std::vector<TopologyChunk>& chunks);

 private:
  void AddReads(ChunkState* state, std::vector<Rpc>* calls);
  Rpc Read(ChunkState* state, int64_t offset, int64_t bytes);
  Status OnReply(ChunkState* state, int64_t offset, int64_t bytes, ReplyPieces pieces,
                 std::vector<Rpc>* more);
  Status Check(ChunkState* state, std::vector<Rpc>* more);

  Cluster& cluster_;
  const std::shared_ptr<const ServedParts> served_;
  const TopologyFetchFolder& folder_;
  FetchProgress& progress_;
  std::deque<ChunkState> states_;
};

StatusOr<std::vector<Rpc>> ChunkCalls::Plan(const std::vector<TopologyChunk>& chunks) {
  std::vector<Rpc> calls;
  for (const TopologyChunk& chunk : chunks) {
    ChunkState& state = states_.emplace_back();
    state.chunk = chunk;
    state.set = served_->topology().Find(chunk.part);
    if (state.set == nullptr) return cluster_.WithoutTopology(chunk.part);
    AddReads(&state, &calls);
  }
  return calls;
}

void ChunkCalls::AddReads(ChunkState* state, std::vector<Rpc>* calls) {
  state->left = state->chunk.bytes;
  const int64_t most = state->set->planned_bytes;
  const int64_t end = state->chunk.offset + state->chunk.bytes;
  for (int64_t offset = state->chunk.offset; offset < end; offset += most) {
    calls->push_back(Read(state, offset, std::min(most, end - offset)));
  }
}

Rpc ChunkCalls::Read(ChunkState* state, int64_t offset, int64_t bytes) {
  Rpc rpc = RpcTo(*state->set, kMethod);
  rpc.make_request = [this, state, offset, bytes] {
    return EncodeRequest(state->chunk.part, folder_.entry(state->chunk).path, offset, bytes);
  };
  rpc.on_reply = [this, state, offset, bytes](ReplyPieces pieces, std::vector<Rpc>* more) {
    return OnReply(state, offset, bytes, pieces, more);
  };
  rpc.on_error = [this](int asked, const Status& error, std::vector<Rpc>*) {
    return cluster_.ExplainTooLarge(asked, error);
  };
  return rpc;
}

// Writes on gRPC's thread: a disk that is slower than the network then slows the network down,
// and nothing piles up in memory.
Status ChunkCalls::OnReply(ChunkState* state, int64_t offset, int64_t bytes, ReplyPieces pieces,
                           std::vector<Rpc>* more) {
  HG_ASSIGN_OR_RETURN(const wire::TopologyReply reply, wire::ReadTopologyReply(pieces));
  const auto data_bytes = static_cast<int64_t>(reply.data.size);
  const FileEntry& entry = folder_.entry(state->chunk);
  if (reply.file_bytes != entry.bytes || data_bytes <= 0 || data_bytes > bytes) {
    return DataLoss(
        "{} of part {}: a reply of {} bytes to a request for {} at offset {} of {}; the manifest "
        "says that the file has {}",
        entry.path, state->chunk.part, data_bytes, bytes, offset, reply.file_bytes, entry.bytes);
  }
  HG_RETURN_IF_ERROR(folder_.Write(state->chunk, offset, reply.data.runs));
  if (data_bytes < bytes) {
    more->push_back(Read(state, offset + data_bytes, bytes - data_bytes));
    more->back().continues = true;
  }
  progress_.Advance(data_bytes);
  if (state->left.fetch_sub(data_bytes) > data_bytes) return OkStatus();
  return Check(state, more);
}

Status ChunkCalls::Check(ChunkState* state, std::vector<Rpc>* more) {
  const TopologyChunk& chunk = state->chunk;
  HG_ASSIGN_OR_RETURN(const bool fits, folder_.Fits(chunk));
  if (fits) return OkStatus();
  const std::string what = fmt::format("{} of part {}: bytes {} to {}", folder_.entry(chunk).path,
                                       chunk.part, chunk.offset, chunk.offset + chunk.bytes - 1);
  if (state->again) {
    return DataLoss(
        "{} arrived twice with a checksum that differs from the manifest's: the server's file or "
        "the network damages them; restart the server with --verify contents to find out",
        what);
  }
  spdlog::warn("{}: {} arrived with a wrong checksum and are fetched again",
               served_->Addresses(*state->set), what);
  state->again = true;
  progress_.Advance(-chunk.bytes);
  AddReads(state, more);
  return OkStatus();
}

// `status` of calls; where time ran out, with what to do.
Status ExplainTooSlow(const Status& status) {
  if (status.code() != absl::StatusCode::kDeadlineExceeded &&
      status.code() != absl::StatusCode::kUnavailable) {
    return status;
  }
  return MakeStatus(status.code(),
                    fmt::format("{}; what has arrived is kept: start again to go on, and raise "
                                "--timeout if the network or the server is slow",
                                Message(status)));
}

}  // namespace

Status FetchManifests(Cluster* cluster, CallContext& context, TopologyFetchFolder* folder) {
  const std::shared_ptr<const ServedParts> served = cluster->served();
  std::vector<ManifestCall> manifests(static_cast<size_t>(cluster->info().book.num_parts()));
  std::vector<Rpc> calls;
  for (size_t part = 0; part < manifests.size(); ++part) {
    manifests[part].cluster = cluster;
    manifests[part].part = static_cast<int>(part);
    manifests[part].set = served->topology().Find(static_cast<int>(part));
    if (manifests[part].set == nullptr) return cluster->WithoutTopology(static_cast<int>(part));
    calls.push_back(manifests[part].Next());
  }
  HG_RETURN_IF_ERROR(ExplainTooSlow(cluster->rpc().Run(context, std::move(calls))));
  for (const ManifestCall& manifest : manifests) {
    if (Status status = folder->AddManifest(manifest.bytes, cluster->info().identity);
        !status.ok()) {
      return Annotate(status, served->Addresses(*manifest.set));
    }
  }
  return OkStatus();
}

Status FetchChunks(Cluster* cluster, CallContext& context, const TopologyFetchFolder& folder,
                   TopologyFetchLock* lock) {
  HG_ASSIGN_OR_RETURN(
      const std::vector<TopologyChunk> missing,
      folder.Missing([lock](const std::string& path) { lock->Note("looks at " + path); }));
  int64_t bytes = 0;
  for (const TopologyChunk& chunk : missing) bytes += chunk.bytes;
  spdlog::info("fetching the topology of '{}': {}, of which {} are here from an earlier fetch",
               cluster->info().schema.graph_name, FormatBytes(folder.total_bytes()),
               FormatBytes(folder.total_bytes() - bytes));
  const Stopwatch watch;
  {
    FetchProgress progress(bytes, lock);
    ChunkCalls calls(cluster, folder, &progress);
    HG_ASSIGN_OR_RETURN(std::vector<Rpc> reads, calls.Plan(missing));
    HG_RETURN_IF_ERROR(ExplainTooSlow(cluster->rpc().Run(context, std::move(reads))));
  }
  const double seconds = watch.Seconds();
  spdlog::info(
      "fetched {} of topology in {}, {}/s", FormatBytes(bytes), FormatSeconds(seconds),
      FormatBytes(static_cast<int64_t>(static_cast<double>(bytes) / std::max(seconds, 1e-9))));
  return OkStatus();
}

}  // namespace halograph
