// Small graphs behind servers in this process, for tests of the remote stores.
#pragma once

#include <chrono>
#include <future>
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "client/remote/remote_store.h"
#include "client/remote/rpc.h"
#include "common/base/stopwatch.h"
#include "server/server.h"
#include "tests/integration/client/fake_server.h"
#include "tests/support/captured_log.h"
#include "tests/support/graph_fixture.h"
#include "tests/support/one_call.h"
#include "tests/support/random_graph.h"
#include "tests/support/test_folder.h"

namespace halograph {

class RemoteStoreTest : public testing::Test {
 protected:
  // A new graph folder; different seeds give different identities.
  std::filesystem::path WriteGraph(uint64_t seed = 1, int parts = 2) {
    return WriteGraph(RandomGraph(
        {.seed = seed, .parts = parts, .nodes = 200, .mean_degree = 6, .feature_dim = 4}));
  }
  std::filesystem::path WriteGraph(const TestGraphSpec& spec) {
    const auto path = WriteTestGraph(spec, folder_.path() / std::to_string(graphs_++));
    EXPECT_TRUE(path.ok()) << ToString(path.status());
    return *path;
  }

  static std::unique_ptr<server::Server> Serve(const std::filesystem::path& graph,
                                               const std::vector<int>& parts,
                                               server::ServerOptions options = {}) {
    options.graph = graph;
    options.parts = parts;
    auto server = server::Server::Start(options);
    EXPECT_TRUE(server.ok()) << ToString(server.status());
    return server.ok() ? std::move(*server) : nullptr;
  }

  static RemoteOptions Options(const std::vector<std::string>& servers,
                               std::chrono::nanoseconds timeout = std::chrono::seconds(20)) {
    RemoteOptions options;
    options.servers = servers;
    options.timeout = timeout;
    return options;
  }

  // Opens, expecting success, however slow the machine is: a short timeout is for what comes after.
  static Stores Open(const RemoteOptions& options) {
    auto stores = OpenRemoteStores(options);
    for (int i = 0; i < 100 && absl::IsDeadlineExceeded(stores.status()); ++i) {
      stores = OpenRemoteStores(options);
    }
    EXPECT_TRUE(stores.ok()) << ToString(stores.status());
    return stores.ok() ? std::move(*stores) : Stores{};
  }

  static StatusOr<Minibatch> Sample(GraphStore& store, const std::vector<int64_t>& seeds,
                                    int32_t fanout = 3, const CancelToken* cancel = nullptr) {
    const SamplingSpec spec =
        SamplingSpec::Uniform(store.info().schema, std::vector<int32_t>{fanout});
    return SampleOne(store, {.seeds = {{.type = 0, .ids = seeds}}, .batch_seed = 7, .spec = &spec},
                     nullptr, cancel);
  }

  static Status Pull(RowStore& store, const std::vector<int64_t>& ids,
                     const CancelToken* cancel = nullptr) {
    std::vector<std::byte> rows(ids.size() * 4 * sizeof(float));
    return PullOne(store, {false, "node", "feat"}, ids, rows, nullptr, cancel);
  }

  // Of a client that does not wait for long for servers that went away. Who waits for `timeout`
  // instead waits longer than a test may take.
  static RemoteOptions Hasty(const std::vector<std::string>& servers) {
    RemoteOptions options = Options(servers, std::chrono::minutes(30));
    options.server_timeout = std::chrono::milliseconds(200);
    return options;
  }

  // What `server` answers to `call`, as the fake server would pass it on.
  static FakeAnswer Forward(const std::string& server, const FakeCall& call) {
    RpcClient client(Options({server}));
    FakeAnswer answer;
    Rpc rpc;
    rpc.servers = {0};
    rpc.method = FindMethod(call.method).value();
    rpc.make_request = [&call] { return call.request; };
    rpc.on_reply = [&answer](ReplyPieces pieces, std::vector<Rpc>*) {
      for (const auto piece : pieces) {
        answer.bytes.append(reinterpret_cast<const char*>(piece.data()), piece.size());
      }
      return OkStatus();
    };
    CallContext context;
    std::vector<Rpc> calls;
    calls.push_back(std::move(rpc));
    answer.status = client.Run(context, std::move(calls));
    return answer;
  }

  static void ExpectError(const Status& status, absl::StatusCode code,
                          const std::vector<std::string>& texts) {
    EXPECT_EQ(status.code(), code) << ToString(status);
    for (const std::string& text : texts) EXPECT_THAT(Message(status), testing::HasSubstr(text));
  }

  TestFolder folder_;
  int graphs_ = 0;
};

}  // namespace halograph
