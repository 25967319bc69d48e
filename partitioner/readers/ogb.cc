#include "partitioner/readers/ogb.h"

#include <utility>
#include <vector>

#include "common/base/log.h"
#include "partitioner/readers/ogb_files.h"
#include "partitioner/readers/ogb_task.h"
#include "partitioner/readers/text_table.h"

namespace halograph {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMaxRelations = size_t{1} << 20;

class OgbReader {
 public:
  OgbReader(fs::path folder, std::string split, Scratch* scratch)
      : folder_(std::move(folder)),
        raw_(folder_ / "raw"),
        split_(std::move(split)),
        scratch_(scratch) {}

  StatusOr<Dataset> Read() {
    dataset_.format = "ogb";
    dataset_.name = FolderName(folder_);
    HG_RETURN_IF_ERROR(CheckKind());
    const bool typed = FileExists(raw_ / "triplet-type-list.csv.gz");
    HG_RETURN_IF_ERROR(typed ? ReadTypedGraph() : ReadHomogeneousGraph());
    HG_RETURN_IF_ERROR(ReadOgbTask(folder_, split_, typed, scratch_, &dataset_));
    return std::move(dataset_);
  }

 private:
  [[nodiscard]] Status CheckKind() const {
    for (const char* name : {"data.npz", "edge_index_dict.npz"}) {
      if (!FileExists(raw_ / name)) continue;
      return Unimplemented(
          "{}: OGB's binary layout is not supported: convert it to a GraphBolt folder "
          "(metadata.yaml with numpy files)",
          (raw_ / name).string());
    }
    if (FileExists(raw_)) return OkStatus();
    return NotFound("{}: does not exist, but an OGB folder has its files there", raw_.string());
  }

  Status ReadHomogeneousGraph() {
    InputNodeType& node_type = dataset_.node_types.emplace_back();
    node_type.name = kHomogeneousNode;
    HG_ASSIGN_OR_RETURN(node_type.count, ReadGraphCount(raw_ / "num-node-list.csv.gz"));
    InputRelation relation;
    relation.source = relation.destination = kHomogeneousNode;
    relation.name = kHomogeneousEdge;
    HG_RETURN_IF_ERROR(ReadOgbRelation(raw_, dataset_, scratch_, &relation));
    dataset_.relations.push_back(std::move(relation));
    return ReadNodeFeatures(raw_, &node_type);
  }

  Status ReadTypedGraph() {
    const fs::path counts = raw_ / "num-node-dict.csv.gz";
    HG_ASSIGN_OR_RETURN(const auto columns, ReadHeaderAndRow(counts));
    for (const auto& [name, cell] : columns) {
      InputNodeType node_type;
      node_type.name = name;
      if (name.empty() || name.find(':') != std::string::npos) {
        return InvalidArgument("{}:1: `{}` cannot be a node type's name", counts.string(), name);
      }
      if (!ParseInteger(cell, &node_type.count) || node_type.count < 0) {
        return InvalidArgument("{}:2: `{}` is no count of nodes", counts.string(), cell);
      }
      if (dataset_.NodeTypeIndex(name) >= 0) {
        return InvalidArgument("{}:1: node type `{}` is given twice", counts.string(), name);
      }
      dataset_.node_types.push_back(std::move(node_type));
    }
    HG_RETURN_IF_ERROR(ReadRelations());
    for (InputNodeType& node_type : dataset_.node_types) {
      const fs::path folder = raw_ / "node-feat" / node_type.name;
      if (FileExists(folder)) HG_RETURN_IF_ERROR(ReadNodeFeatures(folder, &node_type));
    }
    return OkStatus();
  }

  Status ReadRelations() {
    const fs::path list = raw_ / "triplet-type-list.csv.gz";
    HG_ASSIGN_OR_RETURN(const auto rows, ReadTextTable(list, kMaxRelations));
    for (size_t i = 0; i < rows.size(); ++i) {
      const std::vector<std::string>& row = rows[i];
      const std::string place = fmt::format("{}: row {}", list.string(), i + 1);
      if (row.size() != 3) {
        return InvalidArgument("{}: expected `head,relation,tail`, found {} cells", place,
                               row.size());
      }
      for (const std::string& end : {row[0], row[2]}) {
        if (dataset_.NodeTypeIndex(end) >= 0) continue;
        return InvalidArgument("{}: `{}` is no node type of num-node-dict.csv.gz", place, end);
      }
      InputRelation relation;
      relation.source = row[0];
      relation.name = row[1];
      relation.destination = row[2];
      for (const InputRelation& other : dataset_.relations) {
        if (other.triple() != relation.triple()) continue;
        return InvalidArgument("{}: relation `{}` is given twice", place, relation.triple());
      }
      const std::string folder = fmt::format("{}___{}___{}", row[0], row[1], row[2]);
      HG_RETURN_IF_ERROR(
          ReadOgbRelation(raw_ / "relations" / folder, dataset_, scratch_, &relation));
      dataset_.relations.push_back(std::move(relation));
    }
    return OkStatus();
  }

  Status ReadNodeFeatures(const fs::path& folder, InputNodeType* node_type) {
    HG_ASSIGN_OR_RETURN(
        node_type->features,
        ReadOgbFeatures(folder, "node", node_type->count,
                        fmt::format("nodes of type `{}`", node_type->name), scratch_));
    return OkStatus();
  }

  const fs::path folder_;
  const fs::path raw_;
  const std::string split_;
  Scratch* const scratch_;
  Dataset dataset_;
};

}  // namespace

StatusOr<Dataset> ReadOgb(const fs::path& folder, const std::string& split, Scratch* scratch) {
  return OgbReader(folder, split, scratch).Read();
}

}  // namespace halograph
