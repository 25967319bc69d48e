#include "trainer/checkpoint/files/trained_on.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace halograph {
namespace {

using Words = std::vector<std::string>;

std::string TextOf(const TrainedFeature& feature) {
  return fmt::format("{} wide ({})", feature.width, feature.dtype);
}

std::string InputsOf(const TrainedType& type) {
  if (type.learnt > 0) return fmt::format("rows learnt by node, {} wide", type.learnt);
  Words features;
  for (const TrainedFeature& feature : type.features) {
    features.push_back(fmt::format("'{}', {}", feature.name, TextOf(feature)));
  }
  return features.empty() ? "none" : fmt::format("{}", fmt::join(features, ", "));
}

// Names that one of them lacks. They are in byte order in both.
void CompareNames(std::string_view what, const Words& trained, const Words& here,
                  Words* differences) {
  const auto missing = [&](const Words& from, const Words& in, std::string_view how) {
    for (const std::string& name : from) {
      if (std::find(in.begin(), in.end(), name) != in.end()) continue;
      differences->push_back(fmt::format("{} '{}' {}", what, name, how));
    }
  };
  missing(trained, here, "is not in this graph");
  missing(here, trained, "was not in the run's graph");
}

void CompareInputs(const TrainedType& trained, const TrainedType& here, Words* differences) {
  const bool named_alike =
      trained.learnt == 0 && here.learnt == 0 &&
      std::equal(trained.features.begin(), trained.features.end(), here.features.begin(),
                 here.features.end(),
                 [](const auto& was, const auto& is) { return was.name == is.name; });
  if (!named_alike) {
    const std::string was = InputsOf(trained), is = InputsOf(here);
    if (was == is) return;
    differences->push_back(
        fmt::format("the inputs of node type '{}' were {}, here {}", trained.name, was, is));
    return;
  }
  for (size_t i = 0; i < trained.features.size(); ++i) {
    const TrainedFeature &was = trained.features[i], &is = here.features[i];
    if (was == is) continue;
    differences->push_back(fmt::format("feature '{}' of node type '{}' was {}, here it is {}",
                                       was.name, trained.name, TextOf(was), TextOf(is)));
  }
}

Words NamesOf(const std::vector<TrainedType>& types) {
  Words names;
  for (const TrainedType& type : types) names.push_back(type.name);
  return names;
}

StatusOr<TrainedType> TypeFromJson(const Json& json, std::string_view where) {
  TrainedType type;
  HG_ASSIGN_OR_RETURN(type.name, GetString(json, "name", where));
  HG_ASSIGN_OR_RETURN(type.learnt, GetInt(json, "learnt", where));
  HG_ASSIGN_OR_RETURN(const Json features, GetArray(json, "features", where));
  for (const Json& fields : features) {
    TrainedFeature& feature = type.features.emplace_back();
    HG_ASSIGN_OR_RETURN(feature.name, GetString(fields, "name", where));
    HG_ASSIGN_OR_RETURN(feature.dtype, GetString(fields, "dtype", where));
    HG_ASSIGN_OR_RETURN(feature.width, GetInt(fields, "width", where));
  }
  return type;
}

}  // namespace

bool TrainedOn::learns_rows() const {
  return std::any_of(node_types.begin(), node_types.end(),
                     [](const TrainedType& type) { return type.learnt > 0; });
}

TrainedOn TypesOf(const Schema& schema) {
  TrainedOn types;
  for (const NodeType& type : schema.node_types) {
    types.node_types.push_back({.name = type.name, .features = {}});
  }
  for (const Relation& relation : schema.relations) types.relations.push_back(relation.triple());
  return types;
}

Status CheckFits(const TrainedOn& trained, const TrainedOn& here, std::string_view where) {
  Words differences;
  CompareNames("node type", NamesOf(trained.node_types), NamesOf(here.node_types), &differences);
  CompareNames("relation", trained.relations, here.relations, &differences);
  for (const TrainedType& was : trained.node_types) {
    for (const TrainedType& is : here.node_types) {
      if (was.name == is.name) CompareInputs(was, is, &differences);
    }
  }
  if (trained.outputs != here.outputs) {
    differences.push_back(fmt::format("the task had {} outputs (classes, or values), here {}",
                                      trained.outputs, here.outputs));
  }
  if (differences.empty()) return OkStatus();
  return FailedPrecondition(
      "{}: its weights do not fit this graph: {}. Give a graph that has what the run's had", where,
      fmt::join(differences, "; "));
}

Json ToJson(const TrainedOn& trained) {
  Json types = Json::array();
  for (const TrainedType& type : trained.node_types) {
    Json features = Json::array();
    for (const TrainedFeature& feature : type.features) {
      features.push_back(
          Json{{"name", feature.name}, {"dtype", feature.dtype}, {"width", feature.width}});
    }
    types.push_back(
        Json{{"name", type.name}, {"features", std::move(features)}, {"learnt", type.learnt}});
  }
  return Json{{"node_types", std::move(types)},
              {"relations", trained.relations},
              {"outputs", trained.outputs}};
}

StatusOr<TrainedOn> TrainedOnFromJson(const Json& json, std::string_view where) {
  TrainedOn trained;
  HG_ASSIGN_OR_RETURN(const Json types, GetArray(json, "node_types", where));
  for (const Json& fields : types) {
    HG_ASSIGN_OR_RETURN(TrainedType type, TypeFromJson(fields, where));
    trained.node_types.push_back(std::move(type));
  }
  HG_ASSIGN_OR_RETURN(const Json relations, GetArray(json, "relations", where));
  for (const Json& relation : relations) {
    if (!relation.is_string()) return DataLoss("{}: a relation is no text", where);
    trained.relations.push_back(relation.get<std::string>());
  }
  HG_ASSIGN_OR_RETURN(trained.outputs, GetInt(json, "outputs", where));
  return trained;
}

}  // namespace halograph
