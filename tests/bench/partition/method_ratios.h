// What one method's replication is of another's, over the graphs where both can be compared.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "common/storage/json.h"

namespace halograph {

// One run of one method. Plain value.
struct MethodResult {
  std::string method;
  std::string graph;
  bool shuffled = false;
  int parts = 0;
  std::string failure;  // empty: it has figures
  double replication = 0;
  double edge_cut_share = 0;
  std::map<std::string, double> balance;
  double seconds = 0;
  double cpu_seconds = 0;
  int64_t peak_bytes = 0;
  int64_t planned_bytes = 0;
  double predicted_seconds = 0;  // 0: not asked for

  // "cora, shuffled, 8 parts"
  [[nodiscard]] std::string Case() const;
  // Whether the balance is what replication is compared at: nodes within 1.03 and edges (at the
  // owner of the destination) within 1.10 of the mean, 0.02 more allowed. A method that bounds
  // only nodes can win on replication with one partition that holds most edges.
  [[nodiscard]] bool Balanced() const;
};

[[nodiscard]] Json ToJson(const MethodResult& result);

// Of `method` against each other method: {"other", "order", "cases", "geometric_mean", "worst",
// "worst_case", "not_comparable": [{"case", balances}]}, for the given order and the shuffled one.
[[nodiscard]] Json Ratios(const std::vector<MethodResult>& results, const std::string& method);

// Tables for people.
[[nodiscard]] std::string ResultLine(const MethodResult& result);
[[nodiscard]] std::string ResultHeader();
[[nodiscard]] std::string RatioTable(const Json& ratios, const std::string& method);

}  // namespace halograph
