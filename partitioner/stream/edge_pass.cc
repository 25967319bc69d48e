#include "partitioner/stream/edge_pass.h"

#include <memory>
#include <thread>
#include <utility>

#include "common/base/bounded_queue.h"
#include "common/base/progress.h"
#include "common/base/units.h"
#include "partitioner/stream/union_nodes.h"

namespace halograph {
namespace {

constexpr char kChanged[] = "; it changed while it was read: restart when no program writes to it";

// Reads one relation on a thread of its own. Chunks go round: those that were visited come back to
// be filled again, so a pass allocates a handful once.
class ChunkReader {
 public:
  explicit ChunkReader(std::unique_ptr<EdgeCursor> cursor)
      : cursor_(std::move(cursor)), full_(kReadAhead), empty_(kReadAhead + 2) {
    for (size_t i = 0; i < kReadAhead + 2; ++i) Return(std::make_unique<EdgeChunk>());
    thread_ = std::thread([this] { Read(); });
  }
  ~ChunkReader() {
    full_.Close();
    empty_.Close();
    thread_.join();
  }
  ChunkReader(const ChunkReader&) = delete;
  ChunkReader& operator=(const ChunkReader&) = delete;

  // Null at the end, or where reading failed: status() then tells which.
  [[nodiscard]] std::unique_ptr<EdgeChunk> Next() {
    auto chunk = full_.Pop();
    return chunk ? std::move(*chunk) : nullptr;
  }
  void Return(std::unique_ptr<EdgeChunk> chunk) {
    // There are no more chunks than places, so this never drops one while the pass goes on.
    static_cast<void>(empty_.TryPush(chunk));
  }
  // After Next gave null.
  [[nodiscard]] Status status() const { return status_; }

 private:
  void Read() {
    while (auto chunk = empty_.Pop()) {
      const StatusOr<bool> more = cursor_->Next(chunk->get());
      if (!more.ok()) status_ = more.status();
      if (!more.ok() || !*more || !full_.Push(std::move(*chunk))) break;
    }
    full_.Close();  // publishes status_: Pop gives nullopt only after this
  }

  std::unique_ptr<EdgeCursor> cursor_;
  BoundedQueue<std::unique_ptr<EdgeChunk>> full_;
  BoundedQueue<std::unique_ptr<EdgeChunk>> empty_;
  Status status_;
  std::thread thread_;
};

Status ReadRelation(const InputRelation& relation, Progress* progress, const auto& visit) {
  HG_ASSIGN_OR_RETURN(auto cursor, relation.edges->Open());
  ChunkReader reader(std::move(cursor));
  while (auto chunk = reader.Next()) {
    HG_RETURN_IF_ERROR(visit(chunk.get()));
    progress->Advance(static_cast<int64_t>(chunk->size()));
    reader.Return(std::move(chunk));
  }
  return reader.status();
}

void AddTo(std::vector<int64_t>* ids, int64_t offset) {
  if (offset == 0) return;
  for (int64_t& id : *ids) id += offset;
}

}  // namespace

Status ForEachUnionEdges(const Dataset& dataset, const std::string& phase,
                         const VisitUnionEdges& visit) {
  int64_t total = 0;
  for (const InputRelation& relation : dataset.relations) total += relation.edges->max_edges();
  const UnionNodes nodes(dataset);
  Progress progress(phase, total);
  for (size_t r = 0; r < dataset.relations.size(); ++r) {
    const InputRelation& relation = dataset.relations[r];
    const int64_t source_offset = nodes.offset(dataset.NodeTypeIndex(relation.source));
    const int64_t destination_offset = nodes.offset(dataset.NodeTypeIndex(relation.destination));
    const auto visit_chunk = [&](EdgeChunk* chunk) {
      AddTo(&chunk->sources, source_offset);
      AddTo(&chunk->destinations, destination_offset);
      return visit({static_cast<int>(r), chunk->sources, chunk->destinations, chunk->ids});
    };
    HG_RETURN_IF_ERROR(ReadRelation(relation, &progress, visit_chunk));
  }
  return OkStatus();
}

Status RepeatUnionEdges(const Dataset& dataset, const std::string& phase, int64_t edges,
                        const VisitUnionEdges& visit) {
  int64_t now = 0;
  HG_RETURN_IF_ERROR(ForEachUnionEdges(dataset, phase, [&](const UnionEdges& chunk) {
    now += static_cast<int64_t>(chunk.sources.size());
    return now <= edges ? visit(chunk) : OkStatus();  // what is too much is only counted
  }));
  return CheckSameEdges(phase, edges, now);
}

Status ForEachEdges(const InputRelation& relation, const std::string& phase,
                    const VisitEdges& visit) {
  Progress progress(phase, relation.edges->max_edges());
  return ReadRelation(relation, &progress, [&](EdgeChunk* chunk) { return visit(*chunk); });
}

Status CheckSameEdges(const std::string& phase, int64_t first, int64_t now) {
  if (first == now) return OkStatus();
  return DataLoss("{}: the input gave {} edges, {} in the first pass{}", phase, FormatCount(now),
                  FormatCount(first), kChanged);
}

Status OtherEdges(const std::string& phase) {
  return DataLoss("{}: the input gave other edges than in the first pass{}", phase, kChanged);
}

}  // namespace halograph
