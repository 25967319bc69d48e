// What a client does with the answers of several owners: it adds them up. They may come from other
// machines, so nothing in them is trusted. Pure functions.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "common/base/status.h"
#include "common/sampling/kernel/column_sums.h"

namespace halograph {

// What one part, or one server, answered. Borrowed.
struct ColumnSumsView {
  std::span<const int64_t> sources;
  std::span<const uint64_t> sums;
};

// Adds up the answers, each for other destinations of one layer. `total` is overwritten, its memory
// reused; no answer may point into it. `num_sources`: nodes of the relation's source type. Throws
// std::bad_alloc.
//   Internal  lists that differ in length, ids that do not ascend or that the type does not have, a
//             sum of 0, or a total of more than 64 bits; names `relation`
[[nodiscard]] Status AddColumnSums(std::string_view relation, int64_t num_sources,
                                   std::span<const ColumnSumsView> answers, ColumnSums* total);

// What is wrong with one answer.
//   Internal  as AddColumnSums
[[nodiscard]] Status CheckColumnSums(std::string_view relation, int64_t num_sources,
                                     const ColumnSumsView& answer);

// Adds the out-degrees that one more part counted to those of all nodes of the source type.
//   Internal    as AddColumnSums
//   OutOfRange  a node with more than 2^32 - 1 edges; names `relation`
[[nodiscard]] Status AddOutDegrees(std::string_view relation, const ColumnSumsView& more,
                                   std::span<uint32_t> degrees);

// The error of a node that has more edges than an out-degree can be.
[[nodiscard]] Status TooManyOutEdges(std::string_view relation, int64_t source);

}  // namespace halograph
