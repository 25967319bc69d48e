// The copy of the topology that hybrid trainers fetch: whole or not there, whatever breaks.
#include <atomic>
#include <csignal>
#include <fstream>
#include <set>
#include <thread>

#include <sys/mount.h>
#include <sys/resource.h>

#include "client/ctl/status_table.h"
#include "client/topology_copy/fetch_lock.h"
#include "client/topology_copy/fetch_topology.h"
#include "common/storage/file_checksums.h"
#include "halograph/v1/graph.pb.h"
#include "tests/integration/client/remote_fixture.h"

namespace halograph {
namespace {

namespace fs = std::filesystem;

constexpr char kRead[] = "GraphService/ReadTopology";

std::string ReadFile(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file) << path;
  return {std::istreambuf_iterator<char>(file), {}};
}

void FlipByte(const fs::path& path, int64_t offset) {
  std::string bytes = ReadFile(path);
  bytes.at(static_cast<size_t>(offset)) ^= 1;
  std::ofstream(path, std::ios::binary) << bytes;
}

class TopologyFetchTest : public RemoteStoreTest {
 protected:
  void SetUp() override {
    graph_ = WriteGraph(RandomTypedGraph({.seed = 5, .parts = 3, .nodes = 3000}));
    identity_ = ReadPartManifest(graph_ / "part-0000")->identity;
    cache_ = folder_.path() / "cache";
  }
  StatusOr<fs::path> Fetch(RemoteOptions options,
                           VerifyLevel verify = VerifyLevel::kContents) const {
    options.max_message_bytes = 16 << 10;  // many reads a file
    return FetchTopology(options, cache_, verify);
  }
  StatusOr<fs::path> Fetch(const std::vector<std::string>& servers) const {
    return Fetch(Options(servers));
  }
  // Files of the topology over all parts, with the part's folder in front.
  std::vector<FileEntry> Files() const {
    std::vector<FileEntry> files;
    for (int part = 0; part < 3; ++part) {
      const auto manifest = ReadPartManifest(graph_ / PartFolderName(part));
      for (FileEntry entry : manifest->files) {
        if (!IsTopologyFile(entry.path)) continue;
        entry.path = PartFolderName(part) + "/" + entry.path;
        files.push_back(std::move(entry));
      }
    }
    return files;
  }
  int64_t TopologyBytes() const {
    int64_t bytes = 0;
    for (const FileEntry& entry : Files()) bytes += entry.bytes;
    return bytes;
  }
  void ExpectComplete(const fs::path& copy) const {
    EXPECT_EQ(copy, cache_ / identity_);
    std::set<std::string> expected;
    for (const FileEntry& entry : Files()) {
      expected.insert(entry.path);
      EXPECT_EQ(ReadFile(copy / entry.path), ReadFile(graph_ / entry.path)) << entry.path;
    }
    for (int part = 0; part < 3; ++part) expected.insert(PartFolderName(part) + "/manifest.json");
    std::set<std::string> found;
    for (const auto& item : fs::recursive_directory_iterator(copy)) {
      if (item.is_regular_file()) found.insert(fs::relative(item.path(), copy).string());
    }
    EXPECT_EQ(found, expected);
    const auto set = PartitionSet::Open(copy, {}, VerifyLevel::kContents, {.features = false});
    ASSERT_TRUE(set.ok()) << set.status();
    EXPECT_EQ((*set)->identity(), identity_);
    EXPECT_FALSE(fs::exists(cache_ / (identity_ + ".partial")));
  }
  void ExpectNothingComplete() const { EXPECT_FALSE(fs::exists(cache_ / identity_)); }

  // Bytes that a server has sent in answer to reads of its topology.
  static int64_t SentBytes(const server::Server& server, const std::string& method = kRead) {
    for (;;) {
      const auto statuses =
          AskStatus({.servers = {server.address()}, .timeout = std::chrono::seconds(20)});
      EXPECT_TRUE(statuses[0].reachable.ok()) << ToString(statuses[0].reachable);
      for (const Json& stats : statuses[0].methods) {
        // A call is counted when its reply is out: its client may be faster.
        if (stats["method"] == method && stats["in_flight"] == 0) return stats["reply_bytes"];
      }
    }
  }

  static int64_t Calls(const server::Server& server, const std::string& method) {
    const auto statuses =
        AskStatus({.servers = {server.address()}, .timeout = std::chrono::seconds(20)});
    for (const Json& stats : statuses[0].methods) {
      if (stats["method"] == method) return stats["calls"];
    }
    return -1;
  }

  // A server of the graph that lets a test look at or change its replies to reads. (It does not
  // forward them: a thread of gRPC must not wait for another.)
  using Change = std::function<void(const v1::ReadTopologyRequest&, FakeAnswer*)>;
  std::unique_ptr<FakeServer> Fake(const server::Server& server, Change change) const {
    const FakeAnswer description = Forward(
        server.address(), {.method = "GraphService/Describe", .request = "", .metadata = {}});
    EXPECT_TRUE(description.status.ok()) << ToString(description.status);
    return std::make_unique<FakeServer>([graph = graph_, description,
                                         change = std::move(change)](const FakeCall& call) {
      v1::ReadTopologyRequest request;
      if (call.method != kRead || !request.ParseFromString(call.request)) return description;
      FakeAnswer answer;
      const auto file = MappedFile::Open(graph / PartFolderName(static_cast<int>(request.part())) /
                                         request.path());
      EXPECT_TRUE(file.ok()) << file.status();
      const size_t size = file->bytes().size();
      const size_t begin = std::min(static_cast<size_t>(request.offset()), size);
      const auto data = file->bytes().subspan(
          begin, std::min(static_cast<size_t>(request.length()), size - begin));
      v1::ReadTopologyReply reply;
      reply.set_file_bytes(static_cast<int64_t>(file->bytes().size()));
      reply.set_data(data.data(), data.size());
      answer.bytes = reply.SerializeAsString();
      change(request, &answer);
      return answer;
    });
  }
  static void ChangeReply(FakeAnswer* answer,
                          const std::function<void(v1::ReadTopologyReply*)>& change) {
    v1::ReadTopologyReply reply;
    ASSERT_TRUE(reply.ParseFromString(answer->bytes));
    change(&reply);
    answer->bytes = reply.SerializeAsString();
  }

  fs::path graph_;
  std::string identity_;
  fs::path cache_;
};

TEST_F(TopologyFetchTest, TheCopyIsTheServersTopologyAndIsFetchedOnce) {
  const auto first = Serve(graph_, {1});
  const auto second = Serve(graph_, {0, 2});
  const auto copy = Fetch({second->address(), first->address()});
  ASSERT_TRUE(copy.ok()) << ToString(copy.status());
  ExpectComplete(*copy);
  const int64_t sent = SentBytes(*first) + SentBytes(*second);
  EXPECT_GT(sent, TopologyBytes());
  ASSERT_TRUE(Fetch({second->address(), first->address()}).ok());
  EXPECT_EQ(SentBytes(*first) + SentBytes(*second), sent);
  // Once it is there nobody needs to serve it.
  server::ServerOptions features;
  features.contents.topology = false;
  const auto third = Serve(graph_, {}, features);
  EXPECT_TRUE(Fetch({third->address()}).ok());
}

TEST_F(TopologyFetchTest, AFetchThatBrokeGoesOnWhereItWas) {
  auto server = Serve(graph_, {});
  std::atomic<int> reads = 0;
  const auto dying = Fake(*server, [&reads](const auto&, FakeAnswer* answer) {
    if (++reads > 30) answer->status = Unavailable("the server went away");
  });
  ExpectError(Fetch(Hasty({dying->address()})).status(), absl::StatusCode::kUnavailable,
              {dying->address(), kRead, "went away"});
  ExpectNothingComplete();
  EXPECT_TRUE(fs::exists(cache_ / (identity_ + ".partial")));

  server = Serve(graph_, {});
  const auto copy = Fetch({server->address()});
  ASSERT_TRUE(copy.ok()) << ToString(copy.status());
  ExpectComplete(*copy);
  EXPECT_LT(SentBytes(*server), TopologyBytes());
  EXPECT_GT(SentBytes(*server), 0);
}

TEST_F(TopologyFetchTest, AByteFlippedOnTheWayIsFetchedAgain) {
  const auto server = Serve(graph_, {});
  std::atomic<int> flips = 0;
  const auto proxy = Fake(*server, [&flips](const auto& request, FakeAnswer* answer) {
    if (request.path().ends_with("indices.npy") && request.part() == 1 && ++flips == 1) {
      answer->bytes.back() = static_cast<char>(answer->bytes.back() ^ 1);
    }
  });
  const auto copy = Fetch({proxy->address()});
  ASSERT_TRUE(copy.ok()) << ToString(copy.status());
  ExpectComplete(*copy);
}

TEST_F(TopologyFetchTest, AFileDamagedOnTheServersDiskIsDataLossNamingServerFileAndBytes) {
  const std::string path = EdgeFolder("paper:cites:paper") + "/indices.npy";
  FlipByte(graph_ / "part-0001" / path, 200);
  server::ServerOptions unverified;
  unverified.verify = VerifyLevel::kHeaders;
  const auto server = Serve(graph_, {}, unverified);
  const auto bytes = fs::file_size(graph_ / "part-0001" / path);
  ExpectError(Fetch({server->address()}).status(), absl::StatusCode::kDataLoss,
              {server->address(), path, "part 1", "bytes 0 to " + std::to_string(bytes - 1)});
  ExpectNothingComplete();
}

TEST_F(TopologyFetchTest, RepliesThatDoNotFitAreDataLossNamingTheServer) {
  const auto server = Serve(graph_, {});
  const std::vector<std::function<void(v1::ReadTopologyReply*)>> changes = {
      [](v1::ReadTopologyReply* reply) { reply->mutable_data()->append("more"); },
      [](v1::ReadTopologyReply* reply) { reply->clear_data(); },
      [](v1::ReadTopologyReply* reply) { reply->set_file_bytes(reply->file_bytes() + 1); },
      [](v1::ReadTopologyReply* reply) { reply->set_file_bytes(-1); }};
  for (const auto& change : changes) {
    for (const bool manifest : {true, false}) {
      const auto proxy = Fake(*server, [&](const auto& request, FakeAnswer* answer) {
        if ((request.path() == "manifest.json") == manifest) ChangeReply(answer, change);
      });
      const Status status = Fetch({proxy->address()}).status();
      ExpectError(status, absl::StatusCode::kDataLoss, {proxy->address()});
    }
  }
  const auto garbage =
      Fake(*server, [](const auto&, FakeAnswer* answer) { answer->bytes = "\x12\x7f"; });
  ExpectError(Fetch({garbage->address()}).status(), absl::StatusCode::kDataLoss,
              {garbage->address(), "ReadTopologyReply"});
  ExpectNothingComplete();
}

TEST_F(TopologyFetchTest, AServerThatAnswersAByteACallIsGivenUpAtTheTimeout) {
  const auto server = Serve(graph_, {});
  for (const bool manifest : {true, false}) {
    const auto drips = Fake(*server, [manifest](const auto& request, FakeAnswer* answer) {
      if ((request.path() == "manifest.json") != manifest) return;
      ChangeReply(answer, [manifest](v1::ReadTopologyReply* reply) {
        if (manifest) reply->set_file_bytes(100 << 20);
        reply->set_data("x");
      });
    });
    Status status;
    std::string within;
    // Byte by byte takes minutes for the one, and half a minute for the other. On a busy machine
    // the first byte, too, may come too late for the shortest.
    for (const int ms : {200, 1000, 6000}) {
      const std::chrono::milliseconds timeout(ms);
      status = FetchTopology(Options({drips->address()}, timeout), cache_).status();
      within = fmt::format("no whole answer within {:.1f} s", ms / 1000.0);
      if (Message(status).find(within) != std::string::npos) break;
    }
    ExpectError(status, absl::StatusCode::kDeadlineExceeded,
                {drips->address(), kRead, within, "--timeout"});
  }
  ExpectNothingComplete();
}

// Answers reads of manifest.json with one that `edit` has changed under a fitting checksum.
class HostileManifestTest : public TopologyFetchTest {
 protected:
  Status FetchWith(const std::function<void(Json*)>& edit) {
    server_ = Serve(graph_, {});
    const fs::path forged = folder_.path() / "forged.json";
    proxy_ = Fake(*server_, [=, this](const auto& request, FakeAnswer* answer) {
      if (request.path() != "manifest.json") return;
      const fs::path real = graph_ / PartFolderName(static_cast<int>(request.part()));
      Json value = *ReadManifest(real / "manifest.json");
      if (request.part() == 1) edit(&value);
      const fs::path file = forged.string() + std::to_string(request.part());
      ASSERT_TRUE(WriteManifest(file, value).ok());
      const std::string bytes = ReadFile(file);
      v1::ReadTopologyReply reply;
      reply.set_file_bytes(static_cast<int64_t>(bytes.size()));
      reply.set_data(bytes.substr(static_cast<size_t>(request.offset()),
                                  static_cast<size_t>(request.length())));
      answer->status = OkStatus();
      answer->bytes = reply.SerializeAsString();
    });
    const Status status = Fetch({proxy_->address()}).status();
    ExpectNothingComplete();
    return status;
  }
  std::unique_ptr<server::Server> server_;
  std::unique_ptr<FakeServer> proxy_;
};

TEST_F(HostileManifestTest, APathThatLeavesTheFolderIsDataLossAndNothingIsWrittenThere) {
  for (const char* path : {"edges/x/../../../../evil.npy", "/tmp/evil.npy", "edges/x/./evil.npy"}) {
    const Status status = FetchWith([path](Json* value) { (*value)["files"][0]["path"] = path; });
    ExpectError(status, absl::StatusCode::kDataLoss, {proxy_->address(), path});
  }
  for (const auto& item : fs::recursive_directory_iterator(folder_.path())) {
    EXPECT_NE(item.path().filename(), "evil.npy") << item.path();
  }
}

TEST_F(HostileManifestTest, OtherFilesThanTheIdentitySaysAreRefusedBeforeTheyAreFetched) {
  const auto code = absl::StatusCode::kFailedPrecondition;
  Status status = FetchWith([](Json* value) {
    for (Json& file : (*value)["files"]) {
      if (file["path"].get<std::string>().ends_with("indptr.npy")) file["bytes"] = 64 << 20;
    }
  });
  ExpectError(status, code, {"together make graph", identity_});
  const std::string other(32, 'a');
  status = FetchWith([&other](Json* value) { (*value)["identity"] = other; });
  ExpectError(status, code, {proxy_->address(), other, identity_});
  status = FetchWith([](Json* value) { (*value)["part"] = 2; });
  ExpectError(status, code, {proxy_->address(), "part 2"});
}

TEST_F(TopologyFetchTest, AnIdentityThatIsNoNameOfAFolderIsDataLoss) {
  const auto server = Serve(graph_, {});
  FakeAnswer answer = Forward(server->address(),
                              {.method = "GraphService/Describe", .request = "", .metadata = {}});
  v1::DescribeReply reply;
  ASSERT_TRUE(reply.ParseFromString(answer.bytes));
  reply.set_identity("../outside");
  answer.bytes = reply.SerializeAsString();
  FakeServer fake([&answer](const FakeCall&) { return answer; });
  ExpectError(Fetch({fake.address()}).status(), absl::StatusCode::kDataLoss, {"../outside"});
  EXPECT_FALSE(fs::exists(folder_.path() / "outside"));
}

// While it lives no file of this process can grow beyond some bytes, as on a full disk.
class FileSizeLimit {
 public:
  FileSizeLimit() : handler_(std::signal(SIGXFSZ, SIG_IGN)) { getrlimit(RLIMIT_FSIZE, &before_); }
  ~FileSizeLimit() {
    setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }
  void Set(rlim_t bytes) const {
    const rlimit limit{bytes, before_.rlim_max};
    EXPECT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
  }

 private:
  void (*handler_)(int);
  rlimit before_{};
};

TEST_F(TopologyFetchTest, ADiskThatFillsUpIsOneClearErrorAndLeavesNothingThatLooksComplete) {
  const auto server = Serve(graph_, {});
  const std::string partial = cache_ / (identity_ + ".partial");
  {
    const FileSizeLimit limit;
    std::atomic<int> reads = 0;
    const auto proxy = Fake(*server, [&](const auto&, FakeAnswer*) {
      if (++reads == 30) limit.Set(100);
    });
    ExpectError(Fetch({proxy->address()}).status(), absl::StatusCode::kResourceExhausted,
                {partial, "make room", "cannot write"});
    ExpectNothingComplete();
  }
  const int64_t before = SentBytes(*server);
  const auto copy = Fetch({server->address()});
  ASSERT_TRUE(copy.ok()) << ToString(copy.status());
  ExpectComplete(*copy);
  EXPECT_LT(SentBytes(*server) - before, TopologyBytes());
}

TEST_F(TopologyFetchTest, ADiskThatIsTooSmallIsSaidBeforeAnythingIsFetched) {
  const auto server = Serve(graph_, {});
  ASSERT_TRUE(MakeFolder(cache_).ok());
  if (mount("tmpfs", cache_.c_str(), "tmpfs", 0, "size=128k") != 0) {
    GTEST_SKIP() << "mounting a small tmpfs needs root";
  }
  const Status status = Fetch({server->address()}).status();
  ExpectNothingComplete();
  std::vector<std::string> files;
  for (const auto& item : fs::recursive_directory_iterator(cache_)) {
    if (item.path().extension() == ".npy") files.push_back(item.path());
  }
  EXPECT_EQ(umount(cache_.c_str()), 0);
  ExpectError(status, absl::StatusCode::kResourceExhausted, {cache_.string()});
  EXPECT_TRUE(files.empty()) << files[0];
}

TEST_F(TopologyFetchTest, AFolderThatCannotBeMadeIsNamed) {
  const auto server = Serve(graph_, {});
  std::ofstream(cache_) << "a file";
  const Status status = Fetch({server->address()}).status();
  EXPECT_FALSE(status.ok());
  EXPECT_THAT(Message(status), testing::HasSubstr(cache_.string()));
}

TEST_F(TopologyFetchTest, TwoAtOnceShareOneTransfer) {
  const auto server = Serve(graph_, {});
  ASSERT_TRUE(MakeFolder(cache_).ok());
  const CallContext context;
  auto held =
      TopologyFetchLock::Acquire(cache_ / (identity_ + ".lock"), std::chrono::minutes(1), context);
  ASSERT_TRUE(held.ok()) << held.status();
  std::vector<StatusOr<fs::path>> copies(2);
  {
    std::vector<std::jthread> threads;
    for (auto& copy : copies) {
      threads.emplace_back([this, &copy, &server] { copy = Fetch({server->address()}); });
    }
    // Both have asked who the server is, and now want the lock.
    while (Calls(*server, "GraphService/Describe") < 2) {
    }
    held = Cancelled("released");
  }
  for (const auto& copy : copies) {
    ASSERT_TRUE(copy.ok()) << ToString(copy.status());
    ExpectComplete(*copy);
  }
  int64_t manifests = 0;
  for (int part = 0; part < 3; ++part) {
    manifests +=
        static_cast<int64_t>(fs::file_size(graph_ / PartFolderName(part) / "manifest.json"));
  }
  EXPECT_LT(SentBytes(*server), (TopologyBytes() + manifests) * 3 / 2);
}

TEST_F(TopologyFetchTest, OfADamagedCopyWhatIsDamagedIsFetchedAgain) {
  const auto server = Serve(graph_, {});
  const auto copy = Fetch({server->address()});
  ASSERT_TRUE(copy.ok()) << ToString(copy.status());
  const std::string path = EdgeFolder("paper:cites:paper") + "/indices.npy";
  const fs::path file = *copy / "part-0002" / path;
  FlipByte(file, 200);
  // Headers do not show it: nothing is fetched.
  int64_t sent = SentBytes(*server);
  ASSERT_TRUE(Fetch(Options({server->address()}), VerifyLevel::kHeaders).ok());
  EXPECT_EQ(SentBytes(*server), sent);
  const std::vector<std::function<void()>> damages = {
      [] {},  // the byte from above
      [&file] { fs::resize_file(file, 300); }, [&file] { fs::remove(file); },
      [&copy] { std::ofstream(*copy / "part-0001" / "manifest.json") << "{"; },
      [&copy] { fs::remove_all(*copy / "part-0000"); }};
  for (const std::function<void()>& damage : damages) {
    damage();
    sent = SentBytes(*server);
    const auto again = Fetch({server->address()});
    ASSERT_TRUE(again.ok()) << ToString(again.status());
    ExpectComplete(*again);
    EXPECT_GT(SentBytes(*server), sent);
    EXPECT_LT(SentBytes(*server) - sent, TopologyBytes());
  }
}

TEST_F(TopologyFetchTest, ACopyOfAnotherGraphIsRefusedAndStays) {
  const auto server = Serve(graph_, {});
  ASSERT_TRUE(MakeFolder(cache_).ok());
  fs::rename(WriteGraph(9), cache_ / identity_);
  ExpectError(Fetch({server->address()}).status(), absl::StatusCode::kFailedPrecondition,
              {"remove the folder " + (cache_ / identity_).string(), "is of graph"});
  EXPECT_TRUE(fs::exists(cache_ / identity_ / "part-0000" / "manifest.json"));
}

TEST_F(TopologyFetchTest, PartsWhoseTopologyNobodyServesAreNamed) {
  server::ServerOptions features;
  features.contents.topology = false;
  const auto first = Serve(graph_, {0, 1});
  const auto second = Serve(graph_, {2}, features);
  ExpectError(Fetch({first->address(), second->address()}).status(),
              absl::StatusCode::kFailedPrecondition, {"partition 2 of 3", "--serve all"});
  ExpectNothingComplete();
}

TEST_F(TopologyFetchTest, ACancelledTokenEndsIt) {
  const auto server = Serve(graph_, {});
  CancelToken token;
  const auto proxy = Fake(*server, [&token](const auto&, FakeAnswer*) { token.Cancel(); });
  ExpectError(
      FetchTopology(Options({proxy->address()}), cache_, VerifyLevel::kContents, &token).status(),
      absl::StatusCode::kCancelled, {});
  ExpectNothingComplete();
}

// A part with one more file of two checksum chunks in its topology.
TEST_F(TopologyFetchTest, FilesOfSeveralChunksAreCheckedAndResumedByChunk) {
  graph_ = WriteGraph(1, 1);
  const fs::path part = graph_ / "part-0000";
  const std::string path = EdgeFolder("node:edge:node") + "/table.npy";
  std::string table(static_cast<size_t>(kChecksumChunkBytes) + 100000, 'x');
  for (size_t i = 0; i < table.size(); i += 997) table[i] = static_cast<char>(i >> 10);
  std::ofstream(part / path, std::ios::binary) << table;
  auto manifest = ReadPartManifest(part);
  ASSERT_TRUE(manifest.ok());
  manifest->files.push_back(*ChecksumFile(part, path));
  std::sort(manifest->files.begin(), manifest->files.end(),
            [](const FileEntry& a, const FileEntry& b) { return a.path < b.path; });
  identity_ = manifest->identity =
      GraphIdentity(manifest->schema, manifest->book, {FilesDigest(manifest->files)});
  ASSERT_TRUE(WritePartManifest(part, *manifest).ok());
  fs::remove(graph_ / "manifest.json");
  const auto server = Serve(graph_, {});

  // The second chunk is always wrong.
  const auto proxy = Fake(*server, [&](const auto& request, FakeAnswer* answer) {
    if (request.path() == path && request.offset() >= kChecksumChunkBytes) {
      ChangeReply(answer, [](auto* reply) { reply->mutable_data()->back() ^= 1; });
    }
  });
  ExpectError(FetchTopology(Options({proxy->address()}), cache_).status(),
              absl::StatusCode::kDataLoss,
              {path, fmt::format("bytes {} to {}", kChecksumChunkBytes, table.size() - 1)});
  ExpectNothingComplete();

  // An earlier fetch that has all but that chunk. (How far the one above got with the first before
  // the second ended it is a matter of time.)
  const auto whole = FetchTopology(Options({server->address()}), cache_);
  ASSERT_TRUE(whole.ok()) << ToString(whole.status());
  const fs::path partial = cache_ / (identity_ + ".partial");
  fs::rename(*whole, partial);
  FlipByte(partial / "part-0000" / path, static_cast<int64_t>(table.size()) - 1);
  const int64_t before = SentBytes(*server);
  const auto copy = FetchTopology(Options({server->address()}), cache_);
  ASSERT_TRUE(copy.ok()) << ToString(copy.status());
  EXPECT_EQ(ReadFile(*copy / "part-0000" / path), table);
  EXPECT_LT(SentBytes(*server) - before, kChecksumChunkBytes / 8);
}

}  // namespace
}  // namespace halograph
