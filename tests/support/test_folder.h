// A new folder of its own for one test, removed with all in it at the end of the test.
#pragma once

#include <atomic>
#include <filesystem>
#include <string>

#include <gtest/gtest.h>
#include <unistd.h>

namespace halograph {

class TestFolder {
 public:
  TestFolder() {
    static std::atomic<int> next = 0;
    path_ = std::filesystem::path(testing::TempDir()) /
            ("halograph-" + std::to_string(getpid()) + "-" + std::to_string(next++));
    std::filesystem::create_directories(path_);
  }
  ~TestFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TestFolder(const TestFolder&) = delete;
  TestFolder& operator=(const TestFolder&) = delete;

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace halograph
