#include "common/sampling/kernel/sampler_plan.h"

#include <algorithm>

#include "common/base/machine_memory.h"
#include "common/sampling/kernel/nodes.h"

namespace halograph {

int64_t SamplerTableBytes(const Schema& schema) {
  constexpr int64_t kBytesANode = 4;
  int64_t bytes = 0;
  for (const NodeType& type : schema.node_types) {
    if (type.count <= kMaxTableNodes) bytes += kBytesANode * type.count;
  }
  return bytes;
}

SamplerPlan PlanSampler(const Schema& schema, const SamplerThreads& threads) {
  SamplerPlan plan;
  plan.table_bytes = SamplerTableBytes(schema);
  const int64_t fit = plan.table_bytes == 0 ? threads.threads : threads.memory / plan.table_bytes;
  const int64_t asked = threads.threads / std::max(1, threads.per_minibatch);
  plan.minibatches = static_cast<int>(std::max<int64_t>(1, std::min(fit, asked)));
  plan.helpers = threads.threads - plan.minibatches;
  return plan;
}

int64_t DefaultSamplerMemory() {
  constexpr int64_t kShare = 8;
  return MachineMemory() / kShare;
}

}  // namespace halograph
