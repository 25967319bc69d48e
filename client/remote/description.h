// A server's description, from wire to values: the schema, the partition book and what it serves.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "client/graph_store.h"
#include "client/remote/transport.h"
#include "common/base/status.h"
#include "common/graph/partition.h"

namespace halograph {

// How many rows of a task set a part has.
struct PartTaskRows {
  TaskSetIndex set;  // in the schema
  int part = 0;
  int64_t rows = 0;
};

struct ServerDescription {
  GraphInfo graph;  // without task_rows, and clusters only of the parts that it serves
  uint32_t sampling_contract = 0;
  std::vector<int> parts;
  PartContents serving;      // what of them; task sets go with the features
  bool keeps_state = false;  // and the mutable tensors of these parts
  int64_t max_message_bytes = 0;
  std::vector<std::string> capabilities;  // proto/wire/capabilities.h
  std::vector<PartTaskRows> task_rows;    // of the parts it serves; older servers tell none
};

// DataLoss if the reply is no DescribeReply or contradicts itself: identity, schema,
// boundaries, parts, rows of task sets, clusters.
[[nodiscard]] StatusOr<ServerDescription> ReadDescription(ReplyPieces reply);

// By server; null: not described (yet). In the checks below `addresses` has one for each, and one
// description at least is there. What is not described is not looked at.
using Descriptions = std::vector<std::shared_ptr<const ServerDescription>>;

// Checks that the servers are of one graph, drawn by the contract of this build.
// FailedPrecondition: servers and values are named.
[[nodiscard]] Status CheckOneGraph(const std::vector<std::string>& addresses,
                                   const Descriptions& descriptions);
// Checks that servers of one graph serve the features of every partition, and with `needs_topology`
// the topology. FailedPrecondition: servers and partitions are named.
[[nodiscard]] Status CheckComplete(const std::vector<std::string>& addresses,
                                   const Descriptions& descriptions, bool needs_topology);

// What to do where no server has the topology of `parts` ("1,3 of 4").
[[nodiscard]] Status NoTopology(std::string_view parts);

}  // namespace halograph
