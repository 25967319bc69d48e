#include "common/graph/partition_check.h"

#include <algorithm>
#include <cmath>

namespace halograph {
namespace {

Status CheckIndptr(std::span<const int64_t> indptr, const std::string& path) {
  const auto descent =
      std::adjacent_find(indptr.begin(), indptr.end(), [](int64_t a, int64_t b) { return b < a; });
  if (descent == indptr.end()) return OkStatus();
  return DataLoss("{}: position {} holds {}, below the {} before it; offsets must not descend",
                  path, descent - indptr.begin() + 1, descent[1], descent[0]);
}

template <typename IdT>
Status CheckSources(std::span<const IdT> sources, int64_t count, const std::string& path) {
  const auto outside = std::find_if(sources.begin(), sources.end(), [count](IdT id) {
    return static_cast<uint64_t>(id) >= static_cast<uint64_t>(count);
  });
  if (outside == sources.end()) return OkStatus();
  return DataLoss("{}: position {} holds source id {}, but the type has {} nodes", path,
                  outside - sources.begin(), *outside, count);
}

Status CheckHalo(std::span<const int64_t> halo, int64_t count, const IdRange& own,
                 const std::string& path) {
  for (size_t i = 0; i < halo.size(); ++i) {
    if (i > 0 && halo[i] <= halo[i - 1]) {
      return DataLoss("{}: position {} holds {} after {}; halo ids must ascend", path, i, halo[i],
                      halo[i - 1]);
    }
    if (halo[i] < 0 || halo[i] >= count) {
      return DataLoss("{}: position {} holds id {}, but the type has {} nodes", path, i, halo[i],
                      count);
    }
    if (own.contains(halo[i])) {
      return DataLoss("{}: position {} holds id {}, which this part owns ([{}, {}))", path, i,
                      halo[i], own.begin, own.end);
    }
  }
  return OkStatus();
}

Status CheckClusters(std::span<const int64_t> bounds, const std::string& path) {
  const auto wrong =
      std::adjacent_find(bounds.begin(), bounds.end(), [](int64_t a, int64_t b) { return b <= a; });
  if (wrong == bounds.end()) return OkStatus();
  return DataLoss("{}: position {} holds {} after {}; the bounds of clusters must ascend", path,
                  wrong - bounds.begin() + 1, wrong[1], wrong[0]);
}

Status CheckSeeds(const NpyArray& seeds, int64_t column, const IdRange& own) {
  HG_ASSIGN_OR_RETURN(const std::span<const int64_t> ids, seeds.As<int64_t>());
  for (int64_t row = 0; row < seeds.rows(); ++row) {
    const int64_t id = ids[row * seeds.cols() + column];
    if (!own.contains(id)) {
      return DataLoss("{}: row {} column {} holds id {}, which this part does not own ([{}, {}))",
                      seeds.file().path().string(), row, column, id, own.begin, own.end);
    }
  }
  return OkStatus();
}

// One node's in-edges in the table of a feature.
struct WeightRow {
  int64_t node = 0;   // global id
  int64_t begin = 0;  // row of the first
  std::span<const AliasEntry> entries;
  std::span<const double> weights;
  const HeavyEdges* heavy = nullptr;
  int64_t drawable = 0;
};

Status CheckWeights(const WeightRow& row, const std::filesystem::path& folder) {
  const auto bad = std::find_if(row.weights.begin(), row.weights.end(),
                                [](double w) { return !(w >= 0 && std::isfinite(w)); });
  if (bad != row.weights.end()) {
    return DataLoss("{}: row {} holds weight {}", (folder / "weights.npy").string(),
                    row.begin + (bad - row.weights.begin()), *bad);
  }
  const auto positive =
      std::count_if(row.weights.begin(), row.weights.end(), [](double w) { return w > 0; });
  if (positive == row.drawable) return OkStatus();
  return DataLoss("{}: node {} has {} weights above 0, but {} are noted",
                  (folder / "drawable.npy").string(), row.node, positive, row.drawable);
}

// That the edges set apart are edges of the node.
Status CheckHeavy(const WeightRow& row, const std::filesystem::path& folder) {
  if (row.heavy == nullptr) return OkStatus();
  for (size_t i = 0; i < kHeavyEdges; ++i) {
    const uint32_t position = row.heavy->positions[i];
    if (position >= row.weights.size() || row.weights[position] != row.heavy->weights[i]) {
      return DataLoss("{}: node {} has position {} with weight {} set apart, which it has not",
                      (folder / "heavy.npy").string(), row.node, position, row.heavy->weights[i]);
    }
  }
  if (row.heavy->rest >= 0 && std::isfinite(row.heavy->rest)) return OkStatus();
  return DataLoss("{}: node {} has a rest of {}", (folder / "heavy.npy").string(), row.node,
                  row.heavy->rest);
}

// That no draw can leave the node's list or give an edge of weight 0.
Status CheckAliases(const WeightRow& row, const std::filesystem::path& folder) {
  const bool drawn = row.heavy != nullptr ? row.heavy->rest > 0 : row.drawable > 0;
  for (size_t i = 0; i < row.entries.size(); ++i) {
    const AliasEntry& entry = row.entries[i];
    const int64_t number = row.begin + static_cast<int64_t>(i);
    if (entry.alias >= row.entries.size()) {
      return DataLoss("{}: row {} holds alias {} of {} in-edges", (folder / "entries.npy").string(),
                      number, entry.alias, row.entries.size());
    }
    if (drawn && ((entry.threshold > 0 && row.weights[i] == 0) || row.weights[entry.alias] == 0)) {
      return DataLoss("{}: row {} can give an edge of weight 0", (folder / "entries.npy").string(),
                      number);
    }
  }
  return OkStatus();
}

// `folder`: of the table's files.
Status CheckWeightTable(const CscSegment& csc, const WeightTable& table,
                        const std::filesystem::path& folder) {
  for (int64_t v = 0; v < csc.nodes.size(); ++v) {
    const int64_t begin = csc.indptr[v];
    const int64_t degree = csc.indptr[v + 1] - begin;
    const WeightRow row{.node = csc.nodes.begin + v,
                        .begin = begin,
                        .entries = {table.entries + begin, static_cast<size_t>(degree)},
                        .weights = {table.weights + begin, static_cast<size_t>(degree)},
                        .heavy = table.Heavy(v, begin, degree),
                        .drawable = table.Drawable(v)};
    HG_RETURN_IF_ERROR(CheckWeights(row, folder));
    HG_RETURN_IF_ERROR(CheckHeavy(row, folder));
    HG_RETURN_IF_ERROR(CheckAliases(row, folder));
  }
  return OkStatus();
}

Status CheckEdges(const Partition& partition, int relation, const std::filesystem::path& folder) {
  const Schema& schema = partition.schema();
  const CscSegment& csc = partition.Edges(relation);
  const std::filesystem::path base = folder / EdgeFolder(schema.relations[relation].triple());
  HG_RETURN_IF_ERROR(CheckIndptr({csc.indptr, static_cast<size_t>(csc.nodes.size() + 1)},
                                 (base / "indptr.npy").string()));
  const std::vector<TensorSpec>& features = schema.relations[relation].features;
  for (size_t f = 0; f < features.size(); ++f) {
    if (!features[f].sampling) continue;
    const std::string edge_folder = EdgeFolder(schema.relations[relation].triple());
    const std::filesystem::path entries =
        folder / WeightTableFile(edge_folder, features[f].name, "entries");
    HG_RETURN_IF_ERROR(CheckWeightTable(csc, csc.weights[f], entries.parent_path()));
  }
  const auto edges = static_cast<size_t>(csc.indptr[csc.nodes.size()]);
  const int64_t count = schema.node_types[schema.SourceType(relation)].count;
  const std::string path = (base / "indices.npy").string();
  return csc.indices32 != nullptr ? CheckSources(std::span(csc.indices32, edges), count, path)
                                  : CheckSources(std::span(csc.indices64, edges), count, path);
}

}  // namespace

OwnerColumn SeedOwnerColumn(const Schema& schema, const TaskSetSpec& set) {
  const bool pair = set.arrays[0].dim == 2;
  OwnerColumn owner{.column = pair ? 1 : 0};
  if (set.edges) {
    const int relation = *schema.RelationIndex(set.type);
    owner.node_type = pair ? schema.DestinationType(relation) : schema.SourceType(relation);
  } else {
    owner.node_type = *schema.NodeTypeIndex(set.type);
  }
  return owner;
}

Status CheckPartitionContents(const Partition& partition, const std::filesystem::path& folder) {
  const Schema& schema = partition.schema();
  if (partition.contents().topology) {
    for (int r = 0; r < static_cast<int>(schema.relations.size()); ++r) {
      HG_RETURN_IF_ERROR(CheckEdges(partition, r, folder));
    }
    if (const auto bounds = partition.ClusterBounds(); !bounds.empty()) {
      const std::string file = ClusterFile(schema.node_types.front().name);
      HG_RETURN_IF_ERROR(CheckClusters(bounds, (folder / file).string()));
    }
  }
  if (!partition.contents().features) return OkStatus();
  for (int t = 0; t < static_cast<int>(schema.node_types.size()); ++t) {
    const std::filesystem::path path = folder / NodeFolder(schema.node_types[t].name);
    HG_RETURN_IF_ERROR(CheckHalo(partition.HaloIds(t), schema.node_types[t].count,
                                 partition.book().NodeRange(t, partition.part()),
                                 (path / "halo_ids.npy").string()));
  }
  for (int t = 0; t < static_cast<int>(schema.tasks.size()); ++t) {
    for (int s = 0; s < static_cast<int>(schema.tasks[t].sets.size()); ++s) {
      const OwnerColumn owner = SeedOwnerColumn(schema, schema.tasks[t].sets[s]);
      HG_RETURN_IF_ERROR(CheckSeeds(partition.TaskArray(t, s, 0), owner.column,
                                    partition.book().NodeRange(owner.node_type, partition.part())));
    }
  }
  return OkStatus();
}

}  // namespace halograph
