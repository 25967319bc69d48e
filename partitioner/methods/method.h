// A partition method: an owner for every node, and nothing else. What follows (renumbering, halo
// nodes, splitting, writing) is one path that all methods share. To add one: a class here, a line
// in MakeMethod, a case in the method conformance suite.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "common/storage/json.h"
#include "partitioner/readers/dataset.h"

namespace halograph {

inline constexpr int kMaxParts = 4096;

// What may be balanced over the partitions. Nodes are balanced per node type.
struct BalanceOptions {
  bool nodes = true, edges = true, train = true, valid = true, test = true;

  // "nodes,edges,train"; InvalidArgument for another word.
  [[nodiscard]] static StatusOr<BalanceOptions> Parse(std::string_view list);
  [[nodiscard]] std::string ToString() const;
};

struct MethodOptions {
  int parts = 2;
  uint64_t seed = 0;
  BalanceOptions balance;  // what the data does not have is ignored
  bool drop_duplicates = false;
};

// owners[type][input id] = partition.
struct Assignment {
  std::vector<std::vector<uint16_t>> owners;
  // What the method wants kept: objective, attempts, ... Goes into GRAPH/manifest.json, so nothing
  // that differs from run to run (seconds).
  Json report = Json::object();
};

class PartitionMethod {
 public:
  virtual ~PartitionMethod() = default;
  [[nodiscard]] virtual std::string_view name() const = 0;
  // Deterministic for given data, options and build. InvalidArgument: parts out of range or more
  // than nodes; ResourceExhausted: the graph is too large for the method (numbers and advice).
  [[nodiscard]] virtual StatusOr<Assignment> Assign(const Dataset& dataset,
                                                    const MethodOptions& options) const = 0;
};

// InvalidArgument unless 1 <= parts <= kMaxParts and parts <= nodes (of all types). For methods.
[[nodiscard]] Status CheckParts(const Dataset& dataset, int parts);

// InvalidArgument naming the methods that exist.
[[nodiscard]] StatusOr<std::unique_ptr<PartitionMethod>> MakeMethod(std::string_view name);
[[nodiscard]] std::vector<std::string> MethodNames();

}  // namespace halograph
