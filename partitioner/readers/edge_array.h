// The edges of one relation in a mapped .npy file of any integer dtype.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "common/base/status.h"
#include "partitioner/readers/dataset.h"
#include "partitioner/readers/input_files.h"

namespace halograph {

// What the ids of an edge file are checked against.
struct EdgeEnds {
  std::string source_type;
  std::string destination_type;
  int64_t sources = 0;  // nodes of the source type
  int64_t destinations = 0;
};

// The ends of a relation whose node types are in the dataset.
[[nodiscard]] EdgeEnds EndsOf(const Dataset& dataset, const InputRelation& relation);

// OutOfRange: "<where>: source 7 is beyond the 5 nodes of type `paper`"; OK if
// both ids are within range. `where` says file and position. `from_unsigned`: the ids are the bits
// of uint64s, as which they are shown.
[[nodiscard]] Status CheckEdge(const EdgeEnds& ends, int64_t source, int64_t destination,
                               const std::string& where, bool from_unsigned = false);

// How the two ends of edges stand in an array.
enum class EdgeArrayForm {
  kRows,   // shape (2, E): sources, then destinations, as GraphBolt has it
  kPairs,  // shape (E, 2): as text is converted
};

// Edge i is column (kRows) or row (kPairs) i. Either storage order; `scratch` as OpenInputArray
// uses it.
//   NotFound, DataLoss, FailedPrecondition  as NpyArray::Open
//   InvalidArgument                         another shape, or not integers
// Ids are checked while streaming.
[[nodiscard]] StatusOr<std::shared_ptr<const EdgeSource>> OpenEdgeArray(
    const std::filesystem::path& path, EdgeArrayForm form, EdgeEnds ends, Scratch* scratch);

}  // namespace halograph
