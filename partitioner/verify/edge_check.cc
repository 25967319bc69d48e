#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "common/base/progress.h"
#include "partitioner/verify/checks.h"

namespace halograph {
namespace {

using Ends = std::pair<int64_t, int64_t>;  // input ids of source and destination

// Input ids in four bytes each where they fit.
class IdArray {
 public:
  IdArray(int64_t size, int64_t id_count) {
    if (id_count <= int64_t{1} << 32) {
      narrow_.resize(size);
    } else {
      wide_.resize(size);
    }
  }
  void Set(int64_t i, int64_t id) {
    if (wide_.empty()) {
      narrow_[i] = static_cast<uint32_t>(id);
    } else {
      wide_[i] = id;
    }
  }
  [[nodiscard]] int64_t operator[](int64_t i) const {
    return wide_.empty() ? int64_t{narrow_[i]} : wide_[i];
  }

 private:
  std::vector<uint32_t> narrow_;
  std::vector<int64_t> wide_;
};

// The input's edges by original id, and which of them were found in the folder.
class InputEdges {
 public:
  InputEdges(int64_t max_edges, int64_t sources, int64_t destinations)
      : sources_(max_edges, sources),
        destinations_(max_edges, destinations),
        given_(max_edges),
        found_(max_edges) {}

  Status Read(const EdgeSource& edges, const std::string& name) {
    HG_ASSIGN_OR_RETURN(const std::unique_ptr<EdgeCursor> cursor, edges.Open());
    Progress progress("reading edges of " + name, edges.max_edges());
    EdgeChunk chunk;
    while (true) {
      HG_ASSIGN_OR_RETURN(const bool more, cursor->Next(&chunk));
      if (!more) return OkStatus();
      for (size_t i = 0; i < chunk.size(); ++i) {
        const int64_t id = chunk.ids[i];
        sources_.Set(id, chunk.sources[i]);
        destinations_.Set(id, chunk.destinations[i]);
        given_[id] = true;
      }
      progress.Advance(static_cast<int64_t>(chunk.size()));
    }
  }

  [[nodiscard]] int64_t size() const { return static_cast<int64_t>(given_.size()); }
  [[nodiscard]] bool Has(int64_t id) const { return id >= 0 && id < size() && given_[id]; }
  [[nodiscard]] bool Missing(int64_t id) const { return given_[id] && !found_[id]; }
  [[nodiscard]] bool Found(int64_t id) const { return found_[id]; }
  void MarkFound(int64_t id) { found_[id] = true; }
  [[nodiscard]] Ends At(int64_t id) const { return {sources_[id], destinations_[id]}; }

 private:
  IdArray sources_;
  IdArray destinations_;
  std::vector<bool> given_;
  std::vector<bool> found_;
};

class EdgeVerifier {
 public:
  EdgeVerifier(const PartitionSet& graph, int relation, const NodeMaps& maps, Findings* findings)
      : graph_(graph),
        relation_(relation),
        name_(graph.schema().relations[relation].triple()),
        source_type_(graph.schema().SourceType(relation)),
        destination_type_(graph.schema().DestinationType(relation)),
        maps_(maps),
        findings_(findings) {}

  Status Verify(const EdgeSource& source, EdgePolicy duplicates) {
    const Schema& schema = graph_.schema();
    InputEdges input(source.max_edges(), schema.node_types[source_type_].count,
                     schema.node_types[destination_type_].count);
    HG_RETURN_IF_ERROR(input.Read(source, name_));
    const bool drop = duplicates == EdgePolicy::kDrop;
    Progress progress("verifying edges of " + name_, schema.relations[relation_].count);
    for (const auto& part : graph_.parts()) VerifyPart(*part, drop, &input, &progress);
    if (drop) {
      VerifyDropped(input);
    } else {
      ReportMissing(input);
    }
    return OkStatus();
  }

 private:
  // "3 -> 5" under original ids.
  [[nodiscard]] std::string Show(const Ends& ends) const {
    return fmt::format("{} -> {}", maps_.OriginalId(source_type_, ends.first),
                       maps_.OriginalId(destination_type_, ends.second));
  }

  void VerifyPart(const Partition& part, bool drop, InputEdges* input, Progress* progress) {
    const CscSegment& edges = part.Edges(relation_);
    const std::span<const int64_t> ids = part.EdgeOriginalIds(relation_);
    for (int64_t v = 0; v < edges.nodes.size(); ++v) {
      const int64_t destination = maps_.InputId(destination_type_, edges.nodes.begin + v);
      int64_t previous = -1;
      for (int64_t i = edges.indptr[v]; i < edges.indptr[v + 1]; ++i) {
        if (ids[i] <= previous) {
          findings_->Add(
              "relation `{}`, part {}: original edge id {} follows {} among the "
              "in-edges of node {}",
              name_, part.part(), ids[i], previous,
              maps_.OriginalId(destination_type_, destination));
        }
        previous = ids[i];
        VerifyEdge(part.part(), ids[i], {maps_.InputId(source_type_, edges.Source(i)), destination},
                   input);
      }
      if (drop) FindDuplicates(part.part(), edges, v);
    }
    findings_->report().edges += static_cast<int64_t>(ids.size());
    progress->Advance(static_cast<int64_t>(ids.size()));
  }

  void VerifyEdge(int part, int64_t id, const Ends& ends, InputEdges* input) {
    if (!input->Has(id)) {
      findings_->Add("relation `{}`, part {}: edge {} ({}) is not in the input", name_, part, id,
                     Show(ends));
    } else if (input->Found(id)) {
      findings_->Add("relation `{}`, part {}: edge {} ({}) appears twice", name_, part, id,
                     Show(ends));
    } else {
      input->MarkFound(id);
      if (input->At(id) == ends) return;
      findings_->Add("relation `{}`, part {}: edge {} is {}, but {} in the input", name_, part, id,
                     Show(ends), Show(input->At(id)));
    }
  }

  // Two in-edges of local node v with one source: one of them should have been dropped.
  void FindDuplicates(int part, const CscSegment& edges, int64_t v) {
    in_sources_.clear();
    for (int64_t i = edges.indptr[v]; i < edges.indptr[v + 1]; ++i) {
      in_sources_.push_back(edges.Source(i));
    }
    std::sort(in_sources_.begin(), in_sources_.end());
    const auto twice = std::adjacent_find(in_sources_.begin(), in_sources_.end());
    if (twice == in_sources_.end()) return;
    findings_->Add("relation `{}`, part {}: duplicates of {} should have been dropped", name_, part,
                   Show({maps_.InputId(source_type_, *twice),
                         maps_.InputId(destination_type_, edges.nodes.begin + v)}));
  }

  void ReportMissing(const InputEdges& input) {
    for (int64_t id = 0; id < input.size(); ++id) {
      if (!input.Missing(id)) continue;
      findings_->Add("relation `{}`: edge {} ({}) of the input is in no part", name_, id,
                     Show(input.At(id)));
    }
  }

  // An edge may be missing only if an edge of smaller id between the same nodes is there.
  void VerifyDropped(const InputEdges& input) {
    absl::flat_hash_map<Ends, int64_t> kept;  // of the ends of missing edges; -1: none seen
    for (int64_t id = 0; id < input.size(); ++id) {
      if (input.Missing(id)) kept.try_emplace(input.At(id), -1);
    }
    for (int64_t id = 0; id < input.size() && !kept.empty(); ++id) {
      if (!input.Has(id)) continue;
      const auto entry = kept.find(input.At(id));
      if (entry == kept.end()) continue;
      if (input.Found(id)) {
        if (entry->second < 0) entry->second = id;
      } else if (entry->second < 0) {
        findings_->Add(
            "relation `{}`: edge {} ({}) of the input is in no part, and neither is an earlier "
            "duplicate of it",
            name_, id, Show(input.At(id)));
      }
    }
  }

  const PartitionSet& graph_;
  const int relation_;
  const std::string name_;
  const int source_type_;
  const int destination_type_;
  const NodeMaps& maps_;
  Findings* const findings_;
  std::vector<int64_t> in_sources_;
};

}  // namespace

Status VerifyEdges(const Dataset& dataset, const PartitionSet& graph, int relation,
                   EdgePolicy duplicates, const NodeMaps& maps, Findings* findings) {
  EdgeVerifier verifier(graph, relation, maps, findings);
  return verifier.Verify(*dataset.relations[relation].edges, duplicates);
}

}  // namespace halograph
