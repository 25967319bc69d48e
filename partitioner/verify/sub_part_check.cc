#include <numeric>
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

// The nodes of one type and part.
class SubPartVerifier {
 public:
  SubPartVerifier(int node_type, const std::string& name, int part, const NodeMaps& maps,
                  Findings* findings)
      : node_type_(node_type), name_(name), part_(part), maps_(maps), findings_(findings) {}

  void Verify(IdRange own, const std::vector<int64_t>& sizes, bool by_input) {
    const int64_t sum = std::accumulate(sizes.begin(), sizes.end(), int64_t{0});
    if (sum != own.size()) {
      findings_->Add("node type `{}`, part {}: its sub-parts have {} nodes, the part {}", name_,
                     part_, sum, own.size());
      return;
    }
    if (!by_input) return;
    int64_t begin = own.begin;
    for (size_t s = 0; s < sizes.size(); ++s) {
      VerifyOrder(s, {begin, begin + sizes[s]});
      begin += sizes[s];
    }
  }

 private:
  void VerifyOrder(size_t sub_part, IdRange ids) {
    int64_t previous = -1;
    for (int64_t id = ids.begin; id < ids.end; ++id) {
      const int64_t input = maps_.InputId(node_type_, id);
      if (input < 0) continue;  // it was reported
      if (input < previous) {
        findings_->Add(
            "node type `{}`, part {}, sub-part {}: node {} follows node {}, but sub-parts are in "
            "the order of the input",
            name_, part_, sub_part, maps_.OriginalId(node_type_, input),
            maps_.OriginalId(node_type_, previous));
      }
      previous = input;
    }
  }

  const int node_type_;
  const std::string& name_;
  const int part_;
  const NodeMaps& maps_;
  Findings* const findings_;
};

}  // namespace

Status VerifySubParts(const PartitionSet& graph, const Json& options, const std::string& where,
                      const NodeMaps& maps, Findings* findings) {
  if (!options.contains("trainers_per_part")) return OkStatus();
  const std::string here = where + ": options";
  HG_ASSIGN_OR_RETURN(const int64_t sub_parts, GetInt(options, "trainers_per_part", here));
  if (sub_parts < 1) return DataLoss("{}: trainers_per_part is {}", here, sub_parts);
  HG_ASSIGN_OR_RETURN(const Json report, GetObject(options, "report", here));
  HG_ASSIGN_OR_RETURN(const Json levels, GetObject(report, "sub_parts", here + ".report"));
  const std::string nodes_at = here + ".report.sub_parts.nodes";
  HG_ASSIGN_OR_RETURN(const Json nodes, GetObject(levels, "nodes", here + ".report.sub_parts"));
  const bool by_input = !options.contains("order");
  const std::vector<NodeType>& types = graph.schema().node_types;
  for (size_t t = 0; t < types.size(); ++t) {
    const auto type = static_cast<int>(t);
    HG_ASSIGN_OR_RETURN(const auto sizes, SizesOf(nodes, types[t].name, graph.parts().size(),
                                                  static_cast<size_t>(sub_parts), nodes_at));
    for (const auto& part : graph.parts()) {
      const int number = part->part();
      SubPartVerifier verifier(type, types[t].name, number, maps, findings);
      verifier.Verify(graph.book().NodeRange(type, number), sizes[static_cast<size_t>(number)],
                      by_input);
    }
  }
  return OkStatus();
}

}  // namespace halograph
