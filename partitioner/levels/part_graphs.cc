#include "partitioner/levels/part_graphs.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "common/base/prefetch.h"
#include "common/base/units.h"
#include "common/storage/file.h"
#include "common/storage/npy.h"
#include "partitioner/methods/constraints.h"
#include "partitioner/methods/task_columns.h"
#include "partitioner/readers/edge_array.h"
#include "partitioner/stream/ahead.h"
#include "partitioner/stream/edge_pass.h"
#include "partitioner/write/raw_file.h"

namespace halograph {
namespace {

namespace fs = std::filesystem;

constexpr char kTaskName[] = "rows";
// Of an .npy header, room for any number of rows among them.
constexpr size_t kHeaderBytes = 128;

// An .npy of rows whose number is known at the end. It is never synced: nothing outlives the run.
template <typename T>
class RowFile {
 public:
  // Of so many columns; 0: of rank 1.
  [[nodiscard]] static StatusOr<RowFile> Create(const fs::path& path, int64_t cols) {
    RowFile rows;
    rows.cols_ = cols;
    HG_ASSIGN_OR_RETURN(rows.file_, RawFile::Create(path));
    return rows;
  }

  [[nodiscard]] Status Add(T value) {
    buffer_.push_back(value);
    return buffer_.size() * sizeof(T) < PartGraphs::kBufferBytes ? OkStatus() : Flush();
  }
  [[nodiscard]] Status Close() {
    HG_RETURN_IF_ERROR(Flush());
    std::vector<int64_t> shape = {values_ / std::max<int64_t>(cols_, 1)};
    if (cols_ > 0) shape.push_back(cols_);
    const std::string header = EncodeNpyHeader(DTypeOf<T>(), shape, false, kHeaderBytes);
    HG_RETURN_IF_ERROR(file_.WriteAt(0, std::as_bytes(std::span(header))));
    return file_.Close();
  }

 private:
  [[nodiscard]] Status Flush() {
    const auto bytes = std::as_bytes(std::span<const T>(buffer_));
    HG_RETURN_IF_ERROR(file_.WriteAt(
        static_cast<int64_t>(kHeaderBytes) + values_ * static_cast<int64_t>(sizeof(T)), bytes));
    values_ += static_cast<int64_t>(buffer_.size());
    buffer_.clear();
    return OkStatus();
  }

  RawFile file_;
  int64_t cols_ = 0;
  int64_t values_ = 0;  // in the file
  std::vector<T> buffer_;
};

Status RemoveAll(const fs::path& folder) {
  std::error_code error;
  fs::remove_all(folder, error);
  return error ? ErrnoStatus(error.value(), "cannot remove", folder.string()) : OkStatus();
}

fs::path EdgePath(const fs::path& folder, int64_t part, size_t relation) {
  return folder / fmt::format("part-{}-edges-{}.npy", part, relation);
}

fs::path RowPath(const fs::path& folder, int64_t part, size_t set) {
  return folder / fmt::format("part-{}-rows-{}.npy", part, set);
}

template <typename T>
StatusOr<std::vector<RowFile<T>>> CreateFiles(IdRange parts, int64_t cols, const auto& path_of) {
  std::vector<RowFile<T>> files;
  files.reserve(static_cast<size_t>(parts.size()));
  for (int64_t part = parts.begin; part < parts.end; ++part) {
    HG_ASSIGN_OR_RETURN(RowFile<T> file, RowFile<T>::Create(path_of(part), cols));
    files.push_back(std::move(file));
  }
  return files;
}

template <typename T>
Status CloseAll(std::vector<RowFile<T>>* files) {
  for (RowFile<T>& file : *files) HG_RETURN_IF_ERROR(file.Close());
  return OkStatus();
}

// One end of the edges of a relation.
struct End {
  const uint16_t* owners;
  const uint32_t* local_ids;

  void AskFor(const std::vector<int64_t>& nodes, size_t i) const {
    if (i >= nodes.size()) return;
    PrefetchToRead(owners + nodes[i]);
    PrefetchToRead(local_ids + nodes[i]);
  }
};

Status SplitChunk(const EdgeChunk& chunk, const End& source, const End& destination, IdRange parts,
                  std::vector<RowFile<uint32_t>>* files) {
  for (size_t i = 0; i < chunk.size(); ++i) {
    source.AskFor(chunk.sources, i + kFarAhead);
    destination.AskFor(chunk.destinations, i + kFarAhead);
    const int64_t u = chunk.sources[i];
    const int64_t v = chunk.destinations[i];
    const int64_t part = source.owners[u];
    if (part != destination.owners[v] || !parts.contains(part)) continue;
    RowFile<uint32_t>& file = (*files)[static_cast<size_t>(part - parts.begin)];
    HG_RETURN_IF_ERROR(file.Add(source.local_ids[u]));
    HG_RETURN_IF_ERROR(file.Add(destination.local_ids[v]));
  }
  return OkStatus();
}

}  // namespace

StatusOr<PartGraphs> PartGraphs::Make(const Dataset& dataset,
                                      const std::vector<std::vector<uint16_t>>& owners, int parts) {
  PartGraphs graphs(dataset, owners, parts);
  for (size_t type = 0; type < owners.size(); ++type) {
    const auto count = static_cast<int64_t>(owners[type].size());
    std::vector<int64_t> next(static_cast<size_t>(parts), 0);
    HG_ASSIGN_OR_RETURN(auto local_ids, NodeArray<uint32_t>::Make(count, "ids within the parts"));
    for (int64_t id = 0; id < count; ++id) {
      local_ids[id] = static_cast<uint32_t>(next[owners[type][static_cast<size_t>(id)]]++);
    }
    for (const int64_t nodes : next) {
      if (nodes <= int64_t{std::numeric_limits<uint32_t>::max()}) continue;
      return ResourceExhausted(
          "a part has {} nodes of type {}, more than 32-bit ids hold; give more --parts",
          FormatCount(nodes), dataset.node_types[type].name);
    }
    graphs.nodes_.push_back(std::move(next));
    graphs.local_ids_.push_back(std::move(local_ids));
  }
  return graphs;
}

int64_t PartGraphs::NodesOf(int part) const {
  int64_t sum = 0;
  for (const std::vector<int64_t>& nodes : nodes_) sum += nodes[static_cast<size_t>(part)];
  return sum;
}

Status PartGraphs::WriteEdges(size_t relation, IdRange parts, const fs::path& folder) const {
  HG_ASSIGN_OR_RETURN(auto files, CreateFiles<uint32_t>(parts, 2, [&](int64_t part) {
                        return EdgePath(folder, part, relation);
                      }));
  const InputRelation& edges = dataset_->relations[relation];
  const auto end_of = [&](const std::string& type_name) {
    const auto type = static_cast<size_t>(dataset_->NodeTypeIndex(type_name));
    return End{(*owners_)[type].data(), local_ids_[type].data()};
  };
  const End source = end_of(edges.source);
  const End destination = end_of(edges.destination);
  HG_RETURN_IF_ERROR(ForEachEdges(edges, "edges within parts", [&](const EdgeChunk& chunk) {
    return SplitChunk(chunk, source, destination, parts, &files);
  }));
  return CloseAll(&files);
}

Status PartGraphs::WriteRows(size_t set, const InputTaskSet& rows, IdRange parts,
                             const fs::path& folder) const {
  HG_ASSIGN_OR_RETURN(auto files, CreateFiles<int64_t>(parts, 0, [&](int64_t part) {
                        return RowPath(folder, part, set);
                      }));
  HG_ASSIGN_OR_RETURN(const TaskColumns columns, ResolveTaskColumns(*dataset_, rows));
  const auto type = static_cast<size_t>(columns.owner_type());
  for (int64_t row = 0; row < columns.rows; ++row) {
    const int64_t node = columns.OwnerId(row);
    const int64_t part = (*owners_)[type][static_cast<size_t>(node)];
    if (!parts.contains(part)) continue;
    HG_RETURN_IF_ERROR(
        files[static_cast<size_t>(part - parts.begin)].Add(int64_t{local_ids_[type][node]}));
  }
  return CloseAll(&files);
}

Status PartGraphs::Write(IdRange parts, const fs::path& folder) const {
  for (size_t relation = 0; relation < dataset_->relations.size(); ++relation) {
    HG_RETURN_IF_ERROR(WriteEdges(relation, parts, folder));
  }
  size_t set = 0;
  for (const InputTask& task : dataset_->tasks) {
    for (const InputTaskSet& rows : task.sets) {
      HG_RETURN_IF_ERROR(WriteRows(set++, rows, parts, folder));
    }
  }
  return OkStatus();
}

StatusOr<Dataset> PartGraphs::Open(int part, const fs::path& folder) const {
  Dataset graph;
  graph.name = fmt::format("part {} of {}", part, dataset_->name);
  for (size_t type = 0; type < dataset_->node_types.size(); ++type) {
    graph.node_types.push_back({.name = dataset_->node_types[type].name,
                                .count = nodes_[type][static_cast<size_t>(part)],
                                .features = {},
                                .original_ids = nullptr});
  }
  Scratch unused{fs::path()};  // the files are as they are to be
  for (size_t r = 0; r < dataset_->relations.size(); ++r) {
    const InputRelation& whole = dataset_->relations[r];
    InputRelation relation{.source = whole.source,
                           .name = whole.name,
                           .destination = whole.destination,
                           .edges = nullptr,
                           .features = {}};
    HG_ASSIGN_OR_RETURN(relation.edges,
                        OpenEdgeArray(EdgePath(folder, part, r), EdgeArrayForm::kPairs,
                                      EndsOf(graph, relation), &unused));
    graph.relations.push_back(std::move(relation));
  }
  InputTask rows{.name = kTaskName, .metadata = Json::object(), .sets = {}};
  size_t set = 0;
  for (const InputTask& task : dataset_->tasks) {
    for (const InputTaskSet& whole : task.sets) {
      HG_ASSIGN_OR_RETURN(const TaskColumns columns, ResolveTaskColumns(*dataset_, whole));
      const fs::path path = RowPath(folder, part, set++);
      HG_ASSIGN_OR_RETURN(NpyArray seeds, NpyArray::Open(path));
      InputTensor tensor;
      tensor.spec = {.name = "seeds", .dtype = DType::kInt64, .dim = 1};
      tensor.path = path.string();
      tensor.array = std::make_shared<const NpyArray>(std::move(seeds));
      rows.sets.push_back({.set = whole.set,
                           .type = graph.node_types[static_cast<size_t>(columns.owner_type())].name,
                           .edges = false,
                           .arrays = {std::move(tensor)}});
    }
  }
  if (!rows.sets.empty()) graph.tasks.push_back(std::move(rows));
  return graph;
}

Status PartGraphs::ForEach(const fs::path& folder, const Visit& visit) {
  for (int64_t begin = 0; begin < parts_; begin += kPartsAtOnce) {
    const IdRange group{begin, std::min<int64_t>(begin + kPartsAtOnce, parts_)};
    HG_RETURN_IF_ERROR(MakeFolder(folder));
    HG_RETURN_IF_ERROR(Write(group, folder));
    if (group.end == parts_) Forget();
    for (int64_t part = group.begin; part < group.end; ++part) {
      HG_ASSIGN_OR_RETURN(const Dataset graph, Open(static_cast<int>(part), folder));
      HG_RETURN_IF_ERROR(visit(static_cast<int>(part), graph));
    }
    HG_RETURN_IF_ERROR(RemoveAll(folder));
  }
  return OkStatus();
}

GraphCounts CountsOfPart(const GraphCounts& counts, int parts) {
  const auto share = [parts](int64_t count, double tolerance) {
    const auto most = static_cast<int64_t>(tolerance * static_cast<double>(count) / parts) + 1;
    return std::min(count, most);
  };
  GraphCounts part = counts;
  for (int64_t& nodes : part.nodes) nodes = share(nodes, kNodeTolerance);
  for (RelationCounts& relation : part.relations) {
    relation.edges = share(relation.edges, kEdgeTolerance);
  }
  return part;
}

MemoryPhase PlanPartGraphs(std::string name, int64_t nodes, int parts, const HeldMemory& held) {
  const int64_t files = std::min(parts, PartGraphs::kPartsAtOnce);
  return {std::move(name),
          {held,
           {"ids within the parts", 4 * nodes},
           {"buffers of files", files * PartGraphs::kBufferBytes},
           {"edge chunks", kEdgePassBytes}}};
}

MemoryPlan PlanOfPart(MemoryPlan of_part, const HeldMemory& held) {
  for (MemoryPhase& phase : of_part.phases) {
    phase.name += ", of a part";
    phase.held.push_back(held);
  }
  return of_part;
}

}  // namespace halograph
