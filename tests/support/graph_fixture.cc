#include "tests/support/graph_fixture.h"

#include <algorithm>
#include <fstream>
#include <numeric>
#include <set>

#include "common/base/build_info.h"
#include "common/graph/manifest.h"
#include "common/graph/partition_check.h"
#include "common/sampling/weighted_table.h"
#include "common/storage/file.h"
#include "common/storage/narrow_rows.h"

namespace halograph {
namespace {

template <typename T>
const T& ByName(const std::vector<T>& items, const std::string& name) {
  return *std::find_if(items.begin(), items.end(), [&](const T& t) { return t.name == name; });
}

// Input ids in order of (key, input id).
template <typename Key>
std::vector<int64_t> StableOrder(size_t count, Key key) {
  std::vector<int64_t> order(count);
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](int64_t a, int64_t b) { return key(a) < key(b); });
  return order;
}

std::vector<TensorSpec> Specs(const std::vector<TestTensor>& tensors, bool seeds_first) {
  std::vector<TensorSpec> specs;
  for (const TestTensor& tensor : tensors) specs.push_back(tensor.spec);
  std::sort(specs.begin(), specs.end(), [&](const TensorSpec& a, const TensorSpec& b) {
    const auto rank = [&](const TensorSpec& s) { return seeds_first && s.name == "seeds" ? 0 : 1; };
    return std::pair(rank(a), a.name) < std::pair(rank(b), b.name);
  });
  return specs;
}

int64_t Rows(const TestTensor& tensor) {
  return static_cast<int64_t>(tensor.data.size() / tensor.spec.row_bytes());
}

const TestTensor& Named(const std::vector<TestTensor>& tensors, const std::string& name) {
  return *std::find_if(tensors.begin(), tensors.end(),
                       [&](const TestTensor& t) { return t.spec.name == name; });
}

std::vector<int64_t> Boundaries(const std::vector<int>& sorted_owners, int parts) {
  std::vector<int64_t> boundaries;
  for (int p = 0; p <= parts; ++p) {
    boundaries.push_back(std::lower_bound(sorted_owners.begin(), sorted_owners.end(), p) -
                         sorted_owners.begin());
  }
  return boundaries;
}

// The project's own header and layout, but no fsync: a test's folder need not survive a power cut,
// and syncing its hundred files one by one takes a second.
Status WriteArray(const std::filesystem::path& path, const TensorSpec& spec, int64_t rows,
                  std::span<const std::byte> data) {
  HG_RETURN_IF_ERROR(MakeFolder(path.parent_path()));
  const StoredArray stored = StoredAs(spec.dtype, spec.rank, spec.dim);
  std::vector<int64_t> shape = {rows};
  if (stored.rank == 2) shape.push_back(stored.cols);
  std::ofstream stream(path, std::ios::binary);
  stream << EncodeNpyHeader(stored.dtype, shape);
  stream.write(reinterpret_cast<const char*>(data.data()),
               static_cast<std::streamsize>(data.size()));
  stream.close();
  return stream ? OkStatus() : Internal("cannot write {}", path.string());
}

// Everything in global ids, before it is split into parts.
class Writer {
 public:
  Writer(const TestGraphSpec& spec, std::filesystem::path folder)
      : spec_(spec), folder_(std::move(folder)), schema_(TestSchema(spec)) {}

  [[nodiscard]] Status Write() {
    HG_RETURN_IF_ERROR(schema_.Validate());
    HG_RETURN_IF_ERROR(CheckSpec());
    HG_RETURN_IF_ERROR(Number());
    HG_RETURN_IF_ERROR(MakeFolder(folder_.parent_path()));
    HG_ASSIGN_OR_RETURN(TemporaryFolder temporary, TemporaryFolder::Create(folder_));
    std::vector<PartManifest> parts;
    GraphManifest graph;
    for (int p = 0; p < spec_.parts; ++p) {
      HG_ASSIGN_OR_RETURN(PartManifest part, WritePart(p, temporary.path() / PartFolderName(p)));
      graph.part_digests.push_back(FilesDigest(part.files));
      graph.part_stats.push_back(Json::object());
      parts.push_back(std::move(part));
    }
    graph.identity = GraphIdentity(schema_, book_, graph.part_digests);
    graph.build = BuildVersion();
    graph.schema = schema_;
    graph.book = book_;
    graph.options = {{"method", "test"}};
    graph.clusters = !spec_.cluster_nodes.empty();
    for (PartManifest& part : parts) {
      part.identity = graph.identity;
      HG_RETURN_IF_ERROR(WritePartManifest(temporary.path() / PartFolderName(part.part), part));
    }
    HG_RETURN_IF_ERROR(WriteGraphManifest(temporary.path(), graph));
    return temporary.Commit();
  }

 private:
  struct Relation {
    const TestRelation* spec = nullptr;
    std::vector<int64_t> order;                  // input positions by global edge id
    std::vector<int64_t> sources, destinations;  // global, by input position
  };

  [[nodiscard]] Status CheckSpec() const {
    for (const TestNodeType& type : spec_.node_types) {
      for (const int owner : type.owners) {
        if (owner < 0 || owner >= spec_.parts) {
          return InvalidArgument("type '{}': owner {} of {} parts", type.name, owner, spec_.parts);
        }
      }
      HG_RETURN_IF_ERROR(CheckRows(type.features, type.owners.size(), type.name));
    }
    for (const TestRelation& relation : spec_.relations) {
      HG_RETURN_IF_ERROR(CheckRows(relation.features, relation.edges.size(), relation.triple()));
      const size_t sources = ByName(spec_.node_types, relation.source).owners.size();
      const size_t destinations = ByName(spec_.node_types, relation.destination).owners.size();
      for (const auto& [source, destination] : relation.edges) {
        if (static_cast<size_t>(source) >= sources ||
            static_cast<size_t>(destination) >= destinations) {
          return InvalidArgument("relation '{}': edge {} -> {} of {} and {} nodes",
                                 relation.triple(), source, destination, sources, destinations);
        }
      }
    }
    return OkStatus();
  }

  [[nodiscard]] static Status CheckRows(const std::vector<TestTensor>& tensors, size_t rows,
                                        const std::string& owner) {
    for (const TestTensor& tensor : tensors) {
      if (tensor.data.size() != rows * tensor.spec.row_bytes()) {
        return InvalidArgument("{} / {}: {} bytes, expected {} rows of {}", owner, tensor.spec.name,
                               tensor.data.size(), rows, tensor.spec.row_bytes());
      }
    }
    return OkStatus();
  }

  // Fills global ids, edge orders and the book.
  [[nodiscard]] Status Number() {
    std::vector<std::vector<int64_t>> node_boundaries, edge_boundaries;
    for (const NodeType& type : schema_.node_types) {
      std::vector<int> owners = ByName(spec_.node_types, type.name).owners;
      node_orders_.push_back(StableOrder(owners.size(), [&](int64_t v) { return owners[v]; }));
      global_ids_.push_back(GlobalNodeIds(spec_, type.name));
      std::sort(owners.begin(), owners.end());
      node_boundaries.push_back(Boundaries(owners, spec_.parts));
    }
    for (int r = 0; r < static_cast<int>(schema_.relations.size()); ++r) {
      Relation& relation = relations_.emplace_back();
      const std::string triple = schema_.relations[r].triple();
      relation.spec = &*std::find_if(spec_.relations.begin(), spec_.relations.end(),
                                     [&](const TestRelation& t) { return t.triple() == triple; });
      const auto& owners = ByName(spec_.node_types, relation.spec->destination).owners;
      std::vector<int> edge_owners;
      for (const auto& [source, destination] : relation.spec->edges) {
        relation.sources.push_back(global_ids_[schema_.SourceType(r)][source]);
        relation.destinations.push_back(global_ids_[schema_.DestinationType(r)][destination]);
        edge_owners.push_back(owners[destination]);
      }
      relation.order = StableOrder(relation.spec->edges.size(),
                                   [&](int64_t e) { return relation.destinations[e]; });
      std::sort(edge_owners.begin(), edge_owners.end());
      edge_boundaries.push_back(Boundaries(edge_owners, spec_.parts));
    }
    HG_ASSIGN_OR_RETURN(book_, PartitionBook::Create(schema_, std::move(node_boundaries),
                                                     std::move(edge_boundaries)));
    return OkStatus();
  }

  [[nodiscard]] StatusOr<PartManifest> WritePart(int part, const std::filesystem::path& folder) {
    PartManifest manifest{.identity = "",
                          .build = BuildVersion(),
                          .part = part,
                          .schema = schema_,
                          .book = book_,
                          .halo_nodes = {},
                          .task_rows = {},
                          .clusters = {},
                          .files = {}};
    part_folder_ = folder;
    paths_.clear();
    halo_.assign(schema_.node_types.size(), {});
    for (int r = 0; r < static_cast<int>(relations_.size()); ++r) {
      HG_RETURN_IF_ERROR(WriteEdges(part, r));
    }
    for (int t = 0; t < static_cast<int>(schema_.node_types.size()); ++t) {
      HG_RETURN_IF_ERROR(WriteNodes(part, t));
      if (!spec_.cluster_nodes.empty()) HG_RETURN_IF_ERROR(WriteClusters(t, &manifest));
      manifest.halo_nodes.push_back(static_cast<int64_t>(halo_[t].size()));
    }
    for (const TestTask& task : spec_.tasks) {
      for (const TestTaskSet& set : task.sets) {
        HG_ASSIGN_OR_RETURN(const int64_t rows, WriteSet(part, task.name, set));
        manifest.task_rows.push_back(rows);
      }
    }
    std::sort(paths_.begin(), paths_.end());
    for (const std::string& path : paths_) {
      HG_ASSIGN_OR_RETURN(FileEntry entry, ChecksumFile(folder, path));
      manifest.files.push_back(std::move(entry));
    }
    return manifest;
  }

  template <typename T>
  [[nodiscard]] Status WriteIds(const std::string& path, const std::vector<T>& ids) {
    paths_.push_back(path);
    return WriteArray(part_folder_ / path, {.name = "", .dtype = DTypeOf<T>(), .rank = 1},
                      static_cast<int64_t>(ids.size()), std::as_bytes(std::span(ids)));
  }

  // The given rows of a tensor.
  [[nodiscard]] Status WriteRows(const std::string& path, const TestTensor& tensor,
                                 std::span<const int64_t> rows) {
    paths_.push_back(path);
    const size_t row_bytes = tensor.spec.row_bytes();
    std::vector<std::byte> data;
    for (const int64_t row : rows) {
      const auto start = tensor.data.begin() + static_cast<int64_t>(row * row_bytes);
      data.insert(data.end(), start, start + static_cast<int64_t>(row_bytes));
    }
    return WriteArray(part_folder_ / path, tensor.spec, static_cast<int64_t>(rows.size()), data);
  }

  [[nodiscard]] Status WriteNodes(int part, int type) {
    const IdRange range = book_.NodeRange(type, part);
    const std::string base = NodeFolder(schema_.node_types[type].name);
    const std::span<const int64_t> own =
        std::span(node_orders_[type]).subspan(range.begin, range.size());
    HG_RETURN_IF_ERROR(
        WriteIds(base + "/original_ids.npy", std::vector<int64_t>(own.begin(), own.end())));
    HG_RETURN_IF_ERROR(WriteIds(base + "/halo_ids.npy",
                                std::vector<int64_t>(halo_[type].begin(), halo_[type].end())));
    for (const TestTensor& tensor :
         ByName(spec_.node_types, schema_.node_types[type].name).features) {
      HG_RETURN_IF_ERROR(WriteRows(FeatureFile(base, tensor.spec.name), tensor, own));
    }
    return OkStatus();
  }

  [[nodiscard]] Status WriteClusters(int type, PartManifest* manifest) {
    const std::vector<int64_t>& sizes = spec_.cluster_nodes.at(static_cast<size_t>(manifest->part));
    const IdRange range = book_.NodeRange(type, manifest->part);
    std::vector<int64_t> bounds = {range.begin};
    for (const int64_t size : sizes) bounds.push_back(bounds.back() + size);
    if (bounds.back() != range.end) {
      return InvalidArgument("part {}: clusters of {} nodes, it has {}", manifest->part,
                             bounds.back() - range.begin, range.size());
    }
    manifest->clusters = std::ssize(sizes);
    return WriteIds(ClusterFile(schema_.node_types[type].name), bounds);
  }

  [[nodiscard]] Status WriteEdges(int part, int r) {
    const Relation& relation = relations_[r];
    const int source_type = schema_.SourceType(r);
    const IdRange edges = book_.EdgeRange(r, part);
    const IdRange nodes = book_.NodeRange(schema_.DestinationType(r), part);
    const std::span<const int64_t> own =
        std::span(relation.order).subspan(edges.begin, edges.size());
    std::vector<int64_t> indptr(nodes.size() + 1, 0);
    std::vector<uint32_t> indices;
    for (const int64_t e : own) {
      ++indptr[relation.destinations[e] - nodes.begin + 1];
      indices.push_back(static_cast<uint32_t>(relation.sources[e]));
      if (!book_.NodeRange(source_type, part).contains(relation.sources[e])) {
        halo_[source_type].insert(relation.sources[e]);
      }
    }
    std::partial_sum(indptr.begin(), indptr.end(), indptr.begin());
    const std::string base = EdgeFolder(schema_.relations[r].triple());
    HG_RETURN_IF_ERROR(WriteIds(base + "/indptr.npy", indptr));
    HG_RETURN_IF_ERROR(WriteIds(base + "/indices.npy", indices));
    HG_RETURN_IF_ERROR(
        WriteIds(base + "/original_ids.npy", std::vector<int64_t>(own.begin(), own.end())));
    for (const TestTensor& tensor : relation.spec->features) {
      HG_RETURN_IF_ERROR(WriteRows(FeatureFile(base, tensor.spec.name), tensor, own));
      if (tensor.spec.sampling) {
        HG_RETURN_IF_ERROR(WriteWeightTable(base, tensor, own, indptr));
      }
    }
    return OkStatus();
  }

  [[nodiscard]] Status WriteWeightTable(const std::string& base, const TestTensor& tensor,
                                        std::span<const int64_t> edges,
                                        const std::vector<int64_t>& indptr) {
    std::vector<double> weights(edges.size());
    for (size_t i = 0; i < edges.size(); ++i) {
      ConvertToDouble(tensor.spec.dtype,
                      tensor.data.data() + static_cast<size_t>(edges[i]) * tensor.spec.row_bytes(),
                      1, &weights[i]);
    }
    const auto nodes = std::ssize(indptr) - 1;
    WeightTableMemory table(nodes, std::ssize(weights));
    WeightTableBuilder builder;
    for (int64_t v = 0; v < nodes; ++v) {
      const auto degree = static_cast<size_t>(indptr[v + 1] - indptr[v]);
      builder.Build(std::span(weights).subspan(indptr[v], degree), v, indptr[v], table.room());
    }
    const auto path = [&](std::string_view array) {
      return paths_.emplace_back(WeightTableFile(base, tensor.spec.name, array));
    };
    HG_RETURN_IF_ERROR(WriteRecords(path("entries"), DType::kUInt32, table.entries()));
    HG_RETURN_IF_ERROR(WriteRecords(path("heavy"), DType::kUInt64, table.heavy()));
    HG_RETURN_IF_ERROR(
        WriteIds(WeightTableFile(base, tensor.spec.name, "weights"), table.weights()));
    return WriteIds(WeightTableFile(base, tensor.spec.name, "drawable"), table.drawable());
  }

  // Structs as rows of plain numbers.
  template <typename T>
  [[nodiscard]] Status WriteRecords(const std::string& path, DType dtype,
                                    const std::vector<T>& records) {
    const auto dim = static_cast<int64_t>(sizeof(T) / DTypeSize(dtype));
    return WriteArray(part_folder_ / path, {.name = "", .dtype = dtype, .rank = 2, .dim = dim},
                      std::ssize(records), std::as_bytes(std::span(records)));
  }

  // Rows whose owner is `part`; seeds become global ids.
  [[nodiscard]] StatusOr<int64_t> WriteSet(int part, const std::string& task,
                                           const TestTaskSet& set) {
    TestTensor seeds = Named(set.arrays, "seeds");
    const int64_t count = Rows(seeds);
    HG_RETURN_IF_ERROR(CheckRows(set.arrays, count, task));
    HG_RETURN_IF_ERROR(SeedsToGlobal(set, &seeds));
    TaskSetSpec spec{.set = set.set, .type = set.type, .edges = set.edges, .arrays = {seeds.spec}};
    const OwnerColumn owner = SeedOwnerColumn(schema_, spec);
    const auto* ids = reinterpret_cast<const int64_t*>(seeds.data.data());
    std::vector<int64_t> own;
    for (int64_t row = 0; row < count; ++row) {
      const int64_t id = ids[row * seeds.spec.dim + owner.column];
      if (book_.NodeRange(owner.node_type, part).contains(id)) own.push_back(row);
    }
    const std::string base = TaskSetFolder(task, set.set, set.type);
    for (const TestTensor& tensor : set.arrays) {
      HG_RETURN_IF_ERROR(WriteRows(TaskArrayFile(base, tensor.spec.name),
                                   tensor.spec.name == "seeds" ? seeds : tensor, own));
    }
    return static_cast<int64_t>(own.size());
  }

  // Of an edge set the first column is of the source type, the others of the destination type.
  [[nodiscard]] Status SeedsToGlobal(const TestTaskSet& set, TestTensor* seeds) const {
    auto* ids = reinterpret_cast<int64_t*>(seeds->data.data());
    for (int64_t i = 0; i < Rows(*seeds) * seeds->spec.dim; ++i) {
      int type = 0;
      if (set.edges) {
        HG_ASSIGN_OR_RETURN(const int relation, schema_.RelationIndex(set.type));
        type = i % seeds->spec.dim == 0 ? schema_.SourceType(relation)
                                        : schema_.DestinationType(relation);
      } else {
        HG_ASSIGN_OR_RETURN(type, schema_.NodeTypeIndex(set.type));
      }
      if (static_cast<size_t>(ids[i]) >= global_ids_[type].size()) {
        return InvalidArgument("set '{}' of '{}': seed {} of {} nodes", set.set, set.type, ids[i],
                               global_ids_[type].size());
      }
      ids[i] = global_ids_[type][ids[i]];
    }
    return OkStatus();
  }

  const TestGraphSpec& spec_;
  std::filesystem::path folder_;
  Schema schema_;
  PartitionBook book_;
  std::vector<std::vector<int64_t>> node_orders_;  // per type: input id by global id
  std::vector<std::vector<int64_t>> global_ids_;   // per type: global id by input id
  std::vector<Relation> relations_;
  // Of the part being written:
  std::filesystem::path part_folder_;
  std::vector<std::string> paths_;
  std::vector<std::set<int64_t>> halo_;
};

}  // namespace

StatusOr<std::filesystem::path> WriteTestGraph(const TestGraphSpec& spec,
                                               const std::filesystem::path& folder) {
  HG_RETURN_IF_ERROR(Writer(spec, folder).Write());
  return folder;
}

std::vector<int64_t> GlobalNodeIds(const TestGraphSpec& spec, const std::string& node_type) {
  const std::vector<int>& owners = ByName(spec.node_types, node_type).owners;
  const std::vector<int64_t> order =
      StableOrder(owners.size(), [&](int64_t v) { return owners[v]; });
  std::vector<int64_t> global(owners.size());
  for (size_t g = 0; g < order.size(); ++g) global[order[g]] = static_cast<int64_t>(g);
  return global;
}

Schema TestSchema(const TestGraphSpec& spec) {
  Schema schema{.graph_name = spec.name, .node_types = {}, .relations = {}, .tasks = {}};
  for (const TestNodeType& type : spec.node_types) {
    schema.node_types.push_back({.name = type.name,
                                 .count = static_cast<int64_t>(type.owners.size()),
                                 .features = Specs(type.features, false)});
  }
  std::sort(schema.node_types.begin(), schema.node_types.end(),
            [](const NodeType& a, const NodeType& b) { return a.name < b.name; });
  for (const TestRelation& relation : spec.relations) {
    schema.relations.push_back({.source = relation.source,
                                .name = relation.name,
                                .destination = relation.destination,
                                .count = static_cast<int64_t>(relation.edges.size()),
                                .features = Specs(relation.features, false)});
  }
  std::sort(schema.relations.begin(), schema.relations.end(),
            [](const Relation& a, const Relation& b) { return a.triple() < b.triple(); });
  for (const TestTask& task : spec.tasks) {
    Task& added = schema.tasks.emplace_back();
    added.name = task.name;
    added.metadata = task.metadata;
    for (const TestTaskSet& set : task.sets) {
      added.sets.push_back({.set = set.set,
                            .type = set.type,
                            .edges = set.edges,
                            .rows = Rows(Named(set.arrays, "seeds")),
                            .arrays = Specs(set.arrays, true)});
    }
  }
  return schema;
}

TestTensor Narrowed(const TestTensor& tensor, const std::string& name, DType dtype) {
  TestTensor narrow{.spec = tensor.spec, .data = {}};
  narrow.spec.name = name;
  narrow.spec.dtype = dtype;
  const auto rows = static_cast<size_t>(Rows(tensor));
  narrow.data.resize(rows * narrow.spec.row_bytes());
  for (size_t row = 0; row < rows; ++row) {
    const auto lost =
        NarrowRow(tensor.spec.dtype, &tensor.data[row * tensor.spec.row_bytes()], tensor.spec.dim,
                  dtype, &narrow.data[row * narrow.spec.row_bytes()]);
    if (lost) std::abort();
  }
  return narrow;
}

}  // namespace halograph
