#include "trainer/checkpoint/files/own_state.h"

#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "tests/support/test_folder.h"
#include "trainer/checkpoint/files/manifest.h"

namespace halograph {
namespace {

namespace fs = std::filesystem;

class OwnStateTest : public testing::Test {
 protected:
  OwnStateTest() {
    fs::create_directories(checkpoint_);
    std::ofstream(checkpoint_ / kManifestFile) << "{}";
  }

  const TestFolder folder_;
  const fs::path run_ = fs::canonical(folder_.path()) / "run";
  const fs::path checkpoint_ = run_ / "step-1";
};

TEST_F(OwnStateTest, IsInTheFolderOfCheckpoints) {
  EXPECT_EQ(OwnStateOf(run_), run_ / "state");
  EXPECT_EQ(OwnStateOf(checkpoint_), run_ / "state");
}

TEST_F(OwnStateTest, IsFoundByALinkToACheckpointFromElsewhere) {
  const fs::path link = folder_.path() / "best";
  fs::create_directory_symlink(checkpoint_, link);
  EXPECT_EQ(OwnStateOf(link), run_ / "state");
}

}  // namespace
}  // namespace halograph
