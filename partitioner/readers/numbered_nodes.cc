#include "partitioner/readers/numbered_nodes.h"

#include <memory>
#include <utility>

#include "common/storage/disk_space.h"
#include "partitioner/readers/reader.h"
#include "partitioner/readers/row_writer.h"

namespace halograph {
namespace {

// 1, 2, ... `count`, in a file of the scratch folder.
StatusOr<std::shared_ptr<const NpyArray>> IdsFromOne(int64_t count, Scratch* scratch) {
  HG_ASSIGN_OR_RETURN(const std::filesystem::path path, scratch->NewFile("original-ids"));
  HG_RETURN_IF_ERROR(
      CheckDiskSpace(path.parent_path(), count * static_cast<int64_t>(sizeof(int64_t))));
  RowWriter<int64_t> writer;
  HG_RETURN_IF_ERROR(writer.Open(path, 1));
  for (int64_t id = 1; id <= count; ++id) {
    writer.block()->push_back(id);
    HG_RETURN_IF_ERROR(writer.FlushIfFull());
  }
  HG_RETURN_IF_ERROR(writer.Close());
  HG_ASSIGN_OR_RETURN(NpyArray array, NpyArray::Open(path));
  return std::shared_ptr<const NpyArray>(std::make_shared<NpyArray>(std::move(array)));
}

}  // namespace

std::string FileTitle(const std::filesystem::path& path) {
  return (path.extension() == ".gz" ? path.stem().stem() : path.stem()).string();
}

StatusOr<Dataset> NumberedNodes(const std::filesystem::path& path, int64_t nodes,
                                Scratch* scratch) {
  if (nodes > kMaxNodes) {
    return InvalidArgument("{}: its size line gives {} nodes, more than the {} that any graph has",
                           path.string(), nodes, kMaxNodes);
  }
  Dataset dataset;
  dataset.name = FileTitle(path);
  InputNodeType& node_type = dataset.node_types.emplace_back();
  node_type.name = kHomogeneousNode;
  node_type.count = nodes;
  HG_ASSIGN_OR_RETURN(node_type.original_ids, IdsFromOne(nodes, scratch));
  InputRelation& relation = dataset.relations.emplace_back();
  relation.source = relation.destination = kHomogeneousNode;
  relation.name = kHomogeneousEdge;
  return dataset;
}

}  // namespace halograph
