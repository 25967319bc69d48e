#include "partitioner/write/edge_writer.h"

#include <limits>
#include <utility>

#include <fmt/format.h>

#include "common/base/progress.h"
#include "partitioner/write/csc_files.h"
#include "partitioner/write/edge_features.h"
#include "partitioner/write/sampling_weights.h"

namespace halograph {
namespace {

// Loads and stores that miss the cache are asked for this many edges ahead.
constexpr size_t kAhead = 32;

// One relation on its way to the files.
class RelationWriter {
 public:
  RelationWriter(const WriteContext& context, int relation)
      : context_(context),
        input_(context.dataset.relations[static_cast<size_t>(relation)]),
        source_type_(context.dataset.NodeTypeIndex(input_.source)),
        destination_type_(context.dataset.NodeTypeIndex(input_.destination)),
        owners_(context.numbering.Owners(destination_type_)),
        global_sources_(context.numbering.GlobalIds(source_type_)) {}

  StatusOr<WrittenRelation> Write() {
    HG_RETURN_IF_ERROR(CountInDegrees());
    HG_RETURN_IF_ERROR(CreateFiles());
    constexpr int64_t kFits32 = int64_t{std::numeric_limits<uint32_t>::max()} + 1;
    if (static_cast<int64_t>(global_sources_.size()) <= kFits32) {
      HG_RETURN_IF_ERROR(FillAndClose<uint32_t>());
    } else {
      HG_RETURN_IF_ERROR(FillAndClose<int64_t>());
    }
    return std::move(result_);
  }

 private:
  template <typename Visit>
  Status ForEachChunk(std::string_view phase, Visit visit) {
    Progress progress(fmt::format("{} {}", phase, input_.triple()), input_.edges->max_edges());
    HG_ASSIGN_OR_RETURN(const auto cursor, input_.edges->Open());
    EdgeChunk chunk;
    while (true) {
      HG_ASSIGN_OR_RETURN(const bool more, cursor->Next(&chunk));
      if (!more) return OkStatus();
      HG_RETURN_IF_ERROR(visit(chunk));
      progress.Advance(static_cast<int64_t>(chunk.size()));
    }
  }

  // next_[v] = in-degree of destination v (an input id).
  Status CountInDegrees() {
    next_.assign(owners_.size(), 0);
    EdgeCounts& counts = result_.counts;
    HG_RETURN_IF_ERROR(ForEachChunk("counting", [&](const EdgeChunk& chunk) {
      for (const int64_t destination : chunk.destinations) {
        ++next_[static_cast<size_t>(destination)];
      }
      if (source_type_ == destination_type_) {
        for (size_t i = 0; i < chunk.size(); ++i) {
          counts.self_loops += chunk.sources[i] == chunk.destinations[i] ? 1 : 0;
        }
      }
      streamed_ += static_cast<int64_t>(chunk.size());
      return OkStatus();
    }));
    counts.read = input_.edges->max_edges();
    counts.self_loops_dropped = counts.read - streamed_;
    return OkStatus();
  }

  // Writes indptr and turns next_ into where each destination's first in-edge goes.
  Status CreateFiles() {
    const auto parts = static_cast<size_t>(context_.num_parts());
    files_.resize(parts);
    std::vector<int64_t*> row(parts);
    for (size_t p = 0; p < parts; ++p) {
      const int64_t core = context_.numbering.CoreNodes(destination_type_, static_cast<int>(p));
      HG_ASSIGN_OR_RETURN(files_[p].indptr,
                          MappedNpy::Create(Path(p, "indptr"), DType::kInt64, core + 1));
      row[p] = files_[p].indptr.As<int64_t>();
      *row[p] = 0;
    }
    for (size_t v = 0; v < next_.size(); ++v) {
      int64_t*& end = row[owners_[v]];
      const int64_t start = *end;
      *++end = start + next_[v];
      next_[v] = start;
    }
    for (size_t p = 0; p < parts; ++p) result_.edges.push_back(*row[p]);
    return OkStatus();
  }

  template <typename IdT>
  Status FillAndClose() {
    for (size_t p = 0; p < files_.size(); ++p) {
      HG_ASSIGN_OR_RETURN(files_[p].indices,
                          MappedNpy::Create(Path(p, "indices"), DTypeOf<IdT>(), result_.edges[p]));
      HG_ASSIGN_OR_RETURN(
          files_[p].original_ids,
          MappedNpy::Create(Path(p, "original_ids"), DType::kInt64, result_.edges[p]));
    }
    HG_RETURN_IF_ERROR(Fill<IdT>());
    next_ = {};
    const bool drop = context_.options.drop_duplicates;
    for (size_t p = 0; p < files_.size(); ++p) {
      HG_ASSIGN_OR_RETURN(const int64_t found, FindDuplicates<IdT>(&files_[p], drop));
      result_.counts.duplicates += found;
      if (drop) result_.counts.duplicates_dropped += found;
      result_.edges[p] = files_[p].indices.rows();
      HG_RETURN_IF_ERROR(files_[p].Close());
    }
    return OkStatus();
  }

  template <typename IdT>
  Status Fill() {
    struct Target {
      IdT* sources;
      int64_t* ids;
    };
    std::vector<Target> targets;
    for (CscFiles& files : files_) {
      targets.push_back({files.indices.As<IdT>(), files.original_ids.As<int64_t>()});
    }
    int64_t filled = 0;
    return ForEachChunk("writing", [&](const EdgeChunk& chunk) -> Status {
      filled += static_cast<int64_t>(chunk.size());
      // A stream that grew between the passes would be written beyond the files.
      if (filled > streamed_) {
        return DataLoss("{}: more than the {} edges of the first pass; the input changed",
                        input_.triple(), streamed_);
      }
      for (size_t i = 0; i < chunk.size(); ++i) {
        if (i + kAhead < chunk.size()) {
          const auto ahead = static_cast<size_t>(chunk.destinations[i + kAhead]);
          __builtin_prefetch(&owners_[ahead]);
          __builtin_prefetch(&next_[ahead], 1);
          __builtin_prefetch(&global_sources_[static_cast<size_t>(chunk.sources[i + kAhead])]);
        }
        const auto destination = static_cast<size_t>(chunk.destinations[i]);
        const Target& target = targets[owners_[destination]];
        const int64_t position = next_[destination]++;
        target.sources[position] =
            static_cast<IdT>(global_sources_[static_cast<size_t>(chunk.sources[i])]);
        target.ids[position] = chunk.ids[i];
      }
      return OkStatus();
    });
  }

  [[nodiscard]] std::filesystem::path Path(size_t part, std::string_view name) const {
    return context_.PartFolder(static_cast<int>(part)) / EdgeFolder(input_.triple()) /
           fmt::format("{}.npy", name);
  }

  const WriteContext& context_;
  const InputRelation& input_;
  const int source_type_;
  const int destination_type_;
  const std::vector<uint16_t>& owners_;
  const std::vector<int64_t>& global_sources_;
  std::vector<int64_t> next_;
  std::vector<CscFiles> files_;
  int64_t streamed_ = 0;
  WrittenRelation result_;
};

}  // namespace

void EdgeCounts::Add(const EdgeCounts& other) {
  read += other.read;
  self_loops += other.self_loops;
  self_loops_dropped += other.self_loops_dropped;
  duplicates += other.duplicates;
  duplicates_dropped += other.duplicates_dropped;
}

StatusOr<WrittenRelation> WriteRelation(const WriteContext& context, int relation) {
  HG_ASSIGN_OR_RETURN(WrittenRelation written, RelationWriter(context, relation).Write());
  HG_RETURN_IF_ERROR(WriteEdgeFeatures(context, relation));
  HG_ASSIGN_OR_RETURN(written.undrawable_nodes, WriteWeightTables(context, relation));
  return written;
}

}  // namespace halograph
