// What servers count of their answers about the graph: nodes and edges drawn, rows pulled
// (docs/metrics.md, "Servers: the graph"). Thread-safe. One call counts a group or a request, never
// an edge or a row.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "common/graph/tensor_ref.h"
#include "common/metrics/registry.h"
#include "server/handlers/served_graph.h"

namespace halograph::server {

// As metrics name a tensor: its type, or relation, and its name: "node/feat".
[[nodiscard]] std::string TensorLabel(const TensorRef& ref);

// Who draws, as far as a server knows.
enum class CountedSampler : uint8_t {
  kNeighbor,
  kLabor,
  kColumns,  // layer-wise and graph-wise: they ask for column sums, and for edges between columns
  kEnd,      // none: how many there are
};

// What one group took.
struct SampledGroup {
  int64_t destinations = 0;  // whose edges were answered
  int64_t edges = 0;         // answered
  int64_t scanned = 0;       // in-edges looked at
};

class GraphCounters {
 public:
  // Relations that have series of their own. Those behind count together, as "other".
  static constexpr size_t kMostRelations = 256;
  // The same of tensors, mutable ones too.
  static constexpr size_t kMostTensors = 1024;

  // Declares all of the graph's relations, where its topology is served, and its tensors, at 0.
  // `metrics` outlives it.
  GraphCounters(MetricRegistry* metrics, const ServedGraph& graph);

  // `relation`: its index in the schema. Requires a graph whose topology is served.
  void Sampled(int relation, CountedSampler sampler, const SampledGroup& group);
  // Rows that were sent, and their bytes.
  void Pulled(const TensorRef& tensor, int64_t rows, int64_t bytes);

 private:
  struct OfSampler {
    Counter* destinations = nullptr;
    Counter* edges = nullptr;
    Counter* scanned = nullptr;
  };
  using OfRelation = std::array<OfSampler, static_cast<size_t>(CountedSampler::kEnd)>;

  struct OfTensor {
    Counter* rows = nullptr;
    Counter* bytes = nullptr;
  };
  struct ByName {
    bool operator()(const TensorRef& a, const TensorRef& b) const {
      return std::tie(a.edge, a.type, a.name) < std::tie(b.edge, b.type, b.name);
    }
  };
  [[nodiscard]] OfTensor Find(const TensorRef& tensor);

  std::vector<OfRelation> relations_;  // the last one: of all others
  FoundCounters* rows_;
  FoundCounters* bytes_;
  // The graph's own, which are found without a lock; mutable ones come and go.
  std::map<TensorRef, OfTensor, ByName> tensors_;
};

}  // namespace halograph::server
