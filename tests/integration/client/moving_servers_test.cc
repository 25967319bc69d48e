// Servers that --servers names by a file, which are elsewhere when they come back.
#include <chrono>
#include <fstream>
#include <future>
#include <thread>

#include <fmt/ranges.h>

#include "common/storage/file.h"
#include "tests/integration/client/replicated_fixture.h"

namespace halograph {
namespace {

using testing::HasSubstr;

class MovingServersTest : public ReplicatedTest {
 protected:
  void Write(const std::vector<std::string>& addresses) const {
    const Status written = WriteFileAtomically(
        file_, fmt::format("# made by a test\n{}\n", fmt::join(addresses, "\n")));
    EXPECT_TRUE(written.ok()) << ToString(written);
  }
  [[nodiscard]] RemoteOptions FromFile() const {
    return Options({"@" + file_.string()}, std::chrono::minutes(2));
  }

  const std::filesystem::path file_ = folder_.path() / "servers";
};

TEST_F(MovingServersTest, AServerThatMovedIsFoundWithinACallAndNoBitChanges) {
  const auto first = Serve(graph_, {0});
  auto second = Serve(graph_, {1});
  Write({second->address(), first->address()});
  StatusOr<Epoch> epoch = Epoch{};
  CapturedLog log;
  std::string moved;
  {
    const Stores stores = Open(FromFile());
    epoch = Train(stores, [&](int step) {
      if (step != kSteps / 2) return;
      second.reset();
      second = Serve(graph_, {1});
      moved = second->address();
      Write({first->address(), moved});  // in another order
    });
  }
  EXPECT_THAT(log.End(), HasSubstr("has moved to " + moved));
  ExpectSame(epoch, Undisturbed());
}

// Both moved at once, and the file has a stranger, too.
TEST_F(MovingServersTest, ServersThatMovedAreToldApartByWhatTheyServe) {
  std::vector<std::unique_ptr<server::Server>> servers;
  const auto serve_all = [&] {
    servers.clear();
    for (const int part : {1, 0}) servers.push_back(Serve(graph_, {part}));
  };
  serve_all();
  Write({servers[1]->address(), servers[0]->address()});
  const auto stranger = Serve(WriteGraph(2), {});
  const Stores stores = Open(FromFile());
  const auto epoch = Train(stores, [&](int step) {
    if (step != 3) return;
    serve_all();
    Write({stranger->address(), servers[0]->address(), servers[1]->address()});
  });
  ExpectSame(epoch, Undisturbed());
}

TEST_F(MovingServersTest, AStartWaitsForServersThatAreNotListedYet) {
  const auto first = Serve(graph_, {0});
  Write({first->address()});
  auto opened = std::async(std::launch::async, [this] { return OpenRemoteStores(FromFile()); });
  const auto second = Serve(graph_, {1});
  Write({first->address(), second->address()});
  const auto stores = opened.get();
  ASSERT_TRUE(stores.ok()) << ToString(stores.status());
  ExpectSame(Train(*stores), Undisturbed());
}

TEST_F(MovingServersTest, AFileThatIsMissingOrWrongIsNamedAtOnce) {
  ExpectError(OpenRemoteStores(FromFile()).status(), absl::StatusCode::kNotFound,
              {"--servers", file_.string()});
  Write({"localhost"});
  ExpectError(OpenRemoteStores(FromFile()).status(), absl::StatusCode::kInvalidArgument,
              {"--servers", file_.string() + ":2: "});
}

// It is a moment of whoever writes it. The server has moved when it is there again.
TEST_F(MovingServersTest, AFileThatVanishesIsToldAndLeavesTheServersWhereTheyAre) {
  auto server = Serve(graph_, {});
  Write({server->address()});
  CapturedLog log;
  const Stores stores = Open(FromFile());
  std::future<void> comes_back;
  const auto epoch = Train(stores, [&](int step) {
    if (step != kSteps / 2) return;
    std::filesystem::remove(file_);
    server.reset();
    comes_back = std::async(std::launch::async, [&] {
      const auto until = std::chrono::steady_clock::now() + std::chrono::minutes(1);
      while (!log.Has("and they stay where they were") &&
             std::chrono::steady_clock::now() < until) {
        std::this_thread::yield();
      }
      server = Serve(graph_, {});
      Write({server->address()});
    });
  });
  comes_back.get();
  const std::string text = log.End();
  EXPECT_THAT(text, HasSubstr("where the servers are cannot be found out"));
  EXPECT_THAT(text, HasSubstr(file_.string()));
  ExpectSame(epoch, Undisturbed());
}

}  // namespace
}  // namespace halograph
