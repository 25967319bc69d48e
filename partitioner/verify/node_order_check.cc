#include <algorithm>
#include <string>
#include <vector>

#include "partitioner/verify/checks.h"

namespace halograph {
namespace {

// [part][sub-part], of one node type.
StatusOr<std::vector<std::vector<int64_t>>> SizesOf(const Json& nodes, const std::string& type,
                                                    size_t parts, size_t sub_parts,
                                                    const std::string& where) {
  HG_ASSIGN_OR_RETURN(const Json rows, GetArray(nodes, type, where));
  std::vector<std::vector<int64_t>> sizes;
  for (const Json& row : rows) {
    std::vector<int64_t> of_part;
    for (const Json& size : row) {
      if (!size.is_number_unsigned())
        return DataLoss("{}: {} is no number of nodes", where, size.dump());
      of_part.push_back(size.get<int64_t>());
    }
    if (of_part.size() == sub_parts) sizes.push_back(std::move(of_part));
  }
  if (sizes.size() == parts) return sizes;
  return DataLoss("{}.{}: expected a row of {} numbers for each of {} parts", where, type,
                  sub_parts, parts);
}

// Sub-parts as the manifest's options have them: [type][part][sub-part]; empty: parts are whole.
using SubPartSizes = std::vector<std::vector<std::vector<int64_t>>>;
StatusOr<SubPartSizes> ReadSubParts(const PartitionSet& graph, const Json& options,
                                    const std::string& here) {
  SubPartSizes sizes;
  if (!options.contains("trainers_per_part")) return sizes;
  HG_ASSIGN_OR_RETURN(const int64_t sub_parts, GetInt(options, "trainers_per_part", here));
  if (sub_parts < 1) return DataLoss("{}: trainers_per_part is {}", here, sub_parts);
  HG_ASSIGN_OR_RETURN(const Json report, GetObject(options, "report", here));
  HG_ASSIGN_OR_RETURN(const Json levels, GetObject(report, "sub_parts", here + ".report"));
  HG_ASSIGN_OR_RETURN(const Json nodes, GetObject(levels, "nodes", here + ".report.sub_parts"));
  for (const NodeType& type : graph.schema().node_types) {
    HG_ASSIGN_OR_RETURN(sizes.emplace_back(),
                        SizesOf(nodes, type.name, graph.parts().size(),
                                static_cast<size_t>(sub_parts), here + ".report.sub_parts.nodes"));
  }
  return sizes;
}

// The nodes of one type and part.
class OrderVerifier {
 public:
  OrderVerifier(int node_type, const std::string& name, const Partition& part, const NodeMaps& maps,
                Findings* findings)
      : node_type_(node_type),
        name_(name),
        part_(part.part()),
        own_(part.book().NodeRange(node_type, part.part())),
        clusters_(part.ClusterBounds()),
        maps_(maps),
        findings_(findings) {}

  // Ids at which sub-parts begin, and the end of the last; nothing if they do not make up the part.
  [[nodiscard]] std::vector<int64_t> SubPartBounds(const std::vector<int64_t>& sizes) {
    std::vector<int64_t> bounds = {own_.begin};
    for (const int64_t size : sizes) bounds.push_back(bounds.back() + size);
    if (bounds.back() == own_.end) return bounds;
    findings_->Add("node type `{}`, part {}: its sub-parts have {} nodes, the part {}", name_,
                   part_, bounds.back() - own_.begin, own_.size());
    return {};
  }

  // That no cluster lies in two sub-parts.
  void VerifyClusters(const std::vector<int64_t>& sub_part_bounds) {
    if (clusters_.empty()) return;
    for (size_t s = 1; s + 1 < sub_part_bounds.size(); ++s) {
      const int64_t bound = sub_part_bounds[s];
      if (std::binary_search(clusters_.begin(), clusters_.end(), bound)) continue;
      findings_->Add("node type `{}`, part {}: sub-part {} begins with node {}, inside a cluster",
                     name_, part_, s, bound);
    }
  }

  // That nodes ascend by input id within each cluster, or else within each sub-part.
  void VerifyOrder(const std::vector<int64_t>& sub_part_bounds) {
    const bool clusters = !clusters_.empty();
    const std::span<const int64_t> bounds = clusters ? clusters_ : std::span(sub_part_bounds);
    for (size_t r = 0; r + 1 < bounds.size(); ++r) {
      VerifyRange(clusters ? "cluster" : "sub-part", r, {bounds[r], bounds[r + 1]});
    }
  }

 private:
  void VerifyRange(std::string_view what, size_t number, IdRange ids) {
    int64_t previous = -1;
    for (int64_t id = ids.begin; id < ids.end; ++id) {
      const int64_t input = maps_.InputId(node_type_, id);
      if (input < 0) continue;  // it was reported
      if (input < previous) {
        findings_->Add(
            "node type `{}`, part {}, {} {}: node {} follows node {}, but {}s are in the order of "
            "the input",
            name_, part_, what, number, maps_.OriginalId(node_type_, input),
            maps_.OriginalId(node_type_, previous), what);
      }
      previous = input;
    }
  }

  const int node_type_;
  const std::string& name_;
  const int part_;
  const IdRange own_;
  const std::span<const int64_t> clusters_;
  const NodeMaps& maps_;
  Findings* const findings_;
};

// Whether parts have the clusters that the options ask for.
Status VerifyClusterCounts(const PartitionSet& graph, const Json& options, const std::string& here,
                           Findings* findings) {
  int64_t wanted = 0;
  if (options.contains("batch_clusters")) {
    HG_ASSIGN_OR_RETURN(wanted, GetInt(options, "batch_clusters", here));
  }
  for (const auto& part : graph.parts()) {
    const int64_t clusters = part->manifest().clusters.value_or(0);
    if (part->manifest().clusters.has_value() == (wanted > 0) && clusters <= wanted) continue;
    findings->Add("part {}: {} clusters, but options.batch_clusters is {}", part->part(), clusters,
                  wanted);
  }
  return OkStatus();
}

}  // namespace

Status VerifyNodeOrder(const PartitionSet& graph, const Json& options, const std::string& where,
                       const NodeMaps& maps, Findings* findings) {
  const std::string here = where + ": options";
  HG_RETURN_IF_ERROR(VerifyClusterCounts(graph, options, here, findings));
  HG_ASSIGN_OR_RETURN(const SubPartSizes sizes, ReadSubParts(graph, options, here));
  const bool by_input = !options.contains("order");
  const std::vector<NodeType>& types = graph.schema().node_types;
  for (size_t t = 0; t < types.size(); ++t) {
    for (const auto& part : graph.parts()) {
      OrderVerifier verifier(static_cast<int>(t), types[t].name, *part, maps, findings);
      std::vector<int64_t> sub_parts;
      if (!sizes.empty()) {
        sub_parts = verifier.SubPartBounds(sizes[t][static_cast<size_t>(part->part())]);
      }
      verifier.VerifyClusters(sub_parts);
      if (by_input) verifier.VerifyOrder(sub_parts);
    }
  }
  return OkStatus();
}

}  // namespace halograph
