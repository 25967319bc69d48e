// Out-degrees over all parts: what FastGCN draws by, whatever the layer's destinations
// (SAMPLING.md, "Layer-wise draws"). Asked of the owners once, when first needed, and kept: 4 bytes
// a node of a relation's source type.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "common/base/mutex.h"
#include "common/base/status.h"
#include "common/graph/schema.h"
#include "common/sampling/layer_wise_draw.h"
#include "common/sampling/topology_source.h"

namespace halograph {

// Immutable. Of one relation.
struct OutDegrees {
  std::vector<uint32_t> degrees;  // by global id of the source
  CandidateSums sums;             // of them
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

  // Appends the questions for a relation, as many as there are parts: a page each.
  void Ask(int relation, std::vector<ColumnGroup>* groups) const;
  // Makes the table of their answers. Who comes second changes nothing.
  //   Internal    an answer that fits no question
  //   OutOfRange  a node with more than 2^32 - 1 edges
  [[nodiscard]] Status Take(int relation, std::span<const ColumnSums> answers);

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
