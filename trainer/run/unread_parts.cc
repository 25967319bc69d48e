#include "trainer/run/unread_parts.h"

#include <string>
#include <vector>

#include "common/base/list_some.h"
#include "common/base/log.h"

namespace halograph {
namespace {

constexpr size_t kNamed = 5;

}  // namespace

void WarnOfUnreadParts(const Schema& schema, const TrainingTask& task) {
  std::vector<bool> reached(schema.node_types.size()), read(schema.node_types.size());
  std::vector<std::string> empty, apart;
  for (int r = 0; r < static_cast<int>(schema.relations.size()); ++r) {
    if (schema.relations[r].count == 0) {
      empty.push_back(schema.relations[r].triple());
      continue;
    }
    reached[schema.DestinationType(r)] = true;
    read[schema.SourceType(r)] = read[schema.DestinationType(r)] = true;
  }
  for (const int type : task.seed_types()) {
    read[type] = true;
    if (reached[type]) continue;
    spdlog::warn(
        "no edge leads into node type '{}' of task '{}': the model sees each of these nodes alone. "
        "halograph-partition run --undirected adds the reverse relations",
        schema.node_types[type].name, task.name());
  }
  for (size_t t = 0; t < read.size(); ++t) {
    if (!read[t]) apart.push_back(schema.node_types[t].name);
  }
  if (!empty.empty()) {
    spdlog::warn(
        "relations without edges: {}. The model gets nothing from them. If they should have edges, "
        "repair their input files and partition the graph again",
        ListSomeNames(empty, kNamed));
  }
  if (apart.empty()) return;
  spdlog::warn(
      "node types in no relation with edges: {}. No minibatch reads their nodes: their features "
      "and --embed have no effect. If they should have edges, look at the input's relations",
      ListSomeNames(apart, kNamed));
}

void WarnOfUnreadEdgeFeatures(const Schema& schema, std::string_view sampling_weights,
                              std::string_view edge_weight) {
  std::vector<std::string> unread;
  for (const Relation& relation : schema.relations) {
    for (const TensorSpec& feature : relation.features) {
      if (feature.name == sampling_weights || feature.name == edge_weight) continue;
      unread.push_back(fmt::format("'{}' of '{}'", feature.name, relation.triple()));
    }
  }
  if (unread.empty()) return;
  spdlog::warn(
      "edge features that nothing reads: {}. --edge-weight weighs neighbours by one of a column; "
      "--sampling-weights draws them by one, of a graph that halograph-partition run "
      "--sampling-weights has made",
      ListSome(unread, kNamed, [](const std::string& text) { return text; }));
}

}  // namespace halograph
