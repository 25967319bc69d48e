// The servers as a grid: a row for each part, with the c servers that serve it, and c columns
// (Distributed Matrix-Based Sampling, arXiv 2311.02909, section 5.2). The server (p, j), in column
// j, is the j-th server of part p by its address. Addresses sort as text: "a:10000" comes before
// "a:7000". A server of several parts may be in another column for each.
//
// A client reads of the servers of one column. Another column's server is asked only when that one
// is lost or full, as rpc.h says: all give the same bits.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "client/remote/served_parts.h"
#include "common/base/status.h"

namespace halograph {

// Out of `servers`, the servers of a part (numbers into `addresses`; at least one), the one in
// column `column` modulo their number. Requires column >= 0.
[[nodiscard]] int ServerOfColumn(std::span<const std::string> addresses,
                                 std::span<const int> servers, int column);

// How many columns the parts of `sets` make: the servers of the part that has the most.
[[nodiscard]] int NumColumns(const ReplicaSets& sets);

// Checks that each part has the same number of servers, or can have: `missing` servers have not
// said yet what they serve. A part that nobody serves does not count.
//   FailedPrecondition  it is no grid: names `option`, for which it has to be one, the parts and
//                       their numbers of servers
[[nodiscard]] Status CheckGrid(std::string_view option, const ReplicaSets& sets, int missing);

}  // namespace halograph
