// Calls of the whole program within the test.
#pragma once

#include <cstdlib>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include "partitioner/cli/command.h"
#include "tests/support/test_folder.h"

namespace halograph {

class ProgramFixture : public testing::Test {
 protected:
  int Call(std::vector<std::string> words) {
    words.insert(words.begin(), "halograph-partition");
    std::vector<const char*> argv;
    for (const std::string& word : words) argv.push_back(word.c_str());
    testing::internal::CaptureStdout();
    testing::internal::CaptureStderr();
    const int code = PartitionMain(static_cast<int>(argv.size()), argv.data());
    out_ = testing::internal::GetCapturedStdout();
    error_ = testing::internal::GetCapturedStderr();
    return code;
  }

  std::string Cora() { return std::string(std::getenv("HALOGRAPH_TEST_DATA")) + "/cora"; }
  std::string Path(const std::string& name) { return (folder_.path() / name).string(); }

  TestFolder folder_;
  std::string out_, error_;
};

}  // namespace halograph
