// Tests on real graphs, which are not part of the repository.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "partitioner/readers/reader.h"
#include "tests/support/test_folder.h"

namespace halograph {

class RealDataset : public testing::Test {
 protected:
  // Opens below the folder that the environment names; skips the test if it does not.
  void OpenData(const std::string& name, const char* variable = "HALOGRAPH_DATA") {
    const char* folder = std::getenv(variable);
    if (folder == nullptr || *folder == '\0') {
      GTEST_SKIP() << variable << " is not set, so " << name << " is not there";
    }
    ReadOptions options;
    options.scratch = folder_.path();
    auto opened = OpenDataset(std::filesystem::path(folder) / name, options);
    ASSERT_TRUE(opened.ok()) << opened.status();
    dataset_ = std::move(opened).value();
  }

  TestFolder folder_;
  Dataset dataset_;
};

}  // namespace halograph
