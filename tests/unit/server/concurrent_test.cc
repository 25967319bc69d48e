// Handlers driven as the server drives them, from several threads at once and without a wire: what
// ThreadSanitizer looks at.
#include <atomic>
#include <memory>

#include "server/handlers/describe.h"
#include "server/handlers/pull.h"
#include "server/handlers/sample.h"
#include "server/handlers/task_set.h"
#include "server/runtime/buffer_pool.h"
#include "tests/unit/server/served_fixture.h"

namespace halograph::server {
namespace {

class ConcurrentTest : public ServedTest {};

TEST_F(ConcurrentTest, SamplesPullsAndStatisticsSideBySide) {
  constexpr int64_t kSmallLimit = 1 << 16;
  constexpr int kRounds = 200;
  const SampleHandler sample(all_.get(), kSmallLimit);
  const PullHandler pull(all_.get(), kSmallLimit);
  const TaskSetHandler task_set(all_.get(), kSmallLimit);
  const auto buffers = BufferPool::Create(8 << 20);
  const LayerSampleRequest layer{
      .batch_seed = 3, .groups = {{"paper:cites:paper", {.fanout = 5}, All(NodeType("paper"))}}};
  PullRequest rows;
  rows.tensor.type = "paper";
  rows.tensor.name = "feat";
  rows.ids = All(NodeType("paper"));
  std::atomic<int> failures = 0;
  std::atomic<int> done = 0;
  MetricRegistry metrics;
  CallMetrics calls(&metrics);
  const ServerStats stats(&calls);
  Dispatcher dispatcher({.threads = 3, .queue = 16});
  const auto run = [&](Method method, const std::function<bool()>& work) {
    calls.Begin(method);
    const bool ok = work();
    calls.End(method, ok ? "OK" : "INTERNAL", 1, 1, std::chrono::microseconds(50));
    if (!ok) ++failures;
    ++done;
  };
  const auto do_sample = [&] {
    const auto plans = sample.Plan(layer);
    if (!plans.ok()) return false;
    auto buffer = buffers->Acquire(plans->front().shape().source_bytes(), "sampler");
    return buffer.ok() && sample.Draw(plans->front(), {.sources = buffer->data()}).ok();
  };
  const auto do_pull = [&] {
    const auto plan = pull.Plan(rows);
    if (!plan.ok()) return false;
    auto buffer = buffers->Acquire(plan->bytes, "puller");
    if (!buffer.ok()) return false;
    if (!pull.Gather(*plan, rows.ids, buffer->data()).ok()) return false;
    return true;
  };
  int submitted = 0;
  for (int i = 0; i < kRounds; ++i) {
    auto ticket = std::make_shared<Ticket>(dispatcher.Enter(1).value());
    const bool accepted =
        i % 2 == 0 ? dispatcher.Run([&, ticket] { run(Method::kSample, do_sample); }).ok()
                   : dispatcher.Run([&, ticket] { run(Method::kPull, do_pull); }).ok();
    submitted += accepted ? 1 : 0;
    EXPECT_EQ(TakeSnapshot(*all_, stats, dispatcher, 0).methods.size(), kNumMethods);
    EXPECT_TRUE(
        task_set.Read({.task = "node_classification", .set = "valid", .type = "paper"}).ok());
  }
  dispatcher.CloseGate();
  ASSERT_TRUE(dispatcher.WaitUntilEmpty(std::chrono::seconds(60)));
  EXPECT_EQ(done, submitted);
  EXPECT_EQ(failures, 0);
}

}  // namespace
}  // namespace halograph::server
