#include "client/remote/description.h"

#include <algorithm>

#include <fmt/ranges.h>

#include "client/remote/message_io.h"
#include "halograph/v1/graph.pb.h"

namespace halograph {

namespace {

StatusOr<TensorSpec> ToTensorSpec(const v1::TensorSpec& wire) {
  TensorSpec spec;
  spec.name = wire.name();
  spec.rank = static_cast<int>(wire.rank());
  spec.dim = wire.dim();
  spec.sampling = wire.sampling();
  if (wire.dtype() < v1::DTYPE_FLOAT32 || wire.dtype() > v1::DTYPE_SCALED_INT8) {
    return DataLoss("tensor '{}' has dtype {}, unknown to this build", spec.name,
                    static_cast<int>(wire.dtype()));
  }
  spec.dtype = static_cast<DType>(wire.dtype());
  const bool valid = spec.rank == 2 ? spec.dim >= 0 : spec.rank == 1 && spec.dim == 1;
  if (!valid || spec.dim > (int64_t{1} << 40)) {
    return DataLoss("tensor '{}' has rank {} and dim {}", spec.name, wire.rank(), wire.dim());
  }
  return spec;
}

template <typename WireTensors>
StatusOr<std::vector<TensorSpec>> ToTensorSpecs(const WireTensors& wire) {
  std::vector<TensorSpec> specs;
  for (const v1::TensorSpec& tensor : wire) {
    HG_ASSIGN_OR_RETURN(specs.emplace_back(), ToTensorSpec(tensor));
  }
  return specs;
}

StatusOr<Task> ToTask(const v1::Task& wire) {
  Task task;
  task.name = wire.name();
  HG_ASSIGN_OR_RETURN(task.metadata,
                      ParseJson(wire.metadata_json(), "metadata of task " + task.name));
  for (const v1::TaskSetSpec& wire_set : wire.sets()) {
    TaskSetSpec& set = task.sets.emplace_back();
    set.set = wire_set.set();
    set.type = wire_set.type();
    set.edges = wire_set.edges();
    set.rows = wire_set.rows();
    HG_ASSIGN_OR_RETURN(set.arrays, ToTensorSpecs(wire_set.arrays()));
  }
  return task;
}

StatusOr<Schema> ToSchema(const v1::Schema& wire) {
  Schema schema;
  schema.graph_name = wire.graph_name();
  for (const v1::NodeType& wire_type : wire.node_types()) {
    NodeType& type = schema.node_types.emplace_back();
    type.name = wire_type.name();
    type.count = wire_type.count();
    HG_ASSIGN_OR_RETURN(type.features, ToTensorSpecs(wire_type.features()));
  }
  for (const v1::Relation& wire_relation : wire.relations()) {
    Relation& relation = schema.relations.emplace_back();
    relation.source = wire_relation.source();
    relation.name = wire_relation.name();
    relation.destination = wire_relation.destination();
    relation.count = wire_relation.count();
    HG_ASSIGN_OR_RETURN(relation.features, ToTensorSpecs(wire_relation.features()));
  }
  for (const v1::Task& wire_task : wire.tasks()) {
    HG_ASSIGN_OR_RETURN(schema.tasks.emplace_back(), ToTask(wire_task));
  }
  HG_RETURN_IF_ERROR(schema.Validate());
  return schema;
}

template <typename WireBoundaries>
std::vector<std::vector<int64_t>> ToBoundaries(const WireBoundaries& wire) {
  std::vector<std::vector<int64_t>> all;
  for (const v1::Boundaries& boundaries : wire) {
    all.emplace_back(boundaries.values().begin(), boundaries.values().end());
  }
  return all;
}

// It becomes part of paths and of calls' metadata.
Status CheckIdentityText(const std::string& identity) {
  if (identity.size() == 32 &&
      identity.find_first_not_of("0123456789abcdef") == std::string::npos) {
    return OkStatus();
  }
  return DataLoss("the identity is no 32 hex digits: '{}'", identity.substr(0, 64));
}

StatusOr<PartTaskRows> ToPartTaskRows(const v1::TaskRows& wire, const GraphInfo& graph) {
  PartTaskRows rows;
  HG_ASSIGN_OR_RETURN(rows.set, FindTaskSet(graph.schema, wire.task(), wire.set(), wire.type()));
  const int64_t all = graph.schema.tasks[rows.set.task].sets[rows.set.set].rows;
  if (wire.part() >= static_cast<uint32_t>(graph.book.num_parts()) || wire.rows() < 0 ||
      wire.rows() > all) {
    return DataLoss("partition {} of {} has {} rows of task set '{} / {} / {}', which has {}",
                    wire.part(), graph.book.num_parts(), wire.rows(), wire.task(), wire.set(),
                    wire.type(), all);
  }
  rows.part = static_cast<int>(wire.part());
  rows.rows = wire.rows();
  return rows;
}

// Bounds of the part's clusters, which `wire` has the sizes of.
StatusOr<std::vector<int64_t>> ToClusterBounds(const v1::PartClusters& wire,
                                               const GraphInfo& graph) {
  if (graph.schema.node_types.size() != 1 ||
      wire.part() >= static_cast<uint32_t>(graph.book.num_parts())) {
    return DataLoss("has clusters of partition {} of {}, of {} node types", wire.part(),
                    graph.book.num_parts(), graph.schema.node_types.size());
  }
  const IdRange own = graph.book.NodeRange(0, static_cast<int>(wire.part()));
  std::vector<int64_t> bounds = {own.begin};
  for (const int64_t nodes : wire.nodes()) {
    if (nodes <= 0 || nodes > own.end - bounds.back()) {
      return DataLoss("partition {}: cluster {} has {} nodes, of {} that are left", wire.part(),
                      bounds.size() - 1, nodes, own.end - bounds.back());
    }
    bounds.push_back(bounds.back() + nodes);
  }
  if (bounds.back() == own.end) return bounds;
  return DataLoss("partition {}: its clusters have {} nodes of {}", wire.part(),
                  bounds.back() - own.begin, own.size());
}

StatusOr<ServerDescription> ToDescription(const v1::DescribeReply& wire) {
  ServerDescription description;
  HG_RETURN_IF_ERROR(CheckIdentityText(wire.identity()));
  description.graph.identity = wire.identity();
  HG_ASSIGN_OR_RETURN(description.graph.schema, ToSchema(wire.schema()));
  HG_ASSIGN_OR_RETURN(
      description.graph.book,
      PartitionBook::Create(description.graph.schema, ToBoundaries(wire.book().nodes()),
                            ToBoundaries(wire.book().edges())));
  description.sampling_contract = wire.sampling_contract();
  description.max_message_bytes = wire.max_message_bytes();
  if (description.max_message_bytes <= 0) {
    return DataLoss("max_message_bytes is {}", description.max_message_bytes);
  }
  const auto parts = static_cast<uint32_t>(description.graph.book.num_parts());
  for (const uint32_t part : wire.parts()) {
    if (part >= parts) return DataLoss("serves partition {} of {}", part, parts);
    description.parts.push_back(static_cast<int>(part));
  }
  if (wire.serving_size() > 0) {  // else an older server, which serves all
    const auto serves = [&wire](const char* what) {
      return std::find(wire.serving().begin(), wire.serving().end(), what) != wire.serving().end();
    };
    description.serving = {.topology = serves("topology"), .features = serves("features")};
    description.keeps_state = serves("state");
  }
  description.capabilities.assign(wire.capabilities().begin(), wire.capabilities().end());
  for (const v1::TaskRows& rows : wire.task_rows()) {
    HG_ASSIGN_OR_RETURN(description.task_rows.emplace_back(),
                        ToPartTaskRows(rows, description.graph));
  }
  for (const v1::PartClusters& clusters : wire.clusters()) {
    HG_ASSIGN_OR_RETURN(std::vector<int64_t> bounds, ToClusterBounds(clusters, description.graph));
    description.graph.clusters.resize(parts);
    description.graph.clusters[clusters.part()] = std::move(bounds);
  }
  return description;
}

}  // namespace

StatusOr<ServerDescription> ReadDescription(ReplyPieces reply) {
  v1::DescribeReply wire;
  HG_RETURN_IF_ERROR(ParseReply(reply, &wire));
  StatusOr<ServerDescription> description = ToDescription(wire);
  if (!description.ok()) {
    return DataLoss("its description cannot be used: {}", Message(description.status()));
  }
  return description;
}

namespace {

Status CheckSameGraph(std::string_view first_address, const ServerDescription& first,
                      std::string_view address, const ServerDescription& other) {
  if (other.graph.identity != first.graph.identity) {
    return FailedPrecondition(
        "servers of different graphs: {} serves '{}' with identity {}, {} serves '{}' with "
        "identity {}; start them on parts of one partition folder",
        first_address, first.graph.schema.graph_name, first.graph.identity, address,
        other.graph.schema.graph_name, other.graph.identity);
  }
  if (other.graph.schema != first.graph.schema || other.graph.book != first.graph.book) {
    return FailedPrecondition(
        "{} and {} both claim identity {} but describe different {}; one of them is another build "
        "or was changed; restart both with the same build and folder",
        first_address, address, first.graph.identity,
        other.graph.schema != first.graph.schema ? "schemas" : "partition books");
  }
  return OkStatus();
}

// "1,3", with what is left out of them.
std::string Serving(const ServerDescription& description) {
  const PartContents& serving = description.serving;
  const char* what = " (nothing)";
  if (serving.topology && serving.features)
    what = "";
  else if (serving.topology)
    what = " (topology only)";
  else if (serving.features)
    what = " (features only)";
  return fmt::format("{}{}", fmt::join(description.parts, ","), what);
}

const ServerDescription& First(const Descriptions& descriptions) {
  return **std::find_if(descriptions.begin(), descriptions.end(),
                        [](const auto& description) { return description != nullptr; });
}

// "1,3 of 4": those that no server serves `what` of; empty if all are served.
std::string Missing(const Descriptions& descriptions, bool PartContents::*what) {
  const int parts = First(descriptions).graph.book.num_parts();
  std::vector<bool> served(static_cast<size_t>(parts), false);
  for (const auto& description : descriptions) {
    if (description == nullptr || !(description->serving.*what)) continue;
    for (const int part : description->parts) served[static_cast<size_t>(part)] = true;
  }
  std::vector<int> missing;
  for (int part = 0; part < parts; ++part) {
    if (!served[static_cast<size_t>(part)]) missing.push_back(part);
  }
  return missing.empty() ? "" : fmt::format("{} of {}", fmt::join(missing, ","), parts);
}

}  // namespace

Status CheckOneGraph(const std::vector<std::string>& addresses, const Descriptions& descriptions) {
  const ServerDescription& first = First(descriptions);
  std::string_view first_address;
  for (size_t i = 0; i < descriptions.size(); ++i) {
    if (descriptions[i] == nullptr) continue;
    if (first_address.empty()) first_address = addresses[i];
    HG_RETURN_IF_ERROR(CheckSameGraph(first_address, first, addresses[i], *descriptions[i]));
    if (descriptions[i]->sampling_contract != kSamplingContract) {
      return FailedPrecondition(
          "{} samples by version {} of the contract, this client by version {}; use builds of one "
          "version",
          addresses[i], descriptions[i]->sampling_contract, kSamplingContract);
    }
  }
  return OkStatus();
}

Status CheckComplete(const std::vector<std::string>& addresses, const Descriptions& descriptions,
                     bool needs_topology) {
  std::vector<std::string> who;
  for (size_t i = 0; i < descriptions.size(); ++i) {
    if (descriptions[i] == nullptr) continue;
    who.push_back(fmt::format("{} serves {}", addresses[i], Serving(*descriptions[i])));
  }
  const std::string features = Missing(descriptions, &PartContents::features);
  if (!features.empty()) {
    return FailedPrecondition(
        "no server serves partition {} ({}); add the servers that do to the list", features,
        fmt::join(who, "; "));
  }
  const std::string topology = Missing(descriptions, &PartContents::topology);
  if (!needs_topology || topology.empty()) return OkStatus();
  return Annotate(NoTopology(topology), fmt::format("{}", fmt::join(who, "; ")));
}

Status NoTopology(std::string_view parts) {
  return FailedPrecondition(
      "no server serves the topology of partition {}: start servers of these with --serve all, or "
      "the trainer with --topology DIR",
      parts);
}

}  // namespace halograph
