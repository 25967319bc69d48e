#include "server/handlers/topology_files.h"

#include <gmock/gmock.h>

#include "tests/unit/server/served_fixture.h"

namespace halograph::server {
namespace {

using testing::HasSubstr;

class TopologyFilesTest : public ServedTest {
 protected:
  void SetUp() override {
    served_ = Open({0, 2});
    auto files = TopologyFiles::Open(*served_, graph_folder_);
    ASSERT_TRUE(files.ok()) << files.status();
    files_ = *files;
  }
  StatusOr<TopologyRange> Read(const TopologyRequest& request, int64_t limit = 4 << 20) const {
    return TopologyHandler(served_.get(), files_.get(), limit).Read(request);
  }
  void ExpectError(const TopologyRequest& request, absl::StatusCode code,
                   const std::string& text) const {
    const Status status = Read(request).status();
    EXPECT_EQ(status.code(), code) << status;
    EXPECT_THAT(Message(status), HasSubstr(text));
  }

  const std::string indices_ = EdgeFolder("paper:cites:paper") + "/indices.npy";
  std::unique_ptr<ServedGraph> served_;
  std::shared_ptr<const TopologyFiles> files_;
};

TEST_F(TopologyFilesTest, RangesAddUpToTheFile) {
  const auto file = MappedFile::Open(graph_folder_ / "part-0002" / indices_);
  ASSERT_TRUE(file.ok()) << file.status();
  std::vector<std::byte> read;
  int replies = 0;
  for (const auto size = file->bytes().size(); read.size() < size; ++replies) {
    const auto range = Read({.part = 2, .path = indices_, .offset = std::ssize(read)}, 150);
    ASSERT_TRUE(range.ok()) << range.status();
    EXPECT_EQ(range->file_bytes, static_cast<int64_t>(size));
    ASSERT_FALSE(range->data.empty());
    EXPECT_LE(range->data.size() + TopologyFiles::kHeaderBytes, 150U);
    read.insert(read.end(), range->data.begin(), range->data.end());
  }
  EXPECT_GT(replies, 2);
  EXPECT_TRUE(std::equal(read.begin(), read.end(), file->bytes().begin()));
}

TEST_F(TopologyFilesTest, ServesTheManifestAndWhatItListsOfTheTopologyOnly) {
  const auto manifest = ReadPartManifest(graph_folder_ / "part-0000");
  ASSERT_TRUE(manifest.ok()) << manifest.status();
  for (const FileEntry& entry : manifest->files) {
    EXPECT_EQ(Read({.part = 0, .path = entry.path}).ok(), IsTopologyFile(entry.path)) << entry.path;
  }
  const auto range = Read({.part = 0, .path = "manifest.json"});
  ASSERT_TRUE(range.ok()) << range.status();
  EXPECT_EQ(range->file_bytes, std::ssize(range->data));
}

TEST_F(TopologyFilesTest, UnknownAndHostilePathsAreNotFound) {
  for (const char* path : {"", "edges", "../part-0000/manifest.json", "/etc/hostname",
                           "edges/../manifest.json", "nodes/paper/features/feat.npy"}) {
    ExpectError({.part = 0, .path = path}, absl::StatusCode::kNotFound, fmt::format("'{}'", path));
  }
}

TEST_F(TopologyFilesTest, RangesBeyondTheFileAndPartsNotServedAreOutOfRange) {
  const int64_t bytes = Read({.part = 0, .path = indices_})->file_bytes;
  EXPECT_TRUE(Read({.part = 0, .path = indices_, .offset = bytes})->data.empty());
  const auto code = absl::StatusCode::kOutOfRange;
  for (const auto& [offset, length] : std::vector<std::pair<int64_t, int64_t>>{
           {bytes + 1, 0}, {-1, 0}, {0, -1}, {bytes, 1}, {1, bytes}, {2, INT64_MAX}}) {
    ExpectError({.part = 0, .path = indices_, .offset = offset, .length = length}, code,
                std::to_string(bytes));
  }
  ExpectError({.part = 1, .path = indices_}, code, "parts 0, 2");
  ExpectError({.part = 7, .path = indices_}, code, "part 7");
}

TEST_F(TopologyFilesTest, ServerOfFeaturesHasNone) {
  const auto features = Open({0}, {.topology = false});
  const auto files = TopologyFiles::Open(*features, graph_folder_);
  ASSERT_TRUE(files.ok()) << files.status();
  const Status status = TopologyHandler(features.get(), files->get(), 4 << 20)
                            .Read({.part = 0, .path = "manifest.json"})
                            .status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(Message(status), HasSubstr("--serve all"));
}

}  // namespace
}  // namespace halograph::server
