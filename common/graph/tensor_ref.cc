#include "common/graph/tensor_ref.h"

#include <fmt/format.h>

namespace halograph {

std::string TensorRef::ToString() const {
  return fmt::format("{} {} / {}", edge ? "relation" : "node", type, name);
}

StatusOr<ResolvedTensor> ResolveTensor(const Schema& schema, const TensorRef& ref) {
  ResolvedTensor tensor;
  tensor.edge = ref.edge;
  HG_ASSIGN_OR_RETURN(tensor.type,
                      ref.edge ? schema.RelationIndex(ref.type) : schema.NodeTypeIndex(ref.type));
  tensor.rows =
      ref.edge ? schema.relations[tensor.type].count : schema.node_types[tensor.type].count;
  if (ref.name == kOriginalIdTensor) {
    tensor.spec = {.name = ref.name, .dtype = DType::kInt64, .rank = 1, .dim = 1};
    return tensor;
  }
  const std::vector<TensorSpec>& features =
      ref.edge ? schema.relations[tensor.type].features : schema.node_types[tensor.type].features;
  HG_ASSIGN_OR_RETURN(
      const TensorSpec* const spec,
      FindTensor(features, ref.name,
                 fmt::format("{} '{}'", ref.edge ? "relation" : "node type", ref.type)));
  tensor.feature = static_cast<int>(spec - features.data());
  tensor.spec = *spec;
  return tensor;
}

std::span<const int64_t> Boundaries(const PartitionBook& book, const ResolvedTensor& tensor) {
  return tensor.edge ? book.EdgeBoundaries(tensor.type) : book.NodeBoundaries(tensor.type);
}

TensorRows RowsOf(const Partition& partition, const ResolvedTensor& tensor) {
  TensorRows rows;
  rows.ids = tensor.edge ? partition.book().EdgeRange(tensor.type, partition.part())
                         : partition.book().NodeRange(tensor.type, partition.part());
  if (tensor.feature < 0) {
    rows.bytes = std::as_bytes(tensor.edge ? partition.EdgeOriginalIds(tensor.type)
                                           : partition.NodeOriginalIds(tensor.type));
  } else {
    rows.bytes = (tensor.edge ? partition.EdgeFeature(tensor.type, tensor.feature)
                              : partition.NodeFeature(tensor.type, tensor.feature))
                     .data();
  }
  return rows;
}

}  // namespace halograph
