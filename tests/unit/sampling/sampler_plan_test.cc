#include "common/sampling/kernel/sampler_plan.h"

#include <gtest/gtest.h>

#include "common/sampling/kernel/nodes.h"

namespace halograph {
namespace {

constexpr int64_t kMiB = int64_t{1} << 20;

// Tables of 64 MiB a minibatch.
Schema LargeGraph() {
  Schema schema;
  schema.node_types = {{"a", 10 * kMiB, {}}, {"b", 6 * kMiB, {}}};
  return schema;
}

TEST(PlanSamplerTest, EveryThreadHasAMinibatchOfItsOwnWhereMemoryAllows) {
  const SamplerPlan plan = PlanSampler(LargeGraph(), {.threads = 8, .memory = 8 * 64 * kMiB});
  EXPECT_EQ(plan.table_bytes, 64 * kMiB);
  EXPECT_EQ(plan.minibatches, 8);
  EXPECT_EQ(plan.helpers, 0);
}

TEST(PlanSamplerTest, WhereTablesDoNotFitFewerMinibatchesHaveMoreThreads) {
  const SamplerPlan plan = PlanSampler(LargeGraph(), {.threads = 8, .memory = 3 * 64 * kMiB + 1});
  EXPECT_EQ(plan.minibatches, 3);
  EXPECT_EQ(plan.helpers, 5);
}

TEST(PlanSamplerTest, OneMinibatchIsMadeEvenIfItsTablesAreTooLarge) {
  const SamplerPlan plan = PlanSampler(LargeGraph(), {.threads = 4, .memory = 1});
  EXPECT_EQ(plan.minibatches, 1);
  EXPECT_EQ(plan.helpers, 3);
}

TEST(PlanSamplerTest, ThreadsPerMinibatchAreALeast) {
  const SamplerThreads threads{.threads = 8, .per_minibatch = 3, .memory = 100 * 64 * kMiB};
  SamplerPlan plan = PlanSampler(LargeGraph(), threads);
  EXPECT_EQ(plan.minibatches, 2);
  EXPECT_EQ(plan.helpers, 6);
  plan = PlanSampler(LargeGraph(), {.threads = 2, .per_minibatch = 16, .memory = 1});
  EXPECT_EQ(plan.minibatches, 1);
  EXPECT_EQ(plan.helpers, 1);
}

TEST(PlanSamplerTest, TypesThatAreMappedByHashNeedNoTable) {
  Schema schema = LargeGraph();
  schema.node_types.push_back({"huge", kMaxTableNodes + 1, {}});
  EXPECT_EQ(SamplerTableBytes(schema), 64 * kMiB);
  schema.node_types = {{"huge", kMaxTableNodes + 1, {}}};
  EXPECT_EQ(PlanSampler(schema, {.threads = 8, .memory = 1}).minibatches, 8);
}

TEST(DefaultSamplerMemoryTest, IsThereAndLessThanTheMachineHas) {
  EXPECT_GT(DefaultSamplerMemory(), kMiB);
  EXPECT_LT(DefaultSamplerMemory(), int64_t{1} << 50);
}

}  // namespace
}  // namespace halograph
