#include "partitioner/readers/graphbolt.h"

#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "common/base/log.h"
#include "common/yaml/yaml_value.h"
#include "partitioner/readers/edge_array.h"
#include "partitioner/readers/graphbolt_tasks.h"
#include "partitioner/readers/input_tensor.h"
#include "partitioner/readers/text_table.h"

namespace halograph {
namespace {

// "src:name:dst"; nothing else has exactly two colons and no empty part.
std::optional<InputRelation> SplitTriple(const std::string& triple) {
  const size_t first = triple.find(':');
  const size_t last = triple.rfind(':');
  if (first == std::string::npos || first == last || first == 0 || last == first + 1 ||
      last + 1 == triple.size() || triple.find(':', first + 1) != last) {
    return std::nullopt;
  }
  InputRelation relation;
  relation.source = triple.substr(0, first);
  relation.name = triple.substr(first + 1, last - first - 1);
  relation.destination = triple.substr(last + 1);
  return relation;
}

class GraphBoltReader {
 public:
  GraphBoltReader(std::filesystem::path folder, Scratch* scratch)
      : folder_(std::move(folder)), scratch_(scratch) {}

  StatusOr<Dataset> Read() {
    HG_ASSIGN_OR_RETURN(const YamlValue description,
                        YamlValue::ReadFile(folder_ / "metadata.yaml"));
    dataset_.format = "graphbolt";
    dataset_.name = FolderName(folder_);
    if (description.Find("dataset_name") != nullptr) {
      HG_ASSIGN_OR_RETURN(dataset_.name, description.RequireText("dataset_name"));
    }
    if (const YamlValue* topology = description.Find("graph_topology")) {
      return topology->Error(
          "this is the copy that GraphBolt made for itself: give the folder above preprocessed/");
    }
    HG_ASSIGN_OR_RETURN(const YamlValue* graph, description.Require("graph"));
    HG_RETURN_IF_ERROR(ReadNodes(*graph));
    HG_RETURN_IF_ERROR(ReadEdges(*graph));
    HG_RETURN_IF_ERROR(ReadFeatures(*graph));
    HG_RETURN_IF_ERROR(ReadFeatures(description));
    HG_RETURN_IF_ERROR(ReadGraphBoltTasks(description, folder_, homogeneous_, scratch_, &dataset_));
    WarnOfUnknownKeys(description);
    return std::move(dataset_);
  }

 private:
  Status ReadNodes(const YamlValue& graph) {
    HG_RETURN_IF_ERROR(graph.Require("nodes").status());
    HG_ASSIGN_OR_RETURN(const std::span<const YamlValue> nodes, graph.ListOfMaps("nodes"));
    if (nodes.empty()) return graph.Find("nodes")->Error("an empty list");
    homogeneous_ = nodes.size() == 1 && nodes.front().Find("type") == nullptr;
    for (const YamlValue& entry : nodes) {
      InputNodeType node_type;
      node_type.name = kHomogeneousNode;
      if (!homogeneous_) {
        HG_ASSIGN_OR_RETURN(node_type.name, entry.RequireText("type"));
      }
      HG_ASSIGN_OR_RETURN(node_type.count, entry.RequireInt("num"));
      if (node_type.count < 0) {
        return entry.Find("num")->Error(fmt::format("{} nodes", node_type.count));
      }
      if (!types_.emplace(node_type.name, dataset_.node_types.size()).second) {
        return entry.Error(fmt::format("node type `{}` is given twice", node_type.name));
      }
      dataset_.node_types.push_back(std::move(node_type));
    }
    return OkStatus();
  }

  Status ReadEdges(const YamlValue& graph) {
    HG_RETURN_IF_ERROR(graph.Require("edges").status());
    HG_ASSIGN_OR_RETURN(const std::span<const YamlValue> edges, graph.ListOfMaps("edges"));
    if (edges.empty()) return graph.Find("edges")->Error("an empty list");
    if (homogeneous_ && edges.size() > 1) {
      return edges[1].Error(
          "a homogeneous graph has one entry; for several entries give node types and edge types");
    }
    for (const YamlValue& entry : edges) {
      HG_ASSIGN_OR_RETURN(InputRelation relation, ReadRelationName(entry));
      if (!relations_.emplace(relation.triple(), dataset_.relations.size()).second) {
        return entry.Error(fmt::format("edge type `{}` is given twice", relation.triple()));
      }
      HG_ASSIGN_OR_RETURN(relation.edges, OpenEdges(entry, relation));
      dataset_.relations.push_back(std::move(relation));
    }
    return OkStatus();
  }

  StatusOr<InputRelation> ReadRelationName(const YamlValue& entry) {
    const YamlValue* type = entry.Find("type");
    if (homogeneous_) {
      if (type != nullptr) return type->Error("edges have a type, but the nodes have none");
      InputRelation relation;
      relation.source = relation.destination = kHomogeneousNode;
      relation.name = kHomogeneousEdge;
      return relation;
    }
    HG_ASSIGN_OR_RETURN(const std::string triple, entry.RequireText("type"));
    const std::optional<InputRelation> relation = SplitTriple(triple);
    if (!relation) {
      return type->Error(fmt::format("`{}` is not `source:name:destination`", triple));
    }
    for (const std::string& end : {relation->source, relation->destination}) {
      if (!types_.contains(end)) {
        return type->Error(fmt::format("`{}` is no node type of this graph", end));
      }
    }
    return *relation;
  }

  StatusOr<std::shared_ptr<const EdgeSource>> OpenEdges(const YamlValue& entry,
                                                        const InputRelation& relation) {
    HG_ASSIGN_OR_RETURN(const std::string format, entry.RequireText("format"));
    HG_ASSIGN_OR_RETURN(const std::string name, entry.RequireText("path"));
    EdgeEnds ends = EndsOf(dataset_, relation);
    StatusOr<std::shared_ptr<const EdgeSource>> edges = nullptr;
    if (format == "numpy") {
      edges = OpenEdgeArray(folder_ / name, EdgeArrayForm::kRows, std::move(ends), scratch_);
    } else if (format == "csv") {
      edges = ConvertEdgeTable(folder_ / name, std::move(ends), scratch_);
    } else {
      return entry.Find("format")->Error(
          fmt::format("unknown format `{}`, expected csv or numpy", format));
    }
    if (!edges.ok()) return entry.Find("path")->Annotated(edges.status());
    return edges;
  }

  Status ReadFeatures(const YamlValue& parent) {
    HG_ASSIGN_OR_RETURN(const std::span<const YamlValue> features,
                        parent.ListOfMaps("feature_data"));
    for (const YamlValue& entry : features) {
      HG_ASSIGN_OR_RETURN(const std::string domain, entry.RequireText("domain"));
      HG_ASSIGN_OR_RETURN(const std::string name, entry.RequireText("name"));
      if (domain == "graph") {
        spdlog::warn("{}: features of the whole graph are not supported: `{}` is skipped",
                     entry.Place(), name);
        continue;
      }
      if (domain != "node" && domain != "edge") {
        return entry.Find("domain")->Error(
            fmt::format("unknown domain `{}`, expected node, edge or graph", domain));
      }
      HG_RETURN_IF_ERROR(CheckArrayFormat(entry));
      HG_RETURN_IF_ERROR(ReadFeature(entry, name, domain == "edge"));
    }
    return OkStatus();
  }

  Status ReadFeature(const YamlValue& entry, const std::string& name, bool edge) {
    HG_ASSIGN_OR_RETURN(const FeatureOwner owner, FindOwner(entry, edge));
    HG_ASSIGN_OR_RETURN(const std::string file, entry.RequireText("path"));
    for (const InputTensor& other : *owner.features) {
      if (other.spec.name == name) {
        return entry.Error(fmt::format("feature `{}` is given twice for {}", name, owner.what));
      }
    }
    StatusOr<InputTensor> tensor = MapTensor(folder_ / file, name, scratch_);
    if (!tensor.ok()) return entry.Find("path")->Annotated(tensor.status());
    if (Status status = CheckRows(*tensor, owner.rows, owner.what); !status.ok()) {
      return entry.Find("path")->Annotated(status);
    }
    owner.features->push_back(*std::move(tensor));
    return OkStatus();
  }

  struct FeatureOwner {
    std::vector<InputTensor>* features = nullptr;
    int64_t rows = 0;
    std::string what;
  };

  StatusOr<FeatureOwner> FindOwner(const YamlValue& entry, bool edge) {
    std::string type = edge ? "node:edge:node" : kHomogeneousNode;
    if (!homogeneous_) {
      HG_ASSIGN_OR_RETURN(type, entry.RequireText("type"));
    } else if (entry.Find("type") != nullptr) {
      return entry.Find("type")->Error("types are only for graphs whose nodes have types");
    }
    if (edge) {
      const auto found = relations_.find(type);
      if (found == relations_.end()) {
        return entry.Find("type")->Error(fmt::format("`{}` is no edge type of this graph", type));
      }
      InputRelation& relation = dataset_.relations[found->second];
      return FeatureOwner{&relation.features, relation.edges->max_edges(),
                          fmt::format("edges of type `{}`", type)};
    }
    const auto found = types_.find(type);
    if (found == types_.end()) {
      return entry.Find("type")->Error(fmt::format("`{}` is no node type of this graph", type));
    }
    InputNodeType& node_type = dataset_.node_types[found->second];
    return FeatureOwner{&node_type.features, node_type.count,
                        fmt::format("nodes of type `{}`", type)};
  }

  // A misspelt `tasks` would otherwise go unnoticed until training.
  static void WarnOfUnknownKeys(const YamlValue& description) {
    constexpr int kShown = 5;
    int unknown = 0;
    for (const auto& [key, value] : description.fields) {
      if (key == "dataset_name" || key == "graph" || key == "feature_data" || key == "tasks") {
        continue;
      }
      if (++unknown > kShown) continue;
      spdlog::warn("{}: this key is not known and is ignored", value.Place());
    }
    if (unknown > kShown) {
      spdlog::warn("{}: {} more keys are not known and are ignored", *description.file,
                   unknown - kShown);
    }
  }

  const std::filesystem::path folder_;
  Scratch* const scratch_;
  bool homogeneous_ = false;
  Dataset dataset_;
  // Places in dataset_, by name and by triple.
  std::unordered_map<std::string, size_t> types_;
  std::unordered_map<std::string, size_t> relations_;
};

}  // namespace

StatusOr<Dataset> ReadGraphBolt(const std::filesystem::path& folder, Scratch* scratch) {
  return GraphBoltReader(folder, scratch).Read();
}

}  // namespace halograph
