// Out-degrees over all parts: what FastGCN draws by, whatever the layer's destinations
// (SAMPLING.md, "Layer-wise draws"), and GraphSAINT, of symmetric relations ("Graph-wise draws").
// Asked of the owners when first needed, one part after the
// other, and kept: 4 bytes a node of a relation's source type. While a part's are read they take
// some 50 bytes more for each node that has an edge there.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "common/base/mutex.h"
#include "common/base/status.h"
#include "common/graph/schema.h"
#include "common/sampling/layer_wise_draw.h"
#include "common/sampling/samplers/subgraph_draw.h"
#include "common/sampling/topology_source.h"

namespace halograph {

// Immutable. Of one relation.
struct OutDegrees {
  explicit OutDegrees(std::vector<uint32_t> all)
      : degrees(std::move(all)), by_edge(std::span<const uint32_t>(degrees)) {
    sums.Reset(std::span<const uint32_t>(degrees));
  }
  OutDegrees(const OutDegrees&) = delete;
  OutDegrees& operator=(const OutDegrees&) = delete;

  const std::vector<uint32_t> degrees;  // by global id of the source
  CandidateSums sums;                   // of them: to draw without replacement
  const DegreeSums by_edge;             // the same: to draw with replacement
};

// Those of one store. Thread-safe. Throws std::bad_alloc.
class OutDegreeTables {
 public:
  // `schema` outlives it.
  OutDegreeTables(const Schema* schema, int num_parts) : schema_(*schema), num_parts_(num_parts) {
    tables_.resize(schema->relations.size());
  }

  // Null: not there yet.
  [[nodiscard]] std::shared_ptr<const OutDegrees> Find(int relation) const;

  [[nodiscard]] int num_parts() const { return num_parts_; }
  // The question for what one part has.
  [[nodiscard]] ColumnGroup PageOf(int relation, int part) const;
  // Adds the answer to `degrees`, by source; the first time they are empty.
  //   Internal    an answer that fits no question
  //   OutOfRange  a node with more than 2^32 - 1 edges
  [[nodiscard]] Status Add(int relation, const ColumnSums& answer,
                           std::vector<uint32_t>* degrees) const;
  // Keeps what all parts gave. Who comes second changes nothing.
  void Keep(int relation, std::vector<uint32_t> degrees);

 private:
  [[nodiscard]] int64_t SourceNodes(int relation) const {
    return schema_.node_types[schema_.SourceType(relation)].count;
  }

  const Schema& schema_;
  const int num_parts_;
  mutable Mutex mutex_;
  std::vector<std::shared_ptr<const OutDegrees>> tables_ HG_GUARDED_BY(mutex_);  // by relation
};

}  // namespace halograph
