// Epochs of minibatches and their features, over servers of which several have the same parts.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "client/ctl/status_table.h"
#include "tests/integration/client/remote_fixture.h"

namespace halograph {

class ReplicatedTest : public RemoteStoreTest {
 protected:
  static constexpr int kSteps = 20;
  struct Step {
    Minibatch minibatch;
    std::vector<std::byte> rows;
    bool operator==(const Step&) const = default;
  };
  using Epoch = std::vector<Step>;

  // Two layers of ten seeds a step, and their features. `before` is called before each step.
  static StatusOr<Epoch> Train(const Stores& stores,
                               const std::function<void(int)>& before = nullptr,
                               CallStats* stats = nullptr, DrawKind kind = DrawKind::kNeighbor) {
    Epoch epoch;
    SamplingSpec spec =
        SamplingSpec::Uniform(stores.graph->info().schema, std::vector<int32_t>{3, 2});
    for (auto& layer : spec.layers) layer[0].rule.kind = kind;
    for (int i = 0; i < kSteps; ++i) {
      if (before) before(i);
      std::vector<int64_t> seeds;
      for (int64_t seed = i; seed < 200; seed += kSteps) seeds.push_back(seed);
      CallContext context;
      Step step;
      HG_RETURN_IF_ERROR(stores.graph->Sample({.seeds = {{.type = 0, .ids = seeds}},
                                               .batch_seed = static_cast<uint64_t>(i),
                                               .spec = &spec},
                                              context, &step.minibatch));
      const std::vector<int64_t>& inputs = step.minibatch.nodes[0];
      step.rows.resize(inputs.size() * 4 * sizeof(float));
      HG_RETURN_IF_ERROR(stores.rows->Pull(
          {.tensor = {false, "node", "feat"}, .ids = inputs, .out = step.rows}, context));
      epoch.push_back(std::move(step));
      if (stats != nullptr) *stats += context.stats;
    }
    return epoch;
  }
  static void ExpectSame(const StatusOr<Epoch>& found, const StatusOr<Epoch>& expected) {
    ASSERT_TRUE(found.ok()) << ToString(found.status());
    ASSERT_TRUE(expected.ok()) << ToString(expected.status());
    EXPECT_TRUE(*found == *expected);
  }
  StatusOr<Epoch> Undisturbed(DrawKind kind = DrawKind::kNeighbor) {
    const auto server = Serve(graph_, {});
    return Train(Open(Options({server->address()})), nullptr, nullptr, kind);
  }
  std::unique_ptr<server::Server> ServeAt(const std::string& address,
                                          const std::filesystem::path& graph,
                                          const std::vector<int>& parts) {
    server::ServerOptions options;
    options.listen = address;
    return Serve(graph, parts, options);
  }
  // That the server has taken, of one of these methods.
  static int64_t Calls(const std::string& address, const std::set<std::string>& methods) {
    const ServerStatus status =
        AskStatus({.servers = {address}, .timeout = std::chrono::seconds(20)}).front();
    EXPECT_TRUE(status.reachable.ok()) << ToString(status.reachable);
    int64_t calls = 0;
    for (const Json& method : status.methods) {
      if (methods.contains(method["method"])) calls += method["calls"].get<int64_t>();
    }
    return calls;
  }
  static int64_t Reads(const std::string& address) {
    return Calls(address, {"GraphService/Sample", "KVService/Pull"});
  }

  const std::filesystem::path graph_ = WriteGraph();
};

}  // namespace halograph
