// What weights depend on in a graph: they can be used on any graph that has the same. Plain values;
// pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "common/graph/schema.h"
#include "common/storage/json.h"

namespace halograph {

// A feature that the model took in.
struct TrainedFeature {
  std::string name;
  std::string dtype;  // as DTypeName has it
  int64_t width = 0;

  bool operator==(const TrainedFeature&) const = default;
};

struct TrainedType {
  std::string name;
  std::vector<TrainedFeature> features;  // in the order in which they stand side by side
  int64_t learnt = 0;                    // width of the rows that were learnt by node; 0: none
};

// A graph as a model was trained on it.
struct TrainedOn {
  std::vector<TrainedType> node_types;  // all of the graph, in its order
  std::vector<std::string> relations;   // their triples; likewise
  int64_t outputs = 0;                  // columns that the task asks for: classes, or values

  [[nodiscard]] bool learns_rows() const;
};

// The types and relations of a graph, without features, learnt rows and outputs.
[[nodiscard]] TrainedOn TypesOf(const Schema& schema);

// Whether weights that were trained on the one can be used on the other, `here`. FailedPrecondition
// naming `where`, and each difference: node types and relations that one of them lacks; type,
// feature, and what both have of it; outputs.
[[nodiscard]] Status CheckFits(const TrainedOn& trained, const TrainedOn& here,
                               std::string_view where);

[[nodiscard]] Json ToJson(const TrainedOn& trained);
// DataLoss naming `where` and the field that is missing or wrong.
[[nodiscard]] StatusOr<TrainedOn> TrainedOnFromJson(const Json& json, std::string_view where);

}  // namespace halograph
