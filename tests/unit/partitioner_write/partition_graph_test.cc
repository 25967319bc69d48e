// The whole way from an input folder to a partition folder, and what is left when it breaks off.
#include "partitioner/run/partition_graph.h"

#include <csignal>
#include <cstdlib>
#include <fstream>

#include <gmock/gmock.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/progress.h"
#include "common/graph/partition.h"
#include "tests/support/test_folder.h"

namespace halograph {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class PartitionGraphTest : public testing::Test {
 protected:
  PartitionGraphTest() { Progress::Enable(false); }

  static fs::path Cora() { return fs::path(std::getenv("HALOGRAPH_TEST_DATA")) / "cora"; }

  PartitionRun RunOf(const fs::path& input, int parts = 2) {
    PartitionRun run;
    run.input = input;
    run.output = folder_.path() / "out" / "graph";
    run.options.parts = parts;
    fs::create_directories(run.output.parent_path());
    return run;
  }

  // Names beside and below the place of the output.
  std::vector<std::string> Left() {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder_.path() / "out")) {
      names.push_back(entry.path().filename().string());
    }
    return names;
  }

  static bool LooksWhole(const fs::path& folder) {
    return PartitionSet::Open(folder, {}, VerifyLevel::kHeaders).ok() &&
           ReadGraphManifest(folder).ok();
  }

  TestFolder folder_;
};

TEST_F(PartitionGraphTest, CoraInAnyNumberOfPartsOpensWithEveryCheck) {
  for (const int parts : {1, 2, 3, 4, 8}) {
    PartitionRun run = RunOf(Cora(), parts);
    run.replace = true;
    const auto summary = PartitionGraph(run);
    ASSERT_TRUE(summary.ok()) << summary.status();
    const auto set = PartitionSet::Open(run.output, {}, VerifyLevel::kContents);
    ASSERT_TRUE(set.ok()) << set.status();
    EXPECT_EQ((*set)->book().num_parts(), parts);
    EXPECT_EQ((*set)->schema().relations[0].count, 10556);
    EXPECT_THAT(Left(), testing::ElementsAre("graph"));
    EXPECT_FALSE(fs::exists(run.output / "scratch"));
  }
}

TEST_F(PartitionGraphTest, TypedGraphsOpenWithEveryCheck) {
  const char* data = std::getenv("HALOGRAPH_DATA");
  if (data == nullptr) GTEST_SKIP() << "HALOGRAPH_DATA is not set, so typed graphs are not there";
  for (const char* name : {"aifb", "imdb-hetero", "fb15k-237"}) {
    PartitionRun run = RunOf(fs::path(data) / name, 2);
    run.replace = true;
    const auto summary = PartitionGraph(run);
    ASSERT_TRUE(summary.ok()) << name << ": " << summary.status();
    const auto set = PartitionSet::Open(run.output, {}, VerifyLevel::kContents);
    ASSERT_TRUE(set.ok()) << name << ": " << set.status();
  }
}

TEST_F(PartitionGraphTest, SameRunSameIdentityWhereverItGoes) {
  PartitionRun run = RunOf(Cora());
  const auto first = PartitionGraph(run);
  run.output = folder_.path() / "out" / "other" / "";  // a slash at the end names the same folder
  const auto second = PartitionGraph(run);
  ASSERT_TRUE(second.ok()) << second.status();
  EXPECT_EQ(first->graph.manifest.identity, second->graph.manifest.identity);
  EXPECT_TRUE(LooksWhole(folder_.path() / "out" / "other"));
}

TEST_F(PartitionGraphTest, ExistingOutputStaysUnlessReplaced) {
  PartitionRun run = RunOf(Cora());
  ASSERT_TRUE(PartitionGraph(run).ok());
  run.options.parts = 3;
  const auto refused = PartitionGraph(run);
  EXPECT_TRUE(absl::IsAlreadyExists(refused.status())) << refused.status();
  EXPECT_THAT(Message(refused.status()), HasSubstr("--force"));
  EXPECT_EQ(ReadGraphManifest(run.output)->book.num_parts(), 2);
  run.replace = true;
  ASSERT_TRUE(PartitionGraph(run).ok());
  EXPECT_EQ(ReadGraphManifest(run.output)->book.num_parts(), 3);
  EXPECT_THAT(Left(), testing::ElementsAre("graph"));
}

TEST_F(PartitionGraphTest, ForeignFolderAndTheInputAreNotReplaced) {
  PartitionRun run = RunOf(Cora());
  run.replace = true;
  fs::create_directories(run.output / "thesis");
  EXPECT_TRUE(absl::IsAlreadyExists(PartitionGraph(run).status()));
  EXPECT_TRUE(fs::exists(run.output / "thesis"));
  const fs::path copy = folder_.path() / "out" / "home" / "cora";
  fs::create_directories(copy.parent_path());
  fs::copy(Cora(), copy, fs::copy_options::recursive);
  run.input = copy;
  for (const fs::path& output : {copy, copy.parent_path()}) {
    run.output = output;
    const Status status = PartitionGraph(run).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
    EXPECT_TRUE(fs::exists(copy / "metadata.yaml")) << output;
  }
}

TEST_F(PartitionGraphTest, FailedRunLeavesNothingAndKeepsTheOldOutput) {
  PartitionRun run = RunOf(Cora());
  ASSERT_TRUE(PartitionGraph(run).ok());
  run.replace = true;
  run.options.parts = 100000;
  EXPECT_TRUE(absl::IsInvalidArgument(PartitionGraph(run).status()));
  run.input = folder_.path() / "nowhere";
  EXPECT_FALSE(PartitionGraph(run).ok());
  EXPECT_THAT(Left(), testing::ElementsAre("graph"));
  EXPECT_TRUE(LooksWhole(run.output));
}

// Runs in a child, since limits and kills are of a whole process. Returns its wait status.
template <typename Body>
int InChild(Body body) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(body());
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  return status;
}

TEST_F(PartitionGraphTest, FullDiskIsResourceExhaustedAndLeavesNothing) {
  const PartitionRun run = RunOf(Cora());
  const fs::path message = folder_.path() / "message";
  const int status = InChild([&] {
    std::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{1 << 20, 1 << 20};  // the features of a part need more
    ::setrlimit(RLIMIT_FSIZE, &limit);
    const auto summary = PartitionGraph(run);
    std::ofstream(message) << Message(summary.status());
    return absl::IsResourceExhausted(summary.status()) ? 0 : 1;
  });
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  std::ostringstream text;
  text << std::ifstream(message).rdbuf();
  EXPECT_THAT(text.str(), HasSubstr("feat.npy"));
  EXPECT_TRUE(Left().empty());
}

// Kills a run at the first moment at which `path` (within its folder) exists.
TEST_F(PartitionGraphTest, KilledRunLeavesNothingThatLooksWhole) {
  const PartitionRun run = RunOf(Cora());
  for (const char* path : {"part-0000/edges", "part-0001/nodes/node/halo_ids.npy",
                           "part-0000/manifest.json", "part-0001/manifest.json"}) {
    const pid_t child = ::fork();
    if (child == 0) ::_exit(PartitionGraph(run).ok() ? 0 : 1);
    int status = 0;
    while (::waitpid(child, &status, WNOHANG) == 0) {
      const auto left = Left();
      if (left.empty() || !fs::exists(folder_.path() / "out" / left.front() / path)) continue;
      ::kill(child, SIGKILL);
      ::waitpid(child, &status, 0);
      break;
    }
    if (WIFEXITED(status)) {  // it was done before it could be killed
      EXPECT_TRUE(LooksWhole(run.output));
      fs::remove_all(run.output);
      continue;
    }
    EXPECT_FALSE(fs::exists(run.output)) << path;
  }
  // The next run clears what they left.
  ASSERT_TRUE(PartitionGraph(run).ok());
  EXPECT_THAT(Left(), testing::ElementsAre("graph"));
}

}  // namespace
}  // namespace halograph
