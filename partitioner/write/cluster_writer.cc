#include "partitioner/write/cluster_writer.h"

#include <span>

#include "common/storage/npy.h"
#include "partitioner/write/npy_appender.h"

namespace halograph {
namespace {

// `bounds` and `sources`: global ids; `indptr`: of the nodes from bounds.front() on.
template <typename SourceT>
int64_t EdgesWithin(const std::vector<int64_t>& bounds, std::span<const int64_t> indptr,
                    std::span<const SourceT> sources) {
  int64_t within = 0;
  for (size_t c = 0; c + 1 < bounds.size(); ++c) {
    const auto first = static_cast<size_t>(bounds[c] - bounds.front());
    const auto end = static_cast<size_t>(bounds[c + 1] - bounds.front());
    const auto edges = sources.subspan(static_cast<size_t>(indptr[first]),
                                       static_cast<size_t>(indptr[end] - indptr[first]));
    for (const SourceT source : edges) {
      const auto id = static_cast<int64_t>(source);
      within += id >= bounds[c] && id < bounds[c + 1] ? 1 : 0;
    }
  }
  return within;
}

StatusOr<int64_t> EdgesOfPart(const WriteContext& context, const InputRelation& relation,
                              int part) {
  const std::filesystem::path folder = context.PartFolder(part) / EdgeFolder(relation.triple());
  HG_ASSIGN_OR_RETURN(const NpyArray offsets, NpyArray::Open(folder / "indptr.npy"));
  HG_ASSIGN_OR_RETURN(const NpyArray indices, NpyArray::Open(folder / "indices.npy"));
  HG_ASSIGN_OR_RETURN(const std::span<const int64_t> indptr, offsets.As<int64_t>());
  const std::vector<int64_t>& bounds =
      context.numbering.ClusterBounds(context.dataset.NodeTypeIndex(relation.destination), part);
  if (indices.dtype() == DType::kInt64) {
    HG_ASSIGN_OR_RETURN(const auto sources, indices.As<int64_t>());
    return EdgesWithin(bounds, indptr, sources);
  }
  HG_ASSIGN_OR_RETURN(const auto sources, indices.As<uint32_t>());
  return EdgesWithin(bounds, indptr, sources);
}

}  // namespace

Status WriteClusters(const WriteContext& context) {
  if (!context.numbering.has_clusters()) return OkStatus();
  for (size_t type = 0; type < context.dataset.node_types.size(); ++type) {
    const std::string file = ClusterFile(context.dataset.node_types[type].name);
    for (int part = 0; part < context.num_parts(); ++part) {
      HG_ASSIGN_OR_RETURN(NpyAppender out,
                          NpyAppender::Create(context.PartFolder(part) / file, DType::kInt64));
      HG_RETURN_IF_ERROR(out.Append(
          std::span<const int64_t>(context.numbering.ClusterBounds(static_cast<int>(type), part))));
      HG_RETURN_IF_ERROR(out.Close());
    }
  }
  return OkStatus();
}

StatusOr<std::vector<int64_t>> EdgesWithinClusters(const WriteContext& context) {
  std::vector<int64_t> within;
  if (!context.numbering.has_clusters()) return within;
  within.assign(static_cast<size_t>(context.num_parts()), 0);
  for (int part = 0; part < context.num_parts(); ++part) {
    for (const InputRelation& relation : context.dataset.relations) {
      HG_ASSIGN_OR_RETURN(const int64_t edges, EdgesOfPart(context, relation, part));
      within[static_cast<size_t>(part)] += edges;
    }
  }
  return within;
}

}  // namespace halograph
