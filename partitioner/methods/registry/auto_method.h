// Chooses a method when the user names none (--method auto).
#pragma once

#include <string>

#include "partitioner/methods/method.h"

namespace halograph {

// The name under which the choice itself is asked for.
inline constexpr char kAutoMethod[] = "auto";

struct MethodChoice {
  std::string method;
  std::string why;  // one sentence with the figures
};

// METIS, which has the best quality, if the graph fits its 32-bit ids and its plan fits
// options.memory; else stream-metis. With NodeOrder::kCluster lp-metis replaces METIS, which does
// not report clusters. Pure function.
[[nodiscard]] MethodChoice ChooseMethod(const GraphCounts& counts, const MethodOptions& options);

// The method that ChooseMethod chooses, as a method. Thread-safe. The report of an assignment is
// the chosen method's, with "method" and "why" added.
class AutoMethod : public PartitionMethod {
 public:
  [[nodiscard]] std::string_view name() const override;
  [[nodiscard]] bool FindsClusters() const override { return true; }
  // These two are the chosen method's.
  [[nodiscard]] MemoryPlan PlanMemory(const GraphCounts& counts,
                                      const MethodOptions& options) const override;
  [[nodiscard]] MethodProfile Profile(const GraphCounts& counts,
                                      const MethodOptions& options) const override;
  // Logs which method it is and why. If METIS needs more memory than its plan says, and more than
  // there is, stream-metis takes over. Errors are the chosen method's.
  [[nodiscard]] StatusOr<Assignment> Assign(const Dataset& dataset,
                                            const MethodOptions& options) const override;
};

}  // namespace halograph
