#include "partitioner/levels/sub_parts.h"

#include <algorithm>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "common/base/log.h"
#include "common/base/rng.h"
#include "common/storage/file.h"
#include "partitioner/levels/part_graphs.h"
#include "partitioner/methods/constraints.h"
#include "partitioner/methods/registry/auto_method.h"
#include "partitioner/methods/registry/registry.h"
#include "partitioner/stream/edge_pass.h"

namespace halograph {
namespace {

constexpr char kStreaming[] = "stream-metis";
// Keys of parts below the seed's; keys below this are the methods' own.
constexpr uint64_t kPartKeys = uint64_t{1} << 40;
constexpr int64_t kBytesOfOwner = sizeof(uint16_t);

// Owners, sub-parts and order keys of all nodes.
HeldMemory HeldOf(int64_t nodes, NodeOrder order) {
  return {"owners, sub-parts and keys",
          nodes * (2 * kBytesOfOwner + (order == NodeOrder::kCluster ? 4 : 0))};
}

// What a part of a graph of `nodes` nodes is divided with.
MethodOptions OptionsOfPart(const MethodOptions& options, int64_t nodes, int part, int sub_parts) {
  MethodOptions own = options;
  own.parts = sub_parts;
  own.seed = SubKey(SubKey(options.seed, kPartKeys), static_cast<uint64_t>(part));
  own.order = NodeOrder::kInput;  // within a sub-part as the first level says
  own.memory = MemoryLeft(options.memory, HeldOf(nodes, options.order).bytes);
  own.scratch = options.scratch / "method";
  StreamMetisOptions& stream = own.stream_metis;
  if (stream.clusters > 0) stream.clusters = std::max<int64_t>(1, stream.clusters / options.parts);
  return own;
}

// Divides one part after the other, and keeps what came of it.
class Division {
 public:
  Division(const Dataset& dataset, const PartitionMethod& method, const MethodOptions& options,
           int sub_parts)
      : dataset_(dataset), method_(method), options_(options), sub_parts_(sub_parts) {}

  Status Divide(int part, const Dataset& graph) {
    const int64_t nodes = GraphCounts::Of(dataset_).num_nodes();
    const MethodOptions own = OptionsOfPart(options_, nodes, part, sub_parts_);
    HG_RETURN_IF_ERROR(
        Annotate(CheckMemory(PlanOfPart(method_.PlanMemory(GraphCounts::Of(graph), own),
                                        HeldOf(nodes, options_.order)),
                             options_.memory),
                 fmt::format("part {} of the second level", part)));
    HG_RETURN_IF_ERROR(MakeFolder(own.scratch));
    HG_ASSIGN_OR_RETURN(Assignment assignment, method_.Assign(graph, own));
    of_part_.push_back(std::move(assignment.owners));
    for (const Json& constraint : assignment.report.value("constraints", Json::array())) {
      double& worst = worst_[constraint.at("name").get<std::string>()];
      worst = std::max(worst, constraint.at("max_over_mean").get<double>());
    }
    return OkStatus();
  }

  // One pass over the nodes. Every part was divided, in order.
  void Join(Assignment* assignment) {
    assignment->num_sub_parts = sub_parts_;
    Json nodes = Json::object();
    for (size_t type = 0; type < assignment->owners.size(); ++type) {
      const std::vector<uint16_t>& owners = assignment->owners[type];
      std::vector<size_t> next(of_part_.size(), 0);
      std::vector<std::vector<int64_t>> counts(
          of_part_.size(), std::vector<int64_t>(static_cast<size_t>(sub_parts_), 0));
      std::vector<uint16_t>& joined = assignment->sub_parts.emplace_back(owners.size());
      for (size_t id = 0; id < owners.size(); ++id) {
        const size_t part = owners[id];
        joined[id] = of_part_[part][type][next[part]++];
        ++counts[part][joined[id]];
      }
      for (auto& of_type : of_part_) std::vector<uint16_t>().swap(of_type[type]);
      nodes[dataset_.node_types[type].name] = counts;
    }
    Json constraints = Json::array();
    for (const auto& [name, worst] : worst_) {
      constraints.push_back({{"name", name}, {"max_over_mean", worst}});
    }
    assignment->report["sub_parts"] = {{"method", method_.name()},
                                       {"nodes", std::move(nodes)},
                                       {"constraints", std::move(constraints)}};
  }

 private:
  const Dataset& dataset_;
  const PartitionMethod& method_;
  const MethodOptions& options_;
  const int sub_parts_;
  std::vector<std::vector<std::vector<uint16_t>>> of_part_;  // [part][type][node of the part]
  std::map<std::string, double> worst_;                      // by constraint
};

Status CheckNodes(const PartGraphs& graphs, int parts, int sub_parts) {
  for (int part = 0; part < parts; ++part) {
    const int64_t nodes = graphs.NodesOf(part);
    if (nodes >= sub_parts) continue;
    return InvalidArgument(
        "--trainers-per-part {}: part {} has only {} nodes; give at most as many trainers, or "
        "fewer --parts",
        sub_parts, part, nodes);
  }
  return OkStatus();
}

}  // namespace

StatusOr<std::string> MethodOfSubParts(std::string_view method) {
  if (method == "random") {
    return InvalidArgument(
        "--trainers-per-part: the parts of method random have hardly any edges of their own to "
        "divide them by; choose --method {}, metis, lp-metis or stream-metis",
        kAutoMethod);
  }
  if (method == "metis" || method == "lp-metis" || method == kAutoMethod) {
    return std::string(method);
  }
  return method == "owners" ? kAutoMethod : kStreaming;
}

MemoryPlan PlanSubParts(const GraphCounts& counts, const std::string& method,
                        const MethodOptions& options, int trainers_per_part) {
  const int64_t nodes = counts.num_nodes();
  const HeldMemory held = HeldOf(nodes, options.order);
  MemoryPlan plan = {{PlanPartGraphs("edges within parts", nodes, options.parts, held)}};
  const auto divide = MakeMethod(method);
  if (!divide.ok()) return plan;
  const MethodOptions own = OptionsOfPart(options, nodes, 0, trainers_per_part);
  plan.Append(PlanOfPart((*divide)->PlanMemory(CountsOfPart(counts, options.parts), own), held));
  return plan;
}

Status AddSubParts(const Dataset& dataset, const std::string& method, const MethodOptions& options,
                   int trainers_per_part, Assignment* assignment) {
  if (trainers_per_part == 1) return OkStatus();
  const std::string by =
      method == kAutoMethod ? assignment->report.value("method", method) : method;
  HG_ASSIGN_OR_RETURN(const auto divide, MakeMethod(by));
  HG_ASSIGN_OR_RETURN(PartGraphs graphs,
                      PartGraphs::Make(dataset, assignment->owners, options.parts));
  HG_RETURN_IF_ERROR(CheckNodes(graphs, options.parts, trainers_per_part));
  spdlog::info("dividing each part among {} trainers, by {}", trainers_per_part, by);
  Division division(dataset, *divide, options, trainers_per_part);
  HG_RETURN_IF_ERROR(graphs.ForEach(options.scratch / "parts", [&](int part, const Dataset& graph) {
    return division.Divide(part, graph);
  }));
  division.Join(assignment);
  return OkStatus();
}

}  // namespace halograph
