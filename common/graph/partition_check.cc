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

// That no draw can leave the node's list or give an edge of weight 0.
Status CheckWeightTable(const CscSegment& csc, const WeightTable& table, const std::string& path) {
  for (int64_t v = 0; v < csc.nodes.size(); ++v) {
    const std::span entries(table.entries + csc.indptr[v], table.entries + csc.indptr[v + 1]);
    const auto positive = std::count_if(entries.begin(), entries.end(),
                                        [](const AliasEntry& entry) { return entry.weight > 0; });
    if (positive != table.drawable[v]) {
      return DataLoss("{}: node {} has {} weights above 0, but {} are noted", path,
                      csc.nodes.begin + v, positive, table.drawable[v]);
    }
    for (size_t i = 0; i < entries.size(); ++i) {
      const AliasEntry& entry = entries[i];
      const auto row = csc.indptr[v] + static_cast<int64_t>(i);
      if (!(entry.weight >= 0 && std::isfinite(entry.weight))) {
        return DataLoss("{}: row {} holds weight {}", path, row, entry.weight);
      }
      if (entry.alias >= entries.size()) {
        return DataLoss("{}: row {} holds alias {} of {} in-edges", path, row, entry.alias,
                        entries.size());
      }
      if (positive > 0 &&
          ((entry.threshold > 0 && entry.weight == 0) || entries[entry.alias].weight == 0)) {
        return DataLoss("{}: row {} can give an edge of weight 0", path, row);
      }
    }
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
    HG_RETURN_IF_ERROR(CheckWeightTable(
        csc, csc.weights[f], (folder / AliasEntriesFile(edge_folder, features[f].name)).string()));
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
