// An assignment made elsewhere as a method: what --owners FILE is. Not in the list of methods, as
// it needs a file.
#pragma once

#include <filesystem>

#include "partitioner/methods/method.h"

namespace halograph {

// Thread-safe. Errors are those of LoadOwners.
class OwnersMethod : public PartitionMethod {
 public:
  explicit OwnersMethod(std::filesystem::path path) : path_(std::move(path)) {}
  [[nodiscard]] std::string_view name() const override { return "owners"; }
  [[nodiscard]] MemoryPlan PlanMemory(const GraphCounts& counts,
                                      const MethodOptions& options) const override;
  [[nodiscard]] StatusOr<Assignment> Assign(const Dataset& dataset,
                                            const MethodOptions& options) const override;

 private:
  const std::filesystem::path path_;
};

}  // namespace halograph
