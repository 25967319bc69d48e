// A folder of its own for each test, removed afterwards, and files in it.
#pragma once

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <span>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "tests/support/test_folder.h"

namespace halograph {

class TempFolderTest : public testing::Test {
 protected:
  [[nodiscard]] const std::filesystem::path& folder() const { return folder_.path(); }

  std::filesystem::path Write(std::string_view name, std::string_view contents) {
    const std::filesystem::path path = folder() / name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << contents;
    return path;
  }

  static std::string Read(const std::filesystem::path& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  }

  // The names in the test's folder.
  [[nodiscard]] std::set<std::string> Names() const {
    std::set<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(folder())) {
      names.insert(entry.path().filename().string());
    }
    return names;
  }

 private:
  TestFolder folder_;
};

inline std::string_view AsText(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

inline std::span<const std::byte> AsBytes(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

}  // namespace halograph
